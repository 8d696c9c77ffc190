/*
 * Part of gpuprof.h, which includes it: hardware counters of GPUs over time (--metrics without
 * --kernel). Moments count from start_unix_ns.
 */
#ifndef GPUPROF_SAMPLES_H
#define GPUPROF_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "format/status.h"
#include "gpuprof_counters.h"

struct gp_recording;

struct gp_sample {
	int64_t at_ns; /* its beginning; late by the time that it waited for the recorder */
	uint64_t took_ns;
};

/* Figures of the samples in the span; NAN if none has a value. */
struct gp_sample_figures {
	double mean; /* weighted by time */
	double median, most;
};

struct gp_sampled_device {
	unsigned device;
	size_t samples; /* in the span */
	struct gp_sample *sample;
	double *value;	  /* sample k, metric m: value[k * metrics + m]; NAN: unknown */
	uint64_t took_ns; /* median of the samples */
	uint64_t lost;	  /* samples that are missing in the span */
	struct gp_sample_figures figures[GP_COUNTER_METRICS];
};

struct gp_samples {
	size_t metrics;
	const char *metric[GP_COUNTER_METRICS]; /* CUPTI's names */
	const char *label[GP_COUNTER_METRICS];	/* of `--metrics utilization`; else the name */
	size_t devices;				/* that have samples, by number */
	struct gp_sampled_device *device;
	uint64_t beyond; /* samples beyond the memory for a report */
};

/*
 * One replay. Samples that begin in [from_ns, to_ns). Free with gp_samples_free, also after a
 * failure. GP_E_MEMORY, and what a replay returns.
 */
enum gp_status gp_samples_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				struct gp_samples *out);
void gp_samples_free(struct gp_samples *samples);

#endif
