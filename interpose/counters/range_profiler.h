/*
 * The calls of CUPTI's range profiler for one context. A range is one launch. If the metrics need
 * several passes, successive launches of the kernel are the passes: CUPTI neither replays a launch
 * nor saves memory ("user replay").
 */
#ifndef GP_RANGE_PROFILER_H
#define GP_RANGE_PROFILER_H

#include <stdbool.h>
#include <stddef.h>

#include "../cupti/cupti_library.h"

/* The job finalizes CUPTI, or brings its own: no launch is measured from here on. */
void gp_counters_finalizing(void);

#define GP_METRICS_MOST 64u
#define GP_PROFILER_WHY 320u /* bytes of a reason */

/* The requested metrics. */
struct gp_metrics {
	const char *name[GP_METRICS_MOST];
	size_t count;
	bool is_usual; /* drop those that the GPU lacks, instead of refusing all */
};

struct gp_range_profiler {
	void *context, *host, *object;
	uint8_t *config, *data;
	size_t config_bytes, data_bytes, passes;
	bool is_started;
};

/* The first function that we need and that the library lacks; NULL: it has all. */
const char *gp_profiler_missing(const struct gp_cupti *cupti);

/*
 * Each returns NULL, or a reason in English in `why` (GP_PROFILER_WHY bytes). After a reason, only
 * gp_profiler_disable is called.
 */
const char *gp_profiler_init(const struct gp_cupti *cupti, char *why);
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
