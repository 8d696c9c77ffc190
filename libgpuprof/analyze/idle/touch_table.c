/* The tables of the live state, with a gp_touch for each slot. */
#include "touch_table.h"

#include <stdlib.h>

#include "../../read/tables/array.h"

#define BLOCKS (1u << GP_SPACE_BLOCK)

bool gp_touch_init(struct gp_touch_table *t)
{
	*t = (struct gp_touch_table){ 0 };
	if (!gp_table_init(&t->table))
		return false;
	if (gp_page_map_init(&t->pages))
		return true;
	gp_table_release(&t->table);
	return false;
}

void gp_touch_release(struct gp_touch_table *t)
{
	gp_table_release(&t->table);
	gp_page_map_release(&t->pages);
	free(t->touch);
	*t = (struct gp_touch_table){ 0 };
}

uint32_t gp_touch_add(struct gp_touch_table *t, const struct gp_live_entry *entry,
		      const struct gp_touch *touch)
{
	uint32_t slot = gp_table_add(&t->table, entry);
	if (slot == 0)
		return 0;
	if (!gp_array_reach(&t->touch, &t->room, slot, sizeof *t->touch)) {
		gp_table_drop(&t->table, slot);
		return 0;
	}
	t->touch[slot] = *touch;
	gp_page_map_add(&t->pages, &t->table, slot);
	return slot;
}

void gp_touch_drop(struct gp_touch_table *t, uint32_t slot)
{
	gp_page_map_drop(&t->pages, &t->table, slot);
	gp_table_drop(&t->table, slot);
}

uint32_t gp_touch_find(const struct gp_touch_table *t, unsigned space, uint64_t address)
{
	return gp_table_find(&t->table, gp_family_of(space), address);
}

uint32_t gp_touch_around(const struct gp_touch_table *t, uint64_t address)
{
	uint32_t block = gp_page_map_find(&t->pages, &t->table, BLOCKS, address);
	return block ? block : gp_page_map_find(&t->pages, &t->table, ~BLOCKS, address);
}
