/*
 * Follows the ranges of all threads with the code that the recorder has for it. A step by updates
 * ends where PyTorch's optimizers are through; optimizers are joined unless a backward pass, or
 * work that replaces it, comes between them.
 */
#include "step_range.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_table.h"
#include "../../state/open_ranges.h"
#include "step_name.h"

#define OPEN_THREADS 4096u /* capacity: with open ranges at once */
#define WORKERS 4096u	   /* capacity: further threads share a count of their work */
#define OPENINGS 4096u	   /* capacity: ranges before the first optimizer */

/* A range's mark: it is an optimizer's, or 1 + the number of its span. */
#define MARK_OPTIMIZER UINT64_MAX

/* A range that is called a step. */
struct span {
	struct gp_step_cut cut;
	uint64_t number; /* in the order of their begins */
	uint64_t series; /* of its name and thread, which started ones have not */
	uint64_t own;	 /* work of its thread in it */
	bool has_ended;
};

struct update {
	struct gp_step_place end, behind; /* and the first work behind it */
	uint64_t before;		  /* work before its first optimizer */
};

struct gp_step_ranges {
	struct gp_recording *recording;
	struct gp_open_ranges *open;
	struct gp_range_watch watch;
	/* of the event under way */
	struct gp_step_place here;
	const struct gp_record *record;
	bool has_any, is_out_of_memory;

	struct gp_row_table series; /* of their keys */
	struct span *span;
	size_t spans;
	uint64_t own[WORKERS]; /* work by thread */

	bool has_optimizer;
	uint32_t thread;		      /* of the first optimizer: others do not count */
	unsigned depth;			      /* optimizers that are open there */
	uint64_t last_begin, last_end;	      /* of the last one: work */
	uint64_t backwards, former_backwards; /* so far; when the last optimizer ended */
	bool is_waiting;		      /* `behind` of the last update is not known yet */
	struct update *update;
	size_t updates;
	struct gp_step_place first;		/* work */
	struct gp_step_place opening[OPENINGS]; /* a ring, up to the first optimizer */
	uint64_t openings;
};

/* Autograd's threads work for those that entered its engine, and enter it to compute again. */
static bool range_is_autograds(const struct gp_step_ranges *r, uint32_t thread)
{
	static const char worker[] = "pt_autograd";
	const char *name = gp_defined_text(r->recording->meanings, GP_THREAD, thread);
	return name != NULL && strncmp(name, worker, sizeof worker - 1) == 0;
}

/* ---- ranges that are called steps ---- */

static uint64_t *range_own(struct gp_step_ranges *r, uint32_t thread)
{
	return &r->own[thread % WORKERS];
}

static void span_open(struct gp_step_ranges *r, struct gp_open_range *range,
		      const struct gp_range_stack *stack, uint64_t kind)
{
	const uint32_t thread = stack != NULL ? stack->thread : GP_THREAD_NONE;
	const uint64_t from = (uint64_t)range->domain << 8 | range->source;
	const uint64_t key = gp_hash_pair(gp_hash_pair(kind, from), thread);
	const uint64_t *series = gp_row_get_key(&r->series, sizeof *series, key);
	struct span *span = gp_array_append(&r->span, &r->spans, sizeof *span);
	r->is_out_of_memory |= series == NULL || span == NULL;
	if (r->is_out_of_memory)
		return;
	*span = (struct span){ .cut = { r->here, r->here },
			       .number = r->spans,
			       .series = (uint64_t)(series - (uint64_t *)r->series.row),
			       .own = *range_own(r, range->thread) };
	range->mark = r->spans;
}

static void span_close(struct gp_step_ranges *r, const struct gp_open_range *range)
{
	struct span *span = &r->span[range->mark - 1];
	span->cut.end = r->here;
	span->own = *range_own(r, range->thread) - span->own;
	span->has_ended = true;
}

/* ---- updates ---- */

static void optimizer_open(struct gp_step_ranges *r, uint32_t thread)
{
	r->thread = r->has_optimizer ? r->thread : thread;
	r->has_optimizer = true;
	if (thread == r->thread && r->depth++ == 0)
		r->last_begin = r->here.work;
}

/* Does the optimizer belong to another update than the one before it? */
static bool update_is_new(const struct gp_step_ranges *r)
{
	if (r->updates == 0 || r->backwards > r->former_backwards)
		return true;
	/* without backwards: more than clearing and clipping, which is less than what it does */
	const uint64_t before = r->last_begin - r->last_end, within = r->here.work - r->last_begin;
	return r->backwards == 0 && before > within;
}

static void optimizer_close(struct gp_step_ranges *r, uint32_t thread)
{
	if (thread != r->thread || r->depth == 0 || --r->depth > 0)
		return;
	if (update_is_new(r)) {
		struct update *update = gp_array_append(&r->update, &r->updates, sizeof *update);
		r->is_out_of_memory |= update == NULL;
		if (update == NULL)
			return;
		update->before = r->last_begin;
	}
	struct update *last = &r->update[r->updates - 1];
	last->end = last->behind = r->here;
	r->is_waiting = true;
	r->last_end = r->here.work;
	r->former_backwards = r->backwards;
}

/* ---- events ---- */

static void range_opened(void *context, struct gp_open_range *range,
			 const struct gp_range_stack *stack)
{
	static const char optimizer[] = "Optimizer.step#"; /* PyTorch 1.8 and newer */
	struct gp_step_ranges *r = context;
	/* what was open before has its begin elsewhere */
	if (r->record->kind == GP_RANGE_RESUMED)
		return;
	r->has_any = true;
	if (range->source == GP_RANGE_ENGINE) {
		r->backwards += !range_is_autograds(r, range->thread);
		return;
	}
	const char *text = gp_recording_text(r->recording, GP_RANGE_NAME, range->name);
	const uint64_t kind = text == NULL ? 0 : gp_step_name_kind(text, r->recording->step_name);
	if (kind != 0) {
		span_open(r, range, stack, kind);
	} else if (text != NULL && strncmp(text, optimizer, sizeof optimizer - 1) == 0) {
		optimizer_open(r, range->thread);
		range->mark = MARK_OPTIMIZER;
	}
	if (!r->has_optimizer)
		r->opening[r->openings++ % OPENINGS] = r->here;
}

static void range_closed(void *context, const struct gp_open_range *range, enum gp_range_end how,
			 const struct gp_record *by)
{
	(void)how;
	(void)by;
	if (range->mark == MARK_OPTIMIZER)
		optimizer_close(context, range->thread);
	else if (range->mark != 0)
		span_close(context, range);
}

static enum gp_status range_load(void *context, const struct gp_record *record)
{
	if (record->kind == GP_RANGE_OPEN)
		gp_open_ranges_apply(context, GP_THREAD_NONE, record);
	return GP_OK;
}

struct gp_step_ranges *gp_step_ranges_open(struct gp_recording *recording, enum gp_status *status)
{
	struct gp_step_ranges *r = calloc(1, sizeof *r);
	if (r == NULL)
		return NULL;
	r->recording = recording;
	r->open = gp_open_ranges_open(OPEN_THREADS);
	if (r->open == NULL) {
		free(r);
		return NULL;
	}
	if (recording->first < recording->index.segments)
		*status = gp_merge_visit(recording->merge, recording->first, GP_BLOCK_CHECKPOINT,
					 range_load, r->open);
	/* only now: what the first checkpoint says is open has its begin elsewhere */
	r->watch = (struct gp_range_watch){ range_opened, range_closed, r };
	gp_open_ranges_watch(r->open, &r->watch);
	return r;
}

void gp_step_ranges_close(struct gp_step_ranges *r)
{
	if (r == NULL)
		return;
	gp_open_ranges_close(r->open);
	gp_row_table_release(&r->series);
	free(r->update);
	free(r->span);
	free(r);
}

bool gp_step_ranges_any(const struct gp_step_ranges *r)
{
	return r->has_any;
}

bool gp_step_ranges_see(struct gp_step_ranges *r, uint32_t thread, const struct gp_record *record,
			const struct gp_step_place *here, unsigned work)
{
	if (work > 0) {
		*range_own(r, thread) += work;
		r->first = here->work == 0 ? *here : r->first;
		if (r->is_waiting)
			r->update[r->updates - 1].behind = *here;
		r->is_waiting = false;
		/* it may have a backward pass in it */
		r->backwards += record->kind == GP_GRAPH_LAUNCH;
	}
	if (!gp_is_range(record->kind) || record->kind == GP_MARK)
		return true;
	r->here = *here;
	r->record = record;
	gp_open_ranges_apply(r->open, thread, record);
	return !r->is_out_of_memory;
}

/* ---- steps by updates ---- */

/* The first step begins with a range, about as far before its optimizer as others do. */
static struct gp_step_place update_find_begin(const struct gp_step_ranges *r, uint64_t usual)
{
	const uint64_t oldest = r->openings > OPENINGS ? r->openings - OPENINGS : 0;
	struct gp_step_place found = r->first;
	uint64_t nearest = UINT64_MAX;
	for (uint64_t k = r->openings; k-- > oldest;) {
		const struct gp_step_place *place = &r->opening[k % OPENINGS];
		const uint64_t off = gp_distance(r->update[0].before - place->work, usual);
		found = off <= nearest ? *place : found;
		nearest = off <= nearest ? off : nearest;
	}
	return found;
}

static enum gp_status updates_cut(const struct gp_step_ranges *r, bool is_cut,
				  struct gp_step_cuts *out)
{
	if (r->updates < GP_STEPS_MIN)
		return GP_OK;
	uint64_t *before = calloc(r->updates, sizeof *before);
	out->cut = calloc(r->updates, sizeof *out->cut);
	if (before == NULL || out->cut == NULL) {
		free(before);
		return GP_E_MEMORY;
	}
	for (size_t k = 1; k < r->updates; k++) {
		const struct update *former = &r->update[k - 1], *update = &r->update[k];
		before[k - 1] = update->before - former->behind.work;
		out->cut[k - is_cut] = (struct gp_step_cut){ former->behind, update->end };
	}
	/* where it is cut, the begin of the first one is not kept */
	if (!is_cut)
		out->cut[0] = (struct gp_step_cut){
			update_find_begin(r, gp_step_median(before, r->updates - 1)),
			r->update[0].end
		};
	out->cuts = r->updates - is_cut;
	free(before);
	return GP_OK;
}

/* ---- steps by names ---- */

static int span_compare(const void *left, const void *right)
{
	const struct span *a = left, *b = right;
	if (a->series != b->series)
		return a->series < b->series ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

struct candidate {
	struct gp_step_cuts steps;
	uint64_t own, covered; /* work in them: of their thread, of all */
};

/* Spans of one series. A part ends in one before it: one without an end holds all that follow. */
static enum gp_status candidate_gather(const struct span *span, size_t spans,
				       const struct gp_step_place *end, struct candidate *out)
{
	struct gp_step_cuts *steps = &out->steps;
	int64_t reach_ns = INT64_MIN;
	*out = (struct candidate){ .steps.cut = calloc(spans, sizeof *steps->cut) };
	for (size_t k = 0; steps->cut != NULL && k < spans; k++) {
		struct gp_step_cut cut = span[k].cut;
		if (span[k].has_ended && cut.end.at_ns <= reach_ns)
			continue;
		if (span[k].has_ended) {
			reach_ns = cut.end.at_ns;
			out->own += span[k].own;
			out->covered += cut.end.work - cut.begin.work;
		} else if (end->at_ns > cut.begin.at_ns) {
			cut.end = *end;
		}
		steps->cut[steps->cuts++] = cut;
	}
	return steps->cut != NULL ? GP_OK : GP_E_MEMORY;
}

/* Keeps ranges up to whose next one an update ends: others are evaluations. */
static void candidate_keep_updated(struct gp_step_cuts *c, const struct gp_step_cuts *updates)
{
	size_t kept = 0, at = 0;
	for (size_t k = 0; k < c->cuts; k++) {
		const int64_t from_ns = c->cut[k].begin.at_ns,
			      to_ns = k + 1 < c->cuts ? c->cut[k + 1].begin.at_ns : INT64_MAX;
		while (at < updates->cuts && updates->cut[at].end.at_ns < from_ns)
			at++;
		if (at < updates->cuts && updates->cut[at].end.at_ns < to_ns)
			c->cut[kept++] = c->cut[k];
	}
	c->cuts = kept;
}

/* Where updates are known, most ranges have one, and most updates lie in them: else most work. */
static bool candidate_is_step(struct candidate *c, const struct gp_step_cuts *updates,
			      const struct gp_step_place *end)
{
	const size_t all = c->steps.cuts;
	if (updates->cuts == 0)
		return end->work == 0 || gp_is_most(c->covered, end->work);
	candidate_keep_updated(&c->steps, updates);
	return gp_is_most(c->steps.cuts, all) && gp_is_most(c->steps.cuts, updates->cuts);
}

/* Of several the one whose thread did most. */
enum gp_status gp_step_ranges_cut(struct gp_step_ranges *r, const struct gp_step_place *end,
				  bool is_cut, struct gp_step_cuts *named,
				  struct gp_step_cuts *updates)
{
	struct candidate best = { 0 }, c;
	enum gp_status status = updates_cut(r, is_cut, updates);
	if (r->spans > 1)
		qsort(r->span, r->spans, sizeof *r->span, span_compare);
	for (size_t from = 0, to; status == GP_OK && from < r->spans; from = to) {
		for (to = from; to < r->spans && r->span[to].series == r->span[from].series; to++)
			;
		status = candidate_gather(&r->span[from], to - from, end, &c);
		bool is_step = status == GP_OK && (r->recording->step_name != NULL ||
						   candidate_is_step(&c, updates, end));
		bool is_best = is_step && (best.steps.cuts == 0 || c.own > best.own);
		free(is_best ? best.steps.cut : c.steps.cut);
		best = is_best ? c : best;
	}
	*named = best.steps;
	return status;
}
