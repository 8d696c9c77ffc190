/* Follows the ranges of all threads with the code that the recorder has for it. */
#include "step_range.h"

#include <stdlib.h>
#include <string.h>

#define THREADS 4096u /* with open ranges at once */
#define WORKER "pt_autograd"

/* What a range's mark says: what it is, and of spans 1 + which. */
enum { MARK_OPTIMIZER = 1, MARK_BACKWARD, MARK_SPAN };
#define MARK(what, which) ((uint64_t)(which) << 2 | (what))
#define MARK_WHAT(mark) ((mark)&3)
#define MARK_WHICH(mark) ((uint32_t)((mark) >> 2))

static uint64_t *own_of(struct gp_step_ranges *r, uint32_t thread)
{
	return &r->own[thread % GP_STEP_THREADS];
}

/* Autograd's threads work for those that entered its engine. */
static bool is_worker(const struct gp_step_ranges *r, uint32_t thread)
{
	const char *name = gp_defined_text(r->recording->meanings, GP_THREAD, thread);
	return name != NULL && strncmp(name, WORKER, strlen(WORKER)) == 0;
}

/* ---- ranges that are called steps ---- */

/* 1 + its number; 0: there are too many. */
static uint32_t series_of(struct gp_step_ranges *r, uint64_t kind, uint32_t thread)
{
	for (uint32_t k = 0; k < r->serieses; k++)
		if (r->series[k].kind == kind && r->series[k].thread == thread)
			return k + 1;
	if (r->serieses == GP_STEP_SERIES_MOST)
		return 0;
	r->series[r->serieses] = (struct gp_step_series){ .kind = kind, .thread = thread };
	return ++r->serieses;
}

static struct gp_step_span *add_span(struct gp_step_ranges *r)
{
	if ((r->spans & (r->spans - 1)) == 0) {
		size_t room = r->spans > 0 ? r->spans * 2 : 1;
		struct gp_step_span *span = realloc(r->span, room * sizeof *span);
		r->is_out_of_memory |= span == NULL;
		if (span == NULL)
			return NULL;
		r->span = span;
	}
	return &r->span[r->spans++];
}

/* 1 + the innermost of the series that is open below the top; 0: none. */
static uint32_t find_up(const struct gp_step_ranges *r, const struct gp_range_stack *stack,
			uint32_t series)
{
	for (uint32_t k = stack->depth - 1; k-- > 0;) {
		uint64_t mark = stack->range[k].mark;
		if (MARK_WHAT(mark) == MARK_SPAN && r->span[MARK_WHICH(mark) - 1].series == series)
			return MARK_WHICH(mark);
	}
	return 0;
}

/* The one before it lies in the same range, and is over. */
static void see_sibling(struct gp_step_ranges *r, struct gp_step_span *span, uint32_t before,
			const struct gp_range_stack *stack)
{
	uint64_t since = stack->depth > 1 ? stack->range[stack->depth - 2].time : 0;
	struct gp_step_span *sibling = before > 0 ? &r->span[before - 1] : NULL;
	if (sibling != NULL && sibling->depth == span->depth && since <= sibling->time)
		sibling->is_sure = true;
}

static void open_span(struct gp_step_ranges *r, struct gp_open_range *range,
		      const struct gp_range_stack *stack, uint64_t kind)
{
	kind ^= (uint64_t)range->domain << 40 ^ (uint64_t)range->source << 56;
	uint32_t which = series_of(r, kind, stack != NULL ? stack->thread : GP_THREAD_NONE);
	struct gp_step_span *span = which > 0 ? add_span(r) : NULL;
	if (span == NULL)
		return;
	*span = (struct gp_step_span){ .begin = r->now.here,
				       .end = r->now.here,
				       .time = r->record->time,
				       .own = *own_of(r, range->thread),
				       .backwards = r->updates.backwards,
				       .series = which - 1 };
	range->mark = MARK(MARK_SPAN, r->spans);
	if (stack == NULL)
		return;
	span->depth = stack->depth;
	span->up = find_up(r, stack, span->series);
	struct gp_step_span *up = span->up > 0 ? &r->span[span->up - 1] : NULL;
	uint32_t *last = up != NULL ? &up->last : &r->series[span->series].last;
	see_sibling(r, span, *last, stack);
	*last = (uint32_t)r->spans;
	if (up != NULL)
		up->held++;
}

static void close_span(struct gp_step_ranges *r, const struct gp_open_range *range)
{
	struct gp_step_span *span = &r->span[MARK_WHICH(range->mark) - 1];
	span->end = r->now.here;
	span->own = *own_of(r, range->thread) - span->own;
	span->has_ended = true;
}

/* ---- events ---- */

static void opened(void *context, struct gp_open_range *range, const struct gp_range_stack *stack)
{
	struct gp_step_ranges *r = context;
	/* what was open before has its begin elsewhere */
	if (r->record->kind == GP_RANGE_RESUMED)
		return;
	bool is_engine = range->source == GP_RANGE_ENGINE;
	const char *text = gp_recording_text(r->recording, GP_RANGE_NAME, range->name);
	r->has_any = true;
	if (stack != NULL && range->source == GP_RANGE_TORCH &&
	    (text == NULL || !gp_step_name_is_optimizer(text)))
		gp_step_updates_begin(&r->updates, &r->now);
	if (is_engine) {
		gp_step_updates_backward(&r->updates, is_worker(r, range->thread));
		range->mark = MARK(MARK_BACKWARD, 0);
		return;
	}
	if (text == NULL)
		return;
	const uint64_t kind = gp_step_name_kind(text);
	bool is_done = true;
	if (kind != 0)
		open_span(r, range, stack, kind);
	else if (gp_step_name_is_optimizer(text)) {
		is_done = gp_step_updates_optimizer(&r->updates, range->thread,
						    is_worker(r, range->thread), text, &r->now);
		range->mark = MARK(MARK_OPTIMIZER, 0);
	} else if (gp_step_name_is_zero_grad(text)) {
		is_done = gp_step_updates_zero_grad(&r->updates, range->thread,
						    is_worker(r, range->thread), &r->now);
	}
	r->is_out_of_memory |= !is_done;
}

static void closed(void *context, const struct gp_open_range *range, enum gp_range_end how,
		   const struct gp_record *by)
{
	struct gp_step_ranges *r = context;
	(void)how;
	(void)by;
	if (MARK_WHAT(range->mark) == MARK_SPAN)
		close_span(r, range);
	else if (MARK_WHAT(range->mark) == MARK_BACKWARD)
		gp_step_updates_backward_end(&r->updates);
	else if (MARK_WHAT(range->mark) == MARK_OPTIMIZER)
		r->is_out_of_memory |=
			!gp_step_updates_optimizer_end(&r->updates, range->thread, &r->now);
}

static enum gp_status load(void *context, const struct gp_record *record)
{
	if (record->kind == GP_RANGE_OPEN)
		gp_open_ranges_apply(context, GP_THREAD_NONE, record);
	return GP_OK;
}

enum gp_status gp_step_ranges_open(struct gp_step_ranges *r, struct gp_recording *recording)
{
	r->recording = recording;
	r->open = gp_open_ranges_open(THREADS);
	if (r->open == NULL)
		return GP_E_MEMORY;
	enum gp_status status = GP_OK;
	if (recording->first < recording->index.segments)
		status = gp_merge_visit(recording->merge, recording->first, GP_BLOCK_CHECKPOINT,
					load, r->open);
	/* only now: what the first checkpoint says is open has its begin elsewhere */
	r->watch = (struct gp_range_watch){ opened, closed, r };
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
		gp_step_updates_token(&r->updates, here);
		r->now.work += work;
		*own_of(r, thread) += work;
	}
	if (!gp_is_range(record->kind) || record->kind == GP_MARK)
		return true;
	r->now.here = *here;
	r->record = record;
	gp_open_ranges_apply(r->open, thread, record);
	return !r->is_out_of_memory;
}

/* ---- at the end ---- */

/*
 * One that holds far more of its name than any does that surely ended by itself has lost its end.
 * Those in it lie where it does then: `up` says so, for spans come in the order of their begins.
 */
static void find_lost(struct gp_step_ranges *r)
{
	uint32_t most[GP_STEP_SERIES_MOST] = { 0 };
	bool has_sure[GP_STEP_SERIES_MOST] = { false };
	for (size_t k = 0; k < r->spans; k++) {
		const struct gp_step_span *s = &r->span[k];
		if (!s->is_sure)
			continue;
		has_sure[s->series] = true;
		most[s->series] = s->held > most[s->series] ? s->held : most[s->series];
	}
	for (size_t k = 0; k < r->spans; k++) {
		struct gp_step_span *s = &r->span[k];
		struct gp_step_span *up = s->up > 0 ? &r->span[s->up - 1] : NULL;
		bool is_lost = up != NULL && !up->is_sure && up->held > 2 * most[up->series] &&
			       (has_sure[up->series] || !up->has_ended);
		if (!is_lost)
			continue;
		s->up = up->up;
		if (up->end.at_ns > s->begin.at_ns)
			up->end = s->begin;
		up->own = 0;
	}
}

enum gp_status gp_step_ranges_settle(struct gp_step_ranges *r, const struct gp_step_place *end)
{
	for (size_t k = 0; k < r->spans; k++) {
		struct gp_step_span *s = &r->span[k];
		if (s->has_ended)
			continue;
		s->end = end->at_ns > s->begin.at_ns ? *end : s->begin;
		s->own = 0;
	}
	find_lost(r);
	return gp_step_updates_settle(&r->updates);
}
