/*
 * A block of the framework belongs to the program, unless its stack shows that the framework keeps
 * it for a library. Memory of the driver belongs to its caller, which only native frames show.
 */
#include "idle_owner.h"

#include <stdio.h>

struct known {
	uint64_t key; /* twice the stack, plus 1 for a block of the framework */
	bool is_looked_up;
	struct gp_idle_holder holder;
};

static void idle_owner_look_up(struct gp_recording *recording, uint32_t stack_id, bool is_block,
			       int64_t at_ns, struct gp_idle_holder *out)
{
	struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_stack stack;
	struct gp_names names;
	const char *library = "";
	out->owner = is_block ? GP_IDLE_BLOCK : GP_IDLE_ANYBODY;
	if (stack_id == 0 || !gp_recording_stack(recording, stack_id, at_ns, GP_STACK_SYMBOLS,
						 &stack, frame, GP_FRAMES_MAX))
		return;
	gp_recording_names(recording, frame, stack.frames, &names);
	if (is_block)
		library = names.workspace;
	else if (stack.has_native && names.is_own)
		out->owner = GP_IDLE_PROGRAM;
	else if (stack.has_native)
		library = names.library;
	if (library[0] == '\0')
		return;
	out->owner = is_block ? GP_IDLE_WORKSPACE : GP_IDLE_LIBRARY;
	snprintf(out->library, sizeof out->library, "%.*s", (int)GP_OWNER_MAX - 1, library);
}

bool gp_idle_owner_find(struct gp_idle_owner_table *t, uint32_t stack, uint8_t space, int64_t at_ns,
			struct gp_idle_holder *out)
{
	const bool is_block = space == GP_SPACE_BLOCK;
	*out = (struct gp_idle_holder){ .owner = GP_IDLE_PROCESS };
	/* memory of another process belongs to that process, whoever opened it here */
	if (space == GP_SPACE_IPC)
		return true;
	struct known *k =
		gp_row_get_key(&t->rows, sizeof *k, (uint64_t)stack << 1 | (uint64_t)is_block);
	if (k == NULL)
		return false;
	if (!k->is_looked_up)
		idle_owner_look_up(t->recording, stack, is_block, at_ns, &k->holder);
	k->is_looked_up = true;
	*out = k->holder;
	return true;
}

void gp_idle_owner_release(struct gp_idle_owner_table *t)
{
	gp_row_table_release(&t->rows);
}
