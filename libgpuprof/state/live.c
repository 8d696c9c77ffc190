/* The state's entries, curves and counts. */
#include "live_state.h"

struct gp_live *gp_live_open(void)
{
	struct gp_live *live = gp_pages_open(sizeof *live);
	if (live == NULL)
		return NULL;
	gp_past_init(&live->past);
	live->epoch = 1;
	gp_looks_open(&live->looks);
	if (gp_table_init(&live->table) && gp_page_map_init(&live->pages) &&
	    gp_range_order_init(&live->mapped) && gp_range_order_init(&live->segments))
		return live;
	gp_live_close(live);
	return NULL;
}

void gp_live_close(struct gp_live *live)
{
	if (live == NULL)
		return;
	gp_table_release(&live->table);
	gp_page_map_release(&live->pages);
	gp_range_order_release(&live->mapped);
	gp_range_order_release(&live->segments);
	gp_pages_close(live, sizeof *live);
}

static bool is_range(const struct gp_live_entry *entry)
{
	return (GP_SPACES_RANGE >> entry->space & 1) != 0 && entry->bytes - 1 < GP_PAGE_RANGE_MAX;
}

/* NULL: entries of that space are found only by their first address. */
static struct gp_range_order *order_of(struct gp_live *live, unsigned space)
{
	if (space == GP_SPACE_MAPPED)
		return &live->mapped;
	return space == GP_SPACE_SEGMENT ? &live->segments : NULL;
}

uint32_t gp_live_add(struct gp_live *live, const struct gp_live_entry *entry)
{
	uint32_t slot = gp_table_add(&live->table, entry);
	struct gp_range_order *order = order_of(live, entry->space);
	if (slot != 0 && order != NULL && !gp_range_order_add(order, entry->address, slot)) {
		gp_table_drop(&live->table, slot);
		slot = 0;
	}
	if (slot == 0)
		return 0;
	live->graphs += entry->space == GP_SPACE_GRAPH;
	/* a walk under way must see the old totals, not these */
	gp_table_slot(&live->table, slot)->walk = live->walk.number;
	live->entries++;
	if (is_range(entry)) {
		gp_page_map_add(&live->pages, &live->table, slot);
		live->epoch++;
	}
	if (live->watch.see != NULL)
		live->watch.see(live->watch.context, slot);
	return slot;
}

void gp_live_touch(struct gp_live *live, uint32_t slot)
{
	struct gp_live_walk *walk = &live->walk;
	if (live->watch.see != NULL)
		live->watch.see(live->watch.context, slot);
	if (__builtin_expect(walk->visit == NULL, 1))
		return;
	struct gp_live_slot *s = gp_table_slot(&live->table, slot);
	if (slot < walk->next || slot >= walk->end || s->walk == walk->number)
		return;
	s->walk = walk->number;
	walk->visit(walk->context, &s->entry);
}

void gp_live_drop(struct gp_live *live, uint32_t slot)
{
	gp_live_touch(live, slot);
	const struct gp_live_entry *e = gp_live_at(live, slot);
	struct gp_range_order *order = order_of(live, e->space);
	if (order != NULL)
		gp_range_order_drop(order, e->address, slot);
	live->graphs -= e->space == GP_SPACE_GRAPH;
	if (is_range(e)) {
		gp_page_map_drop(&live->pages, &live->table, slot);
		live->epoch++;
	}
	gp_table_drop(&live->table, slot);
	live->entries--;
}

void gp_curve_add(struct gp_live *live, unsigned device, enum gp_curve curve, uint64_t bytes,
		  const struct gp_record *r)
{
	struct gp_live_device *d = &gp_live_device_of(live, device)->figures;
	struct gp_curve_state *c = &d->curve[curve];
	d->is_seen = true;
	live->moved |= device < GP_DEVICES ? 1ull << device : 0;
	c->now_bytes += bytes;
	if (c->now_bytes > c->peak_bytes) {
		c->peak_bytes = c->now_bytes;
		c->peak_time = r->time;
		c->peak_order = r->order;
	}
}

void gp_curve_sub(struct gp_live *live, unsigned device, enum gp_curve curve, uint64_t bytes)
{
	struct gp_curve_state *c = &gp_live_device_of(live, device)->figures.curve[curve];
	live->moved |= device < GP_DEVICES ? 1ull << device : 0;
	c->now_bytes -= bytes < c->now_bytes ? bytes : c->now_bytes;
}

void gp_host_add(struct gp_live *live, const struct gp_live_entry *entry, const struct gp_record *r)
{
	struct gp_live_host *h = &live->host;
	live->has_host_moved = true;
	h->pinned.now_bytes += entry->bytes;
	h->registered_bytes += entry->space == GP_SPACE_HOST_REGISTER ? entry->bytes : 0;
	if (h->pinned.now_bytes <= h->pinned.peak_bytes)
		return;
	h->pinned.peak_bytes = h->pinned.now_bytes;
	h->pinned.peak_time = r->time;
	h->pinned.peak_order = r->order;
	h->registered_at_peak = h->registered_bytes;
}

void gp_host_sub(struct gp_live *live, const struct gp_live_entry *entry)
{
	struct gp_live_host *h = &live->host;
	const uint64_t registered = entry->space == GP_SPACE_HOST_REGISTER ? entry->bytes : 0;
	live->has_host_moved = true;
	h->pinned.now_bytes -=
		entry->bytes < h->pinned.now_bytes ? entry->bytes : h->pinned.now_bytes;
	h->registered_bytes -= registered < h->registered_bytes ? registered : h->registered_bytes;
}

void gp_live_anomaly(struct gp_live *live)
{
	live->count[GP_COUNT_ANOMALIES]++;
}

const struct gp_live_device *gp_live_device(const struct gp_live *live, unsigned device)
{
	if (device == GP_DEVICE_UNKNOWN)
		return &live->device[GP_DEVICES].figures;
	return device < GP_DEVICES ? &live->device[device].figures : NULL;
}

const struct gp_live_host *gp_live_host(const struct gp_live *live)
{
	return &live->host;
}

uint64_t gp_live_count(const struct gp_live *live, unsigned what)
{
	if (what == GP_COUNT_GAP_ORDER)
		return live->gap;
	if (what == GP_COUNT_NEWEST_ORDER)
		return live->newest;
	return what < GP_COUNTS ? live->count[what] : 0;
}

void gp_live_count_set(struct gp_live *live, unsigned what, uint64_t number)
{
	if (what == GP_COUNT_GAP_ORDER)
		live->gap = number;
	else if (what == GP_COUNT_NEWEST_ORDER)
		live->newest = number;
	else if (what < GP_COUNTS)
		live->count[what] = number;
}

uint64_t gp_live_take_moved(struct gp_live *live)
{
	uint64_t moved = live->moved;
	live->moved = 0;
	return moved;
}

bool gp_live_take_host_moved(struct gp_live *live)
{
	bool has_moved = live->has_host_moved;
	live->has_host_moved = false;
	return has_moved;
}

uint64_t gp_live_take_all_moved(struct gp_live *live, bool *has_host)
{
	*has_host = live->has_host_moved;
	live->has_host_moved = false;
	return gp_live_take_moved(live);
}

unsigned gp_live_ended_device(const struct gp_live *live, const struct gp_record *last)
{
	const struct gp_past_freed *freed = gp_past_newest_freed(&live->past);
	bool is_end = last->kind == GP_FREE || last->kind == GP_UNMAP;
	return is_end && freed->order == last->order ? freed->entry.device : GP_DEVICE_UNKNOWN;
}

uint64_t gp_live_entries(const struct gp_live *live)
{
	return live->entries;
}

bool gp_live_watch(struct gp_live *live, gp_live_see *see, void *context)
{
	const bool is_new = live->watch.see == NULL;
	live->watch.see = see;
	live->watch.context = context;
	return is_new;
}

uint32_t gp_live_slots(const struct gp_live *live)
{
	return live->table.slots;
}

const struct gp_live_entry *gp_live_slot(const struct gp_live *live, uint32_t slot)
{
	if (slot < GP_SLOT_FIRST || slot >= live->table.slots)
		return NULL;
	const struct gp_live_entry *e = &gp_table_slot(&live->table, slot)->entry;
	return e->space != GP_SPACE_NONE ? e : NULL;
}

uint32_t gp_live_slot_find(const struct gp_live *live, unsigned space, uint64_t address)
{
	if (space == GP_SPACE_NONE || space >= GP_SPACES)
		return 0;
	const uint32_t slot = gp_table_find(&live->table, gp_family_of(space), address);
	return slot != 0 && gp_table_slot(&live->table, slot)->entry.space == space ? slot : 0;
}

const struct gp_live_entry *gp_live_find(const struct gp_live *live, unsigned space,
					 uint64_t address)
{
	if (space == GP_SPACE_NONE || space >= GP_SPACES)
		return NULL;
	uint32_t slot = gp_live_slot_find(live, space, address);
	if (slot != 0)
		return &gp_table_slot(&live->table, slot)->entry;
	if ((GP_SPACES_RANGE >> space & 1) == 0)
		return NULL;
	slot = gp_page_map_find(&live->pages, &live->table, GP_SPACE_BIT(space), address);
	return slot == 0 ? NULL : &gp_table_slot(&live->table, slot)->entry;
}

const struct gp_live_entry *gp_live_find_holder(const struct gp_live *live, uint64_t address)
{
	uint32_t slot = gp_page_map_find(&live->pages, &live->table, GP_SPACES_SEGMENT, address);
	return slot == 0 ? NULL : &gp_table_slot(&live->table, slot)->entry;
}

const struct gp_live_entry *gp_live_next_mapped(const struct gp_live *live, uint64_t address)
{
	uint32_t slot = gp_range_order_next(&live->mapped, address);
	return slot == 0 ? NULL : &gp_table_slot(&live->table, slot)->entry;
}

uint64_t gp_live_refused(const struct gp_live *live)
{
	return live->looks.refused;
}

uint64_t gp_live_memory(const struct gp_live *live)
{
	return sizeof *live + gp_table_memory(&live->table) + gp_page_map_memory(&live->pages) +
	       gp_range_order_memory(&live->mapped) + gp_range_order_memory(&live->segments);
}
