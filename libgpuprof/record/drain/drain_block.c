/* On the drain thread: turns the content of rings into blocks of the file. */
#include "../recorder.h"

/* Number of slots from the tail on that form one block: of one region, on one side of the cut. */
static uint64_t block_slots(const struct gp_ring_view *view, uint64_t tail, uint64_t cut,
			    bool *is_late)
{
	const uint64_t end = gp_region_end(view->ring, gp_ring_region(view->ring, tail));
	const uint64_t seen = view->seen < end ? view->seen : end;
	uint64_t at = tail;
	*is_late = false;
	if (!view->has_late && seen - tail <= GP_BLOCK_RECORDS)
		return seen - tail;
	*is_late = gp_view_slot(view, tail)->order < cut;
	while (at < seen) {
		const struct gp_record *record = gp_view_slot(view, at);
		uint64_t next = at + 1u + record->extra;
		if (next - tail > GP_BLOCK_RECORDS || (record->order < cut) != *is_late)
			break;
		at = next;
	}
	return at - tail;
}

static bool write_block(struct gp_recorder *r, struct gp_ring_view *view, uint64_t tail,
			uint64_t slots, bool is_late)
{
	gp_segment_define(r, view, tail, slots);
	struct gp_block_header header = gp_file_block(
		&r->writer, GP_BLOCK_EVENTS, is_late ? GP_BLOCK_LATE : 0, view->ring->thread);
	size_t length;
	header.sequence = atomic_load(&view->ring->sequence);
	const unsigned region = gp_ring_region(view->ring, tail);
	if (gp_block_encode(r->scratch, &header, view->slots[region], GP_REGION_SLOTS(region), tail,
			    slots, r->block, r->block_capacity, &length) != GP_OK ||
	    !gp_segment_put(r, length))
		return false;
	atomic_fetch_add(&view->ring->sequence, 1);
	atomic_fetch_add(&gp_control->drained, header.records);
	return true;
}

/*
 * Losses have no number whose absence a reader could detect. So the LOST records of ring 0 are
 * written before all later events. Otherwise a reader of a growing or truncated file would take the
 * inconsistencies for anomalies.
 */
static void flush_losses(struct gp_recorder *r, const struct gp_ring_view *next)
{
	struct gp_ring_view *own = &r->views[0];
	uint64_t tail = atomic_load_explicit(&own->ring->tail, memory_order_relaxed);
	if (gp_unlikely(tail < r->written_to) && next != own)
		gp_drain_flush(r, own);
}

void gp_drain_flush(struct gp_recorder *r, struct gp_ring_view *view)
{
	flush_losses(r, view);
	uint64_t tail = atomic_load_explicit(&view->ring->tail, memory_order_relaxed);
	uint64_t cut = atomic_load(&gp_control->cut);
	while (tail < view->seen) {
		bool is_late;
		uint64_t slots = block_slots(view, tail, cut, &is_late);
		if (!write_block(r, view, tail, slots, is_late))
			gp_losses_unwritten(r, view, tail, slots);
		tail += slots;
		/* partner: acquire load in has_room; the slots are free from here on */
		atomic_store_explicit(&view->ring->tail, tail, memory_order_release);
	}
	view->has_late = false;
	view->pending_ns = view->seen < view->head ? view->pending_ns : 0;
}

void gp_drain_flush_all(struct gp_recorder *r)
{
	const uint32_t rings = atomic_load(&gp_control->rings);
	for (uint32_t k = 0; k < rings; k++)
		gp_drain_flush(r, &r->views[k]);
}
