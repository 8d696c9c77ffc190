/*
 * Symbols that belong to one loop alternate: between two of the one there is one of the other,
 * however long a turn takes and whatever else happens in it. So a loop is a class of symbols in
 * lockstep with a leader. Which of the loops is the step: see step_ebb.c and step_judge.c.
 */
#include "step_loop.h"

#include <stdlib.h>
#include <string.h>

#include "step_stat.h"

#define SPAN_PERCENT 30u /* of all work that lies between its first and last turn */
#define TURNS_SURE 8u	 /* so many do not come together by chance */
/* so many symbols are not in lockstep for so many turns, whatever else comes in them */
#define TURNS_CERTAIN 16u
#define KINDS_CERTAIN 4u
#define GRAPH_KINDS 8u /* kinds of launches that a graph is taken for */

/* ---- how often each symbol comes, and how evenly ---- */

static void count_symbol(struct gp_loops *l, uint32_t number, uint64_t at)
{
	if (number == 0)
		return;
	struct gp_loop_symbol *s = &l->symbol[number];
	if (s->count++ == 0)
		s->first = at;
	else
		s->squares += (double)(at - s->last) * (double)(at - s->last);
	s->last = at;
}

static void count_all(struct gp_loops *l)
{
	for (size_t k = 0; k < l->in->tokens; k++) {
		l->work += gp_loop_work(l, k);
		count_symbol(l, l->in->one[k], l->work);
		count_symbol(l, l->in->three[k], l->work);
	}
	for (uint32_t n = 1; n <= l->in->symbols; n++)
		l->has_launches |= (l->in->trait[n] & GP_TRAIT_LAUNCH) != 0;
}

/* 1: all distances are the same. */
static double unevenness(const struct gp_loop_symbol *s)
{
	double span = (double)(s->last - s->first);
	return s->squares * (double)(s->count - 1) / (span * span);
}

static bool can_lead(const struct gp_loops *l, uint32_t number)
{
	const struct gp_loop_symbol *s = &l->symbol[number];
	return s->count >= GP_LOOP_TURNS_MIN &&
	       (s->last - s->first) * 100 >= l->work * SPAN_PERCENT;
}

/* ---- loops: counts that many symbols have, and the most even of them ---- */

static size_t find_fewest(const struct gp_loops *l)
{
	size_t fewest = 0;
	for (size_t k = 1; k < l->loops; k++)
		if (l->loop[k].voters < l->loop[fewest].voters)
			fewest = k;
	return fewest;
}

static void offer_loop(struct gp_loops *l, const struct gp_loop *loop)
{
	size_t fewest = l->loops < GP_LOOPS_MAX ? l->loops : find_fewest(l);
	if (fewest < l->loops && l->loop[fewest].voters >= loop->voters)
		return;
	/* the newest stays last: counts rise */
	l->loops -= fewest < l->loops;
	memmove(&l->loop[fewest], &l->loop[fewest + 1], (l->loops - fewest) * sizeof *l->loop);
	l->loop[l->loops++] = *loop;
}

/* What is cut off at an end comes once less: the same loop. Counts rise. */
static void join_loop(struct gp_loops *l, const struct gp_loop *loop)
{
	struct gp_loop *last = l->loops > 0 ? &l->loop[l->loops - 1] : NULL;
	if (last == NULL || loop->count < TURNS_SURE || loop->count - last->count > 1) {
		offer_loop(l, loop);
		return;
	}
	if (loop->voters >= last->voters) {
		last->leader = loop->leader;
		last->count = loop->count;
	}
	last->voters += loop->voters;
}

struct ranked {
	uint32_t count, number;
	double unevenness;
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	if (a->unevenness != b->unevenness)
		return a->unevenness < b->unevenness ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static enum gp_status find_loops(struct gp_loops *l)
{
	struct ranked *ranked = calloc((size_t)l->in->symbols + 1, sizeof *ranked);
	if (ranked == NULL)
		return GP_E_MEMORY;
	size_t n = 0;
	for (uint32_t k = 1; k <= l->in->symbols; k++)
		if (can_lead(l, k))
			ranked[n++] =
				(struct ranked){ l->symbol[k].count, k, unevenness(&l->symbol[k]) };
	if (n > 1)
		qsort(ranked, n, sizeof *ranked, compare_ranked);
	for (size_t k = 0; k < n;) {
		struct gp_loop loop = { .leader = ranked[k].number, .count = ranked[k].count };
		for (; k < n && ranked[k].count == loop.count; k++)
			loop.voters++;
		join_loop(l, &loop);
	}
	free(ranked);
	return GP_OK;
}

/* ---- who is in lockstep with a leader ---- */

/* That with nearest as many turns. */
static uint8_t loop_of(const struct gp_loops *l, uint32_t count)
{
	size_t nearest = 0;
	for (size_t k = 1; k < l->loops; k++)
		if (gp_distance(l->loop[k].count, count) <
		    gp_distance(l->loop[nearest].count, count))
			nearest = k;
	return l->loops > 0 ? (uint8_t)(nearest + 1) : 0;
}

static void follow(struct gp_loops *l, uint32_t number)
{
	struct gp_loop_symbol *s = &l->symbol[number];
	if (number == 0 || s->loop == 0)
		return;
	struct gp_loop *loop = &l->loop[s->loop - 1];
	if (loop->leader == number) {
		loop->turn++;
		loop->led = l->work;
	}
	s->behind += loop->turn > 1 ? l->work - loop->led : 0;
	if (s->turn == loop->turn)
		s->strays++;
	else if (loop->turn > s->turn + 1)
		s->strays += loop->turn - s->turn - 1 - (s->turn == 0);
	s->turn = loop->turn;
}

static bool is_exact(const struct gp_loop_symbol *s)
{
	return s->strays <= 1;
}

/* Half a turn behind the leader rather than `other`. */
static bool is_nearer_half(const struct gp_loops *l, const struct gp_loop *loop,
			   const struct gp_loop_symbol *s)
{
	const struct gp_loop_symbol *leader = &l->symbol[loop->leader],
				    *other = &l->symbol[loop->other];
	uint64_t half = (leader->last - leader->first) / (2ull * (leader->count - 1));
	return loop->other == 0 || gp_distance(s->behind / s->count, half) <
					   gp_distance(other->behind / other->count, half);
}

static void follow_all(struct gp_loops *l)
{
	for (uint32_t k = 1; k <= l->in->symbols; k++)
		l->symbol[k].loop = l->symbol[k].count >= GP_LOOP_TURNS_MIN ?
					    loop_of(l, l->symbol[k].count) :
					    0;
	for (size_t k = 0; k < l->loops; k++) {
		l->loop[k].turn = 1;
		l->loop[k].voters = 0;
	}
	l->work = 0;
	for (size_t k = 0; k < l->in->tokens; k++) {
		l->work += gp_loop_work(l, k);
		follow(l, l->in->one[k]);
		follow(l, l->in->three[k]);
	}
	for (uint32_t k = 1; k <= l->in->symbols; k++) {
		struct gp_loop_symbol *s = &l->symbol[k];
		if (s->loop == 0)
			continue;
		struct gp_loop *loop = &l->loop[s->loop - 1];
		s->strays += s->turn + 1 < loop->turn ? loop->turn - 1 - s->turn : 0;
		const size_t weight = (l->in->trait[k] & GP_TRAIT_GRAPH) != 0 ? GRAPH_KINDS : 1;
		loop->voters += weight;
		loop->exact += is_exact(s) ? weight : 0;
		if (is_exact(s) && is_nearer_half(l, loop, s))
			loop->other = k;
	}
}

/*
 * Of few turns symbols alternate by chance: one in ten that come three times, one in 35 that come
 * four times.
 */
static bool is_loop(const struct gp_loop *loop)
{
	bool is_few = loop->count < TURNS_SURE;
	return loop->exact > (is_few ? 3 : 1) && loop->exact * (is_few ? 2 : 12) >= loop->voters;
}

/* Most turns first. */
static int compare_loops(const void *left, const void *right)
{
	const struct gp_loop *a = left, *b = right;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return (a->leader > b->leader) - (a->leader < b->leader);
}

static void sort_loops(struct gp_loops *l)
{
	size_t kept = 0;
	for (size_t k = 0; k < l->loops; k++)
		if (is_loop(&l->loop[k]))
			l->loop[kept++] = l->loop[k];
	l->loops = kept;
	if (kept > 1)
		qsort(l->loop, kept, sizeof *l->loop, compare_loops);
}

/* How much two turns that follow each other have in common, in the same order. */
static size_t overlap(struct gp_loops *l, size_t before, size_t from, size_t to)
{
	size_t both = 0;
	for (size_t k = before; k < from; k++)
		l->ordinary[l->in->three[k]]++;
	for (size_t k = from; k < to; k++) {
		uint32_t *left = &l->ordinary[l->in->three[k]];
		both += *left > 0;
		*left -= *left > 0;
	}
	for (size_t k = before; k < from; k++)
		l->ordinary[l->in->three[k]] = 0;
	return both;
}

/* Most turns are made of what the one before was made of. */
static bool is_repeating(struct gp_loops *l, const struct gp_loop *step)
{
	size_t before = SIZE_MAX, from = SIZE_MAX, like = 0, turns = 0;
	memset(l->ordinary, 0, ((size_t)l->in->symbols + 1) * sizeof *l->ordinary);
	for (size_t k = 0; k < l->in->tokens; k++) {
		if (!gp_loop_is_at(l, k, step->leader))
			continue;
		if (before != SIZE_MAX) {
			size_t longer = k - from > from - before ? k - from : from - before;
			like += overlap(l, before, from, k) * 3 >= longer;
			turns++;
		}
		before = from;
		from = k;
	}
	return like * 2 >= turns;
}

static bool is_certain(const struct gp_loop *step)
{
	return step->count >= TURNS_CERTAIN && step->exact >= KINDS_CERTAIN;
}

static void mark(const struct gp_loops *l, const struct gp_loop *step, struct gp_step_markers *out)
{
	uint8_t loop = l->symbol[step->leader].loop;
	for (uint32_t k = 1; k <= l->in->symbols; k++) {
		out->is_marker[k] = l->symbol[k].loop == loop && l->symbol[k].strays == 0;
		out->markers += out->is_marker[k];
	}
	out->leader = step->leader;
}

enum gp_status gp_step_learn(const struct gp_step_sequence *sequence, struct gp_step_markers *out)
{
	size_t room = (size_t)sequence->symbols + 1;
	struct gp_loops *l = calloc(1, sizeof *l);
	enum gp_status status = GP_E_MEMORY;
	out->leader = 0;
	out->markers = 0;
	if (l == NULL)
		return status;
	l->in = sequence;
	l->symbol = calloc(room, sizeof *l->symbol);
	l->ordinary = calloc(room, sizeof *l->ordinary);
	l->special = calloc(room, sizeof *l->special);
	if (l->symbol != NULL && l->ordinary != NULL && l->special != NULL) {
		count_all(l);
		status = find_loops(l);
	}
	if (status == GP_OK) {
		follow_all(l);
		sort_loops(l);
		status = gp_loop_drop_parts(l);
	}
	if (status == GP_OK) {
		const struct gp_loop *step = gp_loop_find_step(l);
		if (step != NULL && (is_certain(step) || is_repeating(l, step)))
			mark(l, step, out);
	}
	free(l->symbol);
	free(l->ordinary);
	free(l->special);
	free(l);
	return status;
}
