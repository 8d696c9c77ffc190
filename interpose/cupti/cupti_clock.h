/*
 * CUPTI's times, in nanoseconds of its default clock. A job may register a clock of its own, as
 * torch.profiler does with the TSC. From then on, records have that clock's times, also ours. They
 * are converted by two pairs of readings; the job's copies stay as they are.
 */
#ifndef GP_CUPTI_CLOCK_H
#define GP_CUPTI_CLOCK_H

#include <stdbool.h>

#include "cupti_library.h"

/*
 * Learns which clock is the default. At the start, and before the job's call of
 * cuptiActivityRegisterTimestampCallback.
 */
void gp_cupti_clock_prepare(const struct gp_cupti *cupti);

/* After that call has succeeded. */
void gp_cupti_clock_register(gp_cupti_time *function);

/* Now, in nanoseconds of CUPTI's default clock. */
uint64_t gp_cupti_clock(const struct gp_cupti *cupti);

/* Converts times of records. Valid for the records of one buffer. */
struct gp_cupti_scale {
	uint64_t now_ns, job_now;
	double ns; /* a unit of the job's clock; 0: there is none */
};

struct gp_cupti_scale gp_cupti_scale_get(const struct gp_cupti *cupti);

/* 0: no time, or not one of the last hour in one of both clocks. */
uint64_t gp_cupti_scale_ns(const struct gp_cupti_scale *scale, uint64_t time);

#endif
