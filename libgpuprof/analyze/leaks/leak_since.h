/*
 * Since when something grows, from the moments at which what is left of it was made.
 */
#ifndef GP_LEAK_SINCE_H
#define GP_LEAK_SINCE_H

#include "leak_sample.h"

/* Steps, or windows of time. */
struct gp_leak_turns {
	size_t turns;
	int64_t *begin_ns; /* rising */
	int64_t from_ns;   /* what was made before is of no interest */
};

/* The number of the turn, from 1; 0: it was before the first. */
size_t gp_leak_turn_of(const struct gp_leak_turns *turns, int64_t at_ns);
/*
 * The oldest survivor of the growth that was found behind sample `since`, of holders whose is_of is
 * set: there may have been more of it before that sample, as in the warm-up, where none are taken.
 * That belongs to it as long as no more turns lie between two survivors than do behind the sample.
 * SIZE_MAX: nothing is left.
 */
size_t gp_leak_since_find(const struct gp_leak_samples *samples, const bool *is_of,
			  const struct gp_leak_turns *turns, size_t since);

#endif
