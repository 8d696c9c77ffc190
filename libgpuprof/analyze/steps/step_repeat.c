/*
 * Symbols of one loop alternate, whatever else a turn contains. So a loop is a set of symbols that
 * are equally frequent and alternate with the most even one of them. Loops nest: layers, micro
 * batches, steps. Between two turns of an inner loop, its outer loop holds memory (activations,
 * gradients, a cache). Between two steps no loop does. Of the remaining loops, the one with most
 * symbols is the step.
 */
#include "step_repeat.h"

#include <stdlib.h>

#include "../../read/tables/row_rank.h"

#define LOOPS_MAX 32u	 /* capacity: a job nests a few loops */
#define SPAN_PERCENT 30u /* of all tokens, from first to last turn: a set-up is shorter */
/*
 * The alternating symbols besides the leader, times turns. By chance, one in C(2n, n) / 2 symbols
 * of n turns alternates, one in 10 of three. No loop was found in 240 random histories.
 */
#define EVIDENCE_MIN 24u
/*
 * The tolerance, as a part of the memory that changes in a turn. Losses that a job keeps for its
 * log are up to a tenth.
 */
#define FLOOR_PART 16u

/* Turn k goes from behind the leader's token k to token k + 1. */
struct loop {
	const struct gp_step_symbol *leader;
	size_t voters, exact; /* symbols that are as frequent; those of them that alternate */
	struct turn {
		uint64_t low, high; /* live bytes */
	} * turn;
};

struct loops {
	const struct gp_step_sequence *in;
	struct gp_step_symbol *symbol; /* owned by the sequence */
	uint32_t *at;		       /* of all symbols */
	struct loop loop[LOOPS_MAX];
	size_t loops;
};

static size_t loop_token(const struct loop *loop, size_t turn)
{
	return loop->leader->at[turn] / 2;
}

/* ---- the places of each symbol ---- */

static enum gp_status symbols_list(struct loops *l)
{
	const struct gp_step_token *token = l->in->token;
	l->at = calloc(l->in->tokens + 1, 2 * sizeof *l->at);
	if (l->at == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < 2 * l->in->tokens; k++)
		l->symbol[k % 2 == 0 ? token[k / 2].one : token[k / 2].three].count++;
	uint32_t *next = l->at;
	for (uint32_t k = 0; k < l->in->symbols->rows; k++) {
		l->symbol[k].at = next;
		next += l->symbol[k].count;
		l->symbol[k].count = 0;
	}
	for (size_t k = 0; k < 2 * l->in->tokens; k++) {
		struct gp_step_symbol *s =
			&l->symbol[k % 2 == 0 ? token[k / 2].one : token[k / 2].three];
		s->at[s->count++] = (uint32_t)k;
	}
	return GP_OK;
}

/* 1 + the square of the coefficient of variation of the distances. */
static double symbol_unevenness(const struct gp_step_symbol *s)
{
	const double span = s->at[s->count - 1] / 2 - s->at[0] / 2;
	double squares = 0;
	for (uint32_t k = 1; k < s->count; k++) {
		const double distance = s->at[k] / 2 - s->at[k - 1] / 2;
		squares += distance * distance;
	}
	return squares * (s->count - 1) / (span * span);
}

static bool symbol_can_lead(const struct loops *l, const struct gp_step_symbol *s)
{
	const uint64_t span = s->at[s->count - 1] / 2 - s->at[0] / 2;
	return span * 100 >= l->in->tokens * SPAN_PERCENT;
}

/* True: two equally frequent symbols alternate. */
static bool symbol_alternates(const struct gp_step_symbol *s, const struct gp_step_symbol *leader)
{
	const struct gp_step_symbol *a = s->at[0] < leader->at[0] ? s : leader,
				    *b = a == s ? leader : s;
	for (uint32_t k = 0; k < s->count; k++)
		if (a->at[k] > b->at[k] || (k > 0 && a->at[k] <= b->at[k - 1]))
			return false;
	return true;
}

/* ---- loops: counts that many symbols share ---- */

/* Replaces the loop with fewest symbols if the table is full. */
static enum gp_status loop_add(struct loops *l, struct loop *loop)
{
	struct loop *place = &l->loop[0];
	for (size_t k = 1; k < l->loops; k++)
		place = l->loop[k].exact < place->exact ? &l->loop[k] : place;
	if (l->loops < LOOPS_MAX)
		place = &l->loop[l->loops++];
	else if (place->exact >= loop->exact)
		return GP_OK;
	const uint32_t turns = loop->leader->count - 1;
	free(place->turn);
	*place = *loop;
	place->turn = calloc(turns, sizeof *place->turn);
	for (uint32_t turn = 0; place->turn != NULL && turn < turns; turn++) {
		const size_t end = loop_token(loop, turn + 1);
		uint64_t low = l->in->token[end].gap.lowest.live_bytes, high = low;
		for (size_t k = loop_token(loop, turn) + 1; k < end; k++) {
			low = l->in->token[k].gap.lowest.live_bytes < low ?
				      l->in->token[k].gap.lowest.live_bytes :
				      low;
			high = l->in->token[k].gap.lowest.live_bytes > high ?
				       l->in->token[k].gap.lowest.live_bytes :
				       high;
		}
		place->turn[turn] = (struct turn){ low, high };
	}
	return place->turn != NULL ? GP_OK : GP_E_MEMORY;
}

/* `number`: equally frequent symbols. */
static enum gp_status loop_find(struct loops *l, const uint64_t *number, size_t numbers)
{
	struct loop loop = { 0 };
	double least = 0;
	for (size_t k = 0; k < numbers; k++) {
		const struct gp_step_symbol *s = &l->symbol[(uint32_t)number[k]];
		const double unevenness = symbol_unevenness(s);
		if (!symbol_can_lead(l, s) || (loop.leader != NULL && unevenness >= least))
			continue;
		loop.leader = s;
		least = unevenness;
	}
	for (size_t k = 0; loop.leader != NULL && k < numbers; k++) {
		const uint32_t at = (uint32_t)number[k];
		const size_t weight = l->symbol[at].is_graph ? GP_STEP_GRAPH_WORK : 1;
		loop.voters += weight;
		loop.exact += symbol_alternates(&l->symbol[at], loop.leader) ? weight : 0;
	}
	const bool is_likely = loop.exact > 1 && gp_is_most(loop.exact, loop.voters);
	return is_likely ? loop_add(l, &loop) : GP_OK;
}

static enum gp_status loops_find(struct loops *l)
{
	enum gp_status status = symbols_list(l);
	uint64_t *number = calloc(l->in->symbols->rows, sizeof *number); /* count, number */
	size_t n = 0, to;
	if (number == NULL)
		return GP_E_MEMORY;
	for (uint32_t k = 1; status == GP_OK && k < l->in->symbols->rows; k++)
		if (l->symbol[k].count >= GP_STEPS_MIN)
			number[n++] = (uint64_t)l->symbol[k].count << 32 | k;
	qsort(number, n, sizeof *number, gp_row_order);
	for (size_t from = 0; status == GP_OK && from < n; from = to) {
		for (to = from; to < n && number[to] >> 32 == number[from] >> 32; to++)
			;
		status = loop_find(l, &number[from], to - from);
	}
	free(number);
	return status;
}

/* ---- nested loops ---- */

/* The tolerance of live bytes at similar places. */
static uint64_t turn_slack(const struct turn *turn)
{
	return (turn->high - turn->low) / FLOOR_PART;
}

/*
 * Most inner turns hold memory, except one in each outer turn. That means: more than the minimum of
 * the outer turn and of the next one, because all may rise from turn to turn.
 */
static bool loop_lies_in(const struct loop *inner, const struct loop *outer)
{
	const size_t turns = outer->leader->count - 1;
	size_t held = 0, within = 0, turn = 0;
	for (size_t k = 0; k + 1 < inner->leader->count; k++) {
		const size_t end = loop_token(inner, k + 1);
		while (turn < turns && loop_token(outer, turn + 1) < end)
			turn++;
		if (end <= loop_token(outer, 0) || turn == turns)
			continue;
		const struct turn *t = &outer->turn[turn];
		const bool is_rising = turn + 1 < turns && t[1].low > t->low;
		within++;
		held += inner->turn[k].low > t[is_rising].low + turn_slack(t);
	}
	return within > turns && gp_is_most(within, inner->leader->count) &&
	       gp_is_most(within - turns, turns) && gp_is_most(held, within - turns);
}

/*
 * Of the loops that are not nested in another one, the one with most symbols. NULL: none is
 * certain.
 */
static const struct loop *loops_find_step(const struct loops *l)
{
	const struct loop *step = NULL;
	for (size_t k = 0; k < l->loops; k++) {
		const struct loop *loop = &l->loop[k];
		const uint32_t count = loop->leader->count;
		bool is_part = false;
		for (size_t o = 0; o < l->loops && !is_part; o++)
			is_part =
				l->loop[o].leader->count < count && loop_lies_in(loop, &l->loop[o]);
		bool is_more = step == NULL || loop->exact > step->exact ||
			       (loop->exact == step->exact && count < step->leader->count);
		step = !is_part && is_more ? loop : step;
	}
	bool is_sure = step != NULL && (step->exact - 1) * step->leader->count >= EVIDENCE_MIN;
	return is_sure ? step : NULL;
}

/* ---- the begin of a step ---- */

/* The place after the longest wait, among places with nearly the least live bytes of the turn. */
static size_t place_find(const struct gp_step_sequence *in, const struct loop *step, size_t turn)
{
	const uint64_t most = step->turn[turn].low + turn_slack(&step->turn[turn]);
	size_t place = 0;
	for (size_t k = loop_token(step, turn) + 1; k <= loop_token(step, turn + 1); k++)
		if (in->token[k].gap.lowest.live_bytes <= most &&
		    (place == 0 || in->token[k].gap.wait > in->token[place].gap.wait))
			place = k;
	return place;
}

/*
 * The first mark after the place. A symbol of three tokens includes tokens before the step, which
 * differ after an evaluation.
 */
static uint32_t mark_behind(const struct gp_step_sequence *in, size_t place)
{
	for (size_t k = place; k < in->tokens; k++) {
		if (gp_step_symbol(in->symbols, in->token[k].one)->is_mark)
			return in->token[k].one;
		if (k >= place + 2 && gp_step_symbol(in->symbols, in->token[k].three)->is_mark)
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

/* Ignores the first turn, in which a job makes its permanent allocations. */
static enum gp_status begin_find(struct loops *l, const struct loop *step,
				 struct gp_step_marks *out)
{
	const size_t turns = step->leader->count - 2;
	uint64_t *value = calloc(turns, sizeof *value);
	if (value == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < turns; k++) {
		const uint32_t mark = mark_behind(l->in, place_find(l->in, step, k + 1));
		l->symbol[mark].votes++;
		value[k] = turn_slack(&step->turn[k + 1]);
		out->first =
			l->symbol[mark].votes > l->symbol[out->first].votes ? mark : out->first;
	}
	out->slack_bytes = gp_step_median(value, turns);
	for (size_t k = 0; k < turns; k++) {
		const size_t place = place_find(l->in, step, k + 1);
		value[k] = mark_find(l->in, out->first, place) - place;
	}
	out->before = gp_step_median(value, turns);
	free(value);
	return GP_OK;
}

enum gp_status gp_step_repeat(const struct gp_step_sequence *sequence, struct gp_step_marks *out)
{
	struct loops l = { .in = sequence, .symbol = gp_step_symbol(sequence->symbols, 0) };
	*out = (struct gp_step_marks){ 0 };
	enum gp_status status = loops_find(&l);
	const struct loop *step = loops_find_step(&l);
	for (uint32_t k = 1; step != NULL && k < sequence->symbols->rows; k++)
		l.symbol[k].is_mark = l.symbol[k].count == step->leader->count &&
				      symbol_alternates(&l.symbol[k], step->leader);
	if (status == GP_OK && step != NULL)
		status = begin_find(&l, step, out);
	for (size_t k = 0; k < l.loops; k++)
		free(l.loop[k].turn);
	free(l.at);
	return status;
}
