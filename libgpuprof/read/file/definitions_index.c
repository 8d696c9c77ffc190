/*
 * What handles and ids mean: the newest DEFINE record of each (kind, key). Texts are kept once and
 * live as long as the recording is open, so that a name once handed out stays valid when its handle
 * is given to something else.
 */
#include <stdlib.h>
#include <string.h>

#include "../tables/array.h"
#include "../tables/row_table.h"
#include "../tables/text_store.h"
#include "recording.h"

#define KINDS 17u /* kinds of definitions are below 16; the last is GPU_FUNCTION's */
/* A definition may take a single byte of a file, and 40 here: jobs have some 10,000 of a kind. */
#define DEFINITIONS_MAX (1u << 21)
/* Numbers of GPU, FACT, ARENA and GPU_FUNCTION are less. Recorders need 16 bits at most. */
#define NUMBERS_MAX 65536u

struct definition {
	uint64_t key;
	uint32_t value; /* of gp_named */
	uint32_t text;	/* of the store; 0: none */
};

/* Kept whole, by number. */
struct numbered {
	struct gp_record *record; /* kind 0: unknown */
	size_t room;
	uint32_t *text;
	size_t text_room;
};

struct gp_definitions_index {
	struct gp_row_table table[KINDS]; /* of struct meaning */
	struct numbered numbered[KINDS];
	struct gp_text_store texts;
	struct gp_call_stacks *stacks;
	struct gp_module_list modules;
	bool has_left_out; /* beyond DEFINITIONS_MAX of a kind or NUMBERS_MAX */
};

struct gp_definitions_index *gp_defined_open(void)
{
	struct gp_definitions_index *m = calloc(1, sizeof *m);
	if (m != NULL)
		m->stacks = gp_call_stacks_open();
	if (m == NULL || m->stacks != NULL)
		return m;
	free(m);
	return NULL;
}

void gp_defined_clear(struct gp_definitions_index *m)
{
	for (unsigned kind = 0; kind < KINDS; kind++) {
		struct numbered *n = &m->numbered[kind];
		gp_row_table_clear(&m->table[kind]);
		if (n->room != 0)
			memset(n->record, 0, n->room * sizeof *n->record);
	}
}

void gp_defined_close(struct gp_definitions_index *m)
{
	if (m == NULL)
		return;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		gp_row_table_release(&m->table[kind]);
		free(m->numbered[kind].record);
		free(m->numbered[kind].text);
	}
	gp_text_store_release(&m->texts);
	gp_call_stacks_close(m->stacks);
	gp_module_list_release(&m->modules);
	free(m);
}

/* Its place in the arrays; KINDS: its definitions are not kept here. */
static unsigned definitions_index_of(unsigned kind)
{
	return kind < KINDS - 1 ? kind : kind == GP_GPU_FUNCTION ? KINDS - 1 : KINDS;
}

/* ---- by key ---- */

static uint64_t key_of(const struct gp_record *r)
{
	switch (r->kind) {
	case GP_THREAD:
	case GP_RANGE_NAME:
	case GP_MODULE:
		return r->aux;
	case GP_OBJECT_NAME:
		return GP_OBJECT_KEY(r->aux, r->object_name.handle);
	default:
		return r->v[0];
	}
}

static enum gp_status table_add(struct gp_definitions_index *index, const struct gp_record *r,
				uint32_t text)
{
	struct gp_row_table *t = &index->table[r->kind];
	struct definition *m = gp_row_of_key(t, sizeof *m, key_of(r));
	const bool has_value = r->kind == GP_THREAD || r->kind == GP_RANGE_NAME;
	/* readers of other kinds use only the text */
	if (m == NULL && text == 0 && !has_value)
		return GP_OK;
	if (m == NULL && t->rows == DEFINITIONS_MAX) {
		index->has_left_out = true;
		return GP_OK;
	}
	if (m == NULL)
		m = gp_row_get_key(t, sizeof *m, key_of(r));
	if (m == NULL)
		return GP_E_MEMORY;
	m->text = text;
	if (r->kind == GP_THREAD)
		m->value = (uint32_t)r->thread.tid;
	if (r->kind == GP_RANGE_NAME)
		m->value = r->range_name.is_cut != 0;
	return GP_OK;
}

/* ---- by number ---- */

static bool definitions_index_is_whole(unsigned kind)
{
	return kind == GP_GPU || kind == GP_FACT || kind == GP_ARENA || kind == GP_GPU_FUNCTION;
}

static enum gp_status numbered_add(struct gp_definitions_index *index, const struct gp_record *r,
				   uint32_t text)
{
	struct numbered *n = &index->numbered[definitions_index_of(r->kind)];
	const uint32_t number = r->kind == GP_GPU ? r->device : r->aux;
	if (number >= NUMBERS_MAX) {
		index->has_left_out = true;
		return GP_OK;
	}
	if (!gp_array_reach(&n->text, &n->text_room, number, sizeof *n->text) ||
	    !gp_array_reach(&n->record, &n->room, number, sizeof *n->record))
		return GP_E_MEMORY;
	n->record[number] = *r;
	n->text[number] = text;
	return GP_OK;
}

/* ---- both ---- */

static const char *kept_text(struct gp_definitions_index *m, const char *text, size_t n)
{
	return gp_text_store_get(&m->texts, gp_text_store_add(&m->texts, text, n));
}

/* Its text is two: file, NUL, name; of a module its name and class. */
static enum gp_status add_stack_part(struct gp_definitions_index *m, const struct gp_record *record)
{
	size_t n;
	const char *text = gp_record_text(record, &n), *file = NULL, *name = NULL;
	if (text != NULL) {
		size_t file_bytes = strnlen(text, n);
		file = kept_text(m, text, file_bytes);
		name = file_bytes < n ? kept_text(m, text + file_bytes + 1, n - file_bytes - 1) :
					"";
		if (file == NULL || name == NULL)
			return GP_E_MEMORY;
	}
	return gp_call_stacks_add(m->stacks, record, file, name);
}

struct gp_call_stacks *gp_defined_stacks(const struct gp_definitions_index *m)
{
	return m->stacks;
}

const struct gp_module_list *gp_defined_modules(const struct gp_definitions_index *m)
{
	return &m->modules;
}

enum gp_status gp_defined_add(struct gp_definitions_index *m, const struct gp_record *record)
{
	if ((record->kind >= GP_PYTHON_CODE && record->kind <= GP_CALL_STACK) ||
	    record->kind == GP_TORCH_MODULE)
		return add_stack_part(m, record);
	if (definitions_index_of(record->kind) == KINDS)
		return GP_OK;
	size_t n;
	const char *letters = gp_record_text(record, &n);
	const uint32_t text = letters != NULL ? gp_text_store_add(&m->texts, letters, n) : 0;
	if (letters != NULL && text == 0)
		return GP_E_MEMORY;
	enum gp_status status = definitions_index_is_whole(record->kind) ?
					numbered_add(m, record, text) :
					table_add(m, record, text);
	if (status != GP_OK || record->kind != GP_MODULE)
		return status;
	return gp_module_list_add(&m->modules, record, gp_text_store_get(&m->texts, text));
}

bool gp_defined_has_left_out(const struct gp_definitions_index *m)
{
	return m->has_left_out;
}

const struct gp_record *gp_defined_record(const struct gp_definitions_index *m, enum gp_kind kind,
					  uint64_t number)
{
	const struct numbered *n = &m->numbered[definitions_index_of(kind)];
	return number < n->room && n->record[number].kind != 0 ? &n->record[number] : NULL;
}

static struct gp_named shown(const struct gp_definitions_index *m,
			     const struct definition *definition)
{
	return (struct gp_named){ definition->value,
				  gp_text_store_get(&m->texts, definition->text) };
}

bool gp_defined_get(const struct gp_definitions_index *m, enum gp_kind kind, uint64_t key,
		    struct gp_named *out)
{
	const struct definition *known = gp_row_of_key(&m->table[kind], sizeof *known, key);
	*out = known != NULL ? shown(m, known) : (struct gp_named){ 0 };
	return known != NULL;
}

const char *gp_defined_text(const struct gp_definitions_index *m, enum gp_kind kind, uint64_t key)
{
	struct gp_named definition;
	const unsigned at = definitions_index_of(kind);
	if (at == KINDS)
		return NULL;
	if (definitions_index_is_whole(kind))
		return gp_defined_record(m, kind, key) != NULL ?
			       gp_text_store_get(&m->texts, m->numbered[at].text[key]) :
			       NULL;
	gp_defined_get(m, kind, key, &definition);
	return definition.text;
}

void gp_defined_visit(const struct gp_definitions_index *m, enum gp_kind kind,
		      void (*visit)(void *context, const struct gp_named *), void *context)
{
	const struct definition *definition = m->table[kind].row;
	for (uint32_t at = 0; at < m->table[kind].rows; at++) {
		const struct gp_named named = shown(m, &definition[at]);
		visit(context, &named);
	}
}
