/*
 * Memory requested from the driver: allocations, frees and their failures, VMM mappings, and owners
 * that end.
 */
#include "live_state.h"

#define IMPORTED 1u /* ALLOC.flags of PHYSICAL */

bool gp_live_is_driver(const struct gp_live_entry *e)
{
	const unsigned counted = GP_SPACE_BIT(GP_SPACE_DEVICE) | GP_SPACE_BIT(GP_SPACE_ASYNC) |
				 GP_SPACE_BIT(GP_SPACE_MANAGED) | GP_SPACE_BIT(GP_SPACE_ARRAY) |
				 GP_SPACE_BIT(GP_SPACE_PHYSICAL) | GP_SPACE_BIT(GP_SPACE_GRAPH);
	return e->space < GP_SPACES && (counted >> e->space & 1) != 0 &&
	       !(e->space == GP_SPACE_PHYSICAL && (e->flags & IMPORTED) != 0);
}

bool gp_live_is_pinned(const struct gp_live_entry *e)
{
	return e->space == GP_SPACE_HOST || e->space == GP_SPACE_HOST_REGISTER;
}

static void count_in(struct gp_live *live, const struct gp_live_entry *e, const struct gp_record *r)
{
	if (gp_live_is_driver(e)) {
		gp_curve_add(live, e->device, GP_CURVE_DRIVER, e->bytes, r);
		gp_used_moved(live, e, false);
	}
	gp_segment_moved(live, e->device, (struct gp_held){ 0 }, gp_segment_held(live, e), r);
	if (gp_live_is_pinned(e))
		gp_host_add(live, e, r);
}

/* `order`: of the event that ended it. */
static void remove_entry(struct gp_live *live, uint32_t slot, bool is_reserved, uint64_t order)
{
	const struct gp_live_entry *e = gp_live_at(live, slot);
	const struct gp_held held = gp_segment_held(live, e);
	if ((GP_SPACES_SEGMENT >> e->space & 1) != 0)
		gp_segment_end(live, e->address, order);
	if (gp_live_is_pinned(e))
		gp_host_sub(live, e);
	if (gp_live_is_driver(e)) {
		gp_curve_sub(live, e->device, GP_CURVE_DRIVER, e->bytes);
		gp_used_moved(live, e, true);
	}
	gp_segment_moved(live, e->device, held,
			 (struct gp_held){ .bytes = is_reserved ? 0 : held.bytes }, NULL);
	gp_live_drop(live, slot);
}

/* The physical memory of that handle that was allocated at `order`, released or not. */
static uint32_t find_physical(const struct gp_live *live, uint64_t handle, uint64_t order)
{
	uint32_t slot = gp_table_find(&live->table, GP_FAMILY_PHYSICAL, handle);
	if (slot != 0 && gp_table_slot(&live->table, slot)->entry.order == order)
		return slot;
	slot = gp_table_find(&live->table, GP_FAMILY_RELEASED, order);
	return slot != 0 && gp_table_slot(&live->table, slot)->entry.address == handle ? slot : 0;
}

const struct gp_live_entry *gp_live_ended_by(const struct gp_live *live, const struct gp_record *r)
{
	bool is_block = r->kind == GP_BLOCK_FREE;
	if (!is_block && (r->kind != GP_FREE || r->space >= GP_SPACE_BLOCK))
		return NULL;
	enum gp_family family = is_block ? GP_FAMILY_BLOCK : gp_family_of(r->space);
	uint32_t slot = gp_table_find(&live->table, family,
				      is_block ? r->block_free.address : r->free.address);
	if (slot == 0)
		return NULL;
	const struct gp_live_entry *e = &gp_table_slot(&live->table, slot)->entry;
	bool is_over = is_block && (e->flags & GP_LIVE_PENDING) != 0;
	return e->order < r->order && !is_over ? e : NULL;
}

size_t gp_live_undone_by(const struct gp_live *live, const struct gp_record *next,
			 uint64_t address[GP_LIVE_UNDONE_MOST])
{
	size_t count = 0;
	unsigned at = 0;
	if (next->kind != GP_UNMAP_FAILED)
		return 0;
	for (const struct gp_live_entry *e;
	     (e = gp_past_next_freed(&live->past, next->unmap_failed.undoes, &at)) != NULL;)
		if (e->space == GP_SPACE_MAPPED)
			address[count++] = e->address;
	return count;
}

enum gp_status gp_driver_alloc(struct gp_live *live, const struct gp_record *r)
{
	if (r->space == GP_SPACE_NONE || r->space >= GP_SPACE_BLOCK ||
	    r->space == GP_SPACE_MAPPED) {
		gp_live_anomaly(live);
		return GP_OK;
	}
	enum gp_family family = gp_family_of(r->space);
	uint64_t address = r->alloc.address;
	uint32_t slot = gp_table_find(&live->table, family, address);
	/* importing memory of this process returns the handle that it already has */
	if (slot != 0 && r->space == GP_SPACE_PHYSICAL && (r->aux & IMPORTED) != 0)
		return GP_OK;
	if ((slot != 0 || gp_live_is_late(live, r)) &&
	    gp_late_alloc(live, family, r, address, slot, NULL))
		return GP_OK;
	if (slot != 0)
		remove_entry(live, slot, !gp_live_is_stale(live, gp_live_at(live, slot)), r->order);
	bool has_stream = r->space != GP_SPACE_PHYSICAL && r->space != GP_SPACE_RESERVATION;
	struct gp_live_entry entry = {
		.address = address,
		.bytes = r->alloc.bytes,
		.owner = r->alloc.owner,
		.stream = has_stream ? r->alloc.stream : 0,
		.time = r->time,
		.order = r->order,
		.stack = r->stack,
		.space = r->space,
		.device = r->device,
		.flags = (uint16_t)(r->aux & ~GP_LIVE_FLAGS),
	};
	if (gp_live_add(live, &entry) == 0)
		return GP_E_MEMORY;
	count_in(live, &entry, r);
	return GP_OK;
}

/* An unknown segment may be gone: take the next totals over without comparison. */
static void expect_unknown(struct gp_live *live)
{
	if (live->gap != 0)
		for (unsigned i = 0; i <= GP_DEVICES; i++)
			live->device[i].is_rebasing = true;
}

/* The mappings keep the memory. A real driver never uses an order twice, but a recording may. */
static void release_handle(struct gp_live *live, uint32_t slot)
{
	uint64_t order = gp_live_at(live, slot)->order;
	gp_live_touch(live, slot);
	if (gp_table_find(&live->table, GP_FAMILY_RELEASED, order) != 0 ||
	    !gp_table_release_handle(&live->table, slot, true))
		gp_live_anomaly(live);
}

void gp_driver_free(struct gp_live *live, const struct gp_record *r)
{
	uint64_t address = r->free.address;
	if (address == 0)
		return; /* the driver ignores it as well */
	if (r->space >= GP_SPACE_BLOCK || r->space == GP_SPACE_MAPPED) {
		gp_live_anomaly(live);
		return;
	}
	enum gp_family family = gp_family_of(r->space);
	uint32_t slot = gp_table_find(&live->table, family, address);
	if (slot == 0 || gp_live_at(live, slot)->order > r->order) {
		gp_late_free(live, family, r->space, r, address, 0);
		expect_unknown(live);
		return;
	}
	struct gp_live_entry *e = gp_live_at(live, slot);
	if (e->space == GP_SPACE_PHYSICAL && e->stream > 0) {
		gp_past_add_freed(&live->past, e, r->order);
		release_handle(live, slot);
		return;
	}
	const struct gp_live_entry freed = *e;
	remove_entry(live, slot, true, r->order);
	gp_past_add_freed(&live->past, &freed, r->order);
}

/* ---- mappings ---- */

/* Adds or removes a mapping in the counts of its physical memory and its reservation. */
static void attach(struct gp_live *live, const struct gp_live_entry *mapped,
		   const struct gp_record *r)
{
	uint32_t physical = find_physical(live, mapped->owner, mapped->stream);
	if (physical != 0) {
		gp_live_touch(live, physical);
		gp_live_at(live, physical)->stream++;
	}
	uint32_t reservation = gp_page_map_find(
		&live->pages, &live->table, GP_SPACE_BIT(GP_SPACE_RESERVATION), mapped->address);
	if (reservation == 0)
		return;
	gp_live_touch(live, reservation);
	struct gp_live_entry *e = gp_live_at(live, reservation);
	const struct gp_held before = gp_segment_held(live, e);
	e->stream += mapped->bytes;
	gp_segment_moved(live, e->device, before, gp_segment_held(live, e), r);
}

static void detach(struct gp_live *live, const struct gp_live_entry *mapped, uint64_t order)
{
	uint32_t physical = find_physical(live, mapped->owner, mapped->stream);
	if (physical != 0) {
		gp_live_touch(live, physical);
		struct gp_live_entry *e = gp_live_at(live, physical);
		e->stream -= e->stream > 0;
		if (e->stream == 0 && (e->flags & GP_LIVE_RELEASED) != 0) {
			gp_past_add_freed(&live->past, e, order);
			remove_entry(live, physical, true, order);
		}
	}
	uint32_t reservation = gp_page_map_find(
		&live->pages, &live->table, GP_SPACE_BIT(GP_SPACE_RESERVATION), mapped->address);
	if (reservation == 0)
		return;
	gp_live_touch(live, reservation);
	struct gp_live_entry *e = gp_live_at(live, reservation);
	const struct gp_held before = gp_segment_held(live, e);
	e->stream -= mapped->bytes < e->stream ? mapped->bytes : e->stream;
	gp_segment_moved(live, e->device, before, gp_segment_held(live, e), NULL);
}

static void remove_mapping(struct gp_live *live, uint32_t slot, uint64_t order)
{
	const struct gp_live_entry mapped = *gp_live_at(live, slot);
	detach(live, &mapped, order);
	gp_past_add_freed(&live->past, &mapped, order);
	gp_live_drop(live, slot);
}

enum gp_status gp_driver_map(struct gp_live *live, const struct gp_record *r)
{
	uint64_t address = r->map.address;
	uint32_t slot = gp_table_find(&live->table, GP_FAMILY_MAPPED, address);
	if ((slot != 0 || gp_live_is_late(live, r)) &&
	    gp_late_alloc(live, GP_FAMILY_MAPPED, r, address, slot, NULL))
		return GP_OK;
	if (slot != 0)
		remove_mapping(live, slot, r->order);
	uint32_t physical = gp_table_find(&live->table, GP_FAMILY_PHYSICAL, r->map.handle);
	struct gp_live_entry entry = {
		.address = address,
		.bytes = r->map.bytes,
		.owner = r->map.handle,
		/* none: unknown memory, or a multicast object */
		.stream = physical != 0 ? gp_live_at(live, physical)->order : UINT64_MAX,
		.time = r->time,
		.order = r->order,
		.stack = r->stack,
		.space = GP_SPACE_MAPPED,
		.device = r->device,
	};
	if (gp_live_add(live, &entry) == 0)
		return GP_E_MEMORY;
	attach(live, &entry, r);
	return GP_OK;
}

/* Removes every mapping in the range: one cuMemUnmap may cover many cuMemMap. */
void gp_driver_unmap(struct gp_live *live, const struct gp_record *r)
{
	uint64_t at = r->unmap.address, left = r->unmap.bytes;
	bool is_known = false;
	for (uint32_t slot; (slot = gp_range_order_next(&live->mapped, at)) != 0;) {
		const struct gp_live_entry *e = gp_live_at(live, slot);
		const uint64_t before = e->address - at, bytes = e->bytes;
		/*
		 * a mapping of no bytes, which a program may unmap, exists only at the range's
		 * first address
		 */
		if (before > 0 && before >= left)
			break;
		if (e->order < r->order) {
			remove_mapping(live, slot, r->order);
			is_known = true;
		} else if (!gp_looks_take(&live->looks, 1)) {
			break;
		}
		if (bytes == 0 || bytes >= left - before)
			break;
		at += before + bytes;
		left -= before + bytes;
	}
	if (is_known)
		return;
	gp_late_free(live, GP_FAMILY_MAPPED, GP_SPACE_MAPPED, r, r->unmap.address, 0);
	expect_unknown(live);
}

/* ---- what the driver refuses, and what it frees by itself ---- */

static void restore(struct gp_live *live, const struct gp_live_entry *e, const struct gp_record *r)
{
	if (e->space == GP_SPACE_PHYSICAL) {
		uint32_t slot = gp_table_find(&live->table, GP_FAMILY_RELEASED, e->order);
		bool is_free = gp_table_find(&live->table, GP_FAMILY_PHYSICAL, e->address) == 0;
		if (slot != 0 && is_free && gp_live_at(live, slot)->address == e->address) {
			/* released but still mapped: the handle is valid again */
			gp_live_touch(live, slot);
			if (gp_table_release_handle(&live->table, slot, false))
				return;
		}
	}
	if (gp_table_find(&live->table, gp_family_of(e->space), e->address) != 0 ||
	    gp_live_add(live, e) == 0) {
		gp_live_anomaly(live);
		return;
	}
	if (e->space == GP_SPACE_MAPPED)
		attach(live, e, r);
	else
		count_in(live, e, r);
}

static void undo(struct gp_live *live, const struct gp_record *r, uint64_t order)
{
	struct gp_live_entry entry;
	bool is_known = false;
	for (unsigned at = 0; gp_past_take_freed(&live->past, order, &at, &entry);) {
		if (!gp_looks_take(&live->looks, 1))
			break;
		restore(live, &entry, r);
		is_known = true;
	}
	struct gp_past_orphan orphan;
	if (!is_known && gp_past_take_refused(&live->past, order, &orphan)) {
		/*
		 * the program freed foreign memory and the driver refused: not a fault of the
		 * recording
		 */
		if (orphan.is_anomaly && live->count[GP_COUNT_ANOMALIES] > 0)
			live->count[GP_COUNT_ANOMALIES]--;
		is_known = true;
	}
	if (!is_known && !live->is_loaded && live->gap == 0)
		gp_live_anomaly(live);
}

void gp_driver_free_failed(struct gp_live *live, const struct gp_record *r)
{
	if (r->free_failed.address != 0)
		undo(live, r, r->free_failed.undoes);
}

void gp_driver_unmap_failed(struct gp_live *live, const struct gp_record *r)
{
	undo(live, r, r->unmap_failed.undoes);
}

void gp_driver_owner_gone(struct gp_live *live, const struct gp_record *r)
{
	const unsigned of_context = GP_SPACE_BIT(GP_SPACE_DEVICE) | GP_SPACE_BIT(GP_SPACE_MANAGED) |
				    GP_SPACE_BIT(GP_SPACE_HOST) |
				    GP_SPACE_BIT(GP_SPACE_HOST_REGISTER) |
				    GP_SPACE_BIT(GP_SPACE_ARRAY) | GP_SPACE_BIT(GP_SPACE_IPC);
	bool is_graph = r->aux == GP_HOW_EXEC_DESTROY || r->aux == GP_HOW_GRAPH_DESTROY;
	unsigned spaces = is_graph ? GP_SPACE_BIT(GP_SPACE_GRAPH) : of_context;
	if (r->owner_gone.owner == 0 || (is_graph && live->graphs == 0))
		return;
	if (!gp_looks_take(&live->looks, live->table.slots / GP_SLOTS_A_LOOK)) {
		gp_live_anomaly(live);
		return;
	}
	for (uint32_t slot = GP_SLOT_FIRST; slot < live->table.slots; slot++) {
		const struct gp_live_entry *e = gp_live_at(live, slot);
		if (e->owner == r->owner_gone.owner && e->order < r->order &&
		    (spaces >> e->space & 1) != 0)
			remove_entry(live, slot, true, r->order);
	}
}
