/* Ranges by page: see page_map.h. */
#include "page_map.h"

#define BITS_FIRST 10u

bool gp_page_map_init(struct gp_page_map *map)
{
	*map = (struct gp_page_map){ .bits = BITS_FIRST };
	map->bucket = gp_pages_open(sizeof(uint32_t) << map->bits);
	return map->bucket != NULL;
}

void gp_page_map_release(struct gp_page_map *map)
{
	gp_pages_close(map->bucket, sizeof(uint32_t) << map->bits);
	*map = (struct gp_page_map){ 0 };
}

uint64_t gp_page_map_memory(const struct gp_page_map *map)
{
	return sizeof(uint32_t) << map->bits;
}

static unsigned level_shift(unsigned level)
{
	return GP_PAGE_SHIFT + 2 * level;
}

/* The smallest level whose pages hold `bytes`. */
static unsigned level_of(uint64_t bytes)
{
	if (bytes <= 1ull << GP_PAGE_SHIFT)
		return 0;
	unsigned log2 = 64u - (unsigned)__builtin_clzll(bytes - 1);
	return (log2 - GP_PAGE_SHIFT + 1) / 2;
}

static uint32_t *bucket_of(const struct gp_page_map *map, unsigned level, uint64_t page)
{
	uint64_t hash = (page + ((uint64_t)level << 58)) * 0x9e3779b97f4a7c15u;
	return &map->bucket[hash >> (64 - map->bits)];
}

static uint32_t *bucket_of_entry(const struct gp_page_map *map, const struct gp_live_entry *entry)
{
	unsigned level = level_of(entry->bytes);
	return bucket_of(map, level, entry->address >> level_shift(level));
}

/* Twice the buckets; where there is no memory for them the chains get longer instead. */
static void grow(struct gp_page_map *map, const struct gp_live_table *table)
{
	struct gp_page_map old = *map;
	map->bucket = gp_pages_open(sizeof(uint32_t) << (old.bits + 1));
	if (map->bucket == NULL) {
		map->bucket = old.bucket;
		return;
	}
	map->bits++;
	for (uint64_t i = 0; i < 1ull << old.bits; i++) {
		for (uint32_t slot = old.bucket[i], next; slot != 0; slot = next) {
			struct gp_live_slot *s = gp_table_slot(table, slot);
			uint32_t *bucket = bucket_of_entry(map, &s->entry);
			next = s->next;
			s->next = *bucket;
			*bucket = slot;
		}
	}
	gp_pages_close(old.bucket, sizeof(uint32_t) << old.bits);
}

void gp_page_map_add(struct gp_page_map *map, const struct gp_live_table *table, uint32_t slot)
{
	if (map->ranges >= 1ull << map->bits)
		grow(map, table);
	struct gp_live_slot *s = gp_table_slot(table, slot);
	unsigned level = level_of(s->entry.bytes);
	uint32_t *bucket = bucket_of_entry(map, &s->entry);
	s->next = *bucket;
	*bucket = slot;
	map->ranges++;
	map->in_level[level]++;
	map->levels |= 1u << level;
}

void gp_page_map_drop(struct gp_page_map *map, const struct gp_live_table *table, uint32_t slot)
{
	struct gp_live_slot *s = gp_table_slot(table, slot);
	unsigned level = level_of(s->entry.bytes);
	uint32_t *link = bucket_of_entry(map, &s->entry);
	while (*link != slot)
		link = &gp_table_slot(table, *link)->next;
	*link = s->next;
	map->ranges--;
	if (--map->in_level[level] == 0)
		map->levels &= ~(1u << level);
}

uint32_t gp_page_map_find(const struct gp_page_map *map, const struct gp_live_table *table, uint32_t spaces,
			  uint64_t address)
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
				/* both probes may share a bucket: an equal order is the same entry again */
				if ((spaces >> e->space & 1) != 0 && address - e->address < e->bytes &&
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
