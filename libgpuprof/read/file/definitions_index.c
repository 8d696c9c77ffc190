/*
 * What handles and ids mean: the newest DEFINE record of each (kind, key). Texts are kept once and
 * live as long as the recording is open, so that a name once handed out stays valid when its handle
 * is given to something else. A definition may take a single byte of a file: what may have as many
 * keys as a file has bytes is kept in 16 bytes, and 4 at most in the index.
 */
#include <stdlib.h>
#include <string.h>

#include "../../format/seeded_hash.h"
#include "../tables/array.h"
#include "../tables/text_store.h"
#include "recording.h"

#define KINDS 16u /* those of definitions are below */
#define PIECE 4096u
#define MEANINGS_A_HEAD 2u
/* GPU, FACT and ARENA: what events and facts name is less */
#define NUMBERS_MAX 65536u

struct meaning {
	uint64_t key;  /* where it is a number: `value` in the upper half */
	uint32_t text; /* of the store; 0: none */
	uint32_t next; /* 1 + that of its chain */
};

/* Of one kind. The meanings lie in pieces, so none moves and none is there twice. */
struct meaning_table {
	struct meaning **piece;
	size_t piece_room;
	uint32_t *head; /* 1 + newest meaning of each hash */
	size_t heads;
	uint32_t count;
};

/* Kept whole, by number. */
struct numbered {
	struct gp_record *record; /* kind 0: unknown */
	size_t room;
	uint32_t *text;
	size_t text_room;
};

struct gp_definitions_index {
	struct meaning_table table[KINDS];
	struct numbered numbered[KINDS];
	struct gp_text_store texts;
	struct gp_call_stacks *stacks;
	struct gp_module_list modules;
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

static void table_release(struct meaning_table *t)
{
	for (size_t k = 0; k * PIECE < t->count; k++)
		free(t->piece[k]);
	free(t->piece);
	free(t->head);
	*t = (struct meaning_table){ 0 };
}

void gp_defined_clear(struct gp_definitions_index *m)
{
	for (unsigned kind = 0; kind < KINDS; kind++) {
		struct numbered *n = &m->numbered[kind];
		table_release(&m->table[kind]);
		if (n->room != 0)
			memset(n->record, 0, n->room * sizeof *n->record);
	}
}

void gp_defined_close(struct gp_definitions_index *m)
{
	if (m == NULL)
		return;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		table_release(&m->table[kind]);
		free(m->numbered[kind].record);
		free(m->numbered[kind].text);
	}
	gp_text_store_release(&m->texts);
	gp_call_stacks_close(m->stacks);
	gp_module_list_release(&m->modules);
	free(m);
}

/* ---- by key ---- */

/* Whether kinds are known by a number of 32 bits. */
static bool has_number(unsigned kind)
{
	return kind == GP_THREAD || kind == GP_MODULE || kind == GP_RANGE_NAME;
}

static uint64_t key_of(const struct gp_record *r)
{
	switch (r->kind) {
	case GP_THREAD:
		return r->aux | r->thread.tid << 32;
	case GP_RANGE_NAME:
		return r->aux | (uint64_t)(r->range_name.is_cut != 0) << 32;
	case GP_MODULE:
		return r->aux;
	case GP_OBJECT_NAME:
		return GP_OBJECT_KEY(r->aux, r->object_name.handle);
	default:
		return r->v[0];
	}
}

static uint64_t searched_of(unsigned kind, uint64_t key)
{
	return has_number(kind) ? (uint32_t)key : key;
}

static struct meaning *meaning_at(const struct meaning_table *t, uint32_t number)
{
	return &t->piece[(number - 1) / PIECE][(number - 1) % PIECE];
}

static uint32_t *table_head(const struct meaning_table *t, uint64_t searched)
{
	return &t->head[gp_hash_number(searched) & (t->heads - 1)];
}

static struct meaning *table_find(const struct gp_definitions_index *m, unsigned kind, uint64_t key)
{
	const struct meaning_table *t = &m->table[kind];
	const uint64_t searched = searched_of(kind, key);
	if (t->count == 0 || (has_number(kind) && key > UINT32_MAX))
		return NULL;
	for (uint32_t at = *table_head(t, searched); at != 0; at = meaning_at(t, at)->next)
		if (searched_of(kind, meaning_at(t, at)->key) == searched)
			return meaning_at(t, at);
	return NULL;
}

/* Twice the heads; each meaning goes to its new chain. */
static bool table_grow(struct meaning_table *t, unsigned kind)
{
	if (t->count < MEANINGS_A_HEAD * t->heads)
		return true;
	const size_t heads = t->heads != 0 ? t->heads * 2 : 128;
	uint32_t *head = calloc(heads, sizeof *head);
	if (head == NULL)
		return false;
	free(t->head);
	t->head = head;
	t->heads = heads;
	for (uint32_t at = 1; at <= t->count; at++) {
		struct meaning *meaning = meaning_at(t, at);
		uint32_t *newest = table_head(t, searched_of(kind, meaning->key));
		meaning->next = *newest;
		*newest = at;
	}
	return true;
}

static bool table_add_piece(struct meaning_table *t)
{
	const size_t pieces = t->count / PIECE;
	if (t->count % PIECE != 0)
		return true;
	if (t->count > UINT32_MAX - PIECE ||
	    !gp_array_reserve(&t->piece, &t->piece_room, pieces, 1, sizeof(struct meaning *)))
		return false;
	t->piece[pieces] = malloc(PIECE * sizeof **t->piece);
	return t->piece[pieces] != NULL;
}

static enum gp_status table_add(struct gp_definitions_index *m, unsigned kind, uint64_t key,
				uint32_t text)
{
	struct meaning_table *t = &m->table[kind];
	struct meaning *known = table_find(m, kind, searched_of(kind, key));
	if (known != NULL) {
		known->key = key;
		known->text = text;
		return GP_OK;
	}
	/* of other kinds only the text is asked for */
	if (text == 0 && kind != GP_THREAD && kind != GP_RANGE_NAME)
		return GP_OK;
	if (!table_grow(t, kind) || !table_add_piece(t))
		return GP_E_MEMORY;
	uint32_t *head = table_head(t, searched_of(kind, key));
	*meaning_at(t, t->count + 1) = (struct meaning){ key, text, *head };
	*head = ++t->count;
	return GP_OK;
}

/* ---- by number ---- */

static bool definitions_index_is_whole(unsigned kind)
{
	return kind == GP_GPU || kind == GP_FACT || kind == GP_ARENA;
}

static enum gp_status numbered_add(struct numbered *n, const struct gp_record *r, uint32_t text)
{
	const uint32_t number = r->kind == GP_GPU ? r->device : r->aux;
	if (number >= NUMBERS_MAX)
		return GP_OK;
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

/* Its text is two: file, NUL, name. */
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

const struct gp_call_stacks *gp_defined_stacks(const struct gp_definitions_index *m)
{
	return m->stacks;
}

const struct gp_module_list *gp_defined_modules(const struct gp_definitions_index *m)
{
	return &m->modules;
}

enum gp_status gp_defined_add(struct gp_definitions_index *m, const struct gp_record *record)
{
	if (record->kind >= GP_PYTHON_CODE && record->kind <= GP_CALL_STACK)
		return add_stack_part(m, record);
	if (record->kind >= KINDS)
		return GP_OK;
	size_t n;
	const char *told = gp_record_text(record, &n);
	const uint32_t text = told != NULL ? gp_text_store_add(&m->texts, told, n) : 0;
	if (told != NULL && text == 0)
		return GP_E_MEMORY;
	enum gp_status status = definitions_index_is_whole(record->kind) ?
					numbered_add(&m->numbered[record->kind], record, text) :
					table_add(m, record->kind, key_of(record), text);
	if (status != GP_OK || record->kind != GP_MODULE)
		return status;
	return gp_module_list_add(&m->modules, record, gp_text_store_get(&m->texts, text));
}

const struct gp_record *gp_defined_record(const struct gp_definitions_index *m, enum gp_kind kind,
					  uint64_t number)
{
	const struct numbered *n = &m->numbered[kind];
	return number < n->room && n->record[number].kind != 0 ? &n->record[number] : NULL;
}

static struct gp_named shown(const struct gp_definitions_index *m, const struct meaning *meaning)
{
	return (struct gp_named){ (uint32_t)(meaning->key >> 32),
				  gp_text_store_get(&m->texts, meaning->text) };
}

bool gp_defined_get(const struct gp_definitions_index *m, enum gp_kind kind, uint64_t key,
		    struct gp_named *out)
{
	const struct meaning *known = table_find(m, kind, key);
	*out = known != NULL ? shown(m, known) : (struct gp_named){ 0 };
	return known != NULL;
}

const char *gp_defined_text(const struct gp_definitions_index *m, enum gp_kind kind, uint64_t key)
{
	struct gp_named meaning;
	if (kind >= KINDS)
		return NULL;
	if (definitions_index_is_whole(kind))
		return gp_defined_record(m, kind, key) != NULL ?
			       gp_text_store_get(&m->texts, m->numbered[kind].text[key]) :
			       NULL;
	gp_defined_get(m, kind, key, &meaning);
	return meaning.text;
}

void gp_defined_visit(const struct gp_definitions_index *m, enum gp_kind kind,
		      void (*visit)(void *context, const struct gp_named *), void *context)
{
	const struct meaning_table *t = &m->table[kind];
	for (uint32_t at = 1; at <= t->count; at++) {
		const struct gp_named meaning = shown(m, meaning_at(t, at));
		visit(context, &meaning);
	}
}
