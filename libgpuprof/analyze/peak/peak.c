/*
 * The holders of memory at one moment. The replay for the info finds the peak of each curve of each
 * device, as a number of events. Another begins near each moment, stops there and adds up the live
 * entries by stack.
 */
#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../groups/live_uses.h"
#include "../memory/memory_view.h"
#include "../roles/roles.h"
#include "../settle.h"
#include "peak_look.h"

#define RECENT 256u /* allocations that may become segments later */
#define NO_EVENT UINT64_MAX
#define SETTLING 1000u			      /* how many events to wait for that */
#define HOLDERS (GP_DEVICES * GP_CURVES + 1u) /* the last may be the host's */

struct search {
	struct gp_recording *recording;
	struct gp_module_epochs epochs;
	enum gp_moment moment;
	int64_t at_ns, until_ns; /* as requested; within the recording */
	unsigned with;		 /* enum gp_with */
	struct gp_roles *roles;	 /* NULL: not requested */
	const struct gp_peak_look *look;
	/* the last event not later than until_ns, and the first OOM of each device, in events */
	uint64_t last;
	struct first_oom {
		uint64_t event; /* NO_EVENT: none */
		int64_t at_ns;
	} oom[GP_DEVICES];
	struct gp_peak *out;
};

/*
 * The peak of a driver curve is the moment of an allocation. Only later events show whether the
 * framework uses that memory as a segment.
 */
struct pending {
	struct gp_live_entry alloc;
	size_t holders;	 /* index of the holders; SIZE_MAX: settled */
	uint64_t mapped; /* PHYSICAL: its address; 0: not mapped yet */
};

struct taking {
	struct search *search;
	struct gp_peak *out;
	size_t holders; /* including that of the host */
	size_t left;
	uint64_t due[HOLDERS]; /* number of events; NO_EVENT: taken */
	uint64_t before;       /* events before the segment at which the replay began */
	struct gp_use_table table[HOLDERS];
	struct gp_range_paths *ranges; /* NULL: not requested, or no event was applied yet */
	uint32_t thread;	       /* of the last applied event */
	struct pending *pending;
	size_t pendings;
	uint64_t settle_until; /* number of events */
};

static uint64_t taking_seen(const struct taking *t)
{
	return t->before + t->search->recording->seen;
}

/* True: driver memory in which the framework has no block yet. */
static bool is_open(const struct gp_live_entry *e)
{
	return (e->flags & (GP_LIVE_SEGMENT | GP_LIVE_RELEASED)) == 0 &&
	       (e->space != GP_SPACE_PHYSICAL || e->stream == 0) && gp_live_is_driver(e);
}

static int pending_newest_first(const void *left, const void *right)
{
	const struct pending *a = left, *b = right;
	return (a->alloc.order < b->alloc.order) - (a->alloc.order > b->alloc.order);
}

static size_t pending_cut(struct pending *pending, size_t count)
{
	qsort(pending, count, sizeof *pending, pending_newest_first);
	return count < RECENT ? count : RECENT;
}

/* The newest RECENT allocations of the device. */
static enum gp_status list_pending(struct taking *t, size_t holders)
{
	const struct gp_live *live = t->search->recording->live;
	const size_t before = t->pendings;
	size_t found = before;
	for (uint32_t slot = 0; slot < gp_live_slots(live); slot++) {
		const struct gp_live_entry *e = gp_live_slot(live, slot);
		if (e == NULL || e->device != t->out->holder[holders].device || !is_open(e))
			continue;
		struct pending *p = gp_array_append(&t->pending, &found, sizeof *p);
		if (p == NULL)
			return GP_E_MEMORY;
		*p = (struct pending){ .alloc = *e, .holders = holders };
		if (found - before == 2 * RECENT) /* a job may have millions */
			found = before + pending_cut(t->pending + before, 2 * RECENT);
	}
	if (found > before)
		t->pendings = before + pending_cut(t->pending + before, found - before);
	t->settle_until = taking_seen(t) + SETTLING;
	return GP_OK;
}

static uint64_t now_bytes(const struct gp_live *live, const struct gp_holders *h)
{
	return h->of == GP_CURVE_PINNED ? gp_live_host(live)->pinned.now_bytes :
					  gp_live_device(live, h->device)->curve[h->of].now_bytes;
}

/* Takes the holders whose moment is now. */
static enum gp_status take_due(struct taking *t)
{
	const struct gp_recording *r = t->search->recording;
	enum gp_status status = GP_OK;
	for (size_t k = 0; k < t->holders && status == GP_OK; k++) {
		struct gp_holders *h = &t->out->holder[k];
		if (t->due[k] != taking_seen(t))
			continue;
		t->due[k] = NO_EVENT;
		h->live_bytes = now_bytes(r->live, h);
		if (h->of == GP_CURVE_RESERVED)
			h->unmapped_bytes = gp_live_device(r->live, h->device)->unmapped_bytes;
		if (t->ranges != NULL)
			h->range = gp_range_paths_of(t->ranges, t->thread);
		status = gp_live_uses_take(t->search->recording, h, &t->table[k]);
		t->left--;
		if (status == GP_OK && h->of == GP_CURVE_DRIVER)
			status = list_pending(t, k);
		if (status == GP_OK && t->search->look != NULL && h->of != GP_CURVE_PINNED)
			status = t->search->look->see(t->search->look->context,
						      t->search->recording, h);
	}
	return status;
}

/* True: the memory is a segment of the framework now. */
static bool is_segment_now(const struct gp_live *live, struct pending *p,
			   const struct gp_record *last)
{
	const struct gp_live_entry *a = &p->alloc, *e;
	if (a->space == GP_SPACE_PHYSICAL) {
		if (last->kind == GP_MAP && last->map.handle == a->address && !p->mapped)
			p->mapped = last->map.address;
		e = p->mapped ? gp_live_find(live, GP_SPACE_RESERVATION, p->mapped) : NULL;
	} else {
		e = gp_live_find(live, a->space, a->address);
		e = e != NULL && e->order == a->order ? e : NULL;
	}
	return e != NULL && (e->flags & GP_LIVE_SEGMENT) != 0;
}

static uint8_t rule_of(struct gp_use_table *table, const struct gp_live_entry *alloc,
		       bool is_segment)
{
	return gp_roles_rule(table->roles, alloc, is_segment ? GP_ROLES_SEGMENT : GP_ROLES_NOW);
}

static enum gp_status make_segment(const struct gp_recording *recording, struct gp_use_table *table,
				   const struct gp_live_entry *alloc, int64_t at_ns)
{
	struct gp_use like = gp_use_like(recording, alloc->stack, alloc->space, at_ns);
	like.range = gp_range_of_order(table->ranges, alloc->order);
	like.rule = rule_of(table, alloc, false);
	struct gp_use *from = gp_use_table_get(table, &like);
	if (from == NULL)
		return GP_E_MEMORY;
	if (from->count == 0 || from->bytes < alloc->bytes)
		return GP_OK; /* it was listed as one that may be gone */
	from->bytes -= alloc->bytes;
	from->count--;
	like.is_segment = true;
	like.rule = rule_of(table, alloc, true);
	struct gp_use *to = gp_use_table_get(table, &like);
	if (to == NULL)
		return GP_E_MEMORY;
	to->bytes += alloc->bytes;
	to->count++;
	return GP_OK;
}

static enum gp_status peak_settle(struct taking *t, const struct gp_record *last)
{
	enum gp_status status = GP_OK;
	for (size_t k = 0; k < t->pendings && status == GP_OK; k++) {
		struct pending *p = &t->pending[k];
		if (p->holders == SIZE_MAX || !is_segment_now(t->search->recording->live, p, last))
			continue;
		status = make_segment(t->search->recording, &t->table[p->holders], &p->alloc,
				      gp_tick_ns(&t->search->recording->tick, p->alloc.time));
		p->holders = SIZE_MAX;
	}
	if (taking_seen(t) >= t->settle_until)
		t->pendings = 0;
	return status;
}

/* Goes on with the nearest moment. Paths of ranges need all events before it. */
static enum gp_status taking_approach(struct taking *t, uint64_t *until)
{
	struct gp_recording *r = t->search->recording;
	enum gp_status status = GP_OK;
	*until = NO_EVENT;
	for (size_t k = 0; k < t->holders; k++)
		if (t->due[k] < *until)
			*until = t->due[k];
	const size_t segment = gp_segment_by_event(r, *until);
	if (t->table[0].ranges == NULL && segment > r->segment) {
		status = gp_recording_seek(r, segment);
		t->before = r->first < r->tops.segments ? r->tops.before[r->first] : 0;
	}
	return status == GP_OK ? take_due(t) : status;
}

static enum gp_status taking_step(struct taking *t)
{
	struct gp_recording *r = t->search->recording;
	enum gp_status status;
	uint32_t thread;
	const struct gp_record *record = gp_recording_step(r, &thread, &status);
	if (record == NULL)
		return status;
	t->ranges = t->table[0].ranges;
	t->thread = thread;
	if (t->ranges != NULL)
		gp_range_paths_see(t->ranges, thread, record);
	bool is_telling = record->kind == GP_MAP || record->kind == GP_BLOCK_ALLOC;
	if (t->pendings > 0 && (is_telling || taking_seen(t) >= t->settle_until))
		status = peak_settle(t, record);
	return status == GP_OK ? take_due(t) : status;
}

static enum gp_status replay_to(struct taking *t)
{
	struct gp_recording *r = t->search->recording;
	struct gp_range_paths *ranges = NULL;
	uint64_t until;
	enum gp_status status = gp_recording_rewind(r);
	if (status == GP_OK && (t->search->with & GP_WITH_RANGES) != 0) {
		status = gp_range_paths_derive(r, &t->out->ranges);
		ranges = t->out->ranges;
	}
	for (size_t k = 0; k < t->holders; k++) {
		t->table[k].ranges = ranges;
		t->table[k].roles = t->search->roles;
	}
	while (status == GP_OK && t->left > 0) {
		status = taking_approach(t, &until);
		while (status == GP_OK && t->left + t->pendings > 0) {
			status = taking_step(t);
			if (taking_seen(t) >= until && t->pendings == 0)
				break;
		}
	}
	gp_recording_stop(r);
	if ((status == GP_END || status == GP_OK) && ranges != NULL)
		status = gp_range_paths_fold(&ranges, 1);
	return status == GP_END ? GP_OK : status;
}

/* `oom`: the first OOM of the device, GP_NO_EVENT: none. False: it was not requested. */
static bool choose_moment(const struct search *s, const struct gp_curve_top *peak,
			  const struct first_oom *oom, struct gp_holders *out, uint64_t *due)
{
	out->peak_bytes = peak->ever_bytes;
	out->peak_at_ns = peak->ever_at_ns;
	if (out->peak_bytes == 0 && peak->bytes == 0)
		return false;
	switch (s->moment) {
	case GP_AT_PEAK:
		*due = peak->event;
		out->at_ns = peak->at_ns;
		out->is_overwritten = out->peak_bytes > peak->bytes;
		return true;
	case GP_AT_OOM:
		*due = oom->event;
		out->at_ns = oom->at_ns;
		return *due != NO_EVENT;
	case GP_AT_TIME:
		*due = s->last;
		out->at_ns = s->until_ns;
		return true;
	}
	return false;
}

static bool peak_is_selected(const struct search *s, unsigned device, unsigned curve,
			     struct gp_holders *out, uint64_t *due)
{
	*out = (struct gp_holders){ .device = device, .of = (enum gp_curve)curve };
	return choose_moment(s, &s->recording->tops.curve[device][curve], &s->oom[device], out,
			     due);
}

/* The host has no OOM of its own: it is shown at the first OOM of a device. */
static bool is_host_selected(const struct search *s, struct gp_holders *out, uint64_t *due)
{
	const struct first_oom *first = &s->oom[0];
	for (unsigned device = 1; device < GP_DEVICES; device++)
		if (s->oom[device].event < first->event)
			first = &s->oom[device];
	*out = (struct gp_holders){ .device = GP_DEVICE_UNKNOWN, .of = GP_CURVE_PINNED };
	return choose_moment(s, &s->recording->tops.host, first, out, due);
}

/* Drops empty rows, which were moved to other rows. */
static void hand_over(struct gp_use_table *table, struct gp_holders *out)
{
	out->use = gp_use_table_take(table, &out->uses);
	while (out->uses > 0 && out->use[out->uses - 1].count == 0 &&
	       out->use[out->uses - 1].bytes == 0)
		out->uses--;
}

static enum gp_status peak_answer(struct search *s)
{
	struct gp_peak *out = s->out;
	struct taking *t = calloc(1, sizeof *t);
	out->holder = calloc(HOLDERS, sizeof *out->holder);
	if (t == NULL || out->holder == NULL) {
		free(t);
		return GP_E_MEMORY;
	}
	t->search = s;
	t->out = out;
	for (unsigned device = 0; device < GP_DEVICES; device++)
		for (unsigned curve = GP_CURVES; curve-- > 0;)
			if (peak_is_selected(s, device, curve, &out->holder[out->holders],
					     &t->due[out->holders]))
				out->holders++;
	t->holders = out->holders;
	if (is_host_selected(s, &out->holder[t->holders], &t->due[t->holders]))
		out->host = &out->holder[t->holders++];
	for (size_t k = 0; k < t->holders; k++)
		t->table[k].epochs = &s->epochs;
	t->left = t->holders;
	enum gp_status status = replay_to(t);
	for (size_t k = 0; k < t->holders; k++)
		hand_over(&t->table[k], &out->holder[k]);
	free(t->pending);
	free(t);
	return status;
}

/* The number of events of a whole replay, of which `events` come from that segment on. */
static uint64_t search_event(const struct search *s, size_t segment, uint64_t events)
{
	const struct gp_tops *tops = &s->recording->tops;
	const uint64_t event = (segment < tops->segments ? tops->before[segment] : 0) + events;
	return event < tops->events ? event : tops->events;
}

static enum gp_status search_time(struct search *s)
{
	struct gp_recording *r = s->recording;
	struct gp_memory_mark mark;
	const enum gp_status status =
		gp_memory_mark_time(r, s->until_ns, gp_segment_by_time(r, s->until_ns), &mark);
	s->last = status == GP_OK ? search_event(s, mark.segment, mark.events) : 0;
	return status == GP_END ? GP_OK : status;
}

static enum gp_status search_oom(struct search *s, const struct gp_oom *oom)
{
	struct gp_recording *r = s->recording;
	const size_t from = gp_segment_by_order(r, oom->order);
	uint64_t events = 0;
	for (size_t i = from; i < r->index.segments; i++) {
		const enum gp_status status = gp_merge_begin(r->merge, i);
		if (status != GP_OK)
			return status;
		const struct gp_record *record;
		uint32_t thread;
		while ((record = gp_merge_next(r->merge, &thread)) != NULL) {
			events++;
			if ((record->kind != GP_OOM && record->kind != GP_ALLOC_FAILED) ||
			    record->order != oom->order || record->device != oom->device)
				continue;
			s->oom[oom->device].event = search_event(s, from, events);
			s->oom[oom->device].at_ns = gp_tick_ns(&r->tick, record->time);
			return GP_OK;
		}
	}
	return GP_OK;
}

static enum gp_status search_ooms(struct search *s)
{
	struct gp_ooms ooms;
	enum gp_status status = gp_ooms_build(s->recording, NULL, &ooms);
	for (unsigned device = 0; device < GP_DEVICES; device++)
		s->oom[device].event = NO_EVENT;
	for (size_t k = 0; k < ooms.ooms && status == GP_OK; k++)
		if (s->oom[ooms.oom[k].device].event == NO_EVENT)
			status = search_oom(s, &ooms.oom[k]);
	gp_ooms_free(&ooms);
	return status;
}

static enum gp_status peak_attempt(void *context, const struct gp_info *info)
{
	struct search *s = context;
	int64_t end_ns = (int64_t)info->duration_ns;
	s->until_ns = s->at_ns < end_ns ? s->at_ns : end_ns;
	enum gp_status status = gp_module_epochs_build(s->recording, &s->epochs);
	if (status == GP_OK && s->moment == GP_AT_OOM)
		status = search_ooms(s);
	if (status == GP_OK && s->moment == GP_AT_TIME)
		status = search_time(s);
	if (status == GP_OK && (s->with & GP_WITH_ROLES) != 0)
		status = gp_roles_find(s->recording, &s->roles);
	if (status == GP_OK)
		status = peak_answer(s);
	if (status == GP_OK)
		status = gp_roles_status(s->roles);
	s->roles = NULL;
	gp_module_epochs_release(&s->epochs);
	return status;
}

static void peak_forget(void *context)
{
	gp_peak_free(((struct search *)context)->out);
}

enum gp_status gp_peak_build_looking(struct gp_recording *recording, enum gp_moment moment,
				     int64_t at_ns, unsigned with, const struct gp_peak_look *look,
				     struct gp_peak *out)
{
	*out = (struct gp_peak){ 0 };
	struct search *s = calloc(1, sizeof *s);
	if (s == NULL)
		return GP_E_MEMORY;
	s->recording = recording;
	s->moment = moment;
	s->at_ns = at_ns;
	s->with = with;
	s->look = look;
	s->out = out;
	enum gp_status status = gp_retry_if_overwritten(recording, peak_attempt, peak_forget, s);
	free(s);
	if (status != GP_OK)
		gp_peak_free(out);
	return status;
}

enum gp_status gp_peak_build(struct gp_recording *recording, enum gp_moment moment, int64_t at_ns,
			     struct gp_peak *out)
{
	return gp_peak_build_looking(recording, moment, at_ns, 0, NULL, out);
}

enum gp_status gp_peak_build_with(struct gp_recording *recording, enum gp_moment moment,
				  int64_t at_ns, unsigned with, struct gp_peak *out)
{
	return gp_peak_build_looking(recording, moment, at_ns, with, NULL, out);
}

enum gp_status gp_top_peak_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				 int64_t short_ns, unsigned top_with, unsigned peak_with,
				 struct gp_top *top, struct gp_peak *peak)
{
	*peak = (struct gp_peak){ 0 };
	enum gp_status status =
		gp_top_build_with(recording, from_ns, to_ns, short_ns, top_with, top);
	if (status == GP_OK)
		status = gp_peak_build_with(recording, GP_AT_TIME, to_ns, peak_with, peak);
	if (status != GP_OK)
		gp_top_free(top);
	return status;
}

void gp_peak_free(struct gp_peak *peak)
{
	for (size_t k = 0; k < peak->holders; k++)
		free(peak->holder[k].use);
	if (peak->host != NULL)
		free(peak->host->use);
	free(peak->holder);
	gp_range_paths_close(peak->ranges);
	*peak = (struct gp_peak){ 0 };
}
