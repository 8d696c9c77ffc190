/*
 * The calls of CUPTI's range profiler for one context. A range is one launch. If the metrics need
 * several passes, successive launches of the kernel are the passes: CUPTI neither replays a launch
 * nor saves memory ("user replay").
 */
#ifndef GP_RANGE_PROFILER_H
#define GP_RANGE_PROFILER_H

#include "profiler_host.h"

/* The job finalizes CUPTI, or brings its own: no launch is measured from here on. */
void gp_counters_finalizing(void);

struct gp_range_profiler {
	void *context, *object;
	struct gp_metric_config config;
	uint8_t *data;
	size_t data_bytes;
	bool is_started;
};

/*
 * Each returns NULL, or a reason in English in `why` (GP_PROFILER_WHY bytes). After a reason, only
 * gp_profiler_disable is called.
 */
/* The caller's current context, of this device. Removes the metrics that the GPU lacks. */
const char *gp_profiler_open(const struct gp_cupti *cupti, struct gp_range_profiler *profiler,
			     void *context, int device, struct gp_metrics *metrics, char *why);
/* Releases what gp_profiler_open made. */
void gp_profiler_close(const struct gp_cupti *cupti, struct gp_range_profiler *profiler);
/* Around a measurement: enables the profiler of the context, which only one may be at a time. */
const char *gp_profiler_enable(const struct gp_cupti *cupti, struct gp_range_profiler *profiler,
			       const struct gp_metrics *metrics, char *why);
/* After a failed call, too: stops it if it is started. */
void gp_profiler_disable(const struct gp_cupti *cupti, struct gp_range_profiler *profiler);
/* Around one launch. */
const char *gp_profiler_start(const struct gp_cupti *cupti, struct gp_range_profiler *profiler,
			      char *why);
const char *gp_profiler_stop(const struct gp_cupti *cupti, struct gp_range_profiler *profiler,
			     bool *is_complete, char *why);
/* After the last pass. `is_clean`: one range, as expected; else `values` is unchanged. */
const char *gp_profiler_values(const struct gp_cupti *cupti, struct gp_range_profiler *profiler,
			       const struct gp_metrics *metrics, double *values, bool *is_clean,
			       char *why);

#endif
