/* A table of keys, each with a run of one array of frames. */
#include "symbol_cache.h"

#include <stdlib.h>
#include <string.h>

#include "../tables/array.h"

struct cached {
	struct gp_symbol_key key;
	uint32_t first, count;
};

static uint32_t cache_hash(const struct gp_symbol_key *key)
{
	return gp_row_hash(gp_hash_number(key->pc) ^ key->module);
}

static const struct cached *cache_find(const struct gp_symbol_cache *cache,
				       const struct gp_symbol_key *key)
{
	const struct cached *row = cache->keys.row;
	for (uint32_t step = 0, at, hash = cache_hash(key);
	     (at = gp_row_next(&cache->keys, hash, &step)) != 0;) {
		const struct gp_symbol_key *is = &row[at - 1].key;
		if (is->pc == key->pc && is->module == key->module)
			return &row[at - 1];
	}
	return NULL;
}

size_t gp_symbol_cache_get(const struct gp_symbol_cache *cache, const struct gp_symbol_key *key,
			   struct gp_symbol *out, size_t most)
{
	const struct cached *known = cache_find(cache, key);
	size_t count = known == NULL ? 0 : known->count < most ? known->count : most;
	if (count != 0)
		memcpy(out, cache->frame + known->first, count * sizeof *out);
	return count;
}

void gp_symbol_cache_add(struct gp_symbol_cache *cache, const struct gp_symbol_key *key,
			 const struct gp_symbol *frame, size_t count)
{
	if (cache->frames + count > GP_SYMBOL_CACHE_MAX ||
	    !gp_array_reserve(&cache->frame, &cache->room, cache->frames, count, sizeof *frame) ||
	    cache_find(cache, key) != NULL)
		return;
	struct cached *row = gp_row_add(&cache->keys, sizeof *row, cache_hash(key));
	if (row == NULL)
		return;
	*row = (struct cached){ *key, (uint32_t)cache->frames, (uint32_t)count };
	memcpy(cache->frame + cache->frames, frame, count * sizeof *frame);
	cache->frames += count;
}

void gp_symbol_cache_release(struct gp_symbol_cache *cache)
{
	gp_row_table_release(&cache->keys);
	free(cache->frame);
	*cache = (struct gp_symbol_cache){ 0 };
}
