/* Replays to the requested moment, event by event, from the newest checkpoint before it. */
#include "../../read/file/replay_places.h"
#include "memory_view.h"

struct way {
	struct gp_memory_view *view;
	struct gp_memory_mark mark;
	struct gp_place_seen seen;
	int64_t next_ns; /* time of the event behind the last applied one */
};

static bool is_memory(const struct gp_record *r)
{
	return r->kind < GP_KINDS && gp_event_infos[r->kind].class == GP_CLASS_MEMORY;
}

/* If a checkpoint cannot be read, begins at the one before it. */
static enum gp_status memory_moment_begin(struct way *w, const struct gp_moment_of *moment)
{
	struct gp_recording *r = w->view->recording;
	enum gp_status status = GP_OK;
	if (w->mark.events == UINT64_MAX)
		status = gp_places_add(r, w->mark.segment, w->mark.order);
	if (status == GP_OK)
		status = gp_recording_seek(r, w->mark.segment);
	if (status == GP_OK && r->first < w->mark.segment && w->mark.events != UINT64_MAX) {
		status = gp_memory_mark_time(r, moment->at_ns, r->first, &w->mark);
		if (status == GP_OK)
			status = gp_recording_seek(r, r->first);
	}
	w->seen.has_memory = gp_live_count(r->live, GP_COUNT_NEWEST_ORDER) > 0;
	w->seen.last_ns = w->next_ns = gp_segment_ns(r, r->first);
	if (status == GP_OK && r->first == w->mark.segment)
		status = gp_places_jump(r, r->first, w->mark.events, w->mark.order, &w->seen);
	return status;
}

static enum gp_status go(struct way *w)
{
	struct gp_recording *r = w->view->recording;
	enum gp_status status = GP_OK;
	while (status == GP_OK && r->seen < w->mark.events) {
		uint32_t thread;
		const struct gp_record *record = gp_recording_fetch(r, &thread, &status);
		if (record == NULL)
			break;
		w->next_ns = gp_tick_ns(&r->tick, record->time);
		if (is_memory(record) && record->order >= w->mark.order)
			break;
		w->seen.last_ns = w->next_ns;
		if (is_memory(record)) {
			w->seen.has_memory = true;
			w->seen.memory_ns = w->seen.last_ns;
		}
		status = gp_recording_apply(r, record);
	}
	return status;
}

/* After the last event the state is constant up to the last block. Later moments are unknown. */
static int64_t within(const struct gp_recording *r, int64_t at_ns, int64_t last_ns)
{
	int64_t end = gp_tick_ns(&r->tick, r->index.last.ticks);
	end = end > last_ns ? end : last_ns;
	return at_ns < end ? at_ns : end;
}

enum gp_status gp_memory_reach(struct gp_memory_view *v, const struct gp_moment_of *moment)
{
	struct gp_recording *r = v->recording;
	struct way w = { .view = v };
	enum gp_status status = gp_recording_unseek(r);
	if (status == GP_OK)
		status = gp_memory_mark(r, moment, &w.mark);
	if (status == GP_OK)
		status = memory_moment_begin(&w, moment);
	if (status != GP_OK)
		return status;
	status = go(&w);
	if (status != GP_OK && status != GP_END)
		return status;
	bool is_end = status == GP_END;
	bool is_event = moment->when == GP_WHEN_OOM || moment->when == GP_WHEN_SNAPSHOT ||
			moment->when == GP_WHEN_ORDER;
	v->out->at_ns = is_event && !is_end ? w.next_ns : w.seen.last_ns;
	if (moment->when == GP_WHEN_PEAK || moment->when == GP_WHEN_UNUSED)
		v->out->at_ns = w.seen.memory_ns; /* launches may follow */
	if (moment->when == GP_WHEN_TIME || moment->when == GP_WHEN_END)
		v->out->at_ns = within(r, moment->when == GP_WHEN_END ? INT64_MAX : moment->at_ns,
				       w.seen.last_ns);
	uint64_t newest = gp_live_count(r->live, GP_COUNT_NEWEST_ORDER);
	v->out->order = w.seen.has_memory ? newest + 1 : 0;
	bool is_behind = is_end && moment->when == GP_WHEN_ORDER && w.mark.order > v->out->order;
	return is_behind ? GP_END : GP_OK;
}
