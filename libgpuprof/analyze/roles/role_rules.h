/* All evidence about one allocation, and the rules of role_rules.def. */
#ifndef GP_ROLE_RULES_H
#define GP_ROLE_RULES_H

#include "role_lives.h"
#include "role_stack.h"

struct gp_role_evidence {
	uint32_t words; /* of its stack */
	struct gp_life life;
	bool is_segment;
	bool is_block;	   /* of PyTorch, or stream-ordered memory */
	bool is_driver;	   /* requested from the driver */
	bool is_outliving; /* it outlived the call of the phase in which it was made */
	bool has_early_twin, has_gradient_twin; /* something of its size is kept; a gradient */
	/* of the recording */
	bool has_phases, has_backward, has_gradients, has_copies;
};

/* The number of the first rule that holds. */
unsigned gp_role_decide(const struct gp_role_evidence *evidence);

#endif
