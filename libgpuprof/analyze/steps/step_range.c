/* Follows the ranges of all threads with the code that the recorder has for it. */
#include "step_range.h"

#include <stdlib.h>
#include <string.h>

#include "step_name.h"
#include "step_stat.h"

#define OPEN_THREADS 4096u /* capacity: with open ranges at once */

/* What a range's mark says: what it is, and of spans 1 + which. */
enum { MARK_OPTIMIZER = 1, MARK_SPAN };
#define MARK(what, which) ((uint64_t)(which) << 2 | (what))
#define MARK_WHAT(mark) ((mark)&3)
#define MARK_WHICH(mark) ((uint32_t)((mark) >> 2))

static uint64_t *range_own(struct gp_step_ranges *r, uint32_t thread)
{
	return &r->own[thread % GP_STEP_THREADS];
}

/* Autograd's threads work for those that entered its engine, and enter it to compute again. */
static bool range_is_autograds(const struct gp_step_ranges *r, uint32_t thread)
{
	static const char worker[] = "pt_autograd";
	const char *name = gp_defined_text(r->recording->meanings, GP_THREAD, thread);
	return name != NULL && strncmp(name, worker, sizeof worker - 1) == 0;
}

/* ---- ranges that are called steps ---- */

/* 1 + its number; 0: there are too many. */
static uint32_t series_get(struct gp_step_ranges *r, uint64_t kind, uint32_t thread)
{
	for (uint32_t k = 0; k < r->serieses; k++)
		if (r->series[k].kind == kind && r->series[k].thread == thread)
			return k + 1;
	if (r->serieses == GP_STEP_SERIES)
		return 0;
	r->series[r->serieses] = (struct gp_step_series){ kind, thread };
	return ++r->serieses;
}

static uint32_t span_find_up(const struct gp_step_ranges *r, const struct gp_range_stack *stack,
			     uint32_t series)
{
	for (uint32_t k = stack != NULL ? stack->depth - 1 : 0; k-- > 0;) {
		uint64_t mark = stack->range[k].mark;
		if (MARK_WHAT(mark) == MARK_SPAN && r->span[MARK_WHICH(mark) - 1].series == series)
			return MARK_WHICH(mark);
	}
	return 0;
}

static void span_open(struct gp_step_ranges *r, struct gp_open_range *range,
		      const struct gp_range_stack *stack, uint64_t kind)
{
	kind ^= (uint64_t)range->domain << 40 ^ (uint64_t)range->source << 56;
	uint32_t series = series_get(r, kind, stack != NULL ? stack->thread : GP_THREAD_NONE);
	if (series == 0)
		return;
	struct gp_step_span *span = gp_step_grow(r->span, r->spans, sizeof *span);
	r->is_out_of_memory |= span == NULL;
	if (span == NULL)
		return;
	r->span = span;
	r->span[r->spans++] = (struct gp_step_span){ .cut = { r->here, r->here },
						     .own = *range_own(r, range->thread),
						     .series = series - 1,
						     .up = span_find_up(r, stack, series - 1) };
	range->mark = MARK(MARK_SPAN, r->spans);
}

static void span_close(struct gp_step_ranges *r, const struct gp_open_range *range)
{
	struct gp_step_span *span = &r->span[MARK_WHICH(range->mark) - 1];
	span->cut.end = r->here;
	span->own = *range_own(r, range->thread) - span->own;
	span->has_ended = true;
}

/* ---- events ---- */

static void range_opened(void *context, struct gp_open_range *range,
			 const struct gp_range_stack *stack)
{
	struct gp_step_ranges *r = context;
	const char *text = gp_recording_text(r->recording, GP_RANGE_NAME, range->name);
	/* what was open before has its begin elsewhere */
	if (r->record->kind == GP_RANGE_RESUMED)
		return;
	r->has_any = true;
	if (range->source == GP_RANGE_ENGINE) {
		if (!range_is_autograds(r, range->thread))
			gp_step_updates_backward(&r->updates);
		return;
	}
	const uint64_t kind = text != NULL ? gp_step_name_kind(text, r->wanted) : 0;
	if (kind != 0) {
		span_open(r, range, stack, kind);
	} else if (text != NULL && gp_step_name_is_optimizer(text)) {
		gp_step_updates_optimizer(&r->updates, range->thread, &r->here);
		range->mark = MARK(MARK_OPTIMIZER, 0);
		return;
	}
	gp_step_updates_opening(&r->updates, &r->here);
}

static void range_closed(void *context, const struct gp_open_range *range, enum gp_range_end how,
			 const struct gp_record *by)
{
	struct gp_step_ranges *r = context;
	(void)how;
	(void)by;
	if (MARK_WHAT(range->mark) == MARK_SPAN)
		span_close(r, range);
	else if (MARK_WHAT(range->mark) == MARK_OPTIMIZER)
		r->is_out_of_memory |=
			!gp_step_updates_optimizer_end(&r->updates, range->thread, &r->here);
}

static enum gp_status range_load(void *context, const struct gp_record *record)
{
	if (record->kind == GP_RANGE_OPEN)
		gp_open_ranges_apply(context, GP_THREAD_NONE, record);
	return GP_OK;
}

enum gp_status gp_step_ranges_open(struct gp_step_ranges *r, struct gp_recording *recording)
{
	r->recording = recording;
	r->wanted = recording->step_name;
	r->open = gp_open_ranges_open(OPEN_THREADS);
	if (r->open == NULL)
		return GP_E_MEMORY;
	enum gp_status status = GP_OK;
	if (recording->first < recording->index.segments)
		status = gp_merge_visit(recording->merge, recording->first, GP_BLOCK_CHECKPOINT,
					range_load, r->open);
	/* only now: what the first checkpoint says is open has its begin elsewhere */
	r->watch = (struct gp_range_watch){ range_opened, range_closed, r };
	gp_open_ranges_watch(r->open, &r->watch);
	return status;
}

void gp_step_ranges_close(struct gp_step_ranges *r)
{
	gp_open_ranges_close(r->open);
	r->open = NULL;
	gp_step_updates_free(&r->updates);
	free(r->span);
}

bool gp_step_ranges_see(struct gp_step_ranges *r, uint32_t thread, const struct gp_record *record,
			const struct gp_step_place *here, unsigned work)
{
	if (work > 0) {
		gp_step_updates_work(&r->updates, here, work, record->kind == GP_GRAPH_LAUNCH);
		*range_own(r, thread) += work;
	}
	if (!gp_is_range(record->kind) || record->kind == GP_MARK)
		return true;
	r->here = *here;
	r->record = record;
	gp_open_ranges_apply(r->open, thread, record);
	return !r->is_out_of_memory;
}

/* ---- which name is the step's ---- */

/* One whose end is missing holds all that follow, and they are no parts of it. */
static bool span_is_part(const struct gp_step_ranges *r, const struct gp_step_span *span)
{
	uint32_t up = span->up;
	while (up > 0 && !r->span[up - 1].has_ended)
		up = r->span[up - 1].up;
	return up > 0;
}

struct candidate {
	struct gp_step_cuts steps;
	uint64_t own;	  /* work of its thread in them */
	uint64_t covered; /* tokens: the median from begin to begin, for all of them */
};

static enum gp_status candidate_gather(const struct gp_step_ranges *r, uint32_t series,
				       const struct gp_step_place *end, struct candidate *out)
{
	struct gp_step_cut *cut = calloc(r->spans, sizeof *cut);
	uint64_t *tokens = calloc(r->spans, sizeof *tokens);
	size_t n = 0;
	*out = (struct candidate){ .steps.cut = cut };
	for (size_t k = 0; cut != NULL && k < r->spans; k++) {
		const struct gp_step_span *span = &r->span[k];
		if (span->series != series || span_is_part(r, span))
			continue;
		cut[n] = span->cut;
		if (!span->has_ended)
			cut[n].end = end->at_ns > cut[n].begin.at_ns ? *end : cut[n].begin;
		out->own += span->has_ended ? span->own : 0;
		n++;
	}
	for (size_t k = 0; tokens != NULL && k < n; k++)
		tokens[k] = (k + 1 < n ? cut[k + 1].begin.token : cut[k].end.token) -
			    cut[k].begin.token;
	out->steps.cuts = n;
	out->covered = tokens != NULL ? gp_step_median(tokens, n) * n : 0;
	free(tokens);
	return cut != NULL && tokens != NULL ? GP_OK : GP_E_MEMORY;
}

/* Keeps ranges up to whose next one an update ends: others are evaluations. */
static void candidate_keep_updated(struct candidate *c, const struct gp_step_cuts *updates)
{
	size_t kept = 0, at = 0;
	for (size_t k = 0; k < c->steps.cuts; k++) {
		const bool is_last = k + 1 == c->steps.cuts;
		const int64_t from_ns = c->steps.cut[k].begin.at_ns,
			      to_ns = is_last ? INT64_MAX : c->steps.cut[k + 1].begin.at_ns;
		while (at < updates->cuts && updates->cut[at].end.at_ns < from_ns)
			at++;
		if (at < updates->cuts && updates->cut[at].end.at_ns < to_ns)
			c->steps.cut[kept++] = c->steps.cut[k];
	}
	c->steps.cuts = kept;
}

/* Where updates are known, most ranges have one, and most updates lie in them: else most work. */
static bool candidate_is_step(struct candidate *c, const struct gp_step_cuts *updates,
			      const struct gp_step_place *end)
{
	const size_t all = c->steps.cuts;
	if (updates->cuts == 0)
		return end->token == 0 || gp_is_most(c->covered, end->token);
	candidate_keep_updated(c, updates);
	return gp_is_most(c->steps.cuts, all) && gp_is_most(c->steps.cuts, updates->cuts);
}

/* Of several the one whose thread did most. */
static enum gp_status range_find_named(const struct gp_step_ranges *r,
				       const struct gp_step_place *end,
				       const struct gp_step_cuts *updates, struct gp_step_cuts *out)
{
	struct candidate best = { 0 };
	enum gp_status status = GP_OK;
	for (uint32_t k = 0; status == GP_OK && k < r->serieses; k++) {
		struct candidate c;
		status = candidate_gather(r, k, end, &c);
		bool is_step = status == GP_OK &&
			       (r->wanted != NULL || candidate_is_step(&c, updates, end));
		bool is_best = is_step && (best.steps.cuts == 0 || c.own > best.own);
		free(is_best ? best.steps.cut : c.steps.cut);
		best = is_best ? c : best;
	}
	*out = best.steps;
	return status;
}

enum gp_status gp_step_ranges_cut(const struct gp_step_ranges *r, const struct gp_step_place *end,
				  bool is_cut, struct gp_step_cuts *named,
				  struct gp_step_cuts *updates)
{
	enum gp_status status = gp_step_updates_cut(&r->updates, is_cut, updates);
	return status == GP_OK ? range_find_named(r, end, updates, named) : status;
}
