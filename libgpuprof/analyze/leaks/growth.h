/*
 * Whether a device holds more with each step: its live bytes at the samples of leak_sample.c, in
 * the later half of the steps after warm-up, judged by trend.c.
 */
#ifndef GP_ANALYZE_GROWTH_H
#define GP_ANALYZE_GROWTH_H

#include "leak_sample.h"

/* `limit` in bytes a step. `leaks` has the steps, and when samples were taken. */
void gp_growth_judge(const struct gp_leak_samples *samples, const struct gp_leaks *leaks,
		     double limit, struct gp_growth *out);

#endif
