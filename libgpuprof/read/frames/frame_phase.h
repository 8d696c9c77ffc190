/*
 * The phase of a training step that a frame begins: data, zero_grad, forward, backward, optimizer.
 * By the rules of frame_names.def; without a fitting rule it begins none.
 */
#ifndef GP_FRAME_PHASE_H
#define GP_FRAME_PHASE_H

#include "../../gpuprof.h"

enum gp_frame_phase {
	GP_FRAME_NONE,
	GP_FRAME_ENGINE_THREAD, /* a thread of autograd's engine: all its frames are backward */
	GP_FRAME_DATA,
	GP_FRAME_ZERO_GRAD,
	GP_FRAME_FORWARD,
	GP_FRAME_BACKWARD,
	GP_FRAME_OPTIMIZER,
	GP_FRAME_PHASES
};

enum gp_frame_phase gp_frame_phase(const struct gp_frame *frame);
/* "forward" and so on; NULL: not a phase of a step. */
const char *gp_frame_phase_name(unsigned phase);

#endif
