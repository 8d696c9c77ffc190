/* The beginning of growth, from the allocation times of the survivors. */
#ifndef GP_LEAK_SINCE_H
#define GP_LEAK_SINCE_H

#include "leak_sample.h"

/* Steps, or windows of time. */
struct gp_leak_turns {
	size_t turns;
	int64_t *begin_ns; /* ascending */
	int64_t from_ns;   /* earlier allocations are ignored */
};

/* The number of the turn, from 1; 0: before the first turn. */
size_t gp_leak_turn_of(const struct gp_leak_turns *turns, int64_t at_ns);
/*
 * Growth was found behind sample `since`, for holders with is_of set. It may have begun before that
 * sample: the warm-up, for example, has no samples. Returns the oldest survivor that belongs to the
 * growth. The gap between two survivors must have at most as many turns as the gaps behind the
 * sample. SIZE_MAX: no survivors.
 */
size_t gp_leak_since_find(const struct gp_leak_samples *samples, const bool *is_of,
			  const struct gp_leak_turns *turns, size_t since);

#endif
