/* Names that users know; if a stack has none, the kind of memory is its owner. */
#include "leak_owner.h"

#include <stdio.h>

static struct gp_identity text_of(const char *text)
{
	return gp_text_identity((struct gp_identity){ 3, 3 }, text);
}

static struct gp_identity frame_of(const struct gp_frame *frame)
{
	return gp_frame_identity((struct gp_identity){ 2, 2 }, frame);
}

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
	size_t python = 0;
	*out = (struct gp_leak_owner){ .by[GP_LEAK_BY_ALL] = { 1, 1 } };
	if (h->stack == 0 || !gp_recording_stack(r, h->stack, h->at_ns, GP_STACK_SYMBOLS, &stack,
						 frame, GP_FRAMES_MAX)) {
		find_owner(h, "", out->owner);
		return;
	}
	gp_recording_names(r, frame, stack.frames, &names);
	find_owner(h, names.library, out->owner);
	if (out->owner[0] != '\0')
		out->by[GP_LEAK_BY_OWNER] = text_of(out->owner);
	if (names.user != SIZE_MAX)
		out->by[GP_LEAK_BY_LINE] = frame_of(&frame[names.user]);
	while (python < stack.frames && !frame[python].is_python)
		python++;
	if (python < stack.frames)
		out->by[GP_LEAK_BY_FRAME] = frame_of(&frame[python]);
	else if (names.node[0] != '\0' || names.operator[0] != '\0')
		out->by[GP_LEAK_BY_FRAME] = text_of(names.node[0] ? names.node : names.operator);
}
