/*
 * Finds the range that contains an address: driver allocations, reservations and mappings, by pages
 * of their own size. A page of level k has 4^k smallest pages. A range of at most that size is
 * filed under the page of level k in which it starts. An address therefore belongs to a range that
 * starts in its page or in the page before. That is two probes for each size in use, whatever the
 * number of ranges. Links run through the slots of the live table, so a range costs 4 bytes here. A
 * page keeps its newest GP_PAGE_RANGES_MAX ranges.
 */
#ifndef GP_PAGE_MAP_H
#define GP_PAGE_MAP_H

#include "live_table.h"

#define GP_PAGE_SHIFT 8u /* smallest: cuMemAlloc aligns to 256 bytes at least */
#define GP_PAGE_LEVELS 28u
#define GP_PAGE_RANGE_MAX (1ull << 62)
/*
 * At most four ranges of a page's size begin in it, unless they overlap. Driver memory, mappings
 * and segments are three at one address. There are more only if their ends were lost.
 */
#define GP_PAGE_RANGES_MAX 32u

struct gp_page_map {
	uint32_t *bucket; /* first slot; 0: none */
	uint32_t buckets;
	uint32_t room; /* limit of buckets */
	uint32_t ranges;
	uint32_t in_level[GP_PAGE_LEVELS];
	uint32_t levels; /* bit k: in_level[k] > 0 */
};

bool gp_page_map_init(struct gp_page_map *map);
void gp_page_map_release(struct gp_page_map *map);
uint64_t gp_page_map_memory(const struct gp_page_map *map);

/*
 * The entry in `slot` must have 1 to GP_PAGE_RANGE_MAX bytes. Its address and bytes must not change
 * until it is removed.
 */
void gp_page_map_add(struct gp_page_map *map, const struct gp_live_table *table, uint32_t slot);
void gp_page_map_drop(struct gp_page_map *map, const struct gp_live_table *table, uint32_t slot);

/* The newest range of a space in `spaces` (bits) that contains `address`; 0: none. */
uint32_t gp_page_map_find(const struct gp_page_map *map, const struct gp_live_table *table,
			  uint32_t spaces, uint64_t address);

#endif
