/* A table of keys, each with a run of one array of frames. */
#include "symbol_cache.h"

#include <stdlib.h>
#include <string.h>

#include "../format/seeded_hash.h"

struct gp_cached_symbols {
	struct gp_symbol_key key;
	uint32_t first, count; /* count 0: a free slot */
};

static struct gp_cached_symbols *slot_of(struct gp_cached_symbols *slot, size_t slots,
					 const struct gp_symbol_key *key)
{
	uint64_t more = (uint64_t)key->module * 2 + key->is_return_address;
	size_t at = gp_hash_number(gp_hash_number(key->address) ^ more) & (slots - 1);
	for (; slot[at].count != 0; at = (at + 1) & (slots - 1)) {
		const struct gp_symbol_key *is = &slot[at].key;
		if (is->address == key->address && is->module == key->module &&
		    is->is_return_address == key->is_return_address)
			break;
	}
	return &slot[at];
}

size_t gp_symbol_cache_get(const struct gp_symbol_cache *cache, const struct gp_symbol_key *key,
			   struct gp_symbol *out, size_t most)
{
	if (cache->slots == 0)
		return 0;
	const struct gp_cached_symbols *slot = slot_of(cache->slot, cache->slots, key);
	size_t count = slot->count < most ? slot->count : most;
	if (count != 0)
		memcpy(out, cache->frame + slot->first, count * sizeof *out);
	return count;
}

static bool widen(struct gp_symbol_cache *cache)
{
	if (cache->keys * 2 < cache->slots)
		return true;
	size_t slots = cache->slots ? cache->slots * 2 : 1024;
	struct gp_cached_symbols *slot = calloc(slots, sizeof *slot);
	if (slot == NULL)
		return false;
	for (size_t i = 0; i < cache->slots; i++) {
		if (cache->slot[i].count != 0)
			*slot_of(slot, slots, &cache->slot[i].key) = cache->slot[i];
	}
	free(cache->slot);
	cache->slot = slot;
	cache->slots = slots;
	return true;
}

static bool reserve(struct gp_symbol_cache *cache, size_t count)
{
	if (cache->frames + count <= cache->room)
		return true;
	size_t room = cache->room ? cache->room * 2 : 4096;
	struct gp_symbol *frame = realloc(cache->frame, room * sizeof *frame);
	if (frame == NULL)
		return false;
	cache->frame = frame;
	cache->room = room;
	return true;
}

void gp_symbol_cache_add(struct gp_symbol_cache *cache, const struct gp_symbol_key *key,
			 const struct gp_symbol *frame, size_t count)
{
	if (cache->frames + count > GP_SYMBOL_CACHE_MAX || !widen(cache) || !reserve(cache, count))
		return;
	struct gp_cached_symbols *slot = slot_of(cache->slot, cache->slots, key);
	if (slot->count != 0)
		return;
	*slot = (struct gp_cached_symbols){ *key, (uint32_t)cache->frames, (uint32_t)count };
	memcpy(cache->frame + cache->frames, frame, count * sizeof *frame);
	cache->frames += count;
	cache->keys++;
}

void gp_symbol_cache_release(struct gp_symbol_cache *cache)
{
	free(cache->slot);
	free(cache->frame);
	*cache = (struct gp_symbol_cache){ 0 };
}
