/* How long steps take, and how many at the beginning are no measure for the others. */
#ifndef GP_STEP_STAT_H
#define GP_STEP_STAT_H

#include "../gpuprof_steps.h"

static inline uint64_t gp_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Fills in warmup, the times and the rate. GP_E_MEMORY. */
enum gp_status gp_step_stat(struct gp_steps *steps);
void gp_step_sort(uint64_t *value, size_t values);
/* The median (the lower one of two); reorders `value`. 0 of none. */
uint64_t gp_step_median(uint64_t *value, size_t values);

#endif
