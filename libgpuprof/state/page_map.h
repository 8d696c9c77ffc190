/*
 * Which range contains an address: driver allocations, reservations and mappings, by pages of their
 * own size. A range of at most 4^k pages is filed under the page of size 4^k in which it starts, so
 * the one that contains an address starts in its page or the page before: two probes for each size
 * in use, whatever the number of ranges. Links run through the slots of the live table, so a range
 * costs 4 bytes here. Of a page the newest GP_PAGE_RANGES_MAX are kept.
 */
#ifndef GP_PAGE_MAP_H
#define GP_PAGE_MAP_H

#include "live_table.h"

#define GP_PAGE_SHIFT 8u /* smallest: cuMemAlloc aligns to 256 bytes at least */
#define GP_PAGE_LEVELS 28u
#define GP_PAGE_RANGE_MAX (1ull << 62)
/*
 * At most four ranges of a page's size begin in it unless they overlap, and memory of the driver,
 * mappings and segments are three at one address. More are there only when their ends were lost.
 */
#define GP_PAGE_RANGES_MAX 32u

struct gp_page_map {
	uint32_t *bucket; /* first slot; 0: none */
	uint32_t buckets;
	uint32_t room; /* for so many */
	uint32_t ranges;
	uint32_t in_level[GP_PAGE_LEVELS];
	uint32_t levels; /* bit k: in_level[k] > 0 */
};

bool gp_page_map_init(struct gp_page_map *map);
void gp_page_map_release(struct gp_page_map *map);
uint64_t gp_page_map_memory(const struct gp_page_map *map);

/*
 * The entry in `slot` must have 1 to GP_PAGE_RANGE_MAX bytes and keep address and bytes until it is
 * dropped.
 */
void gp_page_map_add(struct gp_page_map *map, const struct gp_live_table *table, uint32_t slot);
void gp_page_map_drop(struct gp_page_map *map, const struct gp_live_table *table, uint32_t slot);

/* The newest range of a space in `spaces` (bits) that contains `address`; 0: none. */
uint32_t gp_page_map_find(const struct gp_page_map *map, const struct gp_live_table *table,
			  uint32_t spaces, uint64_t address);

#endif
