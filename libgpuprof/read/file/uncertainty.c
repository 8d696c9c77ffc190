/*
 * Figures after missing events are uncertain. This file keeps the intervals. It also makes the live
 * state expect unseen changes: the state then adopts the framework's own totals and reports no
 * error. The work for one event is limited (looks.h); if an event needs more, the figures after it
 * are uncertain.
 */
#include "recording.h"

static void open_span(struct gp_caveat *d, int64_t from_ns)
{
	if (d->is_open)
		return;
	d->is_open = true;
	if (d->spans < GP_SPANS_KEPT)
		d->span[d->spans++].from_ns = from_ns > 0 ? from_ns : 0;
}

static void close_span(struct gp_caveat *d, int64_t to_ns)
{
	struct gp_span *last = &d->span[d->spans - 1];
	d->is_open = false;
	last->to_ns = to_ns > last->from_ns ? to_ns : last->from_ns;
}

/* Applies a LOST record that the recorder did not write, and does not count it. */
static void excuse(struct gp_recording *r, uint64_t from, uint64_t to)
{
	uint64_t span = to - from, count = gp_live_count(r->live, GP_LOST);
	const struct gp_record lost = {
		.kind = GP_LOST,
		.order = from,
		.aux = span < UINT32_MAX ? (uint32_t)span : UINT32_MAX,
	};
	gp_live_apply(r->live, &lost);
	gp_live_count_set(r->live, GP_LOST, count);
}

static int64_t last_ns(const struct gp_recording *r)
{
	return r->caveat.last != 0 ? gp_tick_ns(&r->tick, r->caveat.last) : 0;
}

static void see_memory(struct gp_recording *r, const struct gp_record *record)
{
	uint64_t next = gp_recording_next_order(r);
	if (record->order <= next)
		return;
	open_span(&r->caveat, last_ns(r));
	excuse(r, next, record->order);
}

void gp_caveat_see(struct gp_recording *r, const struct gp_record *record)
{
	if (record->kind >= GP_KINDS)
		return;
	if (gp_event_infos[record->kind].class == GP_CLASS_MEMORY) {
		if (__builtin_expect(r->index.missing_to != 0 || !r->index.is_sealed, 0))
			see_memory(r, record);
		r->caveat.last = record->time;
	} else if (record->kind == GP_LOST && record->lost.memory != 0) {
		open_span(&r->caveat, gp_tick_ns(&r->tick, record->time));
	}
}

void gp_caveat_open(struct gp_recording *r)
{
	open_span(&r->caveat, last_ns(r));
	excuse(r, 0, r->index.segment[r->segment].cut);
}

void gp_caveat_refused(struct gp_recording *r)
{
	open_span(&r->caveat, last_ns(r));
}

void gp_caveat_settle(struct gp_recording *r, int64_t at_ns)
{
	bool is_lossy = gp_live_count(r->live, GP_COUNT_LOST_MEMORY) != 0;
	if (r->caveat.is_open && !is_lossy)
		close_span(&r->caveat, at_ns);
	else if (is_lossy)
		open_span(&r->caveat, at_ns);
}

void gp_caveat_end(struct gp_recording *r, int64_t end_ns)
{
	const struct gp_index *x = &r->index;
	uint64_t newest = gp_live_count(r->live, GP_COUNT_NEWEST_ORDER);
	bool is_behind = x->missing_to > newest || (x->missing_to != 0 && newest == 0);
	if (x->segments == 0 || x->missing_segment < x->segment[r->loaded].number)
		is_behind = false;
	if (x->damages > 0 && is_behind)
		open_span(&r->caveat, last_ns(r));
	if (r->caveat.is_open)
		close_span(&r->caveat, end_ns);
}
