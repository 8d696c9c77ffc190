/* Frames, stacks and rows, found by two hashes of their content: equal ones are kept once. */
#include "value_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define REASON_ROOM 1024u

/* Room for one more element of an array. False: out of memory. */
static bool values_grow(struct gp_value_table *m, void *array, size_t count, size_t *room,
			size_t bytes)
{
	void **at = array;
	if (count < *room)
		return true;
	const size_t more = *room ? *room * 2 : 64;
	void *moved = more < SIZE_MAX / bytes ? realloc(*at, more * bytes) : NULL;
	m->is_out_of_memory |= !moved;
	if (!moved)
		return false;
	*at = moved;
	*room = more;
	return true;
}

struct gp_pickle_row *gp_table_key(struct gp_value_table *m, struct gp_pickle_rows *rows,
				   uint64_t key, uint64_t more)
{
	struct gp_pickle_row *row = gp_pickle_row_get(rows, key, more, NULL);
	m->is_out_of_memory |= !row;
	return row;
}

const char *gp_table_text(struct gp_value_table *m, const char *text)
{
	struct gp_pickle_row *row = gp_pickle_row_get(&m->texts, gp_hash_text(text), 0, text);
	m->is_out_of_memory |= !row;
	return row ? row->text : "";
}

static uint64_t text_hash(const char *text)
{
	return text ? gp_hash_text(text) : 0;
}

/* ---- frames and stacks ---- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

void gp_frame_place(const struct gp_frame *f, char *out, size_t room)
{
	if (f->is_python)
		snprintf(out, room, "unknown");
	else if (f->module)
		snprintf(out, room, "%s+0x%" PRIx64, last_part(f->module), f->module_offset);
	else
		snprintf(out, room, "0x%" PRIx64, f->address);
}

uint32_t gp_table_frame(struct gp_value_table *m, const struct gp_value_frame *f)
{
	uint64_t key = gp_hash_pair(gp_hash_text(f->name), text_hash(f->file));
	uint64_t more = gp_hash_pair(text_hash(f->module), f->line);
	key = gp_hash_pair(key, f->address);
	more = gp_hash_pair(more, (uint64_t)f->is_inlined << 1 | f->is_python);
	struct gp_pickle_row *row = gp_table_key(m, &m->frames, key, more);
	struct gp_stack_values *out = m->out;
	if (row && row->memo)
		return row->memo - 1;
	if (!row || !values_grow(m, &out->frame, out->frames, &m->room_frame, sizeof *out->frame))
		return 0;
	out->frame[out->frames] = *f;
	row->memo = (uint32_t)++out->frames;
	return row->memo - 1;
}

static uint32_t frame_of_text(struct gp_value_table *m, const char *text)
{
	const char *name = gp_table_text(m, text);
	return gp_table_frame(m, &(struct gp_value_frame){ .name = name, .symbol = name });
}

/* A frame that is a reason, not a function: "(no stack was recorded)". */
static uint32_t frame_of_reason(struct gp_value_table *m, const char *reason)
{
	char text[REASON_ROOM];
	snprintf(text, sizeof text, "(%s)", reason);
	return frame_of_text(m, text);
}

static uint32_t frame_of(struct gp_value_table *m, const struct gp_frame *f)
{
	char place[600];
	const char *name = f->function;
	if (!name) {
		gp_frame_place(f, place, sizeof place);
		name = gp_table_text(m, place);
	}
	const bool has_address = m->wish.has_addresses && !f->is_python;
	return gp_table_frame(
		m, &(struct gp_value_frame){ .name = name,
					     .symbol = name,
					     .file = f->file,
					     .module = f->module,
					     .address = has_address ? f->address : 0,
					     .module_offset = has_address ? f->module_offset : 0,
					     .line = f->line,
					     .is_inlined = m->wish.has_addresses && f->is_inlined,
					     .is_python = f->is_python });
}

/* The index of the stack with these frames. */
static uint32_t stack_add(struct gp_value_table *m, const uint32_t *frame, uint32_t frames)
{
	struct gp_stack_values *out = m->out;
	uint64_t key = frames, more = 0;
	for (uint32_t k = 0; k < frames; k++) {
		key = gp_hash_pair(key, frame[k]);
		more = gp_hash_pair(frame[k], more);
	}
	struct gp_pickle_row *row = gp_table_key(m, &m->stacks, key, more);
	if (row && row->memo)
		return row->memo - 1;
	if (!row || !values_grow(m, &out->stack, out->stacks, &m->room_stack, sizeof *out->stack))
		return 0;
	out->stack[out->stacks] = (struct gp_value_stack){ m->indexes, frames };
	row->memo = (uint32_t)++out->stacks;
	for (uint32_t k = 0; k < frames; k++) {
		if (!values_grow(m, &out->index, m->indexes, &m->room_index, sizeof *out->index))
			return 0;
		out->index[m->indexes++] = frame[k];
	}
	return row->memo - 1;
}

struct gp_stack_place gp_table_reason(struct gp_value_table *m, const char *reason)
{
	const uint32_t frame = frame_of_reason(m, reason);
	return (struct gp_stack_place){ .stack = stack_add(m, &frame, 1) };
}

/* Why the outermost frame is not the first of its thread; NULL: it is. */
static const char *stack_cut(const struct gp_stack *s, const struct gp_frame *frame)
{
	const bool is_whole = (s->is_python_whole && s->frames && frame[s->frames - 1].is_python) ||
			      (s->has_native && s->is_native_whole);
	return is_whole ? NULL : s->missing;
}

static struct gp_stack_place recorded_place(struct gp_value_table *m, uint32_t stack, int64_t at_ns)
{
	struct gp_recording *recording = m->e->recording;
	struct gp_stack s;
	struct gp_names names = { 0 };
	uint32_t frames = 0;
	if (!gp_recording_stack(recording, stack, at_ns, GP_STACK_SYMBOLS, &s, m->found,
				GP_FRAMES_MAX))
		return gp_table_reason(m, "unknown stack");
	gp_recording_names(recording, m->found, s.frames, &names);
	gp_recording_stack(recording, stack, at_ns, GP_STACK_FOLDED, &s, m->found, GP_FRAMES_MAX);
	for (size_t k = 0; k < s.frames; k++)
		m->list[frames++] = frame_of(m, &m->found[k]);
	const char *cut = stack_cut(&s, m->found);
	if (cut || !frames)
		m->list[frames++] = frame_of_reason(m, cut ? cut : "a stack without frames");
	return (struct gp_stack_place){
		.stack = stack_add(m, m->list, frames),
		.owner = names.library[0] ? gp_table_text(m, names.library) : NULL,
		.op = names.operator[0] ? gp_table_text(m, names.operator) : NULL,
	};
}

struct gp_stack_place gp_table_place(struct gp_value_table *m, uint32_t stack, int64_t at_ns)
{
	const uint32_t epoch = gp_stack_epoch(m->epochs, at_ns);
	struct gp_pickle_row *row = gp_table_key(m, &m->places, stack, epoch);
	if (row && row->memo)
		return m->place[row->memo - 1];
	if (!row || !values_grow(m, &m->place, m->place_count, &m->room_place, sizeof *m->place))
		return (struct gp_stack_place){ 0 };
	const struct gp_stack_place place = recorded_place(m, stack, at_ns);
	m->place[m->place_count++] = place;
	row->memo = (uint32_t)m->place_count;
	return place;
}

/* ---- rows ---- */

struct gp_value_row *gp_table_row(struct gp_value_table *m, const struct gp_value_row *like)
{
	struct gp_stack_values *out = m->out;
	uint64_t key = (uint64_t)like->stack << 32 | like->leaf, more = like->device;
	for (unsigned k = 0; m->wish.has_labels && k < GP_VALUE_LABELS; k++) {
		key = gp_hash_pair(key, text_hash(like->label[k]));
		more = gp_hash_pair(text_hash(like->label[k]), more);
	}
	struct gp_pickle_row *row = gp_table_key(m, &m->rows, key, more);
	if (row && row->memo)
		return &out->row[row->memo - 1];
	if (!row || !values_grow(m, &out->row, out->rows, &m->room_row, sizeof *out->row))
		return NULL;
	out->row[out->rows] = *like;
	row->memo = (uint32_t)++out->rows;
	return &out->row[row->memo - 1];
}
