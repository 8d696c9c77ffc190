/*
 * Blocks of the framework's caching allocator. Finds which driver allocations are its segments, and
 * compares our totals with those of each event.
 */
#include "live_state.h"

#define CACHE_SHIFT 21u

static uint32_t find_segment(struct gp_live *live, uint64_t address)
{
	uint64_t page = address >> CACHE_SHIFT;
	struct gp_segment_cache *line = &live->cache[page % GP_CACHE_LINES];
	if (line->page == page && line->epoch == live->epoch) {
		const struct gp_live_entry *e = gp_live_at(live, line->slot);
		if (address - e->address < e->bytes)
			return line->slot;
	}
	uint32_t slot = gp_page_map_find(&live->pages, &live->table, GP_SPACES_SEGMENT, address);
	if (slot != 0) {
		line->page = page;
		line->epoch = live->epoch;
		line->slot = slot;
	}
	return slot;
}

/* The first block in driver memory makes that memory a segment. */
static void mark_around(struct gp_live *live, const struct gp_record *r)
{
	uint32_t slot = find_segment(live, r->block_alloc.address);
	if (slot == 0)
		return;
	const struct gp_live_entry *e = gp_live_at(live, slot);
	bool is_reported = r->code == 0 || (e->flags & GP_LIVE_REPORTED) != 0;
	if (__builtin_expect(
		    ((e->flags & GP_LIVE_SEGMENT) != 0 && is_reported) || e->order > r->order, 1))
		return;
	/* PyTorch's expandable segments reserve more than the device's memory, and never fill it */
	const bool is_filled = e->space == GP_SPACE_RESERVATION && e->stream == e->bytes;
	if (!is_reported || is_filled)
		gp_segment_report(live, slot, r);
	gp_segment_mark(live, slot, r);
}

static void rebase(struct gp_live *live, unsigned device, enum gp_curve curve, uint64_t carried,
		   const struct gp_record *r)
{
	struct gp_device_state *d = gp_live_device_of(live, device);
	d->figures.curve[curve].now_bytes = 0;
	d->correction[curve] = 0;
	gp_curve_add(live, device, curve, carried, r);
}

/*
 * True: equal to the recorded total. A difference is kept as correction until the recorded total
 * agrees with ours again.
 */
static bool agrees(struct gp_device_state *d, enum gp_curve curve, uint64_t carried)
{
	uint64_t ours = d->figures.curve[curve].now_bytes;
	if (carried == ours) {
		d->correction[curve] = 0;
		return true;
	}
	if (carried == ours + d->correction[curve])
		return true;
	d->correction[curve] = carried - ours;
	return false;
}

static void live_block_compare(struct gp_live *live, const struct gp_record *r)
{
	struct gp_device_state *d = gp_live_device_of(live, r->device);
	d->figures.is_seen = true;
	if (d->is_rebasing || r->order < live->gap) {
		/*
		 * The gap's last event covers all missed events, but only of its own device. For
		 * other devices, a later event may reveal them first.
		 */
		d->is_rebasing = r->order + 1 < live->gap;
		rebase(live, r->device, GP_CURVE_ALLOCATED, r->block_alloc.allocated, r);
		rebase(live, r->device, GP_CURVE_RESERVED, r->block_alloc.reserved, r);
		return;
	}
	bool is_allocated = agrees(d, GP_CURVE_ALLOCATED, r->block_alloc.allocated);
	bool is_reserved = agrees(d, GP_CURVE_RESERVED, r->block_alloc.reserved);
	if (is_allocated && is_reserved)
		return;
	live->count[GP_COUNT_MISMATCHES]++;
	d->mismatch_order = r->order;
}

/*
 * A late event's totals are of the past, so they are not compared. Events after it were compared
 * without its bytes. If exactly its bytes were missing, that mismatch was wrong and is taken back.
 */
static void excuse_mismatch(struct gp_live *live, const struct gp_record *r, uint64_t change)
{
	struct gp_device_state *d = gp_live_device_of(live, r->device);
	if (d->mismatch_order <= r->order || d->correction[GP_CURVE_ALLOCATED] != change)
		return;
	d->correction[GP_CURVE_ALLOCATED] = 0;
	d->mismatch_order = 0;
	if (live->count[GP_COUNT_MISMATCHES] > 0)
		live->count[GP_COUNT_MISMATCHES]--;
}

static void live_block_check(struct gp_live *live, const struct gp_record *r, uint64_t change)
{
	live->count[GP_COUNT_FRAMEWORK_EVENTS]++;
	if (gp_live_is_late(live, r))
		excuse_mismatch(live, r, change);
	else
		live_block_compare(live, r);
}

/*
 * Its free was not recorded. Before a gap there is nothing to correct, since totals were taken over
 * since then; else an event was dropped.
 */
static void remove_replaced(struct gp_live *live, uint32_t slot)
{
	const struct gp_live_entry e = *gp_live_at(live, slot);
	gp_live_drop(live, slot);
	if (gp_live_is_stale(live, &e))
		return;
	gp_curve_sub(live, e.device, GP_CURVE_ALLOCATED, e.bytes);
	gp_live_device_of(live, e.device)->correction[GP_CURVE_ALLOCATED] += e.bytes;
}

static bool is_pending(const struct gp_live_entry *e)
{
	return (e->flags & GP_LIVE_PENDING) != 0;
}

static void drop_pending(struct gp_live *live, uint32_t slot)
{
	const struct gp_live_entry *e = gp_live_at(live, slot);
	uint64_t *pending = &gp_live_device_of(live, e->device)->figures.pending_bytes;
	*pending -= e->bytes < *pending ? e->bytes : *pending;
	gp_live_drop(live, slot);
}

/*
 * Another block is at the address of a pending block: counts that its completion was not recorded.
 */
static void replace_pending(struct gp_live *live, uint32_t slot, uint64_t order)
{
	const struct gp_live_entry *e = gp_live_at(live, slot);
	gp_late_replaced(live, GP_FAMILY_COMPLETION, e->address, e->order, order);
	drop_pending(live, slot);
}

static struct gp_live_entry make_entry(const struct gp_record *r)
{
	return (struct gp_live_entry){
		.address = r->block_alloc.address,
		.bytes = r->block_alloc.bytes,
		.owner = r->aux,
		.stream = r->code,
		.time = r->time,
		.order = r->order,
		.stack = r->stack,
		.space = GP_SPACE_BLOCK,
		.device = r->device,
	};
}

/* A late allocation that `ended` before it came: other streams may still use it. */
static enum gp_status add_ended(struct gp_live *live, const struct gp_record *r,
				const struct gp_past_orphan *ended, uint32_t slot)
{
	if (ended->kind != GP_ORPHAN_FREE || !ended->is_pending)
		return GP_OK;
	if (slot != 0) {
		gp_late_replaced(live, GP_FAMILY_COMPLETION, ended->address, ended->order,
				 gp_live_at(live, slot)->order);
		return GP_OK;
	}
	struct gp_live_entry entry = make_entry(r);
	entry.flags = GP_LIVE_PENDING;
	if (gp_live_add(live, &entry) == 0)
		return GP_E_MEMORY;
	gp_live_device_of(live, r->device)->figures.pending_bytes += entry.bytes;
	return GP_OK;
}

enum gp_status gp_framework_alloc(struct gp_live *live, const struct gp_record *r)
{
	uint64_t address = r->block_alloc.address;
	uint32_t slot = gp_table_find(&live->table, GP_FAMILY_BLOCK, address);
	if (slot != 0 && is_pending(gp_live_at(live, slot)) &&
	    gp_live_at(live, slot)->order < r->order) {
		replace_pending(live, slot, r->order);
		slot = 0;
	}
	struct gp_past_orphan ended;
	if ((slot != 0 || gp_live_is_late(live, r)) &&
	    gp_late_alloc(live, GP_FAMILY_BLOCK, r, address, slot, &ended)) {
		enum gp_status status = add_ended(live, r, &ended, slot);
		live_block_check(live, r, 0);
		return status;
	}
	if (slot != 0)
		remove_replaced(live, slot);
	struct gp_live_entry entry = make_entry(r);
	if (gp_live_add(live, &entry) == 0)
		return GP_E_MEMORY;
	mark_around(live, r);
	gp_curve_add(live, r->device, GP_CURVE_ALLOCATED, entry.bytes, r);
	live_block_check(live, r, entry.bytes);
	return GP_OK;
}

/* Freed, but other streams use it. If the free is late, they may be done already. */
static void keep_pending(struct gp_live *live, uint32_t slot, const struct gp_record *r)
{
	if (gp_live_is_late(live, r) &&
	    gp_late_is_completed(live, r->block_free.address, r->order, UINT64_MAX)) {
		gp_live_drop(live, slot);
		return;
	}
	gp_live_touch(live, slot);
	struct gp_live_entry *e = gp_live_at(live, slot);
	e->flags |= GP_LIVE_PENDING;
	gp_live_device_of(live, e->device)->figures.pending_bytes += e->bytes;
}

void gp_framework_free(struct gp_live *live, const struct gp_record *r)
{
	uint64_t address = r->block_free.address;
	uint32_t slot = gp_table_find(&live->table, GP_FAMILY_BLOCK, address);
	bool is_older = slot != 0 && gp_live_at(live, slot)->order < r->order;
	if (is_older && is_pending(gp_live_at(live, slot))) {
		replace_pending(live, slot, r->order);
		is_older = false;
	}
	if (is_older) {
		const struct gp_live_entry *e = gp_live_at(live, slot);
		/* after a gap, another block may be at this address */
		uint64_t bytes = gp_live_is_stale(live, e) ? r->block_free.bytes : e->bytes;
		gp_curve_sub(live, e->device, GP_CURVE_ALLOCATED, bytes);
		if (r->aux != 0)
			keep_pending(live, slot, r);
		else
			gp_live_drop(live, slot);
		live_block_check(live, r, 0 - bytes);
		return;
	}
	gp_late_free(live, GP_FAMILY_BLOCK, GP_SPACE_BLOCK, r, address, r->block_free.bytes);
	if (live->gap != 0)
		gp_curve_sub(live, r->device, GP_CURVE_ALLOCATED, r->block_free.bytes);
	else if (!gp_live_is_late(live, r))
		gp_live_device_of(live, r->device)->correction[GP_CURVE_ALLOCATED] -=
			r->block_free.bytes;
	live_block_check(live, r, 0);
}

/*
 * A block without any earlier event. The recorded total includes it. Ours lacks it unless it was
 * taken over since then.
 */
static enum gp_status add_found(struct gp_live *live, const struct gp_record *r,
				const struct gp_live_entry *found)
{
	struct gp_device_state *d = gp_live_device_of(live, r->device);
	uint64_t *lacks = &d->correction[GP_CURVE_ALLOCATED];
	if (gp_live_add(live, found) == 0)
		return GP_E_MEMORY;
	if (is_pending(found)) {
		d->figures.pending_bytes += found->bytes;
	} else if (*lacks >= found->bytes && *lacks <= INT64_MAX) {
		*lacks -= found->bytes;
		gp_curve_add(live, r->device, GP_CURVE_ALLOCATED, found->bytes, r);
	}
	return GP_OK;
}

/*
 * Blocks from before the allocator details. The allocator reports them under its lock, so they are
 * valid at this order. Later knowledge is kept.
 */
enum gp_status gp_framework_found(struct gp_live *live, const struct gp_record *r)
{
	if (r->aux == 0)
		return GP_OK;
	struct gp_live_entry found = make_entry(r);
	found.flags = (r->aux & GP_FOUND_PENDING) != 0 ? GP_LIVE_PENDING : 0;
	found.owner = r->aux & ~GP_FOUND_PENDING;
	uint32_t slot = gp_table_find(&live->table, GP_FAMILY_BLOCK, found.address);
	if (slot == 0 && !gp_live_is_late(live, r)) {
		enum gp_status status = add_found(live, r, &found);
		if (status != GP_OK)
			return status;
	} else if (slot != 0) {
		struct gp_live_entry *e = gp_live_at(live, slot);
		if (e->order < r->order && e->bytes == found.bytes && e->owner == 0 &&
		    e->stream == 0) {
			gp_live_touch(live, slot);
			e->owner = found.owner;
			e->stream = found.stream;
		}
	}
	mark_around(live, r);
	if (!gp_live_is_late(live, r))
		live_block_compare(live, r);
	return GP_OK;
}

void gp_framework_completed(struct gp_live *live, const struct gp_record *r)
{
	uint64_t address = r->block_completed.address;
	uint32_t slot = gp_table_find(&live->table, GP_FAMILY_BLOCK, address);
	if (slot == 0 || gp_live_at(live, slot)->order > r->order) {
		gp_late_completed(live, r);
		return;
	}
	if (is_pending(gp_live_at(live, slot))) {
		drop_pending(live, slot);
		return;
	}
	/* its free was not recorded, or is late */
	uint64_t order = gp_live_at(live, slot)->order;
	gp_late_replaced(live, GP_FAMILY_BLOCK, address, order, r->order)->is_pending = true;
	remove_replaced(live, slot);
}

/*
 * The bytes that the job saw as active in a snapshot. After a gap it is unknown which blocks were
 * pending, so they are not compared.
 */
void gp_framework_snapshot(struct gp_live *live, const struct gp_record *r)
{
	struct gp_device_state *d = gp_live_device_of(live, r->device);
	uint64_t ours = d->figures.curve[GP_CURVE_ALLOCATED].now_bytes +
			d->correction[GP_CURVE_ALLOCATED] + d->figures.pending_bytes;
	uint64_t difference = r->snapshot.active_bytes - ours;
	if (live->gap != 0 || gp_live_is_late(live, r) || d->is_rebasing)
		return;
	if (difference != 0 && difference != d->active_correction)
		live->count[GP_COUNT_MISMATCHES]++;
	d->active_correction = difference;
}

/*
 * Events before the order `until` were missed. Up to there totals are taken over, and entries from
 * before it may be gone.
 */
void gp_framework_gap(struct gp_live *live, uint64_t until)
{
	if (until > live->gap)
		live->gap = until;
	for (unsigned i = 0; i <= GP_DEVICES; i++) {
		live->device[i].is_rebasing = true;
		live->device[i].figures.used.is_unsure = true;
	}
}
