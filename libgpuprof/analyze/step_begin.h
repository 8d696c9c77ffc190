/* Where in its loop a step begins. See step_begin.c. */
#ifndef GP_STEP_BEGIN_H
#define GP_STEP_BEGIN_H

#include "step_learn.h"

#define GP_STEP_OPENING 3u

struct gp_step_begin {
	uint32_t first; /* the marker behind which a step begins; 0: none */
	/* tokens from the begin to it: all the same, or about so many */
	uint64_t nearest, farthest;
	/* a symbol of three across the begin, and tokens from there to it; 0: none in each step */
	uint32_t edge;
	uint64_t edge_distance;
	uint32_t opening[GP_STEP_OPENING]; /* symbols of one with which a step begins */
};

/* `wait`: before each token the ticks since the last. GP_E_MEMORY. */
enum gp_status gp_step_begin_find(const struct gp_step_sequence *sequence, const float *wait,
				  const struct gp_step_markers *markers, struct gp_step_begin *out);

#endif
