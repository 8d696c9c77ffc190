/* The state's entries, curves and counts, and who applies which event. */
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

/* NULL: entries of that space are sought at an address alone. */
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
	/* a walk under way sees the past: not this one */
	gp_table_slot(&live->table, slot)->walk = live->walk.number;
	live->entries++;
	if (is_range(entry)) {
		gp_page_map_add(&live->pages, &live->table, slot);
		live->epoch++;
	}
	return slot;
}

void gp_live_touch(struct gp_live *live, uint32_t slot)
{
	struct gp_live_walk *walk = &live->walk;
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

static void add_lost(struct gp_live *live, const struct gp_record *r)
{
	live->count[GP_COUNT_LOST_MEMORY] += r->lost.memory;
	live->count[GP_COUNT_LOST_LAUNCH] += r->lost.launch;
	live->count[GP_COUNT_LOST_OTHER] += r->lost.other;
	live->count[GP_COUNT_NESTED] += r->lost.nested;
	/* what was lost may have freed or made anything, between `order` and `span` numbers on */
	if (r->lost.memory || r->aux)
		gp_framework_gap(live, r->order + r->aux);
}

/* One that a newer change overtook says nothing any more. */
static void apply_scope(struct gp_live *live, const struct gp_record *r)
{
	uint64_t *since = &live->count[GP_COUNT_SCOPE_SINCE];
	if (r->scope.number <= live->count[GP_COUNT_SCOPE_NUMBER])
		return;
	live->count[GP_COUNT_SCOPE_NUMBER] = r->scope.number;
	/* the first that is told may be the end of one that the recording began with */
	if (*since == 0 && r->scope.since != 0) {
		live->count[GP_COUNT_SCOPES]++;
		*since = r->scope.since;
	}
	if (r->aux != 0 || *since == 0)
		return;
	live->count[GP_COUNT_SCOPE_TICKS] += r->time > *since ? r->time - *since : 0;
	*since = 0;
}

static void note_used(struct gp_live *live, const struct gp_record *r)
{
	struct gp_live_device *d = &gp_live_device_of(live, r->device)->figures;
	d->used = (struct gp_live_used){
		.time = r->time,
		.free_bytes = r->device_memory.free_bytes,
		.total_bytes = r->device_memory.total_bytes,
		.limit_bytes = r->device_memory.limit_bytes,
		.driver_bytes = d->curve[GP_CURVE_DRIVER].now_bytes,
		.has_limit = r->aux != 0,
	};
}

/* The driver counts when it refuses, too; of the framework's limit that says nothing. */
static void note_refused(struct gp_live *live, const struct gp_record *r)
{
	struct gp_live_device *d = &gp_live_device_of(live, r->device)->figures;
	if (r->alloc_failed.total_bytes == 0 || r->time <= d->used.time)
		return;
	d->used.time = r->time;
	d->used.free_bytes = r->alloc_failed.free_bytes;
	d->used.total_bytes = r->alloc_failed.total_bytes;
	d->used.driver_bytes = d->curve[GP_CURVE_DRIVER].now_bytes;
}

static enum gp_status apply_segment(struct gp_live *live, const struct gp_record *r)
{
	switch (r->kind) {
	case GP_SEGMENT_ALLOC:
		return gp_segment_alloc(live, r);
	case GP_SEGMENT_FREE:
		gp_segment_free(live, r);
		break;
	case GP_SEGMENT_MAP:
		return gp_segment_map(live, r);
	case GP_SEGMENT_UNMAP:
		return gp_segment_unmap(live, r);
	default:
		break;
	}
	return GP_OK;
}

static enum gp_status apply_memory(struct gp_live *live, const struct gp_record *r)
{
	switch (r->kind) {
	case GP_ALLOC:
		return gp_driver_alloc(live, r);
	case GP_ALLOC_FAILED:
		note_refused(live, r);
		break;
	case GP_FREE:
		gp_driver_free(live, r);
		break;
	case GP_FREE_FAILED:
		gp_driver_free_failed(live, r);
		break;
	case GP_MAP:
		return gp_driver_map(live, r);
	case GP_UNMAP:
		gp_driver_unmap(live, r);
		break;
	case GP_UNMAP_FAILED:
		gp_driver_unmap_failed(live, r);
		break;
	case GP_OWNER_GONE:
		gp_driver_owner_gone(live, r);
		break;
	case GP_GAP:
		gp_framework_gap(live, r->order + 1);
		break;
	case GP_SCOPE:
		apply_scope(live, r);
		break;
	case GP_BLOCK_ALLOC:
		return gp_framework_alloc(live, r);
	case GP_BLOCK_FREE:
		gp_framework_free(live, r);
		break;
	case GP_BLOCK_AGAIN:
		return gp_framework_found(live, r);
	case GP_BLOCK_COMPLETED:
		gp_framework_completed(live, r);
		break;
	case GP_SNAPSHOT:
		gp_framework_snapshot(live, r);
		break;
	case GP_RESOURCE:
		return gp_resource_made(live, r);
	case GP_RESOURCE_GONE:
		gp_resource_gone(live, r);
		break;
	default:
		return apply_segment(live, r);
	}
	return GP_OK;
}

enum gp_status gp_live_apply(struct gp_live *live, const struct gp_record *r)
{
	if (__builtin_expect(r->kind >= GP_KINDS, 0))
		return GP_OK;
	enum gp_class class = gp_event_infos[r->kind].class;
	if (class == GP_CLASS_CHECKPOINT)
		return gp_live_load(live, r);
	live->count[r->kind]++;
	if (class == GP_CLASS_MEMORY) {
		gp_looks_add(&live->looks);
		enum gp_status status = apply_memory(live, r);
		if (status != GP_OK)
			gp_live_anomaly(live);
		if (r->order > live->newest)
			live->newest = r->order;
		return status;
	}
	if (r->kind == GP_LOST)
		add_lost(live, r);
	else if (r->kind == GP_DEVICE_MEMORY)
		note_used(live, r);
	else if (r->kind == GP_THREAD && r->aux != 0) /* 0 is the recorder's own */
		live->count[GP_COUNT_THREADS]++;
	return GP_OK;
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

const struct gp_live_entry *gp_live_find(const struct gp_live *live, unsigned space,
					 uint64_t address)
{
	if (space == GP_SPACE_NONE || space >= GP_SPACES)
		return NULL;
	uint32_t slot = gp_table_find(&live->table, gp_family_of(space), address);
	if (slot != 0) {
		const struct gp_live_entry *e = &gp_table_slot(&live->table, slot)->entry;
		if (e->space == space)
			return e;
	}
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
