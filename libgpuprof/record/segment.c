/*
 * Segments: each starts with what a reader needs to begin there (definitions, figures since the
 * start, the live set), so that a flight recorder forgets details and never figures. The live set
 * is written in slices between turns of the drain; an entry that changes before its slice is
 * written is copied out first (state/live.h).
 */
#include "recorder.h"

#define SEGMENT_EVENTS 2000000u
#define SLICE 8192u

static void write_buffer(struct gp_recorder *r, enum gp_block_type type, uint16_t flags)
{
	struct gp_clock_triple now = gp_clock_triple();
	struct gp_block_header header = {
		.type = (uint16_t)type,
		.flags = flags,
		.segment = (uint32_t)atomic_load(&gp_control->segment),
		.part = (uint32_t)atomic_load(&gp_control->part),
		.thread = GP_THREAD_NONE,
		.sequence = r->sequence,
		.ticks = now.ticks,
		.mono_ns = now.mono_ns,
		.unix_ns = now.unix_ns,
	};
	size_t length;
	if (gp_block_encode(r->scratch, &header, r->buffer, GP_BLOCK_RECORDS, 0, r->buffered,
			    r->block, r->block_capacity, &length) == GP_OK &&
	    gp_segment_put(r, length))
		r->sequence++;
	else
		r->is_torn = true;
	r->buffered = 0;
}

bool gp_segment_put(struct gp_recorder *r, size_t bytes)
{
	/* what no segment begins cannot be read */
	return r->has_segment && gp_file_put(&r->writer, r->block, bytes);
}

static struct gp_record *buffer_take(struct gp_recorder *r, enum gp_block_type type, unsigned slots)
{
	if (r->buffered + slots > GP_BLOCK_RECORDS)
		write_buffer(r, type, 0);
	struct gp_record *slot = &r->buffer[r->buffered];
	r->buffered += slots;
	return slot;
}

static void put_definition(void *context, const struct gp_record *slots)
{
	struct gp_record *to = buffer_take(context, GP_BLOCK_DEFINE, 1u + slots->extra);
	for (unsigned k = 0; k <= slots->extra; k++)
		to[k] = slots[k];
}

static void put_total(void *context, const struct gp_record *record)
{
	*buffer_take(context, GP_BLOCK_CHECKPOINT, 1) = *record;
}

static void put_live(void *context, const struct gp_live_entry *entry)
{
	gp_live_to_record(entry, buffer_take(context, GP_BLOCK_CHECKPOINT, 1));
}

/* The cut is the next order number to be applied: everything before it is in the live state. */
bool gp_segment_begin(struct gp_recorder *r)
{
	uint64_t segment = r->has_segment ? atomic_load(&gp_control->segment) + 1 : 0;
	r->failed_before = atomic_load(&gp_control->failed_blocks);
	if (!gp_file_segment(&r->writer, segment, r->expected))
		return false;
	r->has_segment = true;
	r->is_torn = false;
	r->segment_events = 0;
	r->unwritten = 0; /* what was not is in this checkpoint */
	gp_definitions_visit(&r->definitions, put_definition, r);
	if (r->buffered)
		write_buffer(r, GP_BLOCK_DEFINE, 0);
	gp_live_count_set(r->live, GP_COUNT_THREADS, atomic_load(&r->threads));
	gp_live_totals(r->live, put_total, r);
	gp_live_walk_begin(r->live, put_live, r);
	r->is_walking = true;
	gp_segment_slice(r);
	return true;
}

void gp_segment_slice(struct gp_recorder *r)
{
	if (!r->is_walking)
		return;
	bool is_over = gp_live_walk_more(r->live, SLICE);
	if (!is_over && r->buffered < GP_BLOCK_RECORDS / 2)
		return;
	bool is_last = is_over && !r->is_torn;
	write_buffer(r, GP_BLOCK_CHECKPOINT, is_last ? GP_BLOCK_LAST_CHECKPOINT : 0);
	r->is_walking = !is_over;
	/* all of it, and of what came since: the state is as if nothing had failed */
	if (is_over && atomic_load(&gp_control->failed_blocks) == r->failed_before)
		atomic_store(&gp_control->has_hole, 0);
}

bool gp_segment_is_due(const struct gp_recorder *r)
{
	if (r->is_walking)
		return false;
	if (r->segment_events >= SEGMENT_EVENTS)
		return true;
	/* leave room for what the rings still hold, or the segment spills into a second slot */
	return r->writer.header.slots && gp_file_room(&r->writer) < r->writer.header.slot_bytes / 4;
}

static void flush_all(struct gp_recorder *r)
{
	uint32_t rings = atomic_load(&gp_control->rings);
	for (uint32_t k = 0; k < rings; k++)
		gp_drain_flush(r, &r->views[k]);
}

bool gp_segment_turn(struct gp_recorder *r)
{
	flush_all(r);
	if (!r->has_segment)
		return gp_segment_begin(r);
	if (!gp_file_end_segment(&r->writer, 0))
		return false;
	if (gp_segment_begin(r))
		return true;
	gp_file_reopen_segment(&r->writer);
	return false;
}

bool gp_segment_seal(struct gp_recorder *r)
{
	flush_all(r);
	while (r->is_walking)
		gp_segment_slice(r);
	/* there may be room by now */
	if (atomic_load(&gp_control->has_hole))
		gp_segment_turn(r);
	while (r->is_walking)
		gp_segment_slice(r);
	return r->has_segment && gp_file_end_segment(&r->writer, GP_BLOCK_SEALED);
}
