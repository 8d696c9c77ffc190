/* The part of a training step that a range stands for, by its source and its name. */
#ifndef GP_PHASE_KIND_H
#define GP_PHASE_KIND_H

#include <stdbool.h>

enum gp_phase_kind {
	GP_PHASE_OTHER,
	GP_PHASE_FORWARD,  /* its name has the word "forward", or "fwd" */
	GP_PHASE_BACKWARD, /* likewise; both words: a step or a part of one, so OTHER */
	GP_PHASE_ENGINE,   /* a thread is inside autograd's engine */
	/* Fences: a forward never extends across them. PyTorch opens these ranges. */
	GP_PHASE_DATA,
	GP_PHASE_ZERO_GRAD,
	GP_PHASE_OPTIMIZER,
};

/* `text` may be NULL: the name is unknown. */
enum gp_phase_kind gp_phase_kind_of(unsigned source, const char *text);
static inline bool gp_is_fence(enum gp_phase_kind kind)
{
	return kind >= GP_PHASE_DATA;
}

#endif
