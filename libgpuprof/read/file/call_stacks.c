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
	/* CALL_STACK: native; PYTHON_CODE: first line; TORCH_MODULE: within */
	uint32_t parent;
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
		uint32_t module;  /* CALL_STACK */
		const char *name; /* TORCH_MODULE: its class; `file` is its name */
	};
};

struct gp_call_stacks {
	struct row *row;
	size_t room, stacks, modules;
	size_t modules_ranked; /* when main_root was found */
	uint32_t main_root;
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
	case GP_TORCH_MODULE:
		row.parent = (uint32_t)(r->kind == GP_PYTHON_CODE ? r->python_code.first_line :
								    r->torch_module.within);
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
		row.module = (uint32_t)(r->call_stack.why_python >> GP_WHY_MODULE_SHIFT);
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
	s->modules += row.kind == GP_TORCH_MODULE && s->row[id].kind != GP_TORCH_MODULE;
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
		.module = stack->module,
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

/* ---- modules of PyTorch ---- */

bool gp_call_stacks_module(const struct gp_call_stacks *s, uint32_t id, struct gp_torch_module *out)
{
	const struct row *row = id != 0 ? get(s, id, GP_TORCH_MODULE) : NULL;
	if (row == NULL)
		return false;
	/* ids increase inwards, so no chain is a circle */
	*out = (struct gp_torch_module){ .id = id,
					 .within = row->parent < id ? row->parent : 0,
					 .name = row->file != NULL ? row->file : "",
					 .class = row->name != NULL ? row->name : "" };
	return true;
}

uint32_t gp_call_stacks_main_root(struct gp_call_stacks *s)
{
	if (s->modules == s->modules_ranked)
		return s->main_root;
	struct count {
		uint32_t root, modules;
	} *of = calloc(s->room, sizeof *of);
	struct gp_torch_module m;
	s->main_root = 0;
	for (uint32_t id = 1; of != NULL && id < s->room; id++) {
		if (!gp_call_stacks_module(s, id, &m))
			continue;
		of[id].root = of[m.within].root != 0 ? of[m.within].root : id;
		const uint32_t modules = ++of[of[id].root].modules;
		if (s->main_root == 0 || modules > of[s->main_root].modules)
			s->main_root = of[id].root;
	}
	s->modules_ranked = of != NULL ? s->modules : 0;
	free(of);
	return s->main_root;
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
