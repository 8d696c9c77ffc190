/*
 * Which symbols mark the steps of a job: those that come exactly once in each turn of the loop that
 * a person would call its step. See step_learn.c for how that loop is told from those inside it
 * (layers, micro batches) and around it (evaluation every N steps, epochs).
 */
#ifndef GP_STEP_LEARN_H
#define GP_STEP_LEARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../format/status.h"

#define GP_TRAIT_OPTIMIZER 1u /* a kernel that updates parameters, by its name */
#define GP_TRAIT_GRAPH 2u     /* a graph of which nothing is known: it stands for many launches */
#define GP_TRAIT_LAUNCH 4u    /* what is done; an allocation's stack says who does it */

/* What came, in order: symbols from 1 on, 0 none. */
struct gp_step_sequence {
	const uint32_t *one, *three;
	size_t tokens;
	uint32_t symbols;     /* the greatest number */
	const uint8_t *trait; /* by symbol: GP_TRAIT_* */
	const float *live;    /* before each token: the least bytes since the last */
};

struct gp_step_markers {
	bool *is_marker; /* by symbol: it comes in every step, and once */
	size_t markers;	 /* how many there are */
	uint32_t leader; /* one of them; 0: no steps */
};

/* `out->is_marker`: the caller's, zeroed. GP_E_MEMORY. */
enum gp_status gp_step_learn(const struct gp_step_sequence *sequence, struct gp_step_markers *out);

#endif
