/*
 * Which of the loops that are left is the step. From the innermost outwards each is given up for
 * one around it while that adds work of its own kind:
 *
 *   layers in a step, micro batches in a step  what is added is not made of turns of the inner loop
 *   steps in an evaluation period, in an epoch what is added repeats the inner loop, or the inner
 *						loop has all of the work: also the optimizer's
 */
#include <string.h>

#include "step_loop.h"
#include "step_stat.h"

#define RARE 0.05 /* a turn: hardly ever */
#define OTHER 16  /* a part of this size of a turn that others have not: of another kind */

/* Turns of the inner loop: ordinary ones, and those in which the outer one has its turn. */
struct turns {
	uint64_t ordinary, special;
	uint64_t since, usual, regular; /* ordinary ones between special ones; as many as before */
	uint64_t ordinary_work, special_work;
	uint64_t with_optimizer, special_with_optimizer;
};

static void add_turn(struct gp_loops *l, struct turns *t, size_t from, size_t to, bool is_special)
{
	uint64_t all = 0, of_optimizer = 0;
	uint32_t *count = is_special ? l->special : l->ordinary;
	for (size_t k = from; k < to; k++) {
		uint64_t work = gp_loop_work(l, k);
		count[l->in->one[k]]++;
		all += work;
		if ((l->in->trait[l->in->one[k]] & GP_TRAIT_OPTIMIZER) != 0)
			of_optimizer += work;
	}
	*(is_special ? &t->special : &t->ordinary) += 1;
	t->regular += is_special && t->since > 0 && t->since == t->usual;
	t->usual = is_special ? t->since : t->usual;
	t->since = is_special ? 0 : t->since + 1;
	*(is_special ? &t->special_work : &t->ordinary_work) += all;
	/* not one that the optimizer is all of */
	t->with_optimizer += of_optimizer > 0 && of_optimizer * 2 <= all && !is_special;
	t->special_with_optimizer += of_optimizer > 0 && is_special;
}

static void compare_turns(struct gp_loops *l, const struct gp_loop *inner, uint32_t outer,
			  struct turns *out)
{
	size_t room = ((size_t)l->in->symbols + 1) * sizeof *l->ordinary, from = SIZE_MAX;
	bool is_special = false;
	memset(l->ordinary, 0, room);
	memset(l->special, 0, room);
	*out = (struct turns){ 0 };
	for (size_t k = 0; k < l->in->tokens; k++) {
		if (gp_loop_is_at(l, k, inner->leader)) {
			if (from != SIZE_MAX)
				add_turn(l, out, from, k, is_special);
			from = k;
			is_special = false;
		}
		is_special |= gp_loop_is_at(l, k, outer);
	}
}

/* How a special turn differs from an ordinary one, on average. */
struct difference {
	double more, own;    /* work; of it what ordinary turns have hardly ever */
	double less, lacked; /* likewise what the special one has not */
	size_t own_kinds;
	double needed; /* work of an ordinary turn */
};

static struct difference compare_tokens(const struct gp_loops *l, const struct turns *t)
{
	struct difference d = { 0 };
	for (uint32_t k = 0; k <= l->in->symbols; k++) {
		double work = (l->in->trait[k] & GP_TRAIT_GRAPH) != 0 ? GP_LOOP_GRAPH_WORK : 1,
		       ordinary = (double)l->ordinary[k] / (double)t->ordinary,
		       special = (double)l->special[k] / (double)t->special;
		/* an allocation's stack says who does it, not what is done */
		bool is_work = !l->has_launches || (l->in->trait[k] & GP_TRAIT_LAUNCH) != 0;
		bool is_own = is_work && ordinary < RARE && special > ordinary / RARE,
		     is_lacked = special < RARE && ordinary > RARE;
		d.more += special > ordinary ? work * (special - ordinary) : 0;
		d.less += special < ordinary ? work * (ordinary - special) : 0;
		d.own += is_own ? work * special : 0;
		d.lacked += is_lacked ? work * ordinary : 0;
		d.own_kinds += is_own && special > 0.5;
		d.needed += work * ordinary;
	}
	return d;
}

enum verdict {
	IS_STEP,    /* the inner loop has all that a step has */
	IS_PART,    /* the outer turn adds what is not in the inner loop */
	TAKES_TURNS /* inner turns are of two kinds that are both trained */
};

/* Is the turn of the loop of `outer` what a person calls a step, not the inner one's? */
static enum verdict judge(struct gp_loops *l, const struct gp_loop *inner, uint32_t outer,
			  double *added)
{
	struct turns t;
	compare_turns(l, inner, outer, &t);
	/* one that has several turns within one of the inner loop's is not around it */
	if (t.special * 2 < l->symbol[outer].count)
		return IS_STEP;
	if (t.ordinary == 0)
		return IS_PART;
	struct difference d = compare_tokens(l, &t);
	*added = d.more * (double)t.special;
	double work = (double)(t.ordinary_work + t.special_work);
	bool is_much = *added * 4 > work;
	bool has_both = d.own * OTHER >= d.needed && d.lacked * OTHER >= d.needed;
	bool is_even = gp_distance(t.ordinary, t.special) <= GP_LOOP_CUT_TURNS;
	bool is_regular = (t.regular + GP_LOOP_CUT_TURNS) * 10 >= t.special * 9;
	if (t.with_optimizer * 2 < t.ordinary) {
		bool is_around = d.less * 4 <= d.needed && d.more * 5 >= d.needed;
		bool is_added = d.own * 5 >= d.more && d.own_kinds >= 2 &&
				(t.ordinary >= t.special || is_much);
		if (t.special_with_optimizer * 2 >= t.special || (is_around && is_added))
			return IS_PART;
	}
	return is_regular && (is_even || has_both) ? TAKES_TURNS : IS_STEP;
}

/*
 * Asked of two symbols of the outer loop: what it adds may fall into the turn before or behind.
 * *added: how much that is.
 */
static bool is_outer_step(struct gp_loops *l, const struct gp_loop *inner,
			  const struct gp_loop *outer, double *added)
{
	double more = *added = 0;
	enum verdict verdict = judge(l, inner, outer->leader, added);
	enum verdict other = judge(l, inner, outer->other, &more);
	if (other == IS_PART && (verdict != IS_PART || more > *added))
		*added = more;
	return verdict == IS_PART || other == IS_PART ||
	       (verdict == TAKES_TURNS && other == TAKES_TURNS);
}

/*
 * Of the loops around `inner` whose turn is a step rather than its own the one that adds most; of
 * those that add as much the one with most turns.
 */
static const struct gp_loop *find_outer(struct gp_loops *l, const struct gp_loop *inner)
{
	const struct gp_loop *found = NULL;
	double most = 0, added;
	for (const struct gp_loop *outer = inner + 1; outer < l->loop + l->loops; outer++) {
		if (!is_outer_step(l, inner, outer, &added) || added <= most)
			continue;
		found = outer;
		most = added;
	}
	return found;
}

const struct gp_loop *gp_loop_find_step(struct gp_loops *l)
{
	const struct gp_loop *step = l->loops > 0 ? &l->loop[0] : NULL;
	for (const struct gp_loop *outer = step; outer != NULL; outer = find_outer(l, step))
		step = outer;
	return step;
}
