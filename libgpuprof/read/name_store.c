/* Chunks that never move, and a hash table of pointers into them. */
#include "name_store.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../format/seeded_hash.h"

#define CHUNK_BYTES 65536u

struct gp_name_chunk {
	struct gp_name_chunk *next;
	size_t used, room;
	char text[];
};

void gp_name_store_init(struct gp_name_store *store, size_t most_bytes)
{
	*store = (struct gp_name_store){ .most_bytes = most_bytes };
}

void gp_name_store_release(struct gp_name_store *store)
{
	for (struct gp_name_chunk *c = store->chunk, *next; c != NULL; c = next) {
		next = c->next;
		free(c);
	}
	free(store->slot);
	*store = (struct gp_name_store){ 0 };
}

static char **slot_of(char **slot, size_t slots, const char *name)
{
	size_t at = gp_hash_bytes(name, strlen(name)) & (slots - 1);
	while (slot[at] != NULL && strcmp(slot[at], name) != 0)
		at = (at + 1) & (slots - 1);
	return &slot[at];
}

static bool widen(struct gp_name_store *store)
{
	if (store->names * 2 < store->slots)
		return true;
	size_t slots = store->slots ? store->slots * 2 : 1024;
	char **slot = calloc(slots, sizeof *slot);
	if (slot == NULL)
		return store->names + 1 < store->slots;
	for (size_t i = 0; i < store->slots; i++) {
		if (store->slot[i] != NULL)
			*slot_of(slot, slots, store->slot[i]) = store->slot[i];
	}
	free(store->slot);
	store->slot = slot;
	store->slots = slots;
	return true;
}

static char *keep(struct gp_name_store *store, const char *name, size_t bytes)
{
	struct gp_name_chunk *chunk = store->chunk;
	if (chunk == NULL || chunk->room - chunk->used < bytes) {
		size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
		if (store->used_bytes + room > store->most_bytes)
			return NULL;
		chunk = malloc(sizeof *chunk + room);
		if (chunk == NULL)
			return NULL;
		*chunk = (struct gp_name_chunk){ .next = store->chunk, .room = room };
		store->chunk = chunk;
		store->used_bytes += room;
	}
	char *text = chunk->text + chunk->used;
	memcpy(text, name, bytes);
	chunk->used += bytes;
	return text;
}

const char *gp_name_store_add(struct gp_name_store *store, const char *name)
{
	if (name == NULL)
		return NULL;
	if (!widen(store)) {
		store->refused++;
		return NULL;
	}
	char **slot = slot_of(store->slot, store->slots, name);
	if (*slot == NULL) {
		*slot = keep(store, name, strlen(name) + 1);
		store->names += *slot != NULL;
		store->refused += *slot == NULL;
	}
	return *slot;
}
