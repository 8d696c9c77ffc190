/*
 * Follows the ranges of all threads with the recorder's own code. A step by updates ends when
 * PyTorch's optimizers have ended. Optimizers are joined unless a backward pass, or work that
 * replaces it, lies between them.
 */
#include "step_range.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_table.h"
#include "../phases/phase_follow.h"
#include "step_name.h"

/* capacity: threads with separate counts of work, ranges before an optimizer */
#define KEPT_MAX 4096u

/* The mark of a range: an optimizer's, or series << 32 | its number in the series, from 1. */
#define MARK_OPTIMIZER UINT64_MAX

/* Ranges with names of steps: of one name and thread. Started ranges have no thread. */
struct series {
	uint64_t key;
	struct gp_step_cut
		*cut; /* in order of their begins; end.at_ns of an open one is INT64_MIN */
	size_t cuts;
	uint64_t own, covered; /* work in them: of their thread, of all threads */
};

struct gp_step_ranges {
	struct gp_recording *recording;
	struct gp_phase_follow follow;
	struct gp_range_watch watch;
	/* Of the current event; NULL: the ranges of the first checkpoint are being loaded. */
	struct gp_step_place here;
	const struct gp_record *record;
	bool is_out_of_memory;

	struct gp_row_table series;
	uint64_t own[KEPT_MAX]; /* work by thread */

	bool has_optimizer;
	uint32_t thread;		      /* of the first optimizer; others are ignored */
	unsigned depth;			      /* open optimizers on that thread */
	uint64_t last_begin;		      /* work at the begin of the last one */
	uint64_t backwards, former_backwards; /* so far; at the end of the last optimizer */
	struct gp_step_cuts updates;
	struct gp_step_place behind;		/* the first work after the last optimizer */
	bool is_waiting;			/* waiting for that work */
	struct gp_step_place opening[KEPT_MAX]; /* a ring of ranges up to the first optimizer */
	uint64_t openings;
};

/* ---- ranges with names of steps ---- */

static uint64_t *range_own(struct gp_step_ranges *r, uint32_t thread)
{
	return &r->own[thread % KEPT_MAX];
}

static void span_open(struct gp_step_ranges *r, struct gp_open_range *range,
		      const struct gp_range_stack *stack, uint64_t kind)
{
	const uint32_t thread = stack != NULL ? stack->thread : GP_THREAD_NONE;
	const uint64_t from = (uint64_t)range->domain << 8 | range->source;
	const uint64_t key = gp_hash_pair(gp_hash_pair(kind, from), thread);
	struct series *series = gp_row_get_key(&r->series, sizeof *series, key);
	struct gp_step_cut *cut =
		series != NULL ? gp_array_append(&series->cut, &series->cuts, sizeof *cut) : NULL;
	r->is_out_of_memory |= cut == NULL;
	if (cut == NULL)
		return;
	/* while it is open: the thread's earlier work */
	const uint64_t own = *range_own(r, range->thread);
	*cut = (struct gp_step_cut){ .begin = r->here, .end.at_ns = INT64_MIN, .own = own };
	range->mark = (uint64_t)(series - (struct series *)r->series.row) << 32 | series->cuts;
}

static void span_close(struct gp_step_ranges *r, const struct gp_open_range *range)
{
	const struct series *series = (struct series *)r->series.row + (range->mark >> 32);
	struct gp_step_cut *cut = &series->cut[(uint32_t)range->mark - 1];
	cut->end = r->here;
	cut->own = *range_own(r, range->thread) - cut->own;
}

/* ---- updates ---- */

static void optimizer_open(struct gp_step_ranges *r, uint32_t thread)
{
	r->thread = r->has_optimizer ? r->thread : thread;
	r->has_optimizer = true;
	if (thread == r->thread && r->depth++ == 0)
		r->last_begin = r->here.work;
}

/* True: the optimizer belongs to another update than the one before it. */
static bool update_is_new(const struct gp_step_ranges *r)
{
	const struct gp_step_cuts *u = &r->updates;
	if (u->cuts == 0 || r->backwards > r->former_backwards)
		return true;
	/*
	 * Without backwards, clearing and clipping between optimizers take less work than the
	 * optimizer itself.
	 */
	const uint64_t before = r->last_begin - u->cut[u->cuts - 1].end.work,
		       within = r->here.work - r->last_begin;
	return r->backwards == 0 && before > within;
}

static void optimizer_close(struct gp_step_ranges *r, uint32_t thread)
{
	struct gp_step_cuts *u = &r->updates;
	if (thread != r->thread || r->depth == 0 || --r->depth > 0)
		return;
	if (update_is_new(r)) {
		struct gp_step_cut *cut = gp_array_append(&u->cut, &u->cuts, sizeof *cut);
		r->is_out_of_memory |= cut == NULL;
		if (cut == NULL)
			return;
		cut->begin = r->behind;
	}
	u->cut[u->cuts - 1].end = r->behind = r->here;
	r->is_waiting = true;
	r->former_backwards = r->backwards;
}

/* ---- events ---- */

static void range_opened(void *context, struct gp_open_range *range,
			 const struct gp_range_stack *stack)
{
	static const char optimizer[] = "Optimizer.step#"; /* PyTorch 1.8 and newer */
	struct gp_step_ranges *r = context;
	/* a range that was open before began elsewhere */
	if (r->record == NULL || r->record->kind == GP_RANGE_RESUMED)
		return;
	if (range->source == GP_RANGE_ENGINE) {
		/* autograd's threads enter the engine to compute again */
		r->backwards += !gp_phase_follow_is_worker(&r->follow, range->thread);
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
		r->opening[r->openings++ % KEPT_MAX] = r->here;
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

struct gp_step_ranges *gp_step_ranges_open(struct gp_recording *recording, enum gp_status *status)
{
	struct gp_step_ranges *r = calloc(1, sizeof *r);
	if (r == NULL)
		return NULL;
	r->recording = recording;
	r->is_waiting = true; /* for the first work */
	r->watch = (struct gp_range_watch){ range_opened, range_closed, r };
	*status = gp_phase_follow_open(&r->follow, recording, false, &r->watch);
	return r;
}

void gp_step_ranges_close(struct gp_step_ranges *r)
{
	if (r == NULL)
		return;
	gp_phase_follow_close(&r->follow);
	for (uint32_t k = 0; k < r->series.rows; k++)
		free(((struct series *)r->series.row)[k].cut);
	gp_row_table_release(&r->series);
	free(r->updates.cut);
	free(r);
}

bool gp_step_ranges_see(struct gp_step_ranges *r, uint32_t thread, const struct gp_record *record,
			const struct gp_step_place *here, unsigned work)
{
	if (work > 0) {
		*range_own(r, thread) += work;
		r->behind = r->is_waiting ? *here : r->behind;
		r->is_waiting = false;
		/* the graph may contain a backward pass */
		r->backwards += record->kind == GP_GRAPH_LAUNCH;
	}
	r->here = *here;
	r->record = record;
	gp_phase_follow_apply(&r->follow, thread, record);
	return !r->is_out_of_memory;
}

size_t gp_step_ranges_kept(const struct gp_step_ranges *r)
{
	size_t kept = r->updates.cuts;
	for (uint32_t k = 0; k < r->series.rows; k++)
		kept += ((const struct series *)r->series.row)[k].cuts;
	return kept;
}

/* The ranges with the name that was given for steps, of the thread with most; else the updates. */
static struct gp_step_cuts rate_cuts(const struct gp_step_ranges *r)
{
	const struct series *most = NULL;
	if (r->recording->step_name == NULL)
		return r->updates;
	for (uint32_t k = 0; k < r->series.rows; k++) {
		const struct series *s = (const struct series *)r->series.row + k;
		most = most == NULL || s->cuts > most->cuts ? s : most;
	}
	return most != NULL ? (struct gp_step_cuts){ most->cut, most->cuts } :
			      (struct gp_step_cuts){ 0 };
}

/* Ranges may be open, so their begins count. */
static int64_t rate_at(const struct gp_step_ranges *r, const struct gp_step_cut *cut)
{
	return r->recording->step_name != NULL ? cut->begin.at_ns : cut->end.at_ns;
}

double gp_step_ranges_rate(const struct gp_step_ranges *r, int64_t span_ns, int64_t at_ns)
{
	const struct gp_step_cuts all = rate_cuts(r);
	if (all.cuts < GP_STEPS_MIN)
		return -1;
	const size_t last = all.cuts - 1;
	const int64_t last_ns = rate_at(r, &all.cut[last]);
	size_t first = last - 1;
	while (first > 0 && rate_at(r, &all.cut[first - 1]) >= at_ns - span_ns)
		first--;
	const double steps = (double)(last - first);
	double took_ns = (double)(last_ns - rate_at(r, &all.cut[first]));
	/* the next one is due after one step, and overdue after two */
	const double since_ns = (double)(at_ns - last_ns);
	if (since_ns > 2 * took_ns / steps)
		took_ns += since_ns;
	return took_ns > 0 ? steps * 1e9 / took_ns : -1;
}

/*
 * The first step begins with a range. Its distance to the end of its update is nearest to that of
 * other steps.
 */
static enum gp_status updates_begin(struct gp_step_ranges *r)
{
	const uint64_t oldest = r->openings > KEPT_MAX ? r->openings - KEPT_MAX : 0;
	const size_t others = r->updates.cuts - 1;
	struct gp_step_cut *cut = r->updates.cut;
	uint64_t *work = calloc(others, sizeof *work), nearest = UINT64_MAX;
	if (work == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < others; k++)
		work[k] = cut[k + 1].end.work - cut[k + 1].begin.work;
	const uint64_t usual = gp_step_median(work, others);
	free(work);
	for (uint64_t k = r->openings; k-- > oldest;) {
		const struct gp_step_place *place = &r->opening[k % KEPT_MAX];
		const uint64_t off = gp_distance(cut->end.work - place->work, usual);
		cut->begin = off <= nearest ? *place : cut->begin;
		nearest = off <= nearest ? off : nearest;
	}
	return GP_OK;
}

/* ---- the name of the step ---- */

/*
 * Drops parts: ranges that end within an earlier one. A range without an end contains all later
 * ones.
 */
static void series_drop_parts(struct series *s, const struct gp_step_place *end)
{
	int64_t reach_ns = INT64_MIN;
	size_t kept = 0;
	for (size_t k = 0; k < s->cuts; k++) {
		struct gp_step_cut cut = s->cut[k];
		const bool is_open = cut.end.at_ns == INT64_MIN;
		if (is_open) {
			cut.end = end->at_ns > cut.begin.at_ns ? *end : cut.begin;
		} else if (cut.end.at_ns > reach_ns) {
			reach_ns = cut.end.at_ns;
			s->own += cut.own;
			s->covered += cut.end.work - cut.begin.work;
		} else {
			continue;
		}
		s->cut[kept++] = cut;
	}
	s->cuts = kept;
}

/* Keeps ranges with an update that ends before the next range: others are evaluations. */
static void series_keep_updated(struct series *s, const struct gp_step_cuts *updates)
{
	size_t kept = 0, at = 0;
	for (size_t k = 0; k < s->cuts; k++) {
		const bool is_last = k + 1 == s->cuts;
		const int64_t to_ns = is_last ? INT64_MAX : s->cut[k + 1].begin.at_ns;
		while (at < updates->cuts && updates->cut[at].end.at_ns < s->cut[k].begin.at_ns)
			at++;
		if (at < updates->cuts && updates->cut[at].end.at_ns < to_ns)
			s->cut[kept++] = s->cut[k];
	}
	s->cuts = kept;
}

/*
 * With updates: most ranges must have one, and most updates must lie in them. Otherwise, most of
 * the work must lie in them.
 */
static bool series_is_step(struct series *s, const struct gp_step_cuts *updates,
			   const struct gp_step_place *end)
{
	const size_t all = s->cuts;
	if (updates->cuts == 0)
		return end->work == 0 || gp_is_most(s->covered, end->work);
	series_keep_updated(s, updates);
	return gp_is_most(s->cuts, all) && gp_is_most(s->cuts, updates->cuts);
}

/* Of several, the series whose thread did most work; NULL: none. */
static const struct series *series_find(struct gp_step_ranges *r, const struct gp_step_place *end,
					const struct gp_step_cuts *updates)
{
	const struct series *best = NULL;
	for (uint32_t k = 0; k < r->series.rows; k++) {
		struct series *s = (struct series *)r->series.row + k;
		series_drop_parts(s, end);
		if ((r->recording->step_name != NULL || series_is_step(s, updates, end)) &&
		    (best == NULL || s->own > best->own))
			best = s;
	}
	return best;
}

enum gp_status gp_step_ranges_cut(struct gp_step_ranges *r, const struct gp_step_place *end,
				  bool is_cut, struct gp_step_cuts *out,
				  enum gp_step_source *source)
{
	struct gp_step_cuts updates = { 0 };
	if (r->updates.cuts >= GP_STEPS_MIN) {
		if (updates_begin(r) != GP_OK)
			return GP_E_MEMORY;
		/* in a cut recording, the begin of the first update was overwritten */
		updates =
			(struct gp_step_cuts){ r->updates.cut + is_cut, r->updates.cuts - is_cut };
	}
	const struct series *named = series_find(r, end, &updates);
	const bool has_updates = updates.cuts > 0 && r->recording->step_name == NULL;
	*source = named != NULL ? GP_STEPS_RANGES : has_updates ? GP_STEPS_UPDATES : GP_STEPS_NONE;
	*out = named != NULL ? (struct gp_step_cuts){ named->cut, named->cuts } :
	       has_updates   ? updates :
			       (struct gp_step_cuts){ 0 };
	return GP_OK;
}
