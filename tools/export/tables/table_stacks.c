/*
 * A stack is looked up when its number is first needed. Frames with equal texts are one row.
 */
#include "table_stacks.h"

#include <stdlib.h>

struct gp_table_stacks *gp_table_stacks_open(const struct gp_export *e, struct gp_rows *rows)
{
	struct gp_table_stacks *s = calloc(1, sizeof *s);
	rows->status = s ? GP_OK : GP_E_MEMORY;
	if (!s)
		return NULL;
	s->rows = rows;
	s->recording = e->recording;
	s->has_stacks = e->has_stacks;
	s->frames_left = gp_table_frames_most(e->info);
	if (s->has_stacks)
		rows->status = gp_stack_epochs_open(e->recording, &s->epochs);
	return s;
}

void gp_table_stacks_close(struct gp_table_stacks *s)
{
	if (!s)
		return;
	gp_stack_epochs_close(s->epochs);
	gp_pickle_rows_release(&s->stack);
	gp_pickle_rows_release(&s->frame);
	free(s);
}

static void frame_write(struct gp_table_stacks *s, uint32_t number, const struct gp_frame *f)
{
	char label[1024];
	struct gp_rows *rows = s->rows;
	if (!gp_rows_want(rows, GP_TABLE_frames))
		return;
	gp_frame_label(f, NULL, label, sizeof label);
	gp_row_begin(rows, GP_TABLE_frames);
	gp_row_number(rows, number);
	gp_row_text(rows, label);
	gp_row_text(rows, f->function);
	gp_row_text(rows, f->file);
	gp_row_number_if(rows, f->line != 0, f->line);
	gp_row_text(rows, f->module);
	gp_row_number_if(rows, f->module != NULL, f->module_offset);
	gp_row_number(rows, f->is_python);
	gp_row_end(rows);
}

static uint32_t frame_number(struct gp_table_stacks *s, const struct gp_frame *f)
{
	const char *function = f->function ? f->function : "", *file = f->file ? f->file : "";
	const char *module = f->module ? f->module : "";
	const uint64_t place =
		gp_hash_pair(f->module_offset, (uint64_t)f->line << 1 | f->is_python);
	struct gp_pickle_row *row = gp_pickle_row_get(
		&s->frame, gp_hash_pair(gp_hash_text(function), gp_hash_text(file)),
		gp_hash_pair(gp_hash_text(module), f->module ? place : place ^ f->address), NULL);
	if (!row) {
		s->rows->status = GP_E_MEMORY;
		return 0;
	}
	if (!row->memo) {
		row->memo = ++s->frames;
		frame_write(s, row->memo, f);
	}
	return row->memo;
}

static void stack_write(struct gp_table_stacks *s, uint32_t number, uint32_t id, int64_t at_ns)
{
	char module[GP_MODULES_MAX];
	struct gp_rows *rows = s->rows;
	struct gp_stack found = { 0 };
	const bool has_room = s->frames_left >= GP_FRAMES_MAX;
	const bool is_known =
		has_room && gp_recording_stack(s->recording, id, at_ns, GP_STACK_FOLDED, &found,
					       s->found, GP_FRAMES_MAX);
	const size_t frames = is_known ? found.frames : 0;
	s->frames_left -= frames;
	gp_recording_module_path(s->recording, found.module, module, sizeof module);
	gp_row_begin(rows, GP_TABLE_stacks);
	gp_row_number(rows, number);
	gp_row_number(rows, id);
	gp_row_text(rows, module[0] ? module : NULL);
	gp_row_text(rows, is_known ? found.missing :
			  has_room ? "unknown" :
				     "too many frames in the stacks before it");
	gp_row_end(rows);
	for (size_t k = 0; k < frames; k++) {
		const uint32_t frame = frame_number(s, &s->found[k]);
		if (!gp_rows_want(rows, GP_TABLE_stack_frames))
			continue;
		gp_row_begin(rows, GP_TABLE_stack_frames);
		gp_row_number(rows, number);
		gp_row_number(rows, k);
		gp_row_number(rows, frame);
		gp_row_end(rows);
	}
}

uint32_t gp_table_stacks_find(struct gp_table_stacks *s, uint32_t id, int64_t at_ns)
{
	if (!id || !s->has_stacks)
		return 0;
	const uint32_t epoch = gp_stack_epoch(s->epochs, at_ns);
	struct gp_pickle_row *row = gp_pickle_row_get(&s->stack, id, epoch, NULL);
	if (!row) {
		s->rows->status = GP_E_MEMORY;
		return 0;
	}
	if (row->memo)
		return row->memo;
	const uint32_t number = row->memo = ++s->stacks;
	if (gp_rows_want(s->rows, GP_TABLE_stacks) || gp_rows_want(s->rows, GP_TABLE_frames) ||
	    gp_rows_want(s->rows, GP_TABLE_stack_frames))
		stack_write(s, number, id, at_ns);
	return number;
}
