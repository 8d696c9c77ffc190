/*
 * Loops that can be no steps. What a job needs for a while is freed again, and no sooner than at
 * the end of what it is for: activations lie across layers, gradients across micro batches and
 * across an evaluation's batches, a cache across the tokens of an answer. So between the turns of
 * a part more is live than between the turns of the step that it is of. And where optimizers are
 * known by their kernels' names, a step has one.
 */
#include <stdlib.h>
#include <string.h>

#include "step_loop.h"

#define WEAK 4u /* so many times fewer kinds of what comes once a turn: chance, or a log's lines */
#define LEAST_SHARE \
	1024.0f /* of what comes and goes, which is kept from one log line to the next */

/* What was between two leaders of any loops. */
struct reach {
	float low, high;  /* bytes live */
	uint64_t updates; /* launches of the optimizer */
	uint8_t loop;	  /* whose leader ends it */
};

struct reaches {
	struct reach *reach;
	size_t reaches, room;
	float *low, *high; /* by turn of a loop */
};

static bool add_reach(struct reaches *s, const struct reach *reach)
{
	if (s->reaches == s->room) {
		size_t room = s->room ? s->room * 2 : 1u << 12;
		struct reach *more = realloc(s->reach, room * sizeof *more);
		if (more == NULL)
			return false;
		s->reach = more;
		s->room = room;
	}
	s->reach[s->reaches++] = *reach;
	return true;
}

/* 1 + index of the loop that this symbol leads; 0: none. */
static uint8_t led_by(const struct gp_loops *l, uint32_t number)
{
	for (size_t k = 0; number != 0 && k < l->loops; k++)
		if (l->loop[k].leader == number)
			return (uint8_t)(k + 1);
	return 0;
}

static const struct reach none = { .low = 3e38f, .high = -1 };

static bool find_reaches(const struct gp_loops *l, uint8_t *led, struct reaches *s)
{
	struct reach now = none;
	for (uint32_t n = 1; n <= l->in->symbols; n++)
		led[n] = led_by(l, n);
	for (size_t k = 0; k < l->in->tokens; k++) {
		bool is_update = (l->in->trait[l->in->one[k]] & GP_TRAIT_OPTIMIZER) != 0;
		const uint8_t by[2] = { led[l->in->one[k]], led[l->in->three[k]] };
		now.low = l->in->live[k] < now.low ? l->in->live[k] : now.low;
		now.high = l->in->live[k] > now.high ? l->in->live[k] : now.high;
		for (size_t n = 0; n < 2; n++) {
			if (by[n] == 0)
				continue;
			now.loop = by[n];
			if (!add_reach(s, &now))
				return false;
			now = none;
		}
		now.updates += is_update;
	}
	return true;
}

/* ---- who has the optimizer ---- */

/* In most turns. */
static bool has_update(const struct reaches *s, uint8_t loop)
{
	uint64_t updates = 0;
	size_t turns = 0, with = 0;
	for (size_t k = 0; k < s->reaches; k++) {
		updates += s->reach[k].updates;
		if (s->reach[k].loop != loop)
			continue;
		turns++;
		with += updates > 0;
		updates = 0;
	}
	return with * 2 > turns;
}

/* ---- who lies in whom ---- */

/* The turns of `outer`, from before its first leader to behind its last. */
static size_t find_lows(const struct reaches *s, uint8_t outer, float *low, float *high)
{
	size_t turns = 0;
	low[0] = none.low;
	high[0] = none.high;
	for (size_t k = 0; k < s->reaches; k++) {
		const struct reach *r = &s->reach[k];
		low[turns] = r->low < low[turns] ? r->low : low[turns];
		high[turns] = r->high > high[turns] ? r->high : high[turns];
		if (r->loop != outer)
			continue;
		turns++;
		low[turns] = none.low;
		high[turns] = none.high;
	}
	return turns;
}

/* More than the ebbs of the outer turns around, all of which may rise from turn to turn. */
static bool is_above(const struct reaches *s, size_t turn, float low)
{
	float floor = s->low[turn], swing = s->high[turn] - s->low[turn];
	floor = s->low[turn - 1] > floor ? s->low[turn - 1] : floor;
	floor = s->low[turn + 1] > floor && s->low[turn + 1] < none.low ? s->low[turn + 1] : floor;
	return low > floor + swing / LEAST_SHARE;
}

/* No more turns of the inner loop than of the outer one come down to where that comes down to. */
static bool lies_in(const struct reaches *s, uint8_t inner, uint8_t outer, uint32_t inner_count)
{
	size_t turns = find_lows(s, outer, s->low, s->high), turn = 0, above = 0, down = 0;
	float low = none.low;
	for (size_t k = 0; k < s->reaches; k++) {
		const struct reach *r = &s->reach[k];
		low = r->low < low ? r->low : low;
		if (r->loop == inner) {
			bool is_within = turn > 0 && turn < turns;
			bool is_high = is_within && is_above(s, turn, low);
			above += is_high;
			down += is_within && !is_high;
			low = none.low;
		}
		turn += r->loop == outer;
	}
	size_t within = above + down, outer_turns = turns > 0 ? turns - 1 : 0;
	bool is_around = within * 2 >= inner_count && within > outer_turns;
	return is_around && down * 2 <= outer_turns * 3 + 2 &&
	       above * 5 >= (within - outer_turns) * 4;
}

static bool lies_in_any(const struct gp_loops *l, const struct reaches *s, size_t inner)
{
	const struct gp_loop *loop = &l->loop[inner];
	for (size_t k = inner + 1; k < l->loops; k++)
		if (lies_in(s, (uint8_t)(inner + 1), (uint8_t)(k + 1), loop->count))
			return true;
	return false;
}

/* Neither many kinds of what comes once a turn, nor much of the job among them. */
static void drop_weak(struct gp_loops *l, const bool *is_kept)
{
	uint64_t kept = 0, most = 0, most_of_job = 0;
	for (size_t k = 0; k < l->loops; k++) {
		const struct gp_loop *loop = &l->loop[k];
		const uint64_t of_job = (uint64_t)loop->exact * loop->count;
		if (!is_kept[k])
			continue;
		most = loop->exact > most ? loop->exact : most;
		most_of_job = of_job > most_of_job ? of_job : most_of_job;
	}
	for (size_t k = 0; k < l->loops; k++) {
		const struct gp_loop *loop = &l->loop[k];
		if (is_kept[k] && (loop->exact * WEAK >= most ||
				   (uint64_t)loop->exact * loop->count * WEAK >= most_of_job))
			l->loop[kept++] = *loop;
	}
	l->loops = kept;
}

static void drop(struct gp_loops *l, const struct reaches *s)
{
	bool is_kept[GP_LOOPS_MAX] = { false }, has_any = false;
	for (size_t k = 0; k < l->loops; k++)
		has_any |= is_kept[k] = has_update(s, (uint8_t)(k + 1));
	for (size_t k = 0; k < l->loops && !has_any; k++)
		is_kept[k] = !lies_in_any(l, s, k);
	drop_weak(l, is_kept);
}

enum gp_status gp_loop_drop_parts(struct gp_loops *l)
{
	struct reaches s = { 0 };
	enum gp_status status = GP_E_MEMORY;
	uint8_t *led = calloc((size_t)l->in->symbols + 1, 1);
	if (led != NULL && find_reaches(l, led, &s)) {
		s.low = calloc(s.reaches + 2, sizeof *s.low);
		s.high = calloc(s.reaches + 2, sizeof *s.high);
	}
	if (s.low != NULL && s.high != NULL) {
		drop(l, &s);
		status = GP_OK;
	}
	free(led);
	free(s.reach);
	free(s.low);
	free(s.high);
	return status;
}
