/*
 * A block of the framework is the program's unless its stack shows that the framework keeps it for
 * a library. Memory of the driver belongs to who called for it, which native frames alone tell.
 */
#include "idle_owner.h"

#include <stdio.h>

struct known {
	uint32_t stack;
	bool is_block;
	struct gp_idle_whose whose;
};

static void idle_owner_look_up(struct gp_recording *recording, int64_t at_ns, struct known *k)
{
	struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_stack stack;
	struct gp_names names;
	const char *library = "";
	k->whose.owner = k->is_block ? GP_IDLE_BLOCK : GP_IDLE_ANYBODY;
	if (k->stack == 0 || !gp_recording_stack(recording, k->stack, at_ns, GP_STACK_SYMBOLS,
						 &stack, frame, GP_FRAMES_MAX))
		return;
	gp_recording_names(recording, frame, stack.frames, &names);
	if (k->is_block)
		library = names.workspace;
	else if (stack.has_native && names.is_own)
		k->whose.owner = GP_IDLE_PROGRAM;
	else if (stack.has_native)
		library = names.library;
	if (library[0] == '\0')
		return;
	k->whose.owner = k->is_block ? GP_IDLE_WORKSPACE : GP_IDLE_LIBRARY;
	snprintf(k->whose.library, sizeof k->whose.library, "%.*s", (int)GP_OWNER_MAX - 1, library);
}

bool gp_idle_owner_find(struct gp_idle_owner_table *t, uint32_t stack, uint8_t space, int64_t at_ns,
			struct gp_idle_whose *out)
{
	const bool is_block = space == GP_SPACE_BLOCK;
	const uint32_t hash = gp_row_hash((uint64_t)stack << 1 | is_block);
	struct known *k = t->rows.row;
	*out = (struct gp_idle_whose){ .owner = GP_IDLE_PROCESS };
	/* memory of another process counts there, whoever opened it here */
	if (space == GP_SPACE_IPC)
		return true;
	for (uint32_t step = 0, at; (at = gp_row_next(&t->rows, hash, &step)) != 0;) {
		if (k[at - 1].stack != stack || k[at - 1].is_block != is_block)
			continue;
		*out = k[at - 1].whose;
		return true;
	}
	k = gp_row_add(&t->rows, sizeof *k, hash);
	if (k == NULL)
		return false;
	k->stack = stack;
	k->is_block = is_block;
	idle_owner_look_up(t->recording, at_ns, k);
	*out = k->whose;
	return true;
}

void gp_idle_owner_release(struct gp_idle_owner_table *t)
{
	gp_row_table_release(&t->rows);
}
