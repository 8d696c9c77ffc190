/*
 * The level of a range is its depth on the stack of its thread. It stays with the open range as the
 * watcher's mark, which is never 0.
 *
 * Exports take calls from gp_range_paths_calls. That keeps 40 bytes for each call, since launches
 * refer to it, and a name for each of GP_PHASES_MOST paths. Lanes need neither. They see each call
 * once, so their memory is flat, and their names stay where paths are too many ("step 70000").
 */
#include "range_lanes.h"

#include <stdio.h>

#include "../phases/phase_follow.h"
#include "../settle.h"

struct range_calling {
	struct gp_recording *recording;
	int64_t end_ns;
	gp_range_lane_visit *visit;
	void *context;
};

bool gp_range_lanes_has(struct gp_recording *r)
{
	return gp_recording_keeps(r, GP_RANGE_PUSH) || gp_recording_keeps(r, GP_RANGE_START) ||
	       gp_recording_keeps(r, GP_RANGE_RESUMED) || gp_recording_keeps(r, GP_RANGE_STARTED) ||
	       gp_recording_keeps(r, GP_RANGE_OPEN) || gp_recording_keeps(r, GP_MARK);
}

static void call_opened(void *context, struct gp_open_range *range,
			const struct gp_range_stack *stack)
{
	(void)context;
	range->mark = stack != NULL ? stack->depth : GP_RANGE_LANE_STARTED + 1;
}

static void call_end(const struct range_calling *c, const struct gp_open_range *range,
		     int64_t end_ns)
{
	const int64_t begin_ns = gp_tick_ns(&c->recording->tick, range->time);
	const struct gp_range_lane_call call = { .thread = range->thread,
						 .level = (uint32_t)range->mark - 1,
						 .name = range->name,
						 .domain = range->domain,
						 .source = range->source,
						 .begin_ns = begin_ns,
						 .end_ns = end_ns };
	if (range->source != 0 && range->mark != 0 && end_ns >= begin_ns)
		c->visit(c->context, &call);
}

static void call_closed(void *context, const struct gp_open_range *range, enum gp_range_end how,
			const struct gp_record *by)
{
	const struct range_calling *c = context;
	(void)how;
	call_end(c, range, by != NULL ? gp_tick_ns(&c->recording->tick, by->time) : c->end_ns);
}

static void call_left(void *context, const struct gp_open_range *range)
{
	const struct range_calling *c = context;
	call_end(c, range, c->end_ns);
}

static void mark_see(const struct range_calling *c, const struct gp_record *r, uint32_t thread)
{
	const int64_t at_ns = gp_tick_ns(&c->recording->tick, r->time);
	const struct gp_range_lane_call call = { .thread = thread,
						 .level = GP_RANGE_LANE_MARK,
						 .name = r->aux,
						 .domain = (uint32_t)r->mark.domain,
						 .source = (uint32_t)r->mark.source,
						 .begin_ns = at_ns,
						 .end_ns = at_ns };
	c->visit(c->context, &call);
}

enum gp_status gp_range_lanes_visit(struct gp_recording *recording, int64_t end_ns,
				    gp_range_lane_visit *visit, void *context)
{
	struct range_calling c = { recording, end_ns, visit, context };
	const struct gp_range_watch watch = { call_opened, call_closed, &c };
	const struct gp_record *record;
	struct gp_phase_follow follow = { 0 };
	uint32_t thread = 0;
	enum gp_status status = gp_recording_rewind(recording);
	if (status == GP_OK)
		status = gp_phase_follow_open(&follow, recording, false, &watch);
	while (status == GP_OK &&
	       (record = gp_recording_step(recording, &thread, &status)) != NULL) {
		gp_phase_follow_apply(&follow, thread, record);
		if (record->kind == GP_MARK)
			mark_see(&c, record, thread);
	}
	if (status == GP_OK || status == GP_END)
		gp_phase_follow_finish(&follow, call_left, &c);
	gp_phase_follow_close(&follow);
	return status == GP_END ? GP_OK : status;
}

static const char *name_text(struct gp_recording *r, uint32_t id)
{
	return id != 0 ? gp_defined_text(r->definitions, GP_RANGE_NAME, id) : NULL;
}

void gp_range_lane_text(struct gp_recording *r, const struct gp_range_lane_call *call, char *out,
			size_t room)
{
	const char *name = name_text(r, call->name), *domain = name_text(r, call->domain);
	if (name == NULL)
		name = call->source == GP_RANGE_ENGINE ? "(autograd engine)" : "(no name)";
	else if (*name == '\0')
		name = "\"\"";
	snprintf(out, room, "%s%s%s", domain != NULL ? domain : "", domain != NULL ? ":" : "",
		 name);
}
