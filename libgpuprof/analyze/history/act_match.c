/*
 * Makes the reported acts agree with the actual state. This happens at the beginning and the end of
 * a history, and after calls that end many things at once. It also happens after a checkpoint with
 * more entries than the events before it explain. Ends are reported first, then missing things
 * begin: segments before their blocks.
 */
#include <stdlib.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_rank.h"
#include "trace_builder.h"

#define WALK_SLICE 65536u
#define LOOKS_AN_ENTRY 16u /* looks for listing, sorting and comparing one entry */

/* The required state: segments by address, and the physical memory that they are mapped to. */
struct expected {
	struct gp_trace_builder *builder;
	struct gp_known_segments expected;
	uint64_t *physical; /* orders, ascending */
	size_t physicals;
};

static void expect_segment(struct expected *w, const struct gp_known_segment *segment)
{
	struct gp_known_segment *expected = NULL;
	if (!gp_known_is_range(segment))
		return;
	expected = gp_array_append(&w->expected.segment, &w->expected.count, sizeof *expected);
	w->builder->is_out_of_memory |= expected == NULL;
	if (expected != NULL)
		*expected = *segment;
}

/* Sorts by address. Of overlapping segments the first stays. */
static void settle_segments(struct gp_known_segments *s)
{
	size_t kept = 0;
	if (s->count > 1)
		qsort(s->segment, s->count, sizeof *s->segment, gp_row_order);
	for (size_t k = 0; k < s->count; k++) {
		const struct gp_known_segment *last = kept ? &s->segment[kept - 1] : NULL;
		if (last == NULL || s->segment[k].address - last->address >= last->bytes)
			s->segment[kept++] = s->segment[k];
	}
	s->count = kept;
}

/* ---- segments ---- */

static bool act_match_is_same(const struct gp_known_segment *a, const struct gp_known_segment *b)
{
	return a->address == b->address && a->bytes == b->bytes && a->device == b->device &&
	       !a->is_mapped && !b->is_mapped;
}

static bool is_range_of(const struct gp_known_segment *a, const struct gp_known_segment *b)
{
	return a->is_mapped && b->is_mapped && a->device == b->device;
}

/* Ends the parts of a reported segment that the required state does not have. */
static void end_unexpected(struct expected *w, const struct gp_known_segment *known)
{
	uint64_t at = known->address, end = known->address + known->bytes;
	while (at < end) {
		const struct gp_known_segment *expected =
			gp_known_segment_in(&w->expected, at, end);
		uint64_t next = end;
		if (expected != NULL && act_match_is_same(known, expected))
			return;
		if (expected != NULL && is_range_of(known, expected)) {
			uint64_t begin = expected->address > at ? expected->address : at;
			if (begin > at)
				gp_trace_end_range(w->builder, at, begin);
			next = expected->address + expected->bytes;
		} else {
			gp_trace_end_range(w->builder, at, end);
		}
		at = next;
	}
}

static void end_unexpected_segments(struct expected *w)
{
	struct gp_known_segments *s = &w->builder->segments;
	for (size_t k = 0; k < s->count;) {
		const struct gp_known_segment known = s->segment[k];
		end_unexpected(w, &known);
		/* it may be gone now, or in parts */
		while (k < s->count && s->segment[k].address < known.address + known.bytes)
			k++;
	}
}

static void add_missing_segments(struct expected *w)
{
	for (size_t k = 0; k < w->expected.count; k++)
		gp_trace_add_missing(w->builder, &w->expected.segment[k]);
}

/* ---- blocks and the rest ---- */

/* Sorted by key, because each end moves another row of the table. */
static void end_unmet(struct gp_trace_builder *t, const struct gp_row_table *table,
		      void (*end)(struct gp_trace_builder *, struct gp_known_block *))
{
	size_t keys = 0;
	const struct gp_known_block *known = table->row;
	uint64_t *key = malloc((table->rows + 1) * sizeof *key);
	t->is_out_of_memory |= key == NULL;
	for (size_t k = 0; key != NULL && k < table->rows; k++)
		if (!known[k].is_met)
			key[keys++] = known[k].key;
	if (keys > 1)
		qsort(key, keys, sizeof *key, gp_row_order);
	for (size_t k = 0; k < keys; k++)
		end(t, gp_known_find(table, key[k]));
	free(key);
}

static void forget_met(const struct gp_row_table *table)
{
	struct gp_known_block *known = table->row;
	for (size_t k = 0; k < table->rows; k++)
		known[k].is_met = false;
}

static void meet_block(struct gp_trace_builder *t, const struct gp_known_block *expected)
{
	struct gp_known_block *known = gp_known_find(&t->block, expected->key);
	if (known == NULL || known->bytes != expected->bytes || known->device != expected->device ||
	    (known->is_pending && !expected->is_pending))
		return;
	known->is_met = true;
}

static void act_match_add_block(struct gp_trace_builder *t, const struct gp_known_block *expected)
{
	struct gp_known_block *known = gp_known_find(&t->block, expected->key);
	if (known != NULL && expected->is_pending)
		gp_trace_hold_block(t, known);
	else if (known == NULL && !gp_trace_add_block(t, expected) && t->is_quiet)
		t->history->orphaned++;
}

/* ---- the live state ---- */

static const struct gp_live_entry *reservation_of(const struct expected *w, uint64_t address)
{
	const struct gp_live_entry *e =
		gp_live_find(w->builder->recording->live, GP_SPACE_RESERVATION, address);
	return e != NULL && (e->flags & GP_LIVE_SEGMENT) != 0 ? e : NULL;
}

/* True: the allocator reported the segment, and has no block in it yet. */
static bool is_reported(const struct gp_live *live, const struct gp_live_entry *e)
{
	return e->space != GP_SPACE_PHYSICAL && e->space != GP_SPACE_ARRAY &&
	       gp_live_find(live, GP_SPACE_SEGMENT, e->address) != NULL;
}

static void expect_entry(void *context, const struct gp_live_entry *e)
{
	struct expected *w = context;
	struct gp_trace_builder *t = w->builder;
	const struct gp_live_entry *in = NULL;
	if (e->space == GP_SPACE_MAPPED)
		in = reservation_of(w, e->address);
	bool is_mapped =
		in != NULL || (e->space == GP_SPACE_MAPPED && is_reported(t->recording->live, e));
	uint64_t *physical =
		is_mapped ? gp_array_append(&w->physical, &w->physicals, sizeof *physical) : NULL;
	t->is_out_of_memory |= is_mapped && physical == NULL;
	if (physical != NULL)
		*physical = e->stream;
	bool is_own = e->space == GP_SPACE_SEGMENT, is_whole = gp_live_is_driver(e);
	if (is_own && e->stream != 0)
		t->has_reported[e->device < GP_DEVICES ? e->device : GP_DEVICES] = true;
	/* segments that the allocator reports are entries of their own */
	is_whole =
		is_whole && (e->flags & GP_LIVE_SEGMENT) != 0 && (e->flags & GP_LIVE_REPORTED) == 0;
	bool is_range = in != NULL && (in->flags & GP_LIVE_REPORTED) == 0 &&
			!gp_live_is_filled(t->recording->live, in);
	if (!is_own && !is_whole && !is_range)
		return;
	struct gp_known_segment segment = gp_known_segment_of(t, e);
	segment.arena = is_own ? (uint32_t)e->stream : 0;
	segment.device = is_range ? in->device : e->device;
	segment.is_mapped = is_range || (is_own && (e->flags & GP_LIVE_MAPPED) != 0);
	expect_segment(w, &segment);
}

static bool is_outside(const struct expected *w, const struct gp_live_entry *e)
{
	if (!gp_live_is_driver(e) || (e->flags & GP_LIVE_SEGMENT) != 0 || e->bytes == 0 ||
	    is_reported(w->builder->recording->live, e))
		return false;
	return w->physicals == 0 || bsearch(&e->order, w->physical, w->physicals,
					    sizeof *w->physical, gp_row_order) == NULL;
}

static void meet_entry(void *context, const struct gp_live_entry *e)
{
	struct expected *w = context;
	struct gp_known_block expected = gp_known_block_of(w->builder, e), *known;
	if (e->space == GP_SPACE_BLOCK)
		meet_block(w->builder, &expected);
	else if (is_outside(w, e) &&
		 (known = gp_known_find(&w->builder->outside, expected.key)) != NULL)
		known->is_met = true;
}

static void add_entry(void *context, const struct gp_live_entry *e)
{
	struct expected *w = context;
	struct gp_known_block expected = gp_known_block_of(w->builder, e);
	if (e->space == GP_SPACE_BLOCK)
		act_match_add_block(w->builder, &expected);
	else if (is_outside(w, e) && gp_known_find(&w->builder->outside, expected.key) == NULL)
		gp_trace_add_outside(w->builder, &expected);
}

static void act_match_walk(struct expected *w, gp_live_visit *visit)
{
	gp_live_walk_begin(w->builder->recording->live, visit, w);
	while (!gp_live_walk_more(w->builder->recording->live, WALK_SLICE))
		;
}

static void release(struct expected *w)
{
	gp_known_segments_release(&w->expected);
	free(w->physical);
}

void gp_act_match_live(struct gp_trace_builder *t)
{
	struct expected w = { .builder = t };
	t->helds = 0;
	t->is_reported = false;
	forget_met(&t->block);
	forget_met(&t->outside);
	act_match_walk(&w, expect_entry);
	settle_segments(&w.expected);
	if (w.physicals > 1)
		qsort(w.physical, w.physicals, sizeof *w.physical, gp_row_order);
	if (!t->is_out_of_memory)
		act_match_walk(&w, meet_entry);
	if (!t->is_out_of_memory) {
		end_unmet(t, &t->block, gp_trace_end_block);
		end_unmet(t, &t->outside, gp_trace_end_outside);
		end_unexpected_segments(&w);
		add_missing_segments(&w);
		act_match_walk(&w, add_entry);
	}
	release(&w);
}

void gp_act_match_soon(struct gp_trace_builder *t)
{
	uint64_t entries = gp_live_entries(t->recording->live) + t->block.rows + t->outside.rows +
			   t->segments.count;
	t->is_due = !gp_looks_take(&t->looks, entries * LOOKS_AN_ENTRY);
	if (!t->is_due)
		gp_act_match_live(t);
}

bool gp_act_is_framework(const struct gp_live *live, const struct gp_known_block *known,
			 uint64_t mapped_at)
{
	const struct gp_live_entry *e;
	if (known->space == GP_SPACE_PHYSICAL) {
		const struct gp_live_entry *m =
			mapped_at ? gp_live_find(live, GP_SPACE_MAPPED, mapped_at) : NULL;
		e = mapped_at ? gp_live_find(live, GP_SPACE_RESERVATION, mapped_at) : NULL;
		if (m != NULL && is_reported(live, m))
			return true;
	} else {
		e = gp_live_find(live, known->space, known->address);
		e = e != NULL && e->order == known->order ? e : NULL;
		if (e != NULL && is_reported(live, e))
			return true;
	}
	return e != NULL && (e->flags & GP_LIVE_SEGMENT) != 0;
}

/* ---- the state of a struct gp_memory ---- */

static void visit_blocks(struct gp_trace_builder *t, const struct gp_memory *m,
			 void (*visit)(struct gp_trace_builder *, const struct gp_known_block *))
{
	for (size_t k = 0; k < m->segments; k++) {
		const struct gp_memory_segment *s = &m->segment[k];
		for (size_t i = s->first; i < s->first + s->blocks; i++) {
			const struct gp_memory_block *b = &m->block[i];
			const struct gp_known_block known = { .key = b->address,
							      .address = b->address,
							      .bytes = b->bytes,
							      .requested_bytes = b->requested_bytes,
							      .at_ns = b->at_ns,
							      .stack = b->stack,
							      .device = (uint8_t)s->device,
							      .is_pending = b->state ==
									    GP_STATE_PENDING };
			if (b->state != GP_STATE_FREE)
				visit(t, &known);
		}
	}
}

void gp_act_match_memory(struct gp_trace_builder *t, const struct gp_memory *m)
{
	struct expected w = { .builder = t };
	t->is_reported = false;
	forget_met(&t->block);
	for (size_t k = 0; k < m->segments; k++) {
		const struct gp_memory_segment *s = &m->segment[k];
		const struct gp_known_segment segment = { .address = s->address,
							  .bytes = s->bytes,
							  .at_ns = s->at_ns,
							  .stack = s->stack,
							  .device = (uint8_t)s->device,
							  .is_mapped = s->is_expandable };
		expect_segment(&w, &segment);
	}
	settle_segments(&w.expected);
	visit_blocks(t, m, meet_block);
	if (!t->is_out_of_memory) {
		end_unmet(t, &t->block, gp_trace_end_block);
		end_unexpected_segments(&w);
		add_missing_segments(&w);
		visit_blocks(t, m, act_match_add_block);
	}
	release(&w);
}
