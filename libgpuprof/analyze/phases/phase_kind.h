/* What a range says of a training step by its source and its name. */
#ifndef GP_PHASE_KIND_H
#define GP_PHASE_KIND_H

#include <stdbool.h>

enum gp_phase_kind {
	GP_PHASE_OTHER,
	GP_PHASE_FORWARD,  /* its name has the word "forward", or "fwd" */
	GP_PHASE_BACKWARD, /* likewise, and not both: that holds a step, or a part of one */
	GP_PHASE_ENGINE,   /* a thread is inside autograd's engine */
	/* fences: what a forward never reaches across. PyTorch opens these */
	GP_PHASE_DATA,
	GP_PHASE_ZERO_GRAD,
	GP_PHASE_OPTIMIZER,
};

/* `text` may be NULL: the name is not known. */
enum gp_phase_kind gp_phase_kind_of(unsigned source, const char *text);
static inline bool gp_is_fence(enum gp_phase_kind kind)
{
	return kind >= GP_PHASE_DATA;
}

#endif
