/* What look-ups found, by address: bounded, so that a full cache costs time, not answers. */
#ifndef GP_SYMBOL_CACHE_H
#define GP_SYMBOL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../tables/row_table.h"
#include "symbolize.h"

/* about 300 MiB */
#define GP_SYMBOL_CACHE_MAX 4000000u

struct gp_symbol_key {
	uint64_t pc;
	size_t module;
};
struct gp_symbol_cache {
	struct gp_row_table keys; /* each with a run of `frame` */
	struct gp_symbol *frame;
	size_t frames, room;
};

/* At most `most` frames; 0: not kept. */
size_t gp_symbol_cache_get(const struct gp_symbol_cache *cache, const struct gp_symbol_key *key,
			   struct gp_symbol *out, size_t most);
void gp_symbol_cache_add(struct gp_symbol_cache *cache, const struct gp_symbol_key *key,
			 const struct gp_symbol *frame, size_t count);
void gp_symbol_cache_release(struct gp_symbol_cache *cache);

#endif
