/* The owner is a library that the stack shows, else that of the kind of memory. */
#include "leak_owner.h"

#include <stdio.h>

static void find_owner(const struct gp_leak_holder *h, const char *library, char *out)
{
	const char *owner = h->space == GP_SPACE_BLOCK ? "PyTorch" :
			    library[0] != '\0'	       ? library :
			    h->is_object	       ? "" :
							 gp_space_owner(h->space);
	snprintf(out, GP_NAME_MAX, "%.*s", (int)GP_NAME_MAX - 1, owner);
}

void gp_leak_owner_find(struct gp_recording *r, const struct gp_leak_holder *h,
			struct gp_frame *frame, struct gp_leak_owner *out)
{
	struct gp_stack stack;
	struct gp_names names;
	*out = (struct gp_leak_owner){ 0 };
	if (h->stack == 0 || !gp_recording_stack(r, h->stack, h->at_ns, GP_STACK_SYMBOLS, &stack,
						 frame, GP_FRAMES_MAX)) {
		find_owner(h, "", out->owner);
		return;
	}
	gp_recording_names(r, frame, stack.frames, &names);
	find_owner(h, names.library, out->owner);
	out->has_line = names.user != SIZE_MAX;
	if (out->has_line)
		out->line = gp_frame_identity((struct gp_identity){ 2, 2 }, &frame[names.user]);
}
