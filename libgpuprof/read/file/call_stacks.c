/* Rows by id; the array grows with the ids. A row takes 24 bytes a frame. */
#include "call_stacks.h"

#include <stdlib.h>

#include "../tables/array.h"

/*
 * The highest number of ids that a writer can assign. A file with more is damaged in a way that its
 * checksums do not show.
 */
#define IDS_MAX (GP_STACK_CHUNK * GP_STACK_CHUNKS_MAX)

struct row {
	uint16_t kind; /* enum gp_kind; 0: unknown */
	/* PYTHON_FRAME: is_entry and bare_entries, as in `place`; NATIVE_FRAME: runs_python */
	uint16_t entries;
	uint32_t parent; /* CALL_STACK: native; PYTHON_CODE: first line */
	union {
		uint64_t pc;
		struct {
			uint32_t code, line;
		} python;
		struct {
			uint32_t python;
			uint16_t why_native, why_python;
		} stack;
		const char *file;
	};
	union {
		int32_t offset;
		const char *name;
	};
};

struct gp_call_stacks {
	struct row *row;
	size_t room, stacks;
	bool has_native, has_python;
};

struct gp_call_stacks *gp_call_stacks_open(void)
{
	return calloc(1, sizeof(struct gp_call_stacks));
}

void gp_call_stacks_close(struct gp_call_stacks *s)
{
	if (s != NULL)
		free(s->row);
	free(s);
}

static struct row row_of(const struct gp_record *r, const char *file, const char *name)
{
	struct row row = { .kind = r->kind };
	switch (r->kind) {
	case GP_PYTHON_CODE:
		row.parent = (uint32_t)r->python_code.first_line;
		row.file = file;
		row.name = name;
		break;
	case GP_NATIVE_FRAME:
		row.parent = (uint32_t)r->native_frame.parent;
		row.pc = r->native_frame.pc;
		row.entries = r->native_frame.runs_python & 1;
		break;
	case GP_PYTHON_FRAME:
		row.parent = (uint32_t)r->python_frame.parent;
		row.python.code = (uint32_t)r->python_frame.python_code;
		row.python.line = (uint32_t)r->python_frame.line;
		row.entries = (uint16_t)(r->python_frame.place & 511);
		row.offset = (int32_t)(uint32_t)(r->python_frame.place >> 9);
		break;
	case GP_CALL_STACK:
		row.parent = (uint32_t)r->call_stack.native;
		row.stack.python = (uint32_t)r->call_stack.python;
		row.stack.why_native = (uint16_t)r->call_stack.why_native;
		row.stack.why_python = (uint16_t)r->call_stack.why_python;
		break;
	default:
		row.kind = 0;
		break;
	}
	return row;
}

enum gp_status gp_call_stacks_add(struct gp_call_stacks *s, const struct gp_record *record,
				  const char *file, const char *name)
{
	uint32_t id = record->aux;
	if (id == 0 || id >= IDS_MAX)
		return GP_E_DAMAGED;
	if (!gp_array_reach(&s->row, &s->room, id, sizeof *s->row))
		return GP_E_MEMORY;
	struct row row = row_of(record, file, name);
	s->stacks += row.kind == GP_CALL_STACK && s->row[id].kind != GP_CALL_STACK;
	s->row[id] = row;
	s->has_native |= row.kind == GP_NATIVE_FRAME;
	s->has_python |= row.kind == GP_PYTHON_FRAME;
	return GP_OK;
}

bool gp_call_stacks_has_native(const struct gp_call_stacks *s)
{
	return s->has_native;
}

bool gp_call_stacks_has_python(const struct gp_call_stacks *s)
{
	return s->has_python;
}

static const struct row *get(const struct gp_call_stacks *s, uint32_t id, enum gp_kind kind)
{
	return id < s->room && s->row[id].kind == kind ? &s->row[id] : NULL;
}

static void fill_python(const struct gp_call_stacks *s, const struct row *row,
			struct gp_python_frame *out)
{
	const struct row *code = get(s, row->python.code, GP_PYTHON_CODE);
	*out = (struct gp_python_frame){
		.file = code ? code->file : NULL,
		.name = code ? code->name : NULL,
		.first_line = code ? code->parent : 0,
		.line = row->python.line,
		.offset = row->offset,
		.is_entry = row->entries & 1,
		.bare_entries = (uint8_t)(row->entries >> 1),
	};
}

bool gp_call_stacks_get(const struct gp_call_stacks *s, uint32_t id, struct gp_call_stack *out,
			struct gp_native_frame *native, struct gp_python_frame *python, size_t most)
{
	const struct row *stack = id != 0 ? get(s, id, GP_CALL_STACK) : NULL;
	if (stack == NULL)
		return false;
	*out = (struct gp_call_stack){
		.why_native = (enum gp_stack_why)stack->stack.why_native,
		.why_python = (enum gp_stack_why)stack->stack.why_python,
	};
	uint32_t at = stack->parent;
	for (const struct row *row; out->natives < most && (row = get(s, at, GP_NATIVE_FRAME));
	     at = row->parent)
		native[out->natives++] = (struct gp_native_frame){ row->pc, row->entries & 1 };
	at = stack->stack.python;
	for (const struct row *row; out->pythons < most && (row = get(s, at, GP_PYTHON_FRAME));
	     at = row->parent)
		fill_python(s, row, &python[out->pythons++]);
	return true;
}

void gp_call_stacks_visit_native(const struct gp_call_stacks *s,
				 void (*visit)(void *context, uint64_t pc), void *context)
{
	for (size_t id = 0; id < s->room; id++)
		if (s->row[id].kind == GP_NATIVE_FRAME)
			visit(context, s->row[id].pc);
}

size_t gp_call_stacks_count(const struct gp_call_stacks *s)
{
	return s->stacks;
}
