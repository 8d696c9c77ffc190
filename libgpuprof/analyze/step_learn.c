/*
 * Symbols that belong to one loop alternate: between two of the one there is one of the other,
 * however long a turn takes and whatever else happens in it. So a loop is a class of symbols in
 * lockstep with a leader. Loops lie in each other; from the innermost outwards each is given up for
 * the one around it while that adds work of its own kind:
 *
 *   layers in a step, micro batches in a step  what is added is not made of turns of the inner loop
 *   steps in an evaluation period, in an epoch what is added repeats the inner loop, or the inner
 *						loop has all of the work: also the optimizer's
 */
#include "step_learn.h"

#include <stdlib.h>
#include <string.h>

#define TURNS_MIN 3u	  /* that a loop has */
#define SPAN_PERCENT 30u  /* of all work that lies between its first and last turn */
#define GRAPH_WORK 256u	  /* launches that a graph is taken for */
#define LOOPS_MAX 32u	  /* that are looked at */
#define STRAYS_PERCENT 5u /* of the turns in which a symbol of a class may be missing or twice */
#define SAME_PERCENT 10u  /* of turns: loops that differ by no more are one */
#define EXACT_PER_MILLE 5u
#define TURNS_SURE 8u	/* so many do not come together by chance */
#define CUT_TURNS 2u	/* that a symbol may have less than others of its loop */
#define SYMBOLS_FEW 16u /* fewer: a leader may be all there is */
#define LONGER(usual) ((usual) + (usual) / 2)
#define MICRO_TURNS_MAX 16u /* inner loops of two models that take turns */

struct symbol {
	uint32_t count;
	uint64_t first, last; /* work done by then */
	double squares;	      /* sum of squared distances */
	uint32_t turn, strays;
	uint64_t behind; /* sum of the work since the leader */
	uint8_t loop;	 /* 1 + index; 0: none */
};

struct loop {
	/* the most even one, and one that comes about half a turn later */
	uint32_t leader, other, count;
	uint64_t led;  /* work done when the leader came last */
	uint32_t turn; /* 1 before the first */
	size_t voters, members, exact;
};

struct learning {
	const struct gp_step_sequence *in;
	struct symbol *symbol;
	struct loop loop[LOOPS_MAX];
	size_t loops;
	uint32_t *ordinary, *special; /* by token: how often in turns of an inner loop */
	bool has_optimizer;
	uint64_t work; /* launches and allocations, a graph counts for many */
};

/* ---- how often each symbol comes, and how evenly ---- */

static void count_symbol(struct learning *l, uint32_t number, uint64_t at)
{
	if (number == 0)
		return;
	struct symbol *s = &l->symbol[number];
	if (s->count++ == 0)
		s->first = at;
	else
		s->squares += (double)(at - s->last) * (double)(at - s->last);
	s->last = at;
}

static uint64_t work_of(const struct learning *l, size_t at)
{
	return (l->in->trait[l->in->one[at]] & GP_TRAIT_GRAPH) != 0 ? GRAPH_WORK : 1;
}

static void count_all(struct learning *l)
{
	for (size_t k = 0; k < l->in->tokens; k++) {
		l->work += work_of(l, k);
		count_symbol(l, l->in->one[k], l->work);
		count_symbol(l, l->in->three[k], l->work);
	}
	for (uint32_t n = 1; n <= l->in->symbols; n++)
		l->has_optimizer |= (l->in->trait[n] & GP_TRAIT_OPTIMIZER) != 0 &&
				    l->symbol[n].count >= TURNS_MIN;
}

/* 1: all distances are the same. */
static double unevenness(const struct symbol *s)
{
	double span = (double)(s->last - s->first);
	return s->squares * (double)(s->count - 1) / (span * span);
}

static bool can_lead(const struct learning *l, const struct symbol *s)
{
	return s->count >= TURNS_MIN && (s->last - s->first) * 100 >= l->work * SPAN_PERCENT;
}

/* ---- loops: counts that many symbols have, and the most even of them ---- */

static size_t find_fewest(const struct learning *l)
{
	size_t fewest = 0;
	for (size_t k = 1; k < l->loops; k++)
		if (l->loop[k].voters < l->loop[fewest].voters)
			fewest = k;
	return fewest;
}

static void offer_loop(struct learning *l, const struct loop *loop)
{
	size_t fewest = l->loops < LOOPS_MAX ? l->loops : find_fewest(l);
	if (fewest < l->loops && l->loop[fewest].voters >= loop->voters)
		return;
	/* the newest stays last: counts rise */
	l->loops -= fewest < l->loops;
	memmove(&l->loop[fewest], &l->loop[fewest + 1], (l->loops - fewest) * sizeof *l->loop);
	l->loop[l->loops++] = *loop;
}

/* What is cut off at an end comes once less: the same loop. Counts rise. */
static void join_loop(struct learning *l, const struct loop *loop)
{
	struct loop *last = l->loops > 0 ? &l->loop[l->loops - 1] : NULL;
	if (last == NULL || loop->count < CUT_TURNS * 4 || loop->count - last->count > CUT_TURNS) {
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

static enum gp_status find_loops(struct learning *l)
{
	struct ranked *ranked = calloc((size_t)l->in->symbols + 1, sizeof *ranked);
	if (ranked == NULL)
		return GP_E_MEMORY;
	size_t n = 0;
	for (uint32_t k = 1; k <= l->in->symbols; k++)
		if (can_lead(l, &l->symbol[k]))
			ranked[n++] =
				(struct ranked){ l->symbol[k].count, k, unevenness(&l->symbol[k]) };
	if (n > 1)
		qsort(ranked, n, sizeof *ranked, compare_ranked);
	for (size_t k = 0; k < n;) {
		struct loop loop = { .leader = ranked[k].number, .count = ranked[k].count };
		for (; k < n && ranked[k].count == loop.count; k++)
			loop.voters++;
		join_loop(l, &loop);
	}
	free(ranked);
	return GP_OK;
}

/* ---- who is in lockstep with a leader ---- */

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Of the loops with about as many turns the nearest. */
static uint8_t loop_of(const struct learning *l, uint32_t count)
{
	size_t nearest = LOOPS_MAX;
	for (size_t k = 0; k < l->loops; k++) {
		uint64_t off = distance(l->loop[k].count, count);
		bool is_near = off <= 2 || off <= count / 10;
		if (is_near &&
		    (nearest == LOOPS_MAX || off < distance(l->loop[nearest].count, count)))
			nearest = k;
	}
	return nearest == LOOPS_MAX ? 0 : (uint8_t)(nearest + 1);
}

static void follow(struct learning *l, uint32_t number)
{
	struct symbol *s = &l->symbol[number];
	if (number == 0 || s->loop == 0)
		return;
	struct loop *loop = &l->loop[s->loop - 1];
	if (loop->leader == number) {
		loop->turn++;
		loop->led = l->work;
	}
	s->behind += loop->turn > 1 ? l->work - loop->led : 0;
	if (s->turn == loop->turn)
		s->strays++;
	else if (loop->turn > s->turn + 1 && (s->turn != 0 || loop->turn > 2))
		s->strays += loop->turn - s->turn - 1 - (s->turn == 0);
	s->turn = loop->turn;
}

static bool is_exact(const struct symbol *s, const struct loop *loop)
{
	return s->strays <= (loop->count >= TURNS_SURE) + loop->count * EXACT_PER_MILLE / 1000;
}

/* Half a turn behind the leader rather than `other`. */
static bool is_nearer_half(const struct learning *l, const struct loop *loop,
			   const struct symbol *s)
{
	const struct symbol *leader = &l->symbol[loop->leader], *other = &l->symbol[loop->other];
	uint64_t half = (leader->last - leader->first) / (2ull * (leader->count - 1));
	return loop->other == 0 ||
	       distance(s->behind / s->count, half) < distance(other->behind / other->count, half);
}

static void follow_all(struct learning *l)
{
	for (uint32_t k = 1; k <= l->in->symbols; k++)
		l->symbol[k].loop =
			l->symbol[k].count >= TURNS_MIN ? loop_of(l, l->symbol[k].count) : 0;
	for (size_t k = 0; k < l->loops; k++) {
		l->loop[k].turn = 1;
		l->loop[k].voters = 0;
	}
	l->work = 0;
	for (size_t k = 0; k < l->in->tokens; k++) {
		l->work += work_of(l, k);
		follow(l, l->in->one[k]);
		follow(l, l->in->three[k]);
	}
	for (uint32_t k = 1; k <= l->in->symbols; k++) {
		struct symbol *s = &l->symbol[k];
		if (s->loop == 0)
			continue;
		struct loop *loop = &l->loop[s->loop - 1];
		s->strays += s->turn + 1 < loop->turn ? loop->turn - 1 - s->turn : 0;
		loop->voters++;
		loop->members += s->strays * 100 <= loop->count * STRAYS_PERCENT || s->strays <= 1;
		loop->exact += is_exact(s, loop);
		if (is_exact(s, loop) && is_nearer_half(l, loop, s))
			loop->other = k;
	}
}

/*
 * Of few turns symbols alternate by chance: one in ten that come three times, one in 35 that come
 * four times.
 */
static bool is_loop(const struct learning *l, const struct loop *loop)
{
	bool is_few = loop->count < TURNS_SURE;
	bool has_company = loop->members > (is_few ? 3 : 1) || l->in->symbols < SYMBOLS_FEW;
	return has_company && loop->members * (is_few ? 2 : 12) >= loop->voters;
}

/* Most turns first. */
static int compare_loops(const void *left, const void *right)
{
	const struct loop *a = left, *b = right;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return (a->leader > b->leader) - (a->leader < b->leader);
}

/* The same loop, seen by symbols that also come elsewhere now and then. */
static bool is_same(const struct loop *a, const struct loop *b)
{
	return a->count - b->count <= 2 || (a->count - b->count) * 100 <= a->count * SAME_PERCENT;
}

static void sort_loops(struct learning *l)
{
	size_t kept = 0;
	for (size_t k = 0; k < l->loops; k++)
		if (is_loop(l, &l->loop[k]))
			l->loop[kept++] = l->loop[k];
	l->loops = kept;
	if (kept > 1)
		qsort(l->loop, kept, sizeof *l->loop, compare_loops);
	kept = 0;
	for (size_t k = 0; k < l->loops; k++) {
		struct loop *last = kept > 0 ? &l->loop[kept - 1] : NULL;
		if (last == NULL || !is_same(last, &l->loop[k]))
			l->loop[kept++] = l->loop[k];
		else if (l->loop[k].exact * 3 >= last->exact)
			*last = l->loop[k];
	}
	l->loops = kept;
}

/* ---- which of two loops is the step ---- */

/* Turns of the inner loop: ordinary ones, and those in which the outer one has its turn. */
struct turns {
	uint64_t ordinary, special;
	uint64_t ordinary_tokens, special_tokens;
	uint64_t with_optimizer, special_with_optimizer;
};

static bool is_at(const struct learning *l, size_t at, uint32_t number)
{
	return l->in->one[at] == number || l->in->three[at] == number;
}

static void add_turn(struct learning *l, struct turns *t, size_t from, size_t to, bool is_special)
{
	size_t of_optimizer = 0;
	uint32_t *count = is_special ? l->special : l->ordinary;
	for (size_t k = from; k < to; k++) {
		count[l->in->one[k]]++;
		of_optimizer += (l->in->trait[l->in->one[k]] & GP_TRAIT_OPTIMIZER) != 0;
	}
	*(is_special ? &t->special : &t->ordinary) += 1;
	*(is_special ? &t->special_tokens : &t->ordinary_tokens) += to - from;
	/* not one that the optimizer is all of */
	t->with_optimizer += of_optimizer > 0 && of_optimizer * 2 <= to - from && !is_special;
	t->special_with_optimizer += of_optimizer > 0 && is_special;
}

/* Ordinary turns of more than `longest` tokens are passed over. */
static void compare_turns(struct learning *l, const struct loop *inner, uint32_t outer,
			  size_t longest, struct turns *out)
{
	size_t room = ((size_t)l->in->symbols + 1) * sizeof *l->ordinary, from = SIZE_MAX;
	bool is_special = false;
	memset(l->ordinary, 0, room);
	memset(l->special, 0, room);
	*out = (struct turns){ 0 };
	for (size_t k = 0; k < l->in->tokens; k++) {
		if (is_at(l, k, inner->leader)) {
			if (from != SIZE_MAX && (is_special || k - from <= longest))
				add_turn(l, out, from, k, is_special);
			from = k;
			is_special = false;
		}
		is_special |= is_at(l, k, outer);
	}
}

/* What the special turns have beyond an ordinary one, a turn on average. */
struct addition {
	double all, own;     /* tokens; those that ordinary turns have hardly ever */
	size_t kinds;	     /* different ones of these */
	double held, needed; /* of an ordinary turn: in a special one, and in all */
};

static struct addition compare_tokens(const struct learning *l, const struct turns *t)
{
	struct addition a = { 0 };
	for (uint32_t k = 0; k <= l->in->symbols; k++) {
		double ordinary = (double)l->ordinary[k] / (double)t->ordinary,
		       special = (double)l->special[k] / (double)t->special;
		bool is_own = ordinary * 20 < special;
		a.all += special > ordinary ? special - ordinary : 0;
		a.own += is_own ? special : 0;
		a.kinds += is_own && special > 0.5;
		a.held += special < ordinary ? special : ordinary;
		a.needed += ordinary;
	}
	return a;
}

enum verdict {
	IS_STEP,    /* the inner loop has all that a step has */
	IS_PART,    /* the outer turn adds what is not in the inner loop */
	TAKES_TURNS /* inner turns are of two kinds that are both trained */
};

/* Is the turn of the loop of `outer` what a person calls a step, not the inner one's? */
static enum verdict judge(struct learning *l, const struct loop *inner, uint32_t outer,
			  double *added)
{
	struct turns t;
	compare_turns(l, inner, outer, SIZE_MAX, &t);
	/* one that has several turns within one of the inner loop's is not around it */
	if (t.special < TURNS_MIN - 1 || t.special * 2 < l->symbol[outer].count)
		return IS_STEP;
	if (t.ordinary == 0)
		return IS_PART;
	struct addition a = compare_tokens(l, &t);
	*added = a.all * (double)t.special;
	double work = (double)(t.ordinary_tokens + t.special_tokens);
	bool is_most = *added * 2 > work, is_much = *added * 4 > work;
	bool is_update = t.special_with_optimizer * 2 >= t.special;
	if (t.with_optimizer * 2 < t.ordinary) {
		bool is_added = a.own * 2 >= a.all && (a.kinds >= 3 || is_most);
		/* a turn that lacks little of the others is one, too */
		is_added = is_added && (t.ordinary >= t.special || is_much);
		return is_update || is_added ? IS_PART : IS_STEP;
	}
	const uint64_t ordinary = t.ordinary;
	/* an evaluation in some of the ordinary ones is nothing that the special ones lack */
	compare_turns(l, inner, outer, LONGER(t.ordinary_tokens / t.ordinary), &t);
	a = compare_tokens(l, &t);
	/* else the special one is an ordinary one and something more */
	bool is_other = a.held < a.needed * 0.9;
	if (distance(ordinary, t.special) <= CUT_TURNS)
		return is_other || a.all > a.needed * 0.2 ? TAKES_TURNS : IS_STEP;
	bool is_often = ordinary > t.special && ordinary <= t.special * MICRO_TURNS_MAX;
	return is_often && is_other ? TAKES_TURNS : IS_STEP;
}

/*
 * Asked of two symbols of the outer loop: what it adds may fall into the turn before or behind.
 * *added: how much that is.
 */
static bool is_outer_step(struct learning *l, const struct loop *inner, const struct loop *outer,
			  double *added)
{
	double more = *added = 0;
	enum verdict verdict = judge(l, inner, outer->leader, added);
	enum verdict other = judge(l, inner, outer->other, &more);
	if (verdict != IS_PART && other == IS_PART)
		*added = more;
	return verdict == IS_PART || other == IS_PART ||
	       (verdict == TAKES_TURNS && other == TAKES_TURNS);
}

/*
 * Of the loops around `inner` whose turn is a step rather than its own the one that adds most; of
 * those that add about as much the one with most turns.
 */
static const struct loop *find_outer(struct learning *l, const struct loop *inner)
{
	const struct loop *found = NULL;
	double most = 0, added;
	for (const struct loop *outer = inner + 1; outer < l->loop + l->loops; outer++) {
		if (!is_outer_step(l, inner, outer, &added) || added * 4 <= most * 5)
			continue;
		found = outer;
		most = added;
	}
	return found;
}

static const struct loop *find_step(struct learning *l)
{
	const struct loop *step = l->loops > 0 ? &l->loop[0] : NULL;
	for (const struct loop *outer = step; outer != NULL; outer = find_outer(l, step))
		step = outer;
	return step;
}

/* How much two turns that follow each other have in common, in the same order. */
static size_t overlap(struct learning *l, size_t before, size_t from, size_t to)
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
static bool is_repeating(struct learning *l, const struct loop *step)
{
	size_t before = SIZE_MAX, from = SIZE_MAX, like = 0, turns = 0;
	memset(l->ordinary, 0, ((size_t)l->in->symbols + 1) * sizeof *l->ordinary);
	for (size_t k = 0; k < l->in->tokens; k++) {
		if (!is_at(l, k, step->leader))
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

static size_t mark(struct learning *l, const struct loop *step, uint8_t *is_marker)
{
	size_t markers = 0;
	uint8_t loop = l->symbol[step->leader].loop;
	for (uint32_t k = 1; k <= l->in->symbols; k++) {
		const struct symbol *s = &l->symbol[k];
		is_marker[k] = s->loop == loop && is_exact(s, step);
		markers += is_marker[k];
	}
	return markers;
}

enum gp_status gp_step_learn(const struct gp_step_sequence *sequence, uint8_t *is_marker,
			     size_t *out)
{
	size_t room = (size_t)sequence->symbols + 1;
	struct learning *l = calloc(1, sizeof *l);
	enum gp_status status = GP_E_MEMORY;
	*out = 0;
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
		const struct loop *step = find_step(l);
		if (step != NULL && is_repeating(l, step))
			*out = mark(l, step, is_marker);
	}
	free(l->symbol);
	free(l->ordinary);
	free(l->special);
	free(l);
	return status;
}
