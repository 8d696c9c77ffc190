/*
 * What handles and ids mean: the newest DEFINE record of each (kind, key). Strings are kept once
 * and live as long as the recording is open, so that a name once handed out stays valid when its
 * handle is given to something else.
 */
#include <stdlib.h>
#include <string.h>

#include "../format/seeded_hash.h"
#include "recording.h"

#define ARENA_BYTES 65536u

struct arena {
	struct arena *next;
	size_t used;
	char bytes[ARENA_BYTES];
};

struct meaning {
	struct gp_record record; /* kind 0: an empty place */
	const char *text;
};

struct gp_meanings {
	struct meaning *place; /* open addressing by (kind, key) */
	size_t meanings, room;
	const char **string; /* open addressing by text */
	size_t strings, string_room;
	struct arena *arena;
	struct gp_call_stacks *stacks;
	struct gp_module_list modules;
};

struct gp_meanings *gp_meanings_open(void)
{
	struct gp_meanings *m = calloc(1, sizeof *m);
	if (m != NULL)
		m->stacks = gp_call_stacks_open();
	if (m == NULL || m->stacks != NULL)
		return m;
	free(m);
	return NULL;
}

void gp_meanings_close(struct gp_meanings *m)
{
	if (m == NULL)
		return;
	while (m->arena != NULL) {
		struct arena *next = m->arena->next;
		free(m->arena);
		m->arena = next;
	}
	gp_call_stacks_close(m->stacks);
	gp_module_list_release(&m->modules);
	free(m->place);
	free(m->string);
	free(m);
}

void gp_meanings_clear(struct gp_meanings *m)
{
	if (m->place != NULL)
		memset(m->place, 0, m->room * sizeof *m->place);
	m->meanings = 0;
}

static char *arena_take(struct gp_meanings *m, size_t bytes)
{
	if (m->arena == NULL || sizeof m->arena->bytes - m->arena->used < bytes) {
		struct arena *fresh = malloc(sizeof *fresh);
		if (fresh == NULL)
			return NULL;
		fresh->next = m->arena;
		fresh->used = 0;
		m->arena = fresh;
	}
	char *out = m->arena->bytes + m->arena->used;
	m->arena->used += bytes;
	return out;
}

static const char **find_string(struct gp_meanings *m, const char *text, size_t n)
{
	for (uint64_t at = gp_hash_bytes(text, n);; at++) {
		const char **place = &m->string[at & (m->string_room - 1)];
		if (*place == NULL || (strncmp(*place, text, n) == 0 && (*place)[n] == '\0'))
			return place;
	}
}

static bool grow_strings(struct gp_meanings *m)
{
	if (m->strings * 2 < m->string_room)
		return true;
	const char **old = m->string;
	size_t old_room = m->string_room;
	m->string_room = old_room == 0 ? 256 : old_room * 2;
	m->string = calloc(m->string_room, sizeof *m->string);
	if (m->string == NULL) {
		m->string = old;
		m->string_room = old_room;
		return false;
	}
	for (size_t i = 0; i < old_room; i++)
		if (old[i] != NULL)
			*find_string(m, old[i], strlen(old[i])) = old[i];
	free(old);
	return true;
}

static const char *intern(struct gp_meanings *m, const char *text, size_t n)
{
	if (!grow_strings(m))
		return NULL;
	const char *zero = memchr(text, '\0', n);
	if (zero != NULL)
		n = (size_t)(zero - text);
	const char **place = find_string(m, text, n);
	if (*place != NULL)
		return *place;
	char *copy = arena_take(m, n + 1);
	if (copy == NULL)
		return NULL;
	memcpy(copy, text, n);
	copy[n] = '\0';
	m->strings++;
	return *place = copy;
}

static uint64_t key_of(const struct gp_record *r)
{
	switch (r->kind) {
	case GP_GPU:
		return r->device;
	case GP_FACT:
	case GP_THREAD:
	case GP_MODULE:
	case GP_ARENA:
	case GP_RANGE_NAME:
		return r->aux;
	case GP_OBJECT_NAME:
		return GP_OBJECT_KEY(r->aux, r->object_name.handle);
	default:
		return r->v[0];
	}
}

static struct meaning *find(const struct gp_meanings *m, unsigned kind, uint64_t key)
{
	for (uint64_t at = gp_hash_number(key + ((uint64_t)kind << 56));; at++) {
		struct meaning *place = &m->place[at & (m->room - 1)];
		if (place->record.kind == 0 ||
		    (place->record.kind == kind && key_of(&place->record) == key))
			return place;
	}
}

static bool grow(struct gp_meanings *m)
{
	if (m->meanings * 2 < m->room)
		return true;
	struct meaning *old = m->place;
	size_t old_room = m->room;
	m->room = old_room == 0 ? 256 : old_room * 2;
	m->place = calloc(m->room, sizeof *m->place);
	if (m->place == NULL) {
		m->place = old;
		m->room = old_room;
		return false;
	}
	for (size_t i = 0; i < old_room; i++)
		if (old[i].record.kind != 0)
			*find(m, old[i].record.kind, key_of(&old[i].record)) = old[i];
	free(old);
	return true;
}

const char *gp_record_text(const struct gp_record *record, size_t *bytes)
{
	*bytes = 0;
	if (record->extra == 0)
		return NULL;
	uint64_t n;
	memcpy(&n, record + 1, sizeof n);
	size_t most = record->extra * sizeof *record - sizeof n;
	*bytes = n < most ? (size_t)n : most;
	return (const char *)(record + 1) + sizeof n;
}

/* Its text is two: file, NUL, name. */
static enum gp_status add_stack_part(struct gp_meanings *m, const struct gp_record *record)
{
	size_t n;
	const char *text = gp_record_text(record, &n), *file = NULL, *name = NULL;
	if (text != NULL) {
		size_t file_bytes = strnlen(text, n);
		file = intern(m, text, file_bytes);
		name = file_bytes < n ? intern(m, text + file_bytes + 1, n - file_bytes - 1) : "";
		if (file == NULL || name == NULL)
			return GP_E_MEMORY;
	}
	return gp_call_stacks_add(m->stacks, record, file, name);
}

const struct gp_call_stacks *gp_meanings_stacks(const struct gp_meanings *m)
{
	return m->stacks;
}

const struct gp_module_list *gp_meanings_modules(const struct gp_meanings *m)
{
	return &m->modules;
}

enum gp_status gp_meanings_add(struct gp_meanings *m, const struct gp_record *record)
{
	if (record->kind >= GP_PYTHON_CODE && record->kind <= GP_CALL_STACK)
		return add_stack_part(m, record);
	if (!grow(m))
		return GP_E_MEMORY;
	size_t n;
	const char *text = gp_record_text(record, &n);
	const char *kept = text != NULL ? intern(m, text, n) : NULL;
	if (text != NULL && kept == NULL)
		return GP_E_MEMORY;
	struct meaning *place = find(m, record->kind, key_of(record));
	m->meanings += place->record.kind == 0;
	place->record = *record;
	place->text = kept;
	return record->kind == GP_MODULE ? gp_module_list_add(&m->modules, record, kept) : GP_OK;
}

static const struct meaning *get(const struct gp_meanings *m, enum gp_kind kind, uint64_t key)
{
	if (m->room == 0)
		return NULL;
	const struct meaning *place = find(m, kind, key);
	return place->record.kind != 0 ? place : NULL;
}

const char *gp_meanings_text(const struct gp_meanings *m, enum gp_kind kind, uint64_t key)
{
	const struct meaning *place = get(m, kind, key);
	return place != NULL ? place->text : NULL;
}

const struct gp_record *gp_meanings_record(const struct gp_meanings *m, enum gp_kind kind,
					   uint64_t key)
{
	const struct meaning *place = get(m, kind, key);
	return place != NULL ? &place->record : NULL;
}

void gp_meanings_visit(const struct gp_meanings *m, enum gp_kind kind,
		       void (*visit)(void *context, const struct gp_record *), void *context)
{
	for (size_t k = 0; k < m->room; k++)
		if (m->place[k].record.kind == kind)
			visit(context, &m->place[k].record);
}
