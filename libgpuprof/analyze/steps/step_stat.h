/* How long steps take, and how many at the beginning are no measure for the others. */
#ifndef GP_STEP_STAT_H
#define GP_STEP_STAT_H

#include "../../gpuprof_steps.h"

/* Fewer do not repeat: two turns, or updates, have one distance. */
#define GP_STEPS_MIN 3u
/* Launches, or symbols, that a graph of unknown content is taken for. */
#define GP_STEP_GRAPH_WORK 32u

/* The majority decides, in each rule about steps. */
static inline bool gp_is_most(uint64_t part, uint64_t all)
{
	return part > all / 2;
}

static inline uint64_t gp_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Room for one more of `count` values of `bytes` each; NULL: no memory, and `list` stays. */
void *gp_step_grow(void *list, size_t count, size_t bytes);
/* Fills in warmup, the times and the rate. GP_E_MEMORY. */
enum gp_status gp_step_stat(struct gp_steps *steps);
void gp_step_sort(uint64_t *value, size_t values);
/* The median (the lower one of two); reorders `value`. 0 of none. */
uint64_t gp_step_median(uint64_t *value, size_t values);

#endif
