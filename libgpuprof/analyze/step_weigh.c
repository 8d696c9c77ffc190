/*
 * A name's share of the job is how often it comes, times what usually lies between two of it: so a
 * warm-up's, an evaluation's and a profiler's own few ranges have little, and ranges around a part
 * of each step have all. Those that count updates, one each or as many each, are steps without
 * regard to it.
 */
#include "step_weigh.h"

#include <stdlib.h>
#include <string.h>

#include "step_stat.h"

#define AGREED_MIN 3u
#define IDLE_PART 16u	   /* a thread that does so small a part of another one's work only helps */
#define OVERLAP_PERCENT 5u /* of ranges: threads do the same at once */
#define AGREED_PERCENT 90u /* of updates */
#define PARTS_MAX 3u	   /* one of so many ranges, at most, has no update */
#define SAME_SHARE 0.75	   /* of the greatest: the one that begins first, if its thread works */
#define FAR_MORE 4.0	   /* than the updates' share */
#define MOST_SHARE 0.5
#define SEVERAL_PERCENT 80u /* of updates that lie in steps which have as many as is usual */

struct candidate {
	struct gp_step_cut *cut;
	uint64_t *backwards; /* before each of them */
	size_t cuts;
	double share;
	uint64_t own;	/* work of its thread in it */
	uint64_t usual; /* updates that each of them has; 0: they do not agree */
};

/* ---- ranges of one name ---- */

struct use {
	uint64_t own, count;
	bool is_taken;
};

static bool is_of(const struct gp_step_ranges *r, const struct gp_step_span *span, uint64_t kind)
{
	return gp_step_span_counts(span) && r->series[span->series].kind == kind;
}

/* Threads that work in theirs, or all if none does. Returns the one with most work. */
static uint32_t take_threads(const struct gp_step_ranges *r, uint64_t kind, struct use *use)
{
	uint32_t most = GP_STEP_SERIES_MOST;
	for (size_t k = 0; k < r->spans; k++) {
		const struct gp_step_span *s = &r->span[k];
		if (!is_of(r, s, kind))
			continue;
		use[s->series].own += s->own;
		use[s->series].count++;
	}
	for (uint32_t k = 0; k < r->serieses; k++)
		if (use[k].count > 0 && (most == GP_STEP_SERIES_MOST || use[k].own > use[most].own))
			most = k;
	for (uint32_t k = 0; k < r->serieses; k++)
		use[k].is_taken = use[k].count > 0 && use[k].own * use[most].count * IDLE_PART >=
							      use[most].own * use[k].count;
	return most;
}

/* Do threads have theirs at the same time? */
static bool is_overlapping(const struct gp_step_ranges *r, uint64_t kind, const struct use *use)
{
	size_t overlaps = 0, all = 0;
	const struct gp_step_span *latest = NULL; /* that ends last */
	for (size_t k = 0; k < r->spans; k++) {
		const struct gp_step_span *s = &r->span[k];
		if (!is_of(r, s, kind) || !use[s->series].is_taken)
			continue;
		overlaps += latest != NULL && latest->series != s->series &&
			    s->begin.at_ns < latest->end.at_ns;
		all++;
		latest = latest == NULL || s->end.at_ns > latest->end.at_ns ? s : latest;
	}
	return overlaps * 100 > all * OVERLAP_PERCENT;
}

/* From each begin to the next; of the last, that it has itself. */
static double share_of(uint64_t *distance, size_t n, uint64_t all)
{
	double share = all == 0 ? 0 : (double)gp_step_median(distance, n) * (double)n / (double)all;
	return share < 1 ? share : 1;
}

static enum gp_status weigh_cuts(const struct gp_step_cut *cut, size_t cuts,
				 const struct gp_step_place *end, double *share)
{
	uint64_t *distance = calloc(cuts + 1, sizeof *distance);
	if (distance == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < cuts; k++) {
		const struct gp_step_place *next = k + 1 < cuts ? &cut[k + 1].begin : &cut[k].end;
		distance[k] = next->token - cut[k].begin.token;
	}
	*share = share_of(distance, cuts, end->token);
	free(distance);
	return GP_OK;
}

static void drop(struct candidate *c)
{
	free(c->cut);
	free(c->backwards);
	c->cut = NULL;
	c->backwards = NULL;
	c->cuts = 0;
}

/* All ranges of that name that count. */
static enum gp_status gather(const struct gp_step_ranges *r, uint64_t kind,
			     const struct gp_step_place *end, struct candidate *c)
{
	struct use use[GP_STEP_SERIES_MOST] = { { 0 } };
	uint32_t most = take_threads(r, kind, use);
	size_t n = 0;
	*c = (struct candidate){ 0 };
	if (most == GP_STEP_SERIES_MOST)
		return GP_OK;
	if (is_overlapping(r, kind, use))
		for (uint32_t k = 0; k < r->serieses; k++)
			use[k].is_taken = k == most;
	for (uint32_t k = 0; k < r->serieses; k++)
		n += use[k].is_taken ? use[k].count : 0;
	c->cut = calloc(n, sizeof *c->cut);
	c->backwards = calloc(n, sizeof *c->backwards);
	if (c->cut == NULL || c->backwards == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < r->spans; k++) {
		const struct gp_step_span *s = &r->span[k];
		if (!is_of(r, s, kind) || !use[s->series].is_taken)
			continue;
		c->backwards[c->cuts] = s->backwards;
		c->cut[c->cuts++] = (struct gp_step_cut){ s->begin, s->end, 0 };
	}
	for (uint32_t k = 0; k < r->serieses; k++)
		c->own += use[k].is_taken ? use[k].own : 0;
	return weigh_cuts(c->cut, c->cuts, end, &c->share);
}

/* ---- steps that have updates ---- */

/* By range: updates up to the next one. Returns how many end in theirs. */
static uint64_t count_updates(const struct candidate *c, const struct gp_step_updates *u,
			      uint64_t *count)
{
	uint64_t inside = 0;
	for (size_t k = 0, at = 0; k < c->cuts; k++) {
		const struct gp_step_cut *cut = &c->cut[k];
		const bool is_last = k + 1 == c->cuts;
		while (at < u->cuts.cuts && u->cuts.cut[at].end.at_ns < cut->begin.at_ns)
			at++;
		for (; at < u->cuts.cuts; at++) {
			int64_t at_ns = u->cuts.cut[at].end.at_ns;
			if (!is_last && at_ns >= cut[1].begin.at_ns)
				break;
			count[k]++;
			inside += at_ns <= cut->end.at_ns;
		}
	}
	return inside;
}

static bool has_backward(const struct candidate *c, size_t which)
{
	return which + 1 < c->cuts && c->backwards[which + 1] > c->backwards[which];
}

/*
 * Updates lie in ranges, or one behind each. Ranges without one are evaluations, which count for
 * nothing, if they have no backwards either; with some the optimizer was left out, or they are
 * micro batches, if they are many.
 */
static void keep_agreed(struct candidate *c, const struct gp_step_updates *u, uint64_t *count,
			uint64_t *some, bool is_inside)
{
	size_t with = 0, parts = 0, agreed = 0, kept = 0;
	for (size_t k = 0; k < c->cuts; k++) {
		some[with] = count[k];
		with += count[k] > 0;
		parts += count[k] == 0 && (has_backward(c, k) || !u->is_told);
	}
	const uint64_t usual = gp_step_median(some, with);
	for (size_t k = 0; k < c->cuts; k++)
		agreed += is_inside || count[k] == 0 ? count[k] : 1;
	if (with < AGREED_MIN || parts * PARTS_MAX > with ||
	    agreed * 100 < u->cuts.cuts * AGREED_PERCENT)
		return;
	for (size_t k = 0; k < c->cuts; k++)
		if (count[k] > 0 || has_backward(c, k))
			c->cut[kept++] = c->cut[k];
	c->cuts = kept;
	c->usual = usual;
}

static enum gp_status agree(struct candidate *c, const struct gp_step_updates *u)
{
	uint64_t *count = calloc(2 * c->cuts + 1, sizeof *count), *some = count + c->cuts;
	if (count == NULL)
		return GP_E_MEMORY;
	const uint64_t inside = count_updates(c, u, count);
	keep_agreed(c, u, count, some, inside * 100 >= u->cuts.cuts * AGREED_PERCENT);
	free(count);
	return GP_OK;
}

/* Is the second one better known to be the steps? */
static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (b->cuts == 0 || a->cuts == 0)
		return b->cuts > 0;
	if (a->usual != b->usual)
		return b->usual > 0 && (a->usual == 0 || b->usual < a->usual);
	if (b->share < a->share * SAME_SHARE)
		return false;
	if (a->share < b->share * SAME_SHARE)
		return true;
	return a->own * IDLE_PART < b->own;
}

static bool is_first_of_kind(const struct gp_step_ranges *r, uint32_t which)
{
	for (uint32_t k = 0; k < which; k++)
		if (r->series[k].kind == r->series[which].kind)
			return false;
	return true;
}

static enum gp_status find_best(const struct gp_step_ranges *r, const struct gp_step_place *end,
				struct candidate *best)
{
	enum gp_status status = GP_OK;
	*best = (struct candidate){ 0 };
	for (uint32_t k = 0; status == GP_OK && k < r->serieses; k++) {
		struct candidate c = { 0 };
		if (!is_first_of_kind(r, k))
			continue;
		status = gather(r, r->series[k].kind, end, &c);
		if (status == GP_OK && c.cuts > 0 && r->updates.cuts.cuts > 0)
			status = agree(&c, &r->updates);
		bool is_it = status == GP_OK && is_better(best, &c);
		drop(is_it ? best : &c);
		*best = is_it ? c : *best;
	}
	return status;
}

static enum gp_status copy(const struct gp_step_cuts *from, struct gp_step_cuts *out)
{
	out->cut = calloc(from->cuts, sizeof *out->cut);
	if (out->cut == NULL)
		return GP_E_MEMORY;
	memcpy(out->cut, from->cut, from->cuts * sizeof *out->cut);
	out->cuts = from->cuts;
	return GP_OK;
}

enum gp_status gp_step_weigh(const struct gp_step_ranges *r, const struct gp_step_place *end,
			     enum gp_step_told *told, struct gp_step_cuts *out)
{
	const struct gp_step_cuts *updates = &r->updates.cuts;
	struct candidate best;
	double share = 0;
	*told = GP_TOLD_NOTHING;
	*out = (struct gp_step_cuts){ 0 };
	enum gp_status status = find_best(r, end, &best);
	if (status == GP_OK && updates->cuts > 0)
		status = weigh_cuts(updates->cut, updates->cuts, end, &share);
	bool is_named = best.cuts > 0 && (best.usual > 0 || best.share > share * FAR_MORE);
	if (status == GP_OK && updates->cuts > 0 && !is_named) {
		*told = GP_TOLD_UPDATES;
		status = copy(updates, out);
	} else if (status == GP_OK && best.cuts > 0) {
		bool is_sure = best.usual > 0 || best.share >= MOST_SHARE;
		*told = is_sure ? GP_TOLD_STEPS : GP_TOLD_LITTLE;
		*out = (struct gp_step_cuts){ best.cut, best.cuts };
		best.cut = NULL;
	}
	drop(&best);
	return status;
}

/* ---- beside steps by repetition ---- */

enum gp_status gp_step_share(const struct gp_step *step, size_t steps, uint64_t launches,
			     int64_t end_ns, double *out)
{
	uint64_t *distance = calloc(steps + 1, sizeof *distance);
	if (distance == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < steps; k++)
		distance[k] = launches > 0 ? step[k].launches :
					     (uint64_t)(step[k].end_ns - step[k].begin_ns);
	*out = share_of(distance, steps, launches > 0 ? launches : (uint64_t)end_ns);
	free(distance);
	return GP_OK;
}

/* Updates that are unlike most of them: of another model. */
static size_t count_others(const struct gp_step_cuts *updates)
{
	uint64_t most = 0;
	size_t ahead = 0, others = 0;
	/* the majority's, where there is one (Boyer and Moore) */
	for (size_t k = 0; k < updates->cuts; k++) {
		most = ahead == 0 ? updates->cut[k].kind : most;
		ahead += updates->cut[k].kind == most ? 1 : (size_t)-1;
	}
	for (size_t k = 0; k < updates->cuts; k++)
		others += updates->cut[k].kind != most;
	return others;
}

enum gp_status gp_step_have_several(const struct gp_step *step, size_t steps,
				    const struct gp_step_cuts *updates, bool *out)
{
	uint64_t *count = calloc(2 * steps + 1, sizeof *count);
	size_t at = 0, alike = 0;
	if (count == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < steps; k++) {
		while (at < updates->cuts && updates->cut[at].end.at_ns < step[k].begin_ns)
			at++;
		const size_t first = at;
		while (at < updates->cuts &&
		       (k + 1 == steps || updates->cut[at].end.at_ns < step[k + 1].begin_ns))
			at++;
		count[k] = count[steps + k] = at - first;
	}
	const uint64_t usual = gp_step_median(count + steps, steps);
	for (size_t k = 0; k < steps; k++)
		alike += count[k] == usual;
	/* many that are alike are steps between two evaluations */
	bool is_of_models = usual == 2 || count_others(updates) * usual * 2 >= updates->cuts;
	*out = usual > 1 && is_of_models && alike * usual * 100 >= updates->cuts * SEVERAL_PERCENT;
	free(count);
	return GP_OK;
}
