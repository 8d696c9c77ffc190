/* All evidence about one allocation, and the rules of role_rules.def. */
#ifndef GP_ROLE_RULES_H
#define GP_ROLE_RULES_H

#include "role_lives.h"
#include "role_stack.h"

struct gp_role_evidence {
	uint32_t words; /* of its stack */
	struct gp_life life;
	uint16_t is_segment : 1;
	uint16_t is_block : 1;		/* of PyTorch, or stream-ordered memory */
	uint16_t is_driver : 1;		/* requested from the driver */
	uint16_t is_outliving : 1;	/* it outlived the call of the phase in which it was made */
	uint16_t has_early_twin : 1;	/* something of its size is kept */
	uint16_t has_gradient_twin : 1; /* a gradient has its size */
	/* of the recording */
	uint16_t has_phases : 1, has_backward : 1, has_gradients : 1, has_copies : 1;
	uint16_t unused : 6;
};

/* The number of the first rule that holds. */
unsigned gp_role_decide(const struct gp_role_evidence *evidence);

#endif
