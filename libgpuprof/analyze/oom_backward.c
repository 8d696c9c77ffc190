/*
 * Whether training had come past a backward pass before memory ran out. What only a forward pass
 * gathers are activations, which its backward frees: no leak. By the stacks of the framework's
 * blocks, since most jobs open no range for a backward.
 */
#include "../read/frame_phase.h"
#include "../read/recording.h"
#include "row_table.h"

struct stack_row {
	uint32_t id;
	bool is_backward;
};

static bool stack_is_backward(struct gp_recording *r, uint32_t id, int64_t at_ns)
{
	struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_stack stack;
	if (id == 0 ||
	    !gp_recording_stack(r, id, at_ns, GP_STACK_SYMBOLS, &stack, frame, GP_FRAMES_MAX))
		return false;
	for (size_t k = 0; k < stack.frames; k++) {
		const enum gp_frame_phase phase = gp_frame_phase(&frame[k]);
		if (phase == GP_FRAME_BACKWARD || phase == GP_FRAME_ENGINE_THREAD)
			return true;
	}
	return false;
}

/* NULL: no memory. */
static const struct stack_row *stack_row_get(struct gp_row_table *stacks, struct gp_recording *r,
					     uint32_t id, int64_t at_ns)
{
	const uint32_t hash = gp_row_hash(id);
	struct stack_row *row = stacks->row;
	for (uint32_t step = 0, at; (at = gp_row_next(stacks, hash, &step)) != 0;)
		if (row[at - 1].id == id)
			return &row[at - 1];
	row = gp_row_add(stacks, sizeof *row, hash);
	if (row != NULL)
		*row = (struct stack_row){ id, stack_is_backward(r, id, at_ns) };
	return row;
}

enum gp_status gp_oom_backward_find(struct gp_recording *r, const struct gp_oom *oom,
				    int64_t from_ns, enum gp_backward_seen *out)
{
	struct gp_row_table stacks = { 0 };
	uint32_t thread;
	enum gp_status status = gp_recording_rewind(r);
	*out = GP_BACKWARD_NONE;
	while (status == GP_OK && *out != GP_BACKWARD_ENDED) {
		const struct gp_record *e = gp_recording_step(r, &thread, &status);
		const int64_t at_ns = e != NULL ? gp_tick_ns(&r->tick, e->time) : 0;
		if (e == NULL || at_ns > oom->at_ns)
			break;
		if ((e->kind != GP_BLOCK_ALLOC && e->kind != GP_OOM) || at_ns < from_ns)
			continue;
		const struct stack_row *row = stack_row_get(&stacks, r, e->stack, at_ns);
		if (row == NULL)
			status = GP_E_MEMORY;
		else if (row->is_backward)
			*out = GP_BACKWARD_UNDER_WAY;
		else if (*out == GP_BACKWARD_UNDER_WAY)
			*out = GP_BACKWARD_ENDED;
	}
	gp_row_table_release(&stacks);
	return status == GP_END ? GP_OK : status;
}
