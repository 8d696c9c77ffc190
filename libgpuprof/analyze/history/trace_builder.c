/* Makes each act from the change that causes it. */
#include "trace_builder.h"
#include "../memory/memory_view.h"

#include <stdlib.h>

#include "../../read/tables/row_rank.h"

#define PLACES_A_LOOK 2u /* rows of one walk for one look */

void gp_trace_builder_release(struct gp_trace_builder *t)
{
	gp_row_table_release(&t->block);
	gp_row_table_release(&t->outside);
	gp_known_segments_release(&t->segments);
	free(t->held);
}

void gp_trace_add(struct gp_trace_builder *t, struct gp_act *act, uint32_t arena)
{
	if (t->is_quiet || t->is_over)
		return;
	const struct gp_arena of = gp_memory_arena(t->recording, arena);
	act->arena = &of;
	act->at_ns = t->at_ns;
	act->stack = t->stack;
	act->is_reported = t->is_reported;
	t->history->acts++;
	t->history->unreported += !t->is_reported;
	t->is_over = !t->visit(t->context, act);
}

/* ---- blocks ---- */

static void trace_block(struct gp_trace_builder *t, enum gp_act_kind kind,
			const struct gp_known_block *block)
{
	struct gp_act act = { .kind = kind,
			      .device = block->device,
			      .space = block->space,
			      .address = block->address,
			      .bytes = block->bytes,
			      .requested_bytes = block->requested_bytes };
	if (kind != GP_ACT_ALLOC) {
		act.maker = block->stack;
		act.made_at_ns = block->at_ns;
	}
	gp_trace_add(t, &act, block->arena);
}

bool gp_trace_add_block(struct gp_trace_builder *t, const struct gp_known_block *block)
{
	struct gp_known_block *there = gp_known_find(&t->block, block->key);
	if (there != NULL) {
		bool is_reported = t->is_reported;
		t->is_reported = false;
		gp_trace_end_block(t, there);
		t->is_reported = is_reported;
	}
	struct gp_known_segment *segment = gp_known_segment_at(&t->segments, block->address);
	if (segment == NULL || block->key == UINT64_MAX)
		return false;
	there = gp_row_get_key(&t->block, sizeof *there, block->key);
	if (there == NULL) {
		t->is_out_of_memory = true;
		return true;
	}
	*there = *block;
	segment->blocks++;
	if (segment->arena == 0)
		segment->arena = block->arena;
	trace_block(t, GP_ACT_ALLOC, block);
	if (block->is_pending)
		trace_block(t, GP_ACT_FREE_REQUESTED, block);
	return true;
}

void gp_trace_hold_block(struct gp_trace_builder *t, struct gp_known_block *block)
{
	if (block->is_pending)
		return;
	block->is_pending = true;
	trace_block(t, GP_ACT_FREE_REQUESTED, block);
}

void gp_trace_end_block(struct gp_trace_builder *t, struct gp_known_block *block)
{
	gp_trace_hold_block(t, block);
	trace_block(t, GP_ACT_FREE_COMPLETED, block);
	struct gp_known_segment *segment = gp_known_segment_at(&t->segments, block->address);
	if (segment != NULL && segment->blocks > 0)
		segment->blocks--;
	gp_row_drop_key(&t->block, sizeof *block, block);
}

/* ---- segments ---- */

static void trace_segment(struct gp_trace_builder *t, enum gp_act_kind kind,
			  const struct gp_known_segment *s, uint64_t from, uint64_t to)
{
	struct gp_act act = { .kind = kind,
			      .device = s->device,
			      .address = from,
			      .bytes = to - from,
			      .requested_bytes = GP_BYTES_UNKNOWN };
	if (kind == GP_ACT_SEGMENT_FREE || kind == GP_ACT_SEGMENT_UNMAP) {
		act.maker = s->stack;
		act.made_at_ns = s->at_ns;
	}
	gp_trace_add(t, &act, s->arena);
}

/* Takes the looks for moving the segments behind `address`. */
static bool may_move(struct gp_trace_builder *t, uint64_t address)
{
	return gp_looks_take(&t->looks, gp_known_segments_behind(&t->segments, address));
}

void gp_trace_add_segment(struct gp_trace_builder *t, const struct gp_known_segment *s)
{
	if (!gp_known_is_range(s) || !may_move(t, s->address))
		return;
	if (!gp_known_segment_add(&t->segments, s)) {
		t->is_out_of_memory = true;
		return;
	}
	trace_segment(t, s->is_mapped ? GP_ACT_SEGMENT_MAP : GP_ACT_SEGMENT_ALLOC, s, s->address,
		      s->address + s->bytes);
}

void gp_trace_add_missing(struct gp_trace_builder *t, const struct gp_known_segment *range)
{
	uint64_t at = range->address, end = range->address + range->bytes;
	while (at < end && !t->is_out_of_memory) {
		struct gp_known_segment *known = gp_known_segment_in(&t->segments, at, end);
		struct gp_known_segment part = *range;
		part.address = at;
		part.bytes = (known != NULL ? known->address : end) - at;
		at = known != NULL ? known->address + known->bytes : end;
		if (known != NULL && known->arena == 0)
			known->arena = range->arena;
		if ((int64_t)part.bytes > 0)
			gp_trace_add_segment(t, &part);
	}
}

struct gp_known_segment gp_known_segment_of(const struct gp_trace_builder *t,
					    const struct gp_live_entry *e)
{
	return (struct gp_known_segment){ .address = e->address,
					  .bytes = e->bytes,
					  .order = e->order,
					  .at_ns = gp_tick_ns(&t->recording->tick, e->time),
					  .stack = e->stack,
					  .device = e->device,
					  .is_mapped = e->space == GP_SPACE_MAPPED };
}

struct gp_known_block gp_known_block_of(const struct gp_trace_builder *t,
					const struct gp_live_entry *e)
{
	const bool is_block = e->space == GP_SPACE_BLOCK;
	const uint64_t spare = is_block ? e->owner : 0;
	return (struct gp_known_block){
		.key = is_block ? e->address : e->order,
		.address = e->address,
		.bytes = e->bytes,
		.requested_bytes =
			spare && spare <= e->bytes ? e->bytes - (spare - 1) : GP_BYTES_UNKNOWN,
		.order = e->order,
		.at_ns = gp_tick_ns(&t->recording->tick, e->time),
		.stack = e->stack,
		.arena = is_block ? (uint32_t)e->stream : 0,
		.device = e->device,
		.space = is_block ? GP_SPACE_NONE : e->space,
		.is_pending = is_block && (e->flags & GP_LIVE_PENDING) != 0,
	};
}

/*
 * Ends blocks without an event, in order of address: a context ended, or their frees were not
 * recorded. False: no looks.
 */
static bool end_blocks(struct gp_trace_builder *t, uint64_t from, uint64_t to)
{
	bool is_reported = t->is_reported;
	size_t keys = 0;
	if (!gp_looks_take(&t->looks, t->block.rows / PLACES_A_LOOK))
		return false;
	const struct gp_known_block *known = t->block.row;
	uint64_t *key = malloc((t->block.rows + 1) * sizeof *key);
	t->is_out_of_memory |= key == NULL;
	for (size_t k = 0; key != NULL && k < t->block.rows; k++)
		if (known[k].key - from < to - from)
			key[keys++] = known[k].key;
	if (keys > 1)
		qsort(key, keys, sizeof *key, gp_row_order);
	t->is_reported = false;
	for (size_t k = 0; k < keys; k++)
		gp_trace_end_block(t, gp_known_find(&t->block, key[k]));
	t->is_reported = is_reported;
	free(key);
	return true;
}

void gp_trace_end_range(struct gp_trace_builder *t, uint64_t from, uint64_t to)
{
	struct gp_known_segment *s;
	if (to <= from)
		return;
	while ((s = gp_known_segment_in(&t->segments, from, to)) != NULL) {
		uint64_t begin = s->address, end = s->address + s->bytes;
		if (s->is_mapped) { /* the others end as a whole */
			begin = begin < from ? from : begin;
			end = end > to ? to : end;
		}
		if (!may_move(t, begin) || (s->blocks > 0 && !end_blocks(t, begin, end))) {
			t->is_due = true;
			return;
		}
		/* blocks of other segments did not change, so `s` is still valid */
		trace_segment(t, s->is_mapped ? GP_ACT_SEGMENT_UNMAP : GP_ACT_SEGMENT_FREE, s,
			      begin, end);
		if (!gp_known_segment_cut(&t->segments, s, begin, end)) {
			t->is_out_of_memory = true;
			return;
		}
	}
}

/* ---- outside the framework ---- */

/* True: `address` of such memory is a handle. */
static bool has_handle(uint8_t space)
{
	return space == GP_SPACE_PHYSICAL || space == GP_SPACE_ARRAY;
}

static void trace_outside(struct gp_trace_builder *t, enum gp_act_kind kind,
			  const struct gp_known_block *o)
{
	if (kind == GP_ACT_SEGMENT_ALLOC || kind == GP_ACT_SEGMENT_FREE) {
		struct gp_known_block segment = *o;
		segment.requested_bytes = GP_BYTES_UNKNOWN;
		trace_block(t, kind, &segment);
		return;
	}
	trace_block(t, kind, o);
}

void gp_trace_add_outside(struct gp_trace_builder *t, const struct gp_known_block *outside)
{
	const uint64_t granule = 2ull << 20;
	/* only a damaged recording has a number twice */
	if (outside->key == UINT64_MAX || gp_known_find(&t->outside, outside->key) != NULL)
		return;
	struct gp_known_block *o = gp_row_get_key(&t->outside, sizeof *o, outside->key);
	if (o == NULL) {
		t->is_out_of_memory = true;
		return;
	}
	*o = *outside;
	t->physicals += o->space == GP_SPACE_PHYSICAL;
	if (has_handle(o->space)) {
		o->address = t->handle_address;
		t->handle_address += (o->bytes + granule - 1) / granule * granule;
	}
	trace_outside(t, GP_ACT_SEGMENT_ALLOC, o);
	trace_outside(t, GP_ACT_ALLOC, o);
}

void gp_trace_end_outside(struct gp_trace_builder *t, struct gp_known_block *o)
{
	trace_outside(t, GP_ACT_FREE_REQUESTED, o);
	trace_outside(t, GP_ACT_FREE_COMPLETED, o);
	trace_outside(t, GP_ACT_SEGMENT_FREE, o);
	t->physicals -= o->space == GP_SPACE_PHYSICAL;
	gp_row_drop_key(&t->outside, sizeof *o, o);
}
