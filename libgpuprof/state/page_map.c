/* Ranges by page: see page_map.h. */
#include "page_map.h"

#define BUCKETS_FIRST 1024u
#define BUCKETS_MAX (1u << 24) /* with more ranges, the chains get longer */

bool gp_page_map_init(struct gp_page_map *map)
{
	*map = (struct gp_page_map){ .buckets = BUCKETS_FIRST };
	map->room = BUCKETS_FIRST;
	map->bucket = gp_pages_open(map->room * sizeof(uint32_t));
	return map->bucket != NULL;
}

void gp_page_map_release(struct gp_page_map *map)
{
	gp_pages_close(map->bucket, map->room * sizeof(uint32_t));
	*map = (struct gp_page_map){ 0 };
}

uint64_t gp_page_map_memory(const struct gp_page_map *map)
{
	return map->buckets * sizeof(uint32_t);
}

static unsigned level_shift(unsigned level)
{
	return GP_PAGE_SHIFT + 2 * level;
}

/* The smallest level with pages of at least `bytes`. */
static unsigned level_of(uint64_t bytes)
{
	if (bytes <= 1ull << GP_PAGE_SHIFT)
		return 0;
	unsigned log2 = 64u - (unsigned)__builtin_clzll(bytes - 1);
	return (log2 - GP_PAGE_SHIFT + 1) / 2;
}

/* With 2^k <= buckets < 2^(k+1), the first buckets - 2^k are already split and use one more bit. */
static uint32_t *bucket_of(const struct gp_page_map *map, unsigned level, uint64_t page)
{
	uint64_t hash = (page + ((uint64_t)level << 58)) * GP_HASH_MULTIPLIER >> 32;
	uint32_t power = 1u << (31 - __builtin_clz(map->buckets));
	uint32_t at = (uint32_t)hash & (2 * power - 1);
	return &map->bucket[at < map->buckets ? at : at & (power - 1)];
}

static uint32_t *bucket_of_entry(const struct gp_page_map *map, const struct gp_live_entry *entry)
{
	unsigned level = level_of(entry->bytes);
	return bucket_of(map, level, entry->address >> level_shift(level));
}

/*
 * Adds one bucket by splitting another in two (linear hashing: W. Litwin, VLDB 1980). A map that
 * doubled at once would stop the drain thread long enough for a job to fill its ring.
 */
static void page_map_grow(struct gp_page_map *map, const struct gp_live_table *table)
{
	uint32_t power = 1u << (31 - __builtin_clz(map->buckets));
	uint32_t *old = &map->bucket[map->buckets - power];
	uint32_t slot = *old;
	*old = 0;
	map->buckets++;
	while (slot != 0) {
		struct gp_live_slot *s = gp_table_slot(table, slot);
		uint32_t *bucket = bucket_of_entry(map, &s->entry), next = s->next;
		s->next = *bucket;
		*bucket = slot;
		slot = next;
	}
}

/* Pages are moved, not copied. If that fails, the chains get longer. */
static bool page_map_has_room(struct gp_page_map *map)
{
	if (map->buckets < map->room)
		return true;
	const size_t bytes = map->room * sizeof(uint32_t);
	void *pages = gp_pages_grow(map->bucket, bytes, 2 * bytes);
	if (pages == NULL)
		return false;
	map->bucket = pages;
	map->room *= 2;
	return true;
}

static void page_unlink(struct gp_page_map *map, const struct gp_live_table *table, uint32_t *link,
			unsigned level)
{
	*link = gp_table_slot(table, *link)->next;
	map->ranges--;
	if (--map->in_level[level] == 0)
		map->levels &= ~(1u << level);
}

static bool is_older(const struct gp_live_entry *a, const struct gp_live_entry *b)
{
	return a->order != b->order ? a->order < b->order : a->address < b->address;
}

/* Removes the oldest range of a page with too many, so that searches stay short. */
static void page_trim(struct gp_page_map *map, const struct gp_live_table *table, uint32_t *bucket,
		      unsigned level, uint64_t page)
{
	uint32_t *oldest = NULL;
	unsigned ranges = 0;
	for (uint32_t *link = bucket; *link != 0; link = &gp_table_slot(table, *link)->next) {
		const struct gp_live_entry *e = &gp_table_slot(table, *link)->entry;
		if (level_of(e->bytes) != level || e->address >> level_shift(level) != page)
			continue;
		ranges++;
		if (oldest == NULL || is_older(e, &gp_table_slot(table, *oldest)->entry))
			oldest = link;
	}
	if (ranges > GP_PAGE_RANGES_MAX)
		page_unlink(map, table, oldest, level);
}

void gp_page_map_add(struct gp_page_map *map, const struct gp_live_table *table, uint32_t slot)
{
	if (map->ranges >= map->buckets && map->buckets < BUCKETS_MAX && page_map_has_room(map))
		page_map_grow(map, table);
	struct gp_live_slot *s = gp_table_slot(table, slot);
	unsigned level = level_of(s->entry.bytes);
	uint32_t *bucket = bucket_of_entry(map, &s->entry);
	s->next = *bucket;
	*bucket = slot;
	map->ranges++;
	map->in_level[level]++;
	map->levels |= 1u << level;
	if (s->next != 0)
		page_trim(map, table, bucket, level, s->entry.address >> level_shift(level));
}

void gp_page_map_drop(struct gp_page_map *map, const struct gp_live_table *table, uint32_t slot)
{
	struct gp_live_slot *s = gp_table_slot(table, slot);
	const unsigned level = level_of(s->entry.bytes);
	uint32_t *link = bucket_of_entry(map, &s->entry);
	while (*link != 0 && *link != slot)
		link = &gp_table_slot(table, *link)->next;
	if (*link != 0) /* it may have been trimmed */
		page_unlink(map, table, link, level);
}

uint32_t gp_page_map_find(const struct gp_page_map *map, const struct gp_live_table *table,
			  uint32_t spaces, uint64_t address)
{
	uint32_t found = 0;
	uint64_t found_order = 0;
	for (uint32_t levels = map->levels; levels != 0; levels &= levels - 1) {
		unsigned level = (unsigned)__builtin_ctz(levels);
		uint64_t page = address >> level_shift(level);
		for (uint64_t probe = page == 0 ? 0 : page - 1; probe <= page; probe++) {
			for (uint32_t slot = *bucket_of(map, level, probe); slot != 0;) {
				const struct gp_live_slot *s = gp_table_slot(table, slot);
				const struct gp_live_entry *e = &s->entry;
				/*
				 * both probes may use one bucket: an equal order is the same entry
				 * again
				 */
				if ((spaces >> e->space & 1) != 0 &&
				    address - e->address < e->bytes &&
				    (found == 0 || e->order > found_order)) {
					found = slot;
					found_order = e->order;
				}
				slot = s->next;
			}
		}
	}
	return found;
}
