/* To the moment that is asked for, event by event, from the newest checkpoint before it. */
#include "memory_view.h"

static bool is_over(const struct gp_recording *r, const struct gp_memory_mark *mark,
		    const struct gp_record *record)
{
	bool is_memory =
		record->kind < GP_KINDS && gp_event_infos[record->kind].class == GP_CLASS_MEMORY;
	return r->seen >= mark->events || (is_memory && record->order >= mark->order);
}

static enum gp_status go(struct gp_memory_view *v, const struct gp_memory_mark *mark,
			 int64_t *last_ns, int64_t *next_ns)
{
	struct gp_recording *r = v->recording;
	enum gp_status status = gp_recording_seek(r, mark->segment);
	/* where it begins later, a pool's first segment may lie before */
	bool is_whole = r->first == r->unsought;
	*last_ns = gp_segment_ns(r, r->first);
	while (status == GP_OK && r->seen < mark->events) {
		uint32_t thread;
		const struct gp_record *record = gp_recording_fetch(r, &thread, &status);
		if (record == NULL)
			break;
		*next_ns = gp_tick_ns(&r->tick, record->time);
		if (is_over(r, mark, record))
			return GP_OK;
		*last_ns = *next_ns;
		status = gp_recording_apply(r, record);
		if (status == GP_OK && is_whole)
			status = gp_captures_see(v, record, *last_ns);
	}
	return status;
}

enum gp_status gp_memory_reach(struct gp_memory_view *v, const struct gp_moment_of *moment)
{
	struct gp_recording *r = v->recording;
	struct gp_memory_mark mark;
	enum gp_status status = gp_recording_unseek(r);
	if (status == GP_OK)
		status = gp_memory_mark(r, moment, &mark);
	int64_t last_ns = 0, next_ns = 0;
	if (status == GP_OK)
		status = go(v, &mark, &last_ns, &next_ns);
	else
		return status;
	bool is_end = status == GP_END;
	if (status != GP_OK && !is_end)
		return status;
	bool is_event = moment->when == GP_WHEN_OOM || moment->when == GP_WHEN_SNAPSHOT ||
			moment->when == GP_WHEN_ORDER;
	v->out->at_ns = is_event && !is_end ? next_ns : last_ns;
	if (moment->when == GP_WHEN_TIME && (!is_end || moment->at_ns < last_ns))
		v->out->at_ns = moment->at_ns;
	uint64_t newest = gp_live_count(r->live, GP_COUNT_NEWEST_ORDER);
	v->out->order = newest > 0 || r->seen > 0 ? newest + 1 : 0;
	bool is_behind = is_end && moment->when == GP_WHEN_ORDER && mark.order > v->out->order;
	return is_behind ? GP_END : GP_OK;
}
