/*
 * Stacks of calls as call chains: functions, their libraries or files, and addresses. The table has
 * no column for lines. An id of a stack is one chain for each of its meanings (gp_stack_epoch).
 */
#include "nsys_rows.h"
#include "table_stacks.h"

static void frame_add(struct gp_nsys *n, uint32_t id, uint32_t depth, const struct gp_frame *f)
{
	const char *module = f->is_python ? f->file : f->module;
	/* without the offset that labels have: texts stay in memory */
	const uint32_t symbol = gp_nsys_text(n, f->function ? f->function : "unresolved"),
		       in = gp_nsys_text(n, module ? module : "");
	struct gp_rows *row = &n->row;
	gp_row_number(row, id);
	gp_row_number(row, symbol);
	gp_row_number(row, in);
	gp_row_number(row, !f->function);
	gp_row_number_if(row, !f->is_python, f->address);
	gp_row_number(row, depth);
	gp_nsys_add(n, NSYS_CUDA_CALLCHAINS);
}

static uint32_t frames_add(struct gp_nsys *n, uint32_t stack, int64_t at_ns)
{
	static struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_stack found;
	if (n->frames_left < GP_FRAMES_MAX) {
		n->stacks_beyond++;
		return 0;
	}
	if (!gp_recording_stack(n->e->recording, stack, at_ns, GP_STACK_FOLDED, &found, frame,
				GP_FRAMES_MAX) ||
	    !found.frames)
		return 0;
	n->frames_left -= found.frames;
	n->callchains++;
	for (size_t k = 0; k < found.frames; k++)
		frame_add(n, n->callchains, (uint32_t)k, &frame[k]);
	return n->callchains;
}

uint32_t gp_nsys_callchain(struct gp_nsys *n, uint32_t stack, int64_t at_ns)
{
	if (!stack || !n->epochs)
		return 0;
	const uint32_t epoch = gp_stack_epoch(n->epochs, at_ns);
	struct gp_pickle_row *row = gp_pickle_row_get(&n->stacks, stack, epoch, NULL);
	if (!row) {
		n->file.status = GP_E_MEMORY;
		return 0;
	}
	if (!row->memo)
		row->memo = 1 + frames_add(n, stack, at_ns);
	return row->memo - 1;
}
