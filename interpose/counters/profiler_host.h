/*
 * What counters of launches and samples of a GPU share: CUPTI's profiling library, refusals, and
 * its host interface, which schedules metrics into passes.
 */
#ifndef GP_PROFILER_HOST_H
#define GP_PROFILER_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "../cupti/cupti_library.h"
#include "range_profiler_abi.h"

#define GP_METRICS_MOST 64u
#define GP_METRICS_BYTES 2048u /* of their names */
#define GP_PROFILER_WHY 640u   /* bytes of a reason */

/* The requested metrics. */
struct gp_metrics {
	const char *name[GP_METRICS_MOST];
	size_t count;
	bool is_usual; /* drop those that the GPU lacks, instead of refusing all */
};

/* Metrics that one word stands for. */
struct gp_metric_set {
	const char *word;
	const char *const *name;
	size_t names;
};
/* Names with commas between them, or the word. `room`: GP_METRICS_BYTES, for the names. */
void gp_metrics_parse(struct gp_metrics *out, const char *text, const struct gp_metric_set *set,
		      char *room);

/* For the host interface. `available`: CUPTI's image; NULL: all counters of the chip. */
struct gp_chip {
	const char *name;
	const uint8_t *available;
	int profiler; /* GP_CUPTI_RANGE_PROFILER or GP_CUPTI_PM_SAMPLING */
};

/* Metrics in passes. `image` lists the counters of each pass. */
struct gp_metric_config {
	void *host;
	uint8_t *image;
	size_t bytes, passes;
};

/* A call's refusal in English, in `why` or static. */
const char *gp_profiler_refusal(const char *function, uint32_t result, char *why);

/* Returns from the caller, which has `cupti` and `why`, if the call failed. */
#define GP_TRY(function, parameters)                                        \
	do {                                                                \
		const uint32_t result = cupti->function(parameters);        \
		if (result != GP_CUPTI_SUCCESS)                             \
			return gp_profiler_refusal(#function, result, why); \
	} while (0)

/* Zeroed pages; NULL: none. */
uint8_t *gp_image_make(size_t bytes);
void gp_image_free(uint8_t *image, size_t bytes);

/* Each returns NULL, or a reason in English in `why` (GP_PROFILER_WHY bytes). */
/* Loads CUPTI, for this `api`. Only for a thread of ours, as gp_cupti_load. */
const char *gp_profiler_load(const struct gp_cupti **cupti, int api, uint32_t *version, char *why);
/* Loads and initializes its profiling libraries. */
const char *gp_profiler_init(const struct gp_cupti *cupti, char *why);
/* `api`: GP_CUPTI_API_RANGES or GP_CUPTI_API_SAMPLES. */
const char *gp_profiler_support(const struct gp_cupti *cupti, int device, int api, char *why);
/* Removes the metrics that the chip lacks. */
const char *gp_metrics_select(const struct gp_cupti *cupti, const struct gp_chip *chip,
			      struct gp_metrics *metrics, char *why);
/*
 * Removes the metrics that do not fit one pass with those before them. Named ones are refused
 * instead, and the reason has those that fit.
 */
const char *gp_metrics_fit(const struct gp_cupti *cupti, const struct gp_chip *chip,
			   struct gp_metrics *metrics, char *why);
/* After a reason, too, gp_metric_config_close is called. */
const char *gp_metric_config_open(const struct gp_cupti *cupti, const struct gp_chip *chip,
				  const struct gp_metrics *metrics, struct gp_metric_config *config,
				  char *why);
void gp_metric_config_close(const struct gp_cupti *cupti, struct gp_metric_config *config);

#endif
