/*
 * Segments of the framework's allocator, as it reports them: allocated as a whole, or mapped into a
 * reservation piece by piece. They exist beside the driver's memory. One that fills a reservation
 * holds it while it is not mapped.
 */
#include "live_state.h"

#define PIECES 16u
#define LOOKS_A_RANGE 32u /* lookups by page and by address: 0.2 us when both are crowded */

static struct gp_live_entry make_entry(const struct gp_record *r, unsigned flags)
{
	return (struct gp_live_entry){
		.address = r->segment_alloc.address,
		.bytes = r->segment_alloc.bytes,
		.stream = r->code,
		.time = r->time,
		.order = r->order,
		.stack = r->stack,
		.space = GP_SPACE_SEGMENT,
		.device = r->device,
		.flags = (uint16_t)flags,
	};
}

/* ---- what counts as reserved ---- */

bool gp_live_is_filled(const struct gp_live *live, const struct gp_live_entry *reservation)
{
	const uint32_t slot = gp_table_find(&live->table, GP_FAMILY_SEGMENT, reservation->address);
	const struct gp_live_entry *e =
		slot != 0 ? &gp_table_slot(&live->table, slot)->entry : NULL;
	return e != NULL && (e->flags & GP_LIVE_MAPPED) == 0 && e->bytes == reservation->bytes;
}

struct gp_held gp_segment_held(const struct gp_live *live, const struct gp_live_entry *e)
{
	if ((e->flags & GP_LIVE_SEGMENT) == 0)
		return (struct gp_held){ 0 };
	if (e->space != GP_SPACE_RESERVATION)
		return (struct gp_held){ .bytes = e->bytes };
	if (e->stream >= e->bytes || !gp_live_is_filled(live, e))
		return (struct gp_held){ .bytes = e->stream };
	return (struct gp_held){ .bytes = e->bytes, .unmapped = e->bytes - e->stream };
}

void gp_segment_moved(struct gp_live *live, unsigned device, struct gp_held before,
		      struct gp_held after, const struct gp_record *r)
{
	uint64_t *unmapped = &gp_live_device_of(live, device)->figures.unmapped_bytes;
	live->moved |=
		after.unmapped != before.unmapped && device < GP_DEVICES ? 1ull << device : 0;
	*unmapped += after.unmapped;
	*unmapped -= before.unmapped < *unmapped ? before.unmapped : *unmapped;
	if (after.bytes > before.bytes)
		gp_curve_add(live, device, GP_CURVE_RESERVED, after.bytes - before.bytes, r);
	else if (after.bytes < before.bytes)
		gp_curve_sub(live, device, GP_CURVE_RESERVED, before.bytes - after.bytes);
}

/* The reservation that begins where the segment does. NULL: none. */
static const struct gp_live_entry *reservation_at(struct gp_live *live, uint64_t address)
{
	const uint32_t slot = gp_table_find(&live->table, GP_FAMILY_RESERVATION, address);
	return slot != 0 ? gp_live_at(live, slot) : NULL;
}

static uint32_t segment_add(struct gp_live *live, const struct gp_live_entry *segment,
			    const struct gp_record *r)
{
	const struct gp_live_entry *in = reservation_at(live, segment->address);
	const struct gp_held before =
		in != NULL ? gp_segment_held(live, in) : (struct gp_held){ 0 };
	const uint32_t slot = gp_live_add(live, segment);
	if (slot != 0 && in != NULL)
		gp_segment_moved(live, in->device, before, gp_segment_held(live, in), r);
	return slot;
}

static void segment_drop(struct gp_live *live, uint32_t slot)
{
	const struct gp_live_entry *in = reservation_at(live, gp_live_at(live, slot)->address);
	const struct gp_held before =
		in != NULL ? gp_segment_held(live, in) : (struct gp_held){ 0 };
	gp_live_drop(live, slot);
	if (in != NULL)
		gp_segment_moved(live, in->device, before, gp_segment_held(live, in), NULL);
}

void gp_segment_loaded(struct gp_live *live, const struct gp_live_entry *e)
{
	const struct gp_live_entry *in = reservation_at(live, e->address);
	if (in != NULL)
		gp_live_device_of(live, in->device)->figures.unmapped_bytes +=
			gp_segment_held(live, in).unmapped;
}

/* ---- whole segments ---- */

static uint32_t find_reported(const struct gp_live *live, uint64_t address)
{
	return gp_page_map_find(&live->pages, &live->table, GP_SPACE_BIT(GP_SPACE_SEGMENT),
				address);
}

/*
 * Its driver memory became a segment with its first block, before the segment itself was reported.
 */
static bool is_derived(const struct gp_live *live, const struct gp_live_entry *e)
{
	uint32_t slot =
		gp_page_map_find(&live->pages, &live->table,
				 GP_SPACES_SEGMENT | GP_SPACE_BIT(GP_SPACE_MAPPED), e->address);
	return slot != 0 && gp_table_slot(&live->table, slot)->entry.order == e->order;
}

void gp_segment_mark(struct gp_live *live, uint32_t slot, const struct gp_record *r)
{
	struct gp_live_entry *e = gp_live_at(live, slot);
	if ((e->flags & GP_LIVE_SEGMENT) != 0)
		return;
	gp_live_touch(live, slot);
	e->flags |= GP_LIVE_SEGMENT;
	if (e->space == GP_SPACE_RESERVATION)
		/* addresses have no device until memory is mapped there */
		e->device = r->device;
	struct gp_held held = gp_segment_held(live, e);
	/* a segment older than a gap is in the totals that were taken over after it */
	held.bytes = gp_live_is_stale(live, e) ? 0 : held.bytes;
	gp_segment_moved(live, e->device, (struct gp_held){ 0 }, held, r);
}

/*
 * Adds segments from before the allocator details. Their age is that of the driver memory, else of
 * this event. False: more remain.
 */
static bool is_found_known(struct gp_live *live, const struct gp_record *r)
{
	uint64_t address = r->segment_alloc.address;
	uint32_t slot = gp_page_map_find(&live->pages, &live->table, GP_SPACES_SEGMENT, address);
	if (slot == 0 || gp_live_at(live, slot)->order > r->order)
		return gp_live_is_late(live, r) || find_reported(live, address) != 0;
	gp_segment_mark(live, slot, r);
	const struct gp_live_entry *e = gp_live_at(live, slot);
	const bool is_whole = r->kind == GP_SEGMENT_ALLOC && e->space == GP_SPACE_RESERVATION;
	if ((e->flags & GP_LIVE_REPORTED) == 0 || is_whole)
		gp_segment_report(live, slot, r);
	return true;
}

enum gp_status gp_segment_alloc(struct gp_live *live, const struct gp_record *r)
{
	if (r->aux != 0 && is_found_known(live, r))
		return GP_OK;
	uint64_t address = r->segment_alloc.address;
	uint32_t slot = gp_table_find(&live->table, GP_FAMILY_SEGMENT, address);
	if (slot != 0 && is_derived(live, gp_live_at(live, slot))) {
		segment_drop(live, slot);
		slot = 0;
	}
	if ((slot != 0 || gp_live_is_late(live, r)) &&
	    gp_late_alloc(live, GP_FAMILY_SEGMENT, r, address, slot, NULL))
		return GP_OK;
	if (slot != 0)
		segment_drop(live, slot);
	/* so late that the driver memory is already gone */
	if (gp_live_is_late(live, r) &&
	    gp_past_was_freed(&live->past, GP_SPACES_SEGMENT, address, r->order))
		return GP_OK;
	const struct gp_live_entry entry = make_entry(r, 0);
	return segment_add(live, &entry, r) != 0 ? GP_OK : GP_E_MEMORY;
}

void gp_segment_free(struct gp_live *live, const struct gp_record *r)
{
	uint64_t address = r->segment_free.address;
	uint32_t slot = gp_table_find(&live->table, GP_FAMILY_SEGMENT, address);
	if (slot != 0 && gp_live_at(live, slot)->order < r->order)
		segment_drop(live, slot);
	else
		gp_late_free(live, GP_FAMILY_SEGMENT, GP_SPACE_SEGMENT, r, address,
			     r->segment_free.bytes);
}

void gp_segment_end(struct gp_live *live, uint64_t address, uint64_t order)
{
	uint32_t slot = gp_table_find(&live->table, GP_FAMILY_SEGMENT, address);
	if (slot == 0 || (gp_live_at(live, slot)->flags & GP_LIVE_MAPPED) != 0)
		return;
	gp_past_add_freed(&live->past, gp_live_at(live, slot), order);
	gp_live_drop(live, slot);
}

/* ---- ranges of a reservation ---- */

/* The first entry that overlaps [*at, end); *at moves there. 0: none. */
static uint32_t next_range(const struct gp_live *live, uint64_t *at, uint64_t end)
{
	if (*at >= end)
		return 0;
	uint32_t slot = gp_range_order_next(&live->segments, *at);
	const struct gp_live_entry *e =
		slot != 0 ? &gp_table_slot(&live->table, slot)->entry : NULL;
	/* where ranges touch, a search around the address would find the same one, slowly */
	if (e == NULL || e->address != *at || e->bytes == 0) {
		const uint32_t around = find_reported(live, *at);
		if (around != 0)
			return around;
	}
	if (e == NULL || e->address >= end)
		return 0;
	*at = e->address;
	return slot;
}

static uint64_t end_of(const struct gp_live_entry *e)
{
	return e->address + e->bytes;
}

/*
 * Continues after the entry. A damaged recording may have one that ends before it begins; it must
 * not lead back.
 */
static uint64_t behind(const struct gp_live_entry *e, uint64_t at)
{
	return end_of(e) > at ? end_of(e) : UINT64_MAX;
}

static bool add_part(struct gp_live *live, const struct gp_live_entry *of, uint64_t from,
		     uint64_t to)
{
	if (from >= to)
		return true;
	struct gp_live_entry part = *of;
	part.address = from;
	part.bytes = to - from;
	return gp_live_add(live, &part) != 0;
}

/* Removes [from, to) from the entry; a part before and one after may remain. */
static bool live_segment_cut(struct gp_live *live, uint32_t slot, uint64_t from, uint64_t to)
{
	const struct gp_live_entry e = *gp_live_at(live, slot);
	gp_live_drop(live, slot);
	return (e.flags & GP_LIVE_MAPPED) == 0 ||
	       (add_part(live, &e, e.address, from) && add_part(live, &e, to, end_of(&e)));
}

struct pieces {
	struct piece {
		uint64_t from, to;
	} piece[PIECES];
	unsigned count;
};

static void subtract(struct pieces *p, uint64_t from, uint64_t to)
{
	unsigned count = p->count;
	for (unsigned i = 0; i < count; i++) {
		struct piece *x = &p->piece[i];
		if (to <= x->from || from >= x->to)
			continue;
		if (from > x->from && to < x->to && p->count < PIECES)
			p->piece[p->count++] = (struct piece){ to, x->to };
		if (from > x->from)
			x->to = from;
		else
			x->from = to < x->to ? to : x->to;
	}
}

/* A range that comes late: without the parts that were mapped or unmapped there since. */
static void subtract_younger(struct gp_live *live, const struct gp_record *r, struct pieces *p)
{
	uint64_t end = r->segment_map.address + r->segment_map.bytes, at = r->segment_map.address;
	for (uint32_t slot; (slot = next_range(live, &at, end)) != 0;) {
		const struct gp_live_entry *e = &gp_table_slot(&live->table, slot)->entry;
		at = behind(e, at);
		if (!gp_looks_take(&live->looks, LOOKS_A_RANGE))
			break;
		if (e->order > r->order)
			subtract(p, e->address, end_of(e));
	}
	for (unsigned i = 0; i < GP_PAST_ORPHANS; i++) {
		const struct gp_past_orphan *o = &live->past.orphan[i];
		if (o->kind == GP_ORPHAN_FREE && o->family == GP_FAMILY_SEGMENT &&
		    o->order > r->order)
			subtract(p, o->address, o->address + o->bytes);
	}
}

enum gp_status gp_segment_map(struct gp_live *live, const struct gp_record *r)
{
	if (r->aux != 0 && is_found_known(live, r))
		return GP_OK;
	uint64_t from = r->segment_map.address, to = from + r->segment_map.bytes, at = from;
	struct pieces pieces = { .piece[0] = { from, to }, .count = 1 };
	if (gp_live_is_late(live, r))
		subtract_younger(live, r, &pieces);
	bool is_replaced = false, is_there = true;
	for (uint32_t slot; (slot = next_range(live, &at, to)) != 0;) {
		const struct gp_live_entry e = *gp_live_at(live, slot);
		at = behind(&e, at);
		if (!gp_looks_take(&live->looks, LOOKS_A_RANGE))
			break;
		if (e.order > r->order)
			continue;
		/* its unmap was not recorded */
		if (!is_replaced && !is_derived(live, &e)) {
			gp_late_replaced(live, GP_FAMILY_SEGMENT, from, e.order, r->order)->bytes =
				to - from;
			is_replaced = true;
		}
		is_there &= live_segment_cut(live, slot, from, to);
	}
	const struct gp_live_entry entry = make_entry(r, GP_LIVE_MAPPED);
	for (unsigned i = 0; i < pieces.count; i++)
		is_there &= add_part(live, &entry, pieces.piece[i].from, pieces.piece[i].to);
	return is_there ? GP_OK : GP_E_MEMORY;
}

/* Takes back the anomalies that a late unmap explains. */
static void explain_replaced(struct gp_live *live, const struct gp_record *r)
{
	uint64_t from = r->segment_unmap.address, to = from + r->segment_unmap.bytes;
	for (unsigned i = 0; i < GP_PAST_ORPHANS; i++) {
		struct gp_past_orphan *o = &live->past.orphan[i];
		if (o->kind != GP_ORPHAN_REPLACED || o->family != GP_FAMILY_SEGMENT ||
		    o->order > r->order || o->until < r->order || o->address >= to ||
		    o->address + o->bytes <= from)
			continue;
		gp_late_explain(live, o);
		o->kind = GP_ORPHAN_NONE;
	}
}

enum gp_status gp_segment_unmap(struct gp_live *live, const struct gp_record *r)
{
	uint64_t from = r->segment_unmap.address, to = from + r->segment_unmap.bytes, at = from;
	uint64_t found = 0;
	bool is_there = true;
	for (uint32_t slot; (slot = next_range(live, &at, to)) != 0;) {
		const struct gp_live_entry e = *gp_live_at(live, slot);
		uint64_t end = end_of(&e) < to ? end_of(&e) : to;
		uint64_t begin = e.address > from ? e.address : from;
		at = behind(&e, at);
		if (!gp_looks_take(&live->looks, LOOKS_A_RANGE))
			break;
		if (e.order > r->order || (e.flags & GP_LIVE_MAPPED) == 0)
			continue;
		found += end - begin;
		is_there &= live_segment_cut(live, slot, from, to);
	}
	if (found < to - from) {
		explain_replaced(live, r);
		const struct gp_past_orphan orphan = { .address = from,
						       .bytes = to - from,
						       .order = r->order,
						       .kind = GP_ORPHAN_FREE,
						       .family = GP_FAMILY_SEGMENT,
						       .space = GP_SPACE_SEGMENT };
		gp_past_add_orphan(&live->past, &orphan);
	}
	return is_there ? GP_OK : GP_E_MEMORY;
}

/* ---- segments from before the allocator details ---- */

static void live_segment_report(struct gp_live *live, const struct gp_live_entry *of,
				const struct gp_record *block, unsigned flags)
{
	struct gp_past_orphan ended;
	const uint32_t known = find_reported(live, of->address);
	if (known != 0 && gp_live_at(live, known)->stream == 0) {
		gp_live_touch(live, known);
		gp_live_at(live, known)->stream = block->code;
	}
	if (known != 0 ||
	    gp_past_take_free(&live->past, GP_FAMILY_SEGMENT, of->address, block->order, UINT64_MAX,
			      &ended)) /* the block comes late */
		return;
	struct gp_live_entry entry = *of;
	entry.owner = 0;
	entry.stream = block->code;
	entry.space = GP_SPACE_SEGMENT;
	entry.device = block->device;
	entry.flags = (uint16_t)flags;
	if (segment_add(live, &entry, block) == 0)
		gp_live_anomaly(live);
}

void gp_segment_report(struct gp_live *live, uint32_t slot, const struct gp_record *r)
{
	gp_live_touch(live, slot);
	gp_live_at(live, slot)->flags |= r->code != 0 ? GP_LIVE_REPORTED : 0;
	struct gp_live_entry e = *gp_live_at(live, slot);
	if (e.space != GP_SPACE_RESERVATION) {
		if (find_reported(live, r->block_alloc.address) == 0)
			live_segment_report(live, &e, r, 0);
		return;
	}
	if (r->kind == GP_SEGMENT_ALLOC) {
		e.address = r->segment_alloc.address;
		e.bytes = r->segment_alloc.bytes;
	}
	if (r->kind == GP_SEGMENT_ALLOC || (r->kind != GP_SEGMENT_MAP && e.stream == e.bytes)) {
		live_segment_report(live, &e, r, 0);
		return;
	}
	/* a reservation has one stream and one pool: all mappings in it are of this arena */
	uint64_t at = e.address, left = e.stream;
	for (uint32_t slot_of;
	     left > 0 && (slot_of = gp_range_order_next(&live->mapped, at)) != 0;) {
		const struct gp_live_entry m = *gp_live_at(live, slot_of);
		if (m.address >= end_of(&e) || !gp_looks_take(&live->looks, LOOKS_A_RANGE))
			break;
		live_segment_report(live, &m, r, GP_LIVE_MAPPED);
		left -= m.bytes < left ? m.bytes : left;
		at = m.bytes > 0 ? behind(&m, at) : m.address + 1;
	}
}
