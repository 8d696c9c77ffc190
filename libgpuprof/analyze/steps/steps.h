/* Shared by the rules about steps: places where steps begin, the majority, the median. */
#ifndef GP_STEPS_H
#define GP_STEPS_H

#include "../../gpuprof_steps.h"

/* Fewer do not show repetition: two turns, or updates, have one distance. */
#define GP_STEPS_MIN 3u
/* A launch of a graph counts as this many launches or allocations. */
#define GP_STEP_GRAPH_WORK 32u

/* Where a step begins or ends: the moment, and the counts until then. */
struct gp_step_place {
	int64_t at_ns;
	uint64_t work, launches, live_bytes;
};

struct gp_step_cuts {
	struct gp_step_cut {
		struct gp_step_place begin, end;
		uint64_t own; /* of a range: work of its thread in it */
	} * cut;
	size_t cuts;
};

/* The majority decides in each rule about steps. */
static inline bool gp_is_most(uint64_t part, uint64_t all)
{
	return part > all / 2;
}

static inline uint64_t gp_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Fills in warmup, the times and the rate. GP_E_MEMORY. */
enum gp_status gp_step_stat(struct gp_steps *steps);
/* The median (the lower of two middle values); reorders `value`. 0 for no values. */
uint64_t gp_step_median(uint64_t *value, size_t values);

#endif
