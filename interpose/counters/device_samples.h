/*
 * Samples the counters of the GPUs on which the process has made a context, at a fixed interval, on
 * a thread of ours (--metrics without --kernel).
 */
#ifndef GP_DEVICE_SAMPLES_H
#define GP_DEVICE_SAMPLES_H

#include <stdbool.h>

#include "../gpu/counters.h"

/* As the members of struct gp_counters_source. */
void gp_samples_start(const struct gp_counters_sink *sink);
void gp_samples_end(void);
/* As gp_counters_finalizing. */
void gp_samples_finalizing(void);
/* Waits at most 1 s while CUPTI is loaded: the thread may hold a lock of the job's allocator. */
void gp_samples_await_before_fork(void);

#endif
