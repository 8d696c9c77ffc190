/*
 * The line of the user that a holder's stack shows, and the owner of its memory.
 */
#ifndef GP_LEAK_OWNER_H
#define GP_LEAK_OWNER_H

#include "../stack_text.h"
#include "leak_sample.h"

struct gp_leak_owner {
	bool has_line;
	struct gp_identity line;
	char owner[GP_NAME_MAX]; /* "": unknown */
};

/* Looks symbols up. `frame`: room for GP_FRAMES_MAX. */
void gp_leak_owner_find(struct gp_recording *recording, const struct gp_leak_holder *holder,
			struct gp_frame *frame, struct gp_leak_owner *out);

#endif
