/*
 * Segments: each starts with all that a reader needs to begin there (definitions, figures since the
 * start, the live set). A flight recorder therefore forgets details and never figures. The live set
 * is written in slices between turns of the drain. An entry that changes before its slice is
 * written is copied out first (state/live.h).
 */
#include <string.h>

#include "../../state/live_table.h"
#include "../recorder.h"
#include "../stacks/stack_table.h"

#define SEGMENT_EVENTS \
	2000000u /* keep-all: limits the cost of damage, and of a replay from the middle */
#define SLICE 8192u
#define RECORDS_BYTES (GP_BLOCK_RECORDS * sizeof(struct gp_record))
#define ROOM_BYTES (64u << 10) /* two blocks of 8,192 records at 4 bytes each */

static void write_out(struct gp_recorder *r, struct gp_outgoing *out, uint16_t flags)
{
	struct gp_block_header header = gp_file_block(&r->writer, out->type, flags, GP_THREAD_NONE);
	size_t length;
	header.sequence = r->sequence;
	if (gp_block_encode(r->scratch, &header, out->record, GP_BLOCK_RECORDS, 0, out->used,
			    r->block, r->block_capacity, &length) == GP_OK &&
	    gp_segment_put(r, length))
		r->sequence++;
	else
		r->is_torn = true;
	out->used = 0;
}

bool gp_segment_put(struct gp_recorder *r, size_t bytes)
{
	/* blocks without the start of their segment are unreadable */
	return r->has_segment && gp_file_put(&r->writer, r->block, bytes);
}

static struct gp_record *segment_take(struct gp_recorder *r, struct gp_outgoing *out,
				      unsigned slots)
{
	if (out->used + slots > GP_BLOCK_RECORDS)
		write_out(r, out, 0);
	struct gp_record *slot = &out->record[out->used];
	out->used += slots;
	return slot;
}

static void put_definition(void *context, const struct gp_record *slots)
{
	struct gp_recorder *r = context;
	struct gp_record *to = segment_take(r, &r->definition, 1u + slots->extra);
	for (unsigned k = 0; k <= slots->extra; k++)
		to[k] = slots[k];
}

static void put_total(void *context, const struct gp_record *record)
{
	struct gp_recorder *r = context;
	*segment_take(r, &r->checkpoint, 1) = *record;
}

static void put_live(void *context, const struct gp_live_entry *entry)
{
	struct gp_recorder *r = context;
	if (r->define.entry && entry->stack)
		gp_stack_define(&r->define, entry->stack);
	gp_live_to_record(entry, segment_take(r, &r->checkpoint, 1));
}

void gp_segment_define(struct gp_recorder *r, const struct gp_ring_view *view, uint64_t from,
		       uint64_t slots)
{
	const struct gp_run run = gp_view_run(view, from); /* a block is of one region */
	for (uint64_t at = from; r->define.entry && at < from + slots;) {
		const struct gp_record *record = &run.slots[at & run.mask];
		if (record->stack)
			gp_stack_define(&r->define, record->stack);
		at += 1u + record->extra;
	}
	if (r->definition.used)
		write_out(r, &r->definition, 0);
}

static const struct gp_stack_entry *stack_entry(void *context, uint32_t id)
{
	(void)context;
	return gp_stack_table_entry(id);
}

static size_t defined_bytes(void)
{
	return gp_settings.stacks_most / 8 + 1;
}

bool gp_segment_open(struct gp_recorder *r)
{
	r->checkpoint.type = GP_BLOCK_CHECKPOINT;
	r->checkpoint.record = gp_pages(RECORDS_BYTES);
	r->definition.type = GP_BLOCK_DEFINE;
	r->definition.record = gp_pages(RECORDS_BYTES);
	if (!gp_settings.stacks || !gp_stack_table_open(gp_settings.stacks_most))
		return r->checkpoint.record && r->definition.record;
	r->define = (struct gp_stack_define){ stack_entry, put_definition, r,
					      gp_pages(defined_bytes()), gp_settings.stacks_most };
	return r->checkpoint.record && r->definition.record && r->define.is_defined;
}

void gp_segment_close(struct gp_recorder *r)
{
	gp_pages_close(r->checkpoint.record, RECORDS_BYTES);
	gp_pages_close(r->definition.record, RECORDS_BYTES);
	gp_pages_close(r->define.is_defined, defined_bytes());
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
	r->unwritten = 0; /* unwritten events before it are in this checkpoint */
	if (r->define.entry)
		memset(r->define.is_defined, 0, gp_stack_table_used() / 8 + 1);
	gp_definitions_visit(&r->definitions, put_definition, r);
	if (r->definition.used)
		write_out(r, &r->definition, 0);
	gp_live_count_set(r->live, GP_COUNT_THREADS, atomic_load(&r->threads));
	gp_live_totals(r->live, put_total, r);
	gp_open_ranges_visit(r->ranges, put_total, r);
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
	if (r->definition.used)
		write_out(r, &r->definition, 0);
	if (!is_over && r->checkpoint.used < GP_BLOCK_RECORDS / 2)
		return;
	bool is_last = is_over && !r->is_torn;
	write_out(r, &r->checkpoint, is_last ? GP_BLOCK_LAST_CHECKPOINT : 0);
	r->is_walking = !is_over;
	/* all of it and of later events: the state is as if no write had failed */
	if (is_over && atomic_load(&gp_control->failed_blocks) == r->failed_before)
		atomic_store(&gp_control->has_hole, 0);
}

/*
 * A slot of a flight recorder is filled except for this room, which is for records in the rings. A
 * segment that needs more continues in the next slot and fills that one, too. So 512 MiB hold at
 * least 400 MiB of events.
 */
static uint64_t segment_room(uint64_t slot_bytes)
{
	const uint64_t share = slot_bytes / 16, most = slot_bytes / 4;
	const uint64_t room = share > ROOM_BYTES ? share : ROOM_BYTES;
	return room < most ? room : most;
}

bool gp_segment_is_due(const struct gp_recorder *r)
{
	if (r->is_walking)
		return false;
	if (r->writer.header.slots == 0)
		return r->segment_events >= SEGMENT_EVENTS;
	return gp_file_room(&r->writer) < segment_room(r->writer.header.slot_bytes);
}

bool gp_segment_turn(struct gp_recorder *r)
{
	gp_drain_flush_all(r);
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
	gp_drain_flush_all(r);
	while (r->is_walking)
		gp_segment_slice(r);
	/* there may be room by now */
	if (atomic_load(&gp_control->has_hole))
		gp_segment_turn(r);
	while (r->is_walking)
		gp_segment_slice(r);
	return r->has_segment && gp_file_end_segment(&r->writer, GP_BLOCK_SEALED);
}
