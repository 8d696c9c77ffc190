/*
 * Symbols of one loop alternate, whatever else comes in a turn. So symbols that come equally often
 * and alternate with the most even one of them make a loop. Loops nest: layers, micro batches,
 * steps. Between two turns of an inner loop its outer loop holds memory (activations, gradients, a
 * cache), between two steps no loop does. Of the loops that are left the one with most symbols is
 * the step.
 */
#include "step_repeat.h"

#include <stdlib.h>
#include <string.h>

#include "step_stat.h"

#define LOOPS_MAX 32u	 /* capacity: a job nests a few loops */
#define SPAN_PERCENT 30u /* of all tokens, from first to last turn: setting up is shorter */
/*
 * Symbols that alternate with the leader, times turns. By chance one in C(2n, n) / 2 symbols of n
 * turns alternates, one in 10 of three. No loop was found in 240 random histories.
 */
#define EVIDENCE_MIN 24u
/* Of what comes and goes in a turn. The losses that a job keeps for its log are up to a tenth. */
#define FLOOR_PART 16.0f

struct symbol {
	uint32_t count, turn, strays;
	size_t first, last; /* tokens */
	double squares;	    /* sum of squared distances */
	uint8_t loop;	    /* 1 + index; 0: none */
};

/* Turn k goes from token at[k], behind it, to at[k + 1]. */
struct loop {
	uint32_t leader, count;
	uint32_t turn;
	size_t voters, exact; /* symbols that come as often; of them those that alternate */
	size_t *at;
	float *low, *high; /* bytes live, by turn */
};

struct loops {
	const struct gp_step_sequence *in;
	struct symbol *symbol;
	struct loop loop[LOOPS_MAX];
	size_t loops;
};

/* ---- loops: counts that many symbols have ---- */

static void symbol_count(struct loops *l, uint32_t number, size_t at)
{
	struct symbol *s = &l->symbol[number];
	if (s->count++ == 0)
		s->first = at;
	else
		s->squares += (double)(at - s->last) * (double)(at - s->last);
	s->last = at;
}

/* Of the distances: 1 + the square of their coefficient of variation. */
static double symbol_unevenness(const struct symbol *s)
{
	const double span = (double)(s->last - s->first);
	return s->squares * (double)(s->count - 1) / (span * span);
}

static bool symbol_can_lead(const struct loops *l, const struct symbol *s)
{
	return s->count >= GP_STEPS_MIN &&
	       (s->last - s->first) * 100 >= l->in->tokens * SPAN_PERCENT;
}

struct ranked {
	uint32_t count, number;
	double unevenness;
};

static int ranked_compare(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	if (a->unevenness != b->unevenness)
		return a->unevenness < b->unevenness ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* In the place of the one with fewest symbols, if there are too many. */
static void loop_offer(struct loops *l, const struct loop *offered)
{
	size_t at = l->loops;
	if (l->loops < LOOPS_MAX) {
		l->loops++;
	} else {
		at = 0;
		for (size_t k = 1; k < l->loops; k++)
			at = l->loop[k].voters < l->loop[at].voters ? k : at;
		if (l->loop[at].voters >= offered->voters)
			return;
	}
	l->loop[at] = *offered;
}

static enum gp_status loops_find(struct loops *l)
{
	struct ranked *ranked = calloc((size_t)l->in->symbols + 1, sizeof *ranked);
	size_t n = 0;
	if (ranked == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < l->in->tokens; k++) {
		symbol_count(l, l->in->token[k].one, k);
		symbol_count(l, l->in->token[k].three, k);
	}
	for (uint32_t k = 1; k <= l->in->symbols; k++)
		if (symbol_can_lead(l, &l->symbol[k]))
			ranked[n++] = (struct ranked){ l->symbol[k].count, k,
						       symbol_unevenness(&l->symbol[k]) };
	if (n > 1)
		qsort(ranked, n, sizeof *ranked, ranked_compare);
	for (size_t k = 0; k < n;) {
		struct loop loop = { .leader = ranked[k].number, .count = ranked[k].count };
		for (; k < n && ranked[k].count == loop.count; k++)
			loop.voters++;
		loop_offer(l, &loop);
	}
	free(ranked);
	return GP_OK;
}

/* ---- which symbols alternate with the leader ---- */

static uint8_t loop_of(const struct loops *l, uint32_t count)
{
	for (size_t k = 0; k < l->loops; k++)
		if (l->loop[k].count == count)
			return (uint8_t)(k + 1);
	return 0;
}

static void symbol_follow(struct loops *l, uint32_t number, size_t at)
{
	struct symbol *s = &l->symbol[number];
	if (number == 0 || s->loop == 0)
		return;
	struct loop *loop = &l->loop[s->loop - 1];
	if (loop->leader == number)
		loop->at[loop->turn++] = at;
	if (s->turn == loop->turn + 1)
		s->strays++;
	else if (loop->turn + 1 > s->turn + 1)
		s->strays += loop->turn - s->turn - (s->turn == 0);
	s->turn = loop->turn + 1;
}

static void loop_drop(struct loop *loop)
{
	free(loop->at);
	free(loop->low);
	free(loop->high);
}

static bool loop_is_likely(const struct loop *loop)
{
	return loop->exact > 1 && gp_is_most(loop->exact, loop->voters);
}

static enum gp_status loops_follow(struct loops *l)
{
	size_t kept = 0;
	for (size_t k = 0; k < l->loops; k++) {
		struct loop *loop = &l->loop[k];
		loop->voters = 0;
		loop->at = calloc(loop->count, sizeof *loop->at);
		loop->low = calloc(loop->count, sizeof *loop->low);
		loop->high = calloc(loop->count, sizeof *loop->high);
		if (loop->at == NULL || loop->low == NULL || loop->high == NULL)
			return GP_E_MEMORY;
	}
	for (uint32_t k = 1; k <= l->in->symbols; k++)
		l->symbol[k].loop = loop_of(l, l->symbol[k].count);
	for (size_t k = 0; k < l->in->tokens; k++) {
		symbol_follow(l, l->in->token[k].one, k);
		symbol_follow(l, l->in->token[k].three, k);
	}
	for (uint32_t k = 1; k <= l->in->symbols; k++) {
		const struct symbol *s = &l->symbol[k];
		const size_t weight = l->in->is_graph[k] ? GP_STEP_GRAPH_WORK : 1;
		if (s->loop == 0)
			continue;
		l->loop[s->loop - 1].voters += weight;
		l->loop[s->loop - 1].exact += s->strays == 0 ? weight : 0;
	}
	for (size_t k = 0; k < l->loops; k++) {
		if (loop_is_likely(&l->loop[k]))
			l->loop[kept++] = l->loop[k];
		else
			loop_drop(&l->loop[k]);
	}
	l->loops = kept;
	return GP_OK;
}

/* ---- which loops are parts of others ---- */

static void loop_measure(const struct loops *l, struct loop *loop)
{
	for (size_t turn = 0; turn + 1 < loop->count; turn++) {
		float low = l->in->token[loop->at[turn + 1]].live, high = low;
		for (size_t k = loop->at[turn] + 1; k < loop->at[turn + 1]; k++) {
			low = l->in->token[k].live < low ? l->in->token[k].live : low;
			high = l->in->token[k].live > high ? l->in->token[k].live : high;
		}
		loop->low[turn] = low;
		loop->high[turn] = high;
	}
}

/* More than the least of the outer turn and its neighbours: all may rise from turn to turn. */
static bool is_held(const struct loop *outer, size_t turn, float low)
{
	float least = outer->low[turn];
	if (turn > 0 && outer->low[turn - 1] > least)
		least = outer->low[turn - 1];
	if (turn + 2 < outer->count && outer->low[turn + 1] > least)
		least = outer->low[turn + 1];
	return low > least + (outer->high[turn] - outer->low[turn]) / FLOOR_PART;
}

/*
 * Most inner turns hold memory, but for one of each outer turn. Of more than three
 * outer turns the last one does not count: no neighbour tells whether all rise.
 */
static bool loop_lies_in(const struct loop *inner, const struct loop *outer)
{
	const size_t whole = outer->count - 1, turns = whole > GP_STEPS_MIN ? whole - 1 : whole;
	size_t held = 0, within = 0, turn = 0;
	for (size_t k = 0; k + 1 < inner->count; k++) {
		const size_t end = inner->at[k + 1];
		while (turn < turns && outer->at[turn + 1] < end)
			turn++;
		if (end <= outer->at[0] || turn == turns)
			continue;
		within++;
		held += is_held(outer, turn, inner->low[k]);
	}
	return within > turns && gp_is_most(within, inner->count) &&
	       gp_is_most(within - turns, turns) && gp_is_most(held, within - turns);
}

/* Of the loops that lie in no other the one with most symbols. NULL: there is none for sure. */
static const struct loop *loops_find_step(const struct loops *l)
{
	const struct loop *step = NULL;
	for (size_t k = 0; k < l->loops; k++) {
		const struct loop *loop = &l->loop[k];
		bool is_part = false;
		for (size_t o = 0; o < l->loops && !is_part; o++)
			is_part = l->loop[o].count < loop->count && loop_lies_in(loop, &l->loop[o]);
		bool is_more = step == NULL || loop->exact > step->exact ||
			       (loop->exact == step->exact && loop->count < step->count);
		step = !is_part && is_more ? loop : step;
	}
	bool is_sure = step != NULL && (step->exact - 1) * step->count >= EVIDENCE_MIN;
	return is_sure ? step : NULL;
}

/* ---- where a step begins ---- */

/* Where least is live; of such places the one after the longest wait. */
static size_t place_find(const struct gp_step_sequence *in, size_t from, size_t to)
{
	size_t place = from + 1;
	for (size_t k = from + 2; k <= to; k++)
		if (in->token[k].live < in->token[place].live ||
		    (in->token[k].live == in->token[place].live &&
		     in->token[k].wait > in->token[place].wait))
			place = k;
	return place;
}

/*
 * Votes: the first mark behind the place. A symbol of three holds what came before the step, too,
 * which differs behind an evaluation.
 */
static uint32_t mark_behind(const struct gp_step_sequence *in, const bool *is_mark, size_t place)
{
	for (size_t k = place; k < in->tokens; k++) {
		if (is_mark[in->token[k].one])
			return in->token[k].one;
		if (k >= place + 2 && is_mark[in->token[k].three])
			return in->token[k].three;
	}
	return 0;
}

static size_t mark_find(const struct gp_step_sequence *in, uint32_t mark, size_t from)
{
	while (from < in->tokens && in->token[from].one != mark && in->token[from].three != mark)
		from++;
	return from;
}

/* The most frequent one, and how often it comes; sorts `value`. */
static uint64_t mode_find(uint64_t *value, size_t values, size_t *often)
{
	uint64_t mode = 0;
	gp_step_sort(value, values);
	*often = 0;
	for (size_t k = 0, from = 0; k < values; k++) {
		from = value[k] == value[from] ? from : k;
		if (k - from < *often)
			continue;
		*often = k - from + 1;
		mode = value[k];
	}
	return mode;
}

/* Not by the first turn, in which a job makes what it keeps. */
static enum gp_status begin_find(const struct gp_step_sequence *in, const struct loop *step,
				 struct gp_step_marks *out)
{
	const size_t turns = step->count - 2;
	uint64_t *place = calloc(turns, sizeof *place), *value = calloc(turns, sizeof *value);
	enum gp_status status = GP_E_MEMORY;
	if (place != NULL && value != NULL) {
		for (size_t k = 0; k < turns; k++) {
			place[k] = place_find(in, step->at[k + 1], step->at[k + 2]);
			value[k] = mark_behind(in, out->is_mark, place[k]);
		}
		out->first = (uint32_t)mode_find(value, turns, &(size_t){ 0 });
		for (size_t k = 0; k < turns; k++)
			value[k] = mark_find(in, out->first, place[k]) - place[k];
		size_t often;
		out->before = mode_find(value, turns, &often);
		out->is_fixed = gp_is_most(often, turns);
		out->before = out->is_fixed ? out->before : gp_step_median(value, turns);
		for (size_t k = 0; k < turns; k++)
			value[k] = (uint64_t)((step->high[k + 1] - step->low[k + 1]) / FLOOR_PART);
		out->slack_bytes = gp_step_median(value, turns);
		status = GP_OK;
	}
	free(place);
	free(value);
	return status;
}

static enum gp_status step_mark(const struct loops *l, struct gp_step_marks *out)
{
	const struct loop *step = loops_find_step(l);
	if (step == NULL)
		return GP_OK;
	const uint8_t loop = l->symbol[step->leader].loop;
	for (uint32_t k = 1; k <= l->in->symbols; k++)
		out->is_mark[k] = l->symbol[k].loop == loop && l->symbol[k].strays == 0;
	return begin_find(l->in, step, out);
}

enum gp_status gp_step_repeat(const struct gp_step_sequence *sequence, struct gp_step_marks *out)
{
	struct loops *l = calloc(1, sizeof *l);
	enum gp_status status = GP_E_MEMORY;
	out->first = 0;
	if (l == NULL)
		return status;
	l->in = sequence;
	l->symbol = calloc((size_t)sequence->symbols + 1, sizeof *l->symbol);
	if (l->symbol != NULL)
		status = loops_find(l);
	if (status == GP_OK)
		status = loops_follow(l);
	if (status == GP_OK) {
		for (size_t k = 0; k < l->loops; k++)
			loop_measure(l, &l->loop[k]);
		status = step_mark(l, out);
	}
	for (size_t k = 0; k < l->loops; k++)
		loop_drop(&l->loop[k]);
	free(l->symbol);
	free(l);
	return status;
}
