/* Calls of CUPTI's host interface (profiler_host.h). */
#include "profiler_host.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../cupti/cupti_holder.h"

const char *gp_profiler_refusal(const char *function, uint32_t result, char *why)
{
	const char *holder = gp_cupti_holder();
	switch (result) {
	case GP_CUPTI_INSUFFICIENT_PRIVILEGES:
		return "the driver allows counters only to root (CAP_SYS_ADMIN); the module option "
		       "NVreg_RestrictProfilingToAdminUsers=0 allows them to all";
	case GP_CUPTI_VIRTUAL_PRIVILEGES:
		return "the host of this virtual GPU does not allow counters";
	case GP_CUPTI_MIG_NOT_SUPPORTED:
		return "CUPTI does not support counters on an instance of MIG";
	case GP_CUPTI_HARDWARE_BUSY:
		return "another tool or process uses the GPU's counters";
	case GP_CUPTI_INVALID_CHIP:
		return "this version of CUPTI does not know the GPU";
	case GP_CUPTI_MULTIPLE_SUBSCRIBERS:
		snprintf(why, GP_PROFILER_WHY, "%s uses CUPTI, which serves one tool at a time",
			 holder ? holder : "another tool");
		return why;
	default:
		snprintf(why, GP_PROFILER_WHY, "%s returned error %u%s%s", function, result,
			 holder ? " beside " : "", holder ? holder : "");
		return why;
	}
}

uint8_t *gp_image_make(size_t bytes)
{
	void *pages =
		mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return pages != MAP_FAILED ? pages : NULL;
}

void gp_image_free(uint8_t *image, size_t bytes)
{
	if (image)
		munmap(image, bytes + 1);
}

/* The first function that counters need and that the library lacks; NULL: it has all. */
static const char *profiler_missing(const struct gp_cupti *cupti, int api)
{
#define CALL(symbol)        \
	if (!cupti->symbol) \
		return #symbol;
	CALL(cuptiGetVersion)
#include "range_profiler.def"
#undef CALL
#define CALL(symbol)                                       \
	if (api == GP_CUPTI_API_SAMPLES && !cupti->symbol) \
		return #symbol;
#include "pm_sampling.def"
#undef CALL
	return NULL;
}

const char *gp_profiler_load(const struct gp_cupti **cupti, int api, uint32_t *version, char *why)
{
	if (gp_cupti_count() > 1)
		return "the process has two CUPTI libraries";
	if (!gp_cupti_load())
		return "libcupti was not found";
	*cupti = gp_cupti_find();
	const char *missing = profiler_missing(*cupti, api);
	if (missing) {
		snprintf(why, GP_PROFILER_WHY,
			 "libcupti lacks %s: counters need that of CUDA 12.6 or newer", missing);
		return why;
	}
	(*cupti)->cuptiGetVersion(version);
	return NULL;
}

const char *gp_profiler_init(const struct gp_cupti *cupti, char *why)
{
	/*
	 * CUPTI opens both by their names, which the loader does not find beside PyTorch's CUPTI or
	 * in a toolkit's folder. Once loaded, they are found.
	 */
	static const char *const names[] = { "libnvperf_host.so", "libnvperf_target.so" };
	for (size_t k = 0; k < sizeof names / sizeof *names; k++)
		if (!gp_cupti_load_beside(names[k])) {
			snprintf(why, GP_PROFILER_WHY, "%s was not found beside libcupti",
				 names[k]);
			return why;
		}
	GP_TRY(cuptiProfilerInitialize, GP_PARAMS(gp_profiler_init, unused, .unused = NULL));
	return NULL;
}

const char *gp_profiler_support(const struct gp_cupti *cupti, int device, int api, char *why)
{
	struct gp_profiler_support *s =
		GP_PARAMS(gp_profiler_support, api, .device = device, .api = api);
	/* older CUPTIs do not know all fields: then the next calls show whether it works */
	if (cupti->cuptiProfilerDeviceSupported(s) != GP_CUPTI_SUCCESS ||
	    (s->supported != GP_CUPTI_UNSUPPORTED && s->supported != GP_CUPTI_DISABLED))
		return NULL;
	const struct {
		int level;
		const char *name;
	} parts[] = {
		{ s->architecture, "architecture" }, { s->sli, "SLI" },
		{ s->vgpu, "virtual GPU" },	     { s->confidential, "confidential computing" },
		{ s->mining, "mining GPU" },	     { s->wsl, "WSL" }
	};
	const char *cause = "model";
	for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
		if (parts[k].level == GP_CUPTI_UNSUPPORTED || parts[k].level == GP_CUPTI_DISABLED)
			cause = parts[k].name;
	snprintf(why, GP_PROFILER_WHY, "CUPTI does not support counters on this GPU (%s)", cause);
	return why;
}

/* ---- metrics ---- */

void gp_metrics_parse(struct gp_metrics *out, const char *text, const struct gp_metric_set *set,
		      char *room)
{
	*out = (struct gp_metrics){ .is_usual = strcmp(text, set->word) == 0 };
	for (size_t k = 0; out->is_usual && k < set->names; k++)
		out->name[out->count++] = set->name[k];
	if (out->is_usual)
		return;
	char *rest;
	snprintf(room, GP_METRICS_BYTES, "%s", text);
	for (char *name = strtok_r(room, ",", &rest); name && out->count < GP_METRICS_MOST;
	     name = strtok_r(NULL, ",", &rest))
		out->name[out->count++] = name;
}

static const char *host_open(const struct gp_cupti *cupti, const struct gp_chip *chip, void **host,
			     char *why)
{
	*host = NULL;
	struct gp_host_init *h = GP_PARAMS(gp_host_init, host, .type = chip->profiler,
					   .chip = chip->name, .available = chip->available);
	GP_TRY(cuptiProfilerHostInitialize, h);
	*host = h->host;
	return NULL;
}

static void host_close(const struct gp_cupti *cupti, void *host)
{
	cupti->cuptiProfilerHostDeinitialize(GP_PARAMS(gp_host_end, host, .host = host));
}

/*
 * A host object of its own for each metric, since a refused list does not name its fault. CUPTI
 * 13.0 returns INVALID_PARAMETER for a name that it does not know, and UNKNOWN for NVLink's metrics
 * on an H100 without links.
 */
const char *gp_metrics_select(const struct gp_cupti *cupti, const struct gp_chip *chip,
			      struct gp_metrics *metrics, char *why)
{
	size_t kept = 0;
	uint32_t refused = GP_CUPTI_SUCCESS;
	for (size_t k = 0; k < metrics->count; k++) {
		void *host;
		const char *refusal = host_open(cupti, chip, &host, why);
		if (refusal)
			return refusal;
		const uint32_t result = cupti->cuptiProfilerHostConfigAddMetrics(
			GP_PARAMS(gp_host_metrics, count, .host = host, .names = &metrics->name[k],
				  .count = 1));
		host_close(cupti, host);
		if (result == GP_CUPTI_SUCCESS) {
			metrics->name[kept++] = metrics->name[k];
		} else if (!metrics->is_usual) {
			snprintf(why, GP_PROFILER_WHY, "GPU %s has no metric '%.120s' (error %u)",
				 chip->name, metrics->name[k], result);
			return why;
		} else {
			refused = result;
		}
	}
	metrics->count = kept;
	return kept ? NULL : gp_profiler_refusal("cuptiProfilerHostConfigAddMetrics", refused, why);
}

static const char *config_fill(const struct gp_cupti *cupti, struct gp_metric_config *c,
			       const struct gp_metrics *metrics, char *why)
{
	GP_TRY(cuptiProfilerHostConfigAddMetrics,
	       GP_PARAMS(gp_host_metrics, count, .host = c->host, .names = metrics->name,
			 .count = metrics->count));
	struct gp_host_config_size *size = GP_PARAMS(gp_host_config_size, bytes, .host = c->host);
	GP_TRY(cuptiProfilerHostGetConfigImageSize, size);
	c->bytes = size->bytes;
	c->image = gp_image_make(c->bytes);
	if (!c->image)
		return "no memory for counters";
	GP_TRY(cuptiProfilerHostGetConfigImage, GP_PARAMS(gp_host_config, image, .host = c->host,
							  .bytes = c->bytes, .image = c->image));
	struct gp_host_passes *passes =
		GP_PARAMS(gp_host_passes, passes, .bytes = c->bytes, .image = c->image);
	GP_TRY(cuptiProfilerHostGetNumOfPasses, passes);
	c->passes = passes->passes;
	return NULL;
}

const char *gp_metric_config_open(const struct gp_cupti *cupti, const struct gp_chip *chip,
				  const struct gp_metrics *metrics, struct gp_metric_config *config,
				  char *why)
{
	*config = (struct gp_metric_config){ 0 };
	const char *refusal = host_open(cupti, chip, &config->host, why);
	return refusal ? refusal : config_fill(cupti, config, metrics, why);
}

void gp_metric_config_close(const struct gp_cupti *cupti, struct gp_metric_config *config)
{
	if (config->host)
		host_close(cupti, config->host);
	gp_image_free(config->image, config->bytes);
	*config = (struct gp_metric_config){ 0 };
}

/* Whether they fit one pass. */
static const char *metrics_try(const struct gp_cupti *cupti, const struct gp_chip *chip,
			       const struct gp_metrics *metrics, bool *fit, char *why)
{
	struct gp_metric_config config;
	const char *refusal = gp_metric_config_open(cupti, chip, metrics, &config, why);
	*fit = config.passes == 1;
	gp_metric_config_close(cupti, &config);
	return refusal;
}

const char *gp_metrics_fit(const struct gp_cupti *cupti, const struct gp_chip *chip,
			   struct gp_metrics *metrics, char *why)
{
	struct gp_metrics kept = { .is_usual = metrics->is_usual };
	bool fit;
	const char *refusal = metrics_try(cupti, chip, metrics, &fit, why);
	if (refusal || fit)
		return refusal;
	for (size_t k = 0; k < metrics->count && !refusal; k++) {
		kept.name[kept.count++] = metrics->name[k];
		refusal = metrics_try(cupti, chip, &kept, &fit, why);
		kept.count -= !fit;
	}
	if (refusal)
		return refusal;
	if (metrics->is_usual && kept.count) {
		*metrics = kept;
		return NULL;
	}
	int used = snprintf(why, GP_PROFILER_WHY, "the metrics do not fit one pass; %s",
			    kept.count ? "these do:" : "none does");
	for (size_t k = 0; k < kept.count && used < (int)GP_PROFILER_WHY; k++)
		used += snprintf(why + used, GP_PROFILER_WHY - (size_t)used, "%s%s", k ? "," : " ",
				 kept.name[k]);
	return why;
}
