/*
 * One call of CUPTI after the other (range_profiler.h). The order is that of NVIDIA's sample
 * "range_profiling" with automatic ranges and user replay.
 */
#include "range_profiler.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include "../cupti/cupti_holder.h"
#include "range_profiler_abi.h"

#define NESTING 1u /* automatic ranges have one level */

static const char *profiler_refusal(const char *function, uint32_t result, char *why)
{
	const char *holder = gp_cupti_holder();
	switch (result) {
	case GP_CUPTI_INSUFFICIENT_PRIVILEGES:
		return "the driver allows counters only to root (CAP_SYS_ADMIN); the module option "
		       "NVreg_RestrictProfilingToAdminUsers=0 allows them to all";
	case GP_CUPTI_VIRTUAL_PRIVILEGES:
		return "the host of this virtual GPU does not allow counters";
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

/* Zeroed pages; NULL: none. */
static uint8_t *image_make(size_t bytes)
{
	void *pages =
		mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return pages != MAP_FAILED ? pages : NULL;
}

/* Returns from the caller if the call failed. */
#define TRY(function, parameters)                                        \
	do {                                                             \
		const uint32_t result = cupti->function(parameters);     \
		if (result != GP_CUPTI_SUCCESS)                          \
			return profiler_refusal(#function, result, why); \
	} while (0)

const char *gp_profiler_missing(const struct gp_cupti *cupti)
{
#define CALL(symbol)        \
	if (!cupti->symbol) \
		return #symbol;
	CALL(cuptiGetVersion)
#include "range_profiler.def"
#undef CALL
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
	TRY(cuptiProfilerInitialize, GP_PARAMS(gp_profiler_init, unused, .unused = NULL));
	return NULL;
}

/* ---- open ---- */

static const char *profiler_support(const struct gp_cupti *cupti, int device, char *why)
{
	struct gp_profiler_support *s = GP_PARAMS(gp_profiler_support, api, .device = device);
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

/* The driver's refusal of counters shows here first. */
static const char *profiler_available(const struct gp_cupti *cupti, void *context, uint8_t **image,
				      size_t *bytes, char *why)
{
	struct gp_profiler_available *a =
		GP_PARAMS(gp_profiler_available, image, .context = context);
	TRY(cuptiProfilerGetCounterAvailability, a);
	*bytes = a->bytes;
	*image = a->image = image_make(a->bytes);
	if (!*image)
		return "no memory for counters";
	TRY(cuptiProfilerGetCounterAvailability, a);
	return NULL;
}

static const char *profiler_host(const struct gp_cupti *cupti, const char *chip,
				 const uint8_t *available, void **host, char *why)
{
	*host = NULL;
	struct gp_host_init *h = GP_PARAMS(gp_host_init, host, .type = GP_CUPTI_RANGE_PROFILER,
					   .chip = chip, .available = available);
	TRY(cuptiProfilerHostInitialize, h);
	*host = h->host;
	return NULL;
}

static void profiler_host_end(const struct gp_cupti *cupti, void *host)
{
	cupti->cuptiProfilerHostDeinitialize(GP_PARAMS(gp_host_end, host, .host = host));
}

/* A host object of its own for each metric, since a refused list does not name its fault. */
static const char *profiler_select(const struct gp_cupti *cupti, const char *chip,
				   const uint8_t *available, struct gp_metrics *metrics, char *why)
{
	size_t kept = 0;
	for (size_t k = 0; k < metrics->count; k++) {
		void *host;
		const char *refusal = profiler_host(cupti, chip, available, &host, why);
		if (refusal)
			return refusal;
		const uint32_t result = cupti->cuptiProfilerHostConfigAddMetrics(
			GP_PARAMS(gp_host_metrics, count, .host = host, .names = &metrics->name[k],
				  .count = 1));
		profiler_host_end(cupti, host);
		if (result == GP_CUPTI_SUCCESS) {
			metrics->name[kept++] = metrics->name[k];
		} else if (result != GP_CUPTI_INVALID_METRIC &&
			   result != GP_CUPTI_INVALID_PARAMETER) {
			return profiler_refusal("cuptiProfilerHostConfigAddMetrics", result, why);
		} else if (!metrics->is_usual) {
			snprintf(why, GP_PROFILER_WHY, "GPU %s has no metric '%.120s'", chip,
				 metrics->name[k]);
			return why;
		}
	}
	metrics->count = kept;
	return kept ? NULL : "the GPU has none of the metrics";
}

/* The image lists the counters of each pass. */
static const char *profiler_config(const struct gp_cupti *cupti, struct gp_range_profiler *p,
				   const struct gp_metrics *metrics, char *why)
{
	TRY(cuptiProfilerHostConfigAddMetrics,
	    GP_PARAMS(gp_host_metrics, count, .host = p->host, .names = metrics->name,
		      .count = metrics->count));
	struct gp_host_config_size *size = GP_PARAMS(gp_host_config_size, bytes, .host = p->host);
	TRY(cuptiProfilerHostGetConfigImageSize, size);
	p->config_bytes = size->bytes;
	p->config = image_make(p->config_bytes);
	if (!p->config)
		return "no memory for counters";
	TRY(cuptiProfilerHostGetConfigImage,
	    GP_PARAMS(gp_host_config, image, .host = p->host, .bytes = p->config_bytes,
		      .image = p->config));
	struct gp_host_passes *passes =
		GP_PARAMS(gp_host_passes, passes, .bytes = p->config_bytes, .image = p->config);
	TRY(cuptiProfilerHostGetNumOfPasses, passes);
	p->passes = passes->passes;
	return NULL;
}

const char *gp_profiler_open(const struct gp_cupti *cupti, struct gp_range_profiler *p,
			     void *context, int device, struct gp_metrics *metrics, char *why)
{
	uint8_t *available = NULL;
	size_t bytes = 0;
	*p = (struct gp_range_profiler){ .context = context };
	struct gp_profiler_chip *chip = GP_PARAMS(gp_profiler_chip, name, .device = (size_t)device);
	const char *refusal = profiler_support(cupti, device, why);
	if (!refusal)
		TRY(cuptiDeviceGetChipName, chip);
	if (!refusal)
		refusal = profiler_available(cupti, context, &available, &bytes, why);
	if (!refusal)
		refusal = profiler_select(cupti, chip->name, available, metrics, why);
	if (!refusal)
		refusal = profiler_host(cupti, chip->name, available, &p->host, why);
	if (!refusal)
		refusal = profiler_config(cupti, p, metrics, why);
	if (available)
		munmap(available, bytes + 1);
	return refusal;
}

void gp_profiler_close(const struct gp_cupti *cupti, struct gp_range_profiler *p)
{
	if (p->host)
		profiler_host_end(cupti, p->host);
	if (p->config)
		munmap(p->config, p->config_bytes + 1);
	if (p->data)
		munmap(p->data, p->data_bytes + 1);
	*p = (struct gp_range_profiler){ 0 };
}

/* ---- measurements ---- */

const char *gp_profiler_enable(const struct gp_cupti *cupti, struct gp_range_profiler *p,
			       const struct gp_metrics *metrics, char *why)
{
	struct gp_range_enable *enable = GP_PARAMS(gp_range_enable, object, .context = p->context);
	TRY(cuptiRangeProfilerEnable, enable);
	p->object = enable->object;
	struct gp_range_data_size *size =
		GP_PARAMS(gp_range_data_size, bytes, .object = p->object, .names = metrics->name,
			  .count = metrics->count, .ranges = 1, .nodes = 1);
	TRY(cuptiRangeProfilerGetCounterDataSize, size);
	if (p->data && p->data_bytes != size->bytes) {
		munmap(p->data, p->data_bytes + 1);
		p->data = NULL;
	}
	if (!p->data)
		p->data = image_make(size->bytes);
	p->data_bytes = size->bytes;
	if (!p->data)
		return "no memory for counters";
	TRY(cuptiRangeProfilerCounterDataImageInitialize,
	    GP_PARAMS(gp_range_data, data, .object = p->object, .bytes = p->data_bytes,
		      .data = p->data));
	TRY(cuptiRangeProfilerSetConfig,
	    GP_PARAMS(gp_range_config, level, .object = p->object, .config_bytes = p->config_bytes,
		      .config = p->config, .data_bytes = p->data_bytes, .data = p->data,
		      .range = GP_CUPTI_AUTO_RANGE, .replay = GP_CUPTI_USER_REPLAY, .ranges = 1,
		      .levels = NESTING, .level_least = NESTING, .level = NESTING));
	return NULL;
}

void gp_profiler_disable(const struct gp_cupti *cupti, struct gp_range_profiler *p)
{
	if (!p->object)
		return;
	if (p->is_started)
		cupti->cuptiRangeProfilerStop(
			GP_PARAMS(gp_range_stop, is_complete, .object = p->object));
	p->is_started = false;
	cupti->cuptiRangeProfilerDisable(GP_PARAMS(gp_range_object, object, .object = p->object));
	p->object = NULL;
}

const char *gp_profiler_start(const struct gp_cupti *cupti, struct gp_range_profiler *p, char *why)
{
	TRY(cuptiRangeProfilerStart, GP_PARAMS(gp_range_object, object, .object = p->object));
	p->is_started = true;
	return NULL;
}

const char *gp_profiler_stop(const struct gp_cupti *cupti, struct gp_range_profiler *p,
			     bool *is_complete, char *why)
{
	struct gp_range_stop *stop = GP_PARAMS(gp_range_stop, is_complete, .object = p->object);
	TRY(cuptiRangeProfilerStop, stop);
	p->is_started = false;
	*is_complete = stop->is_complete != 0;
	return NULL;
}

const char *gp_profiler_values(const struct gp_cupti *cupti, struct gp_range_profiler *p,
			       const struct gp_metrics *metrics, double *values, bool *is_clean,
			       char *why)
{
	struct gp_range_decode *decode = GP_PARAMS(gp_range_decode, dropped, .object = p->object);
	TRY(cuptiRangeProfilerDecodeData, decode);
	struct gp_range_info *info =
		GP_PARAMS(gp_range_info, ranges, .data = p->data, .bytes = p->data_bytes);
	TRY(cuptiRangeProfilerGetCounterDataInfo, info);
	*is_clean = decode->dropped == 0 && info->ranges == 1;
	if (!*is_clean)
		return NULL;
	TRY(cuptiProfilerHostEvaluateToGpuValues,
	    GP_PARAMS(gp_host_values, values, .host = p->host, .data = p->data,
		      .bytes = p->data_bytes, .names = metrics->name, .count = metrics->count,
		      .values = values));
	return NULL;
}
