/*
 * Loops of symbols that come in lockstep, as step_learn.c finds them, and which of them is the
 * step, as step_judge.c does.
 */
#ifndef GP_STEP_LOOP_H
#define GP_STEP_LOOP_H

#include "step_learn.h"

#define GP_LOOPS_MAX 32u	/* that are looked at */
#define GP_LOOP_TURNS_MIN 3u	/* that a loop has */
#define GP_LOOP_CUT_TURNS 2u	/* that a symbol may have less than others of its loop */
#define GP_LOOP_GRAPH_WORK 256u /* launches that a graph is taken for */

struct gp_loop_symbol {
	uint32_t count;
	uint64_t first, last; /* work done by then */
	double squares;	      /* sum of squared distances */
	uint32_t turn, strays;
	uint64_t behind; /* sum of the work since the leader */
	uint8_t loop;	 /* 1 + index; 0: none */
};

struct gp_loop {
	/* the most even one, and one that comes about half a turn later */
	uint32_t leader, other, count;
	uint64_t led;	      /* work done when the leader came last */
	uint32_t turn;	      /* 1 before the first */
	size_t voters, exact; /* symbols that come about as often; of these those in lockstep */
};

struct gp_loops {
	const struct gp_step_sequence *in;
	struct gp_loop_symbol *symbol;
	struct gp_loop loop[GP_LOOPS_MAX]; /* most turns first */
	size_t loops;
	uint32_t *ordinary, *special; /* by token: how often in turns of an inner loop */
	bool has_launches;
	uint64_t work; /* launches and allocations, a graph counts for many */
};

static inline bool gp_loop_is_at(const struct gp_loops *l, size_t at, uint32_t number)
{
	return l->in->one[at] == number || l->in->three[at] == number;
}

static inline uint64_t gp_loop_work(const struct gp_loops *l, size_t at)
{
	return (l->in->trait[l->in->one[at]] & GP_TRAIT_GRAPH) != 0 ? GP_LOOP_GRAPH_WORK : 1;
}

/* Drops loops whose turns are parts of another's, as memory and names tell. GP_E_MEMORY. */
enum gp_status gp_loop_drop_parts(struct gp_loops *l);
/* The loop whose turn a person would call a step; NULL: there is none. */
const struct gp_loop *gp_loop_find_step(struct gp_loops *l);

#endif
