/*
 * The calls of CUPTI's PM sampling for one GPU: its counters at a fixed interval, whatever runs on
 * it. The order is that of NVIDIA's sample "pm_sampling". Needs no callback and no activity of
 * CUPTI.
 */
#ifndef GP_PM_SAMPLER_H
#define GP_PM_SAMPLER_H

#include "profiler_host.h"

struct gp_pm_sampler {
	unsigned device;
	void *object;
	struct gp_metric_config config;
	uint8_t *data;
	size_t data_bytes;
	uint64_t ended, took; /* of the last sample, in nanoseconds of the GPU; 0: none */
	bool is_started, is_first;
};

/* Receives samples in order of time. */
struct gp_pm_hand {
	void (*sample)(unsigned device, uint64_t began_ns, uint64_t took_ns, const double *values,
		       size_t count);
	/* Before the sample that follows a gap of that many samples. */
	void (*lost)(unsigned device, uint64_t count);
};

/* Each returns NULL, or a reason in English in `why` (GP_PROFILER_WHY bytes). */
/* Starts. Removes the metrics that the GPU lacks, or that do not fit one pass. */
const char *gp_pm_open(const struct gp_cupti *cupti, struct gp_pm_sampler *sampler, unsigned device,
		       struct gp_metrics *metrics, uint64_t interval_ns, char *why);
/* Hands over what the GPU has counted. Starts again if its buffer was full. */
const char *gp_pm_decode(const struct gp_cupti *cupti, struct gp_pm_sampler *sampler,
			 const struct gp_metrics *metrics, const struct gp_pm_hand *hand,
			 char *why);
/* Stops, if it is started. Samples so far can still be decoded. */
const char *gp_pm_stop(const struct gp_cupti *cupti, struct gp_pm_sampler *sampler, char *why);
/*
 * Releases all, also after a reason. Only at the end: a CUPTI may finalize itself when PM sampling
 * is disabled, and GPU time and the job's own profiler use it, too.
 */
void gp_pm_close(const struct gp_cupti *cupti, struct gp_pm_sampler *sampler);

#endif
