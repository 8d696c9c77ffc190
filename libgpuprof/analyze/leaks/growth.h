/*
 * Tests whether a device holds more memory with each step. Takes its live bytes at the samples of
 * leak_sample.c, in the later half of the steps after warm-up. trend.c decides.
 */
#ifndef GP_ANALYZE_GROWTH_H
#define GP_ANALYZE_GROWTH_H

#include "leak_sample.h"

/* `limit` is in bytes a step. `leaks` has the steps and the times of the samples. */
void gp_growth_judge(const struct gp_leak_samples *samples, const struct gp_leaks *leaks,
		     double limit, struct gp_growth *out);

#endif
