/* The line, the frame and the owner of a holder. Growth is added up over stacks by these. */
#ifndef GP_LEAK_OWNER_H
#define GP_LEAK_OWNER_H

#include "../stack_text.h"
#include "leak_sample.h"

struct gp_leak_owner {
	struct gp_identity by[GP_LEAK_BYS]; /* zeros: it has none, and belongs to no such sum */
	char owner[GP_NAME_MAX];	    /* "": unknown */
};

/* Looks symbols up. `frame`: room for GP_FRAMES_MAX. */
void gp_leak_owner_find(struct gp_recording *recording, const struct gp_leak_holder *holder,
			struct gp_frame *frame, struct gp_leak_owner *out);

#endif
