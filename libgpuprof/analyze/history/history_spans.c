/*
 * Replays a recording and follows the events of an interval, or of several that are one after the
 * other. At a cut all is as at the end of a recording and at the begin of an interval: what is
 * reported fits the state there.
 */
#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../groups/module_epochs.h"
#include "../memory/memory_view.h"
#include "trace_builder.h"

/* The intervals of one replay. */
struct spans {
	const struct gp_history_cuts *cuts;
	size_t at;		/* of the next cut */
	int64_t from_ns, to_ns; /* of the present interval, as requested */
	const struct gp_history_sink *sink;
};

/* The search for cuts. */
struct cutting {
	struct gp_history_cuts *out;
	const struct gp_history_measure *measure;
	int64_t newest_ns; /* of the acts so far */
	bool is_due;
	bool is_possible; /* `next` counts as soon as an act follows it */
	struct gp_history_cut next;
	bool is_out_of_memory;
};

/* Takes over the current state of the recording before anything is reported. */
static void history_begin(struct gp_trace_builder *t)
{
	t->is_quiet = true;
	gp_act_match_live(t);
	t->is_quiet = false;
}

static bool is_behind(const struct gp_history *h, const struct gp_record *r)
{
	return h->to_ns != INT64_MAX && r->kind < GP_KINDS &&
	       gp_event_infos[r->kind].class == GP_CLASS_MEMORY && r->order >= h->memory.order;
}

/* The progress of a replay. After a jump, the live state is compared again. */
struct way {
	bool is_begun;
	size_t loaded;
	unsigned overtakes;
};

/* LOST records may reveal a jump, but no interval begins at one. */
static void see_moment(struct gp_trace_builder *t, struct way *way, unsigned kind, int64_t at_ns)
{
	const struct gp_recording *recording = t->recording;
	if (way->is_begun &&
	    (recording->loaded != way->loaded || recording->overtakes != way->overtakes)) {
		t->at_ns = at_ns;
		gp_act_match_soon(t);
	} else if (!way->is_begun && gp_has_moment(kind) && at_ns >= t->history->from_ns) {
		history_begin(t);
		way->is_begun = true;
	}
	way->loaded = recording->loaded;
	way->overtakes = recording->overtakes;
}

static bool is_memory_event(const struct gp_record *r)
{
	return r->kind < GP_KINDS && gp_event_infos[r->kind].class == GP_CLASS_MEMORY;
}

static void history_finish(struct gp_trace_builder *t, const struct way *way,
			   const struct gp_memory *memory)
{
	if (!way->is_begun)
		history_begin(t);
	gp_held_settle(t, NULL, 0);
	t->stack = 0;
	gp_act_match_live(t);
	gp_act_match_memory(t, memory);
}

static enum gp_status builder_status(const struct gp_trace_builder *t)
{
	return t->is_out_of_memory ? GP_E_MEMORY : t->is_over ? GP_END : GP_OK;
}

static int by_device_and_address(const void *left, const void *right)
{
	const struct gp_memory_outside *a = left, *b = right;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

static enum gp_status list_outside(const struct gp_trace_builder *t, struct gp_history *h)
{
	h->outside = calloc(t->outside.rows + 1, sizeof *h->outside);
	if (h->outside == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < t->outside.rows; k++) {
		const struct gp_known_block *o = (const struct gp_known_block *)t->outside.row + k;
		h->outside[h->outsides++] = (struct gp_memory_outside){ .address = o->address,
									.bytes = o->bytes,
									.device = o->device,
									.space = o->space,
									.at_ns = o->at_ns,
									.stack = o->stack };
	}
	qsort(h->outside, h->outsides, sizeof *h->outside, by_device_and_address);
	return GP_OK;
}

/* ---- cuts ---- */

static enum gp_status memory_now(struct gp_recording *recording, int64_t at_ns,
				 struct gp_memory *out)
{
	const enum gp_status status = gp_memory_list_now(recording, GP_DEVICE_UNKNOWN, out);
	out->at_ns = at_ns;
	out->order = gp_live_count(recording->live, GP_COUNT_NEWEST_ORDER) + 1;
	return status;
}

/* Before an event that may begin the next interval. Looks at the state once a cut. */
static enum gp_status cut_see(struct cutting *c, struct gp_recording *recording, int64_t at_ns)
{
	struct gp_memory memory;
	if (c->is_possible || at_ns <= c->newest_ns)
		return GP_OK;
	const enum gp_status status = memory_now(recording, c->newest_ns, &memory);
	if (status != GP_OK)
		return status;
	c->next = (struct gp_history_cut){ .events = recording->seen,
					   .to_ns = c->newest_ns,
					   .has_outside = memory.outsides > 0 };
	c->is_possible = true;
	gp_memory_free(&memory);
	return GP_OK;
}

static bool cut_measure(void *context, const struct gp_act *act)
{
	struct cutting *c = context;
	const bool is_first = c->is_possible && act->at_ns > c->newest_ns;
	const enum gp_history_fill fill = c->measure->see(c->measure->context, act, is_first);
	if (fill == GP_HISTORY_IGNORES)
		return true;
	if (is_first) {
		struct gp_history_cut *cut =
			gp_array_append(&c->out->cut, &c->out->cuts, sizeof *cut);
		c->is_out_of_memory |= cut == NULL;
		if (cut == NULL)
			return false;
		*cut = c->next;
		c->is_due = c->is_possible = false;
	}
	c->newest_ns = act->at_ns > c->newest_ns ? act->at_ns : c->newest_ns;
	c->is_due |= fill == GP_HISTORY_IS_FULL;
	return true;
}

/* After the reader was overtaken, numbers of events are too low, and cuts come late. */
static bool spans_is_cut(const struct spans *s, const struct gp_recording *recording, int64_t at_ns)
{
	return s->at < s->cuts->cuts && recording->seen >= s->cuts->cut[s->at].events &&
	       at_ns > s->cuts->cut[s->at].to_ns;
}

static void builder_init(struct gp_trace_builder *t, struct gp_history *h,
			 bool (*visit)(void *context, const struct gp_act *), void *context)
{
	*t = (struct gp_trace_builder){ .recording = h->recording,
					.history = h,
					.visit = visit,
					.context = context,
					.handle_address = GP_ADDRESS_OF_HANDLES };
	free(h->outside);
	h->outside = NULL;
	h->outsides = 0;
	h->acts = h->unreported = h->orphaned = 0;
	gp_looks_open(&t->looks);
}

/* After missing events an interval begins later. */
static void history_enter(struct gp_history *h, const struct gp_info *info, int64_t from_ns,
			  int64_t to_ns)
{
	const int64_t end_ns = (int64_t)info->duration_ns;
	h->from_ns = from_ns;
	h->to_ns = to_ns >= end_ns ? INT64_MAX : to_ns;
	h->is_cut = false;
	for (size_t k = 0; k < info->uncertains; k++) {
		int64_t until_ns = info->uncertain[k].to_ns;
		/* an interval that reaches the end has no certain part behind it */
		if (until_ns > h->from_ns && until_ns < end_ns && until_ns < to_ns) {
			h->from_ns = until_ns;
			h->is_cut = true;
		}
	}
}

static void spans_enter(struct spans *s, struct gp_history *h)
{
	const struct gp_history_cuts *cuts = s->cuts;
	history_enter(h, &h->recording->info, s->from_ns,
		      s->at < cuts->cuts ? cuts->cut[s->at].to_ns : s->to_ns);
}

static bool spans_begin(struct spans *s, const struct gp_history *h)
{
	const struct gp_history_cuts *cuts = s->cuts;
	return s->sink->begin(s->sink->context, h,
			      s->at < cuts->cuts ? cuts->cut[s->at].has_outside :
						   h->memory.outsides > 0);
}

/* Ends an interval with the present state, and begins the next one. */
static enum gp_status spans_cut(struct spans *s, struct gp_trace_builder *t, struct way *way)
{
	struct gp_history *h = t->history;
	const int64_t to_ns = s->cuts->cut[s->at].to_ns;
	const struct gp_memory at_end = h->memory; /* of the last interval */
	enum gp_status status = memory_now(t->recording, to_ns, &h->memory);
	if (status == GP_OK) {
		history_finish(t, way, &h->memory);
		status = builder_status(t);
	}
	if (status == GP_OK)
		status = list_outside(t, h);
	if (status == GP_OK && !s->sink->end(s->sink->context, h))
		status = GP_END;
	gp_memory_free(&h->memory);
	h->memory = at_end;
	gp_trace_builder_release(t);
	builder_init(t, h, s->sink->act, s->sink->context);
	t->is_over = status != GP_OK;
	if (status != GP_OK)
		return status;
	way->is_begun = false;
	s->at++;
	s->from_ns = to_ns + 1;
	spans_enter(s, h);
	t->is_over = !spans_begin(s, h);
	return t->is_over ? GP_END : GP_OK;
}

/* ---- the replay ---- */

static enum gp_status history_replay(struct gp_trace_builder *t, struct spans *spans,
				     struct cutting *cutting)
{
	struct gp_recording *recording = t->recording;
	enum gp_status status = gp_recording_rewind(recording);
	struct way way = { .loaded = recording->loaded, .overtakes = recording->overtakes };
	while (status == GP_OK) {
		uint32_t thread = 0;
		const struct gp_record *r = gp_recording_fetch(recording, &thread, &status);
		if (r == NULL || is_behind(t->history, r))
			break;
		const int64_t at_ns = gp_tick_ns(&recording->tick, r->time);
		if (cutting != NULL && cutting->is_due && is_memory_event(r))
			status = cut_see(cutting, recording, at_ns);
		if (spans != NULL && is_memory_event(r) && spans_is_cut(spans, recording, at_ns))
			status = spans_cut(spans, t, &way);
		if (status != GP_OK)
			break;
		if (gp_is_happening(r->kind))
			see_moment(t, &way, r->kind, at_ns);
		status = way.is_begun ? gp_trace_step(t, r, thread) :
					gp_recording_apply(recording, r);
	}
	if (t->is_over || (status != GP_OK && status != GP_END))
		return status;
	history_finish(t, &way, &t->history->memory);
	return builder_status(t);
}

enum gp_status gp_history_visit(struct gp_history *h,
				bool (*visit)(void *context, const struct gp_act *), void *context)
{
	struct gp_trace_builder t;
	builder_init(&t, h, visit, context);
	enum gp_status status = history_replay(&t, NULL, NULL);
	if (status == GP_OK)
		status = list_outside(&t, h);
	gp_trace_builder_release(&t);
	return status;
}

static enum gp_status spans_visit(struct spans *s, struct gp_history *h)
{
	struct gp_trace_builder t;
	spans_enter(s, h);
	if (!spans_begin(s, h))
		return GP_END;
	builder_init(&t, h, s->sink->act, s->sink->context);
	enum gp_status status = history_replay(&t, s, NULL);
	if (status == GP_OK)
		status = list_outside(&t, h);
	gp_trace_builder_release(&t);
	if (status == GP_OK && !s->sink->end(s->sink->context, h))
		status = GP_END;
	return status;
}

enum gp_status gp_history_visit_spans(struct gp_recording *recording, int64_t from_ns,
				      int64_t to_ns, const struct gp_history_cuts *cuts,
				      const struct gp_history_sink *sink)
{
	struct spans spans = { .cuts = cuts, .from_ns = from_ns, .to_ns = to_ns, .sink = sink };
	struct gp_history history;
	enum gp_status status = gp_history_open(recording, from_ns, to_ns, &history);
	if (status == GP_OK)
		status = spans_visit(&spans, &history);
	gp_history_close(&history);
	return status;
}

enum gp_status gp_history_find_cuts(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				    const struct gp_history_measure *measure,
				    struct gp_history_cuts *out)
{
	struct cutting cutting = { .out = out, .measure = measure, .newest_ns = INT64_MIN };
	struct gp_history history;
	struct gp_trace_builder t;
	*out = (struct gp_history_cuts){ 0 };
	enum gp_status status = gp_history_open(recording, from_ns, to_ns, &history);
	if (status == GP_OK) {
		builder_init(&t, &history, cut_measure, &cutting);
		status = history_replay(&t, NULL, &cutting);
		gp_trace_builder_release(&t);
	}
	gp_history_close(&history);
	return cutting.is_out_of_memory ? GP_E_MEMORY : status;
}

void gp_history_cuts_free(struct gp_history_cuts *cuts)
{
	free(cuts->cut);
	*cuts = (struct gp_history_cuts){ 0 };
}

enum gp_status gp_history_open(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
			       struct gp_history *out)
{
	const struct gp_info *info;
	*out = (struct gp_history){ .recording = recording };
	enum gp_status status = gp_recording_info(recording, &info);
	if (status != GP_OK)
		return status;
	history_enter(out, info, from_ns, to_ns);
	const struct gp_moment_of moment = {
		.when = out->to_ns == INT64_MAX ? GP_WHEN_END : GP_WHEN_TIME,
		.at_ns = out->to_ns,
		.device = GP_DEVICE_UNKNOWN,
	};
	out->epochs = calloc(1, sizeof *out->epochs);
	status = out->epochs ? gp_module_epochs_build(recording, out->epochs) : GP_E_MEMORY;
	return status == GP_OK ? gp_memory_build(recording, &moment, &out->memory) : status;
}

uint32_t gp_history_epoch(const struct gp_history *h, int64_t at_ns)
{
	return (uint32_t)gp_module_epoch(h->epochs, at_ns);
}

void gp_history_close(struct gp_history *h)
{
	gp_memory_free(&h->memory);
	if (h->epochs)
		gp_module_epochs_release(h->epochs);
	free(h->epochs);
	free(h->outside);
	*h = (struct gp_history){ 0 };
}
