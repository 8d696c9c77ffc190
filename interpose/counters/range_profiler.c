/*
 * One call of CUPTI after the other (range_profiler.h). The order is that of NVIDIA's sample
 * "range_profiling" with automatic ranges and user replay.
 */
#include "range_profiler.h"

#define NESTING 1u /* automatic ranges have one level */

/* The driver's refusal of counters shows here first. */
static const char *profiler_available(const struct gp_cupti *cupti, void *context, uint8_t **image,
				      size_t *bytes, char *why)
{
	struct gp_profiler_available *a =
		GP_PARAMS(gp_profiler_available, image, .context = context);
	GP_TRY(cuptiProfilerGetCounterAvailability, a);
	*bytes = a->bytes;
	*image = a->image = gp_image_make(a->bytes);
	if (!*image)
		return "no memory for counters";
	GP_TRY(cuptiProfilerGetCounterAvailability, a);
	return NULL;
}

const char *gp_profiler_open(const struct gp_cupti *cupti, struct gp_range_profiler *p,
			     void *context, int device, struct gp_metrics *metrics, char *why)
{
	uint8_t *available = NULL;
	size_t bytes = 0;
	*p = (struct gp_range_profiler){ .context = context };
	struct gp_profiler_chip *name = GP_PARAMS(gp_profiler_chip, name, .device = (size_t)device);
	const char *refusal = gp_profiler_support(cupti, device, GP_CUPTI_API_RANGES, why);
	if (!refusal)
		GP_TRY(cuptiDeviceGetChipName, name);
	if (!refusal)
		refusal = profiler_available(cupti, context, &available, &bytes, why);
	const struct gp_chip chip = { name->name, available, GP_CUPTI_RANGE_PROFILER };
	if (!refusal)
		refusal = gp_metrics_select(cupti, &chip, metrics, why);
	if (!refusal)
		refusal = gp_metric_config_open(cupti, &chip, metrics, &p->config, why);
	gp_image_free(available, bytes);
	return refusal;
}

void gp_profiler_close(const struct gp_cupti *cupti, struct gp_range_profiler *p)
{
	gp_metric_config_close(cupti, &p->config);
	gp_image_free(p->data, p->data_bytes);
	*p = (struct gp_range_profiler){ 0 };
}

/* ---- measurements ---- */

const char *gp_profiler_enable(const struct gp_cupti *cupti, struct gp_range_profiler *p,
			       const struct gp_metrics *metrics, char *why)
{
	struct gp_range_enable *enable = GP_PARAMS(gp_range_enable, object, .context = p->context);
	GP_TRY(cuptiRangeProfilerEnable, enable);
	p->object = enable->object;
	struct gp_range_data_size *size =
		GP_PARAMS(gp_range_data_size, bytes, .object = p->object, .names = metrics->name,
			  .count = metrics->count, .ranges = 1, .nodes = 1);
	GP_TRY(cuptiRangeProfilerGetCounterDataSize, size);
	if (p->data_bytes != size->bytes) {
		gp_image_free(p->data, p->data_bytes);
		p->data = NULL;
	}
	if (!p->data)
		p->data = gp_image_make(size->bytes);
	p->data_bytes = size->bytes;
	if (!p->data)
		return "no memory for counters";
	GP_TRY(cuptiRangeProfilerCounterDataImageInitialize,
	       GP_PARAMS(gp_range_data, data, .object = p->object, .bytes = p->data_bytes,
			 .data = p->data));
	GP_TRY(cuptiRangeProfilerSetConfig,
	       GP_PARAMS(gp_range_config, level, .object = p->object,
			 .config_bytes = p->config.bytes, .config = p->config.image,
			 .data_bytes = p->data_bytes, .data = p->data, .range = GP_CUPTI_AUTO_RANGE,
			 .replay = GP_CUPTI_USER_REPLAY, .ranges = 1, .levels = NESTING,
			 .level_least = NESTING, .level = NESTING));
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
	GP_TRY(cuptiRangeProfilerStart, GP_PARAMS(gp_range_object, object, .object = p->object));
	p->is_started = true;
	return NULL;
}

const char *gp_profiler_stop(const struct gp_cupti *cupti, struct gp_range_profiler *p,
			     bool *is_complete, char *why)
{
	struct gp_range_stop *stop = GP_PARAMS(gp_range_stop, is_complete, .object = p->object);
	GP_TRY(cuptiRangeProfilerStop, stop);
	p->is_started = false;
	*is_complete = stop->is_complete != 0;
	return NULL;
}

const char *gp_profiler_values(const struct gp_cupti *cupti, struct gp_range_profiler *p,
			       const struct gp_metrics *metrics, double *values, bool *is_clean,
			       char *why)
{
	struct gp_range_decode *decode = GP_PARAMS(gp_range_decode, dropped, .object = p->object);
	GP_TRY(cuptiRangeProfilerDecodeData, decode);
	struct gp_range_info *info =
		GP_PARAMS(gp_range_info, ranges, .data = p->data, .bytes = p->data_bytes);
	GP_TRY(cuptiRangeProfilerGetCounterDataInfo, info);
	*is_clean = decode->dropped == 0 && info->ranges == 1;
	if (!*is_clean)
		return NULL;
	GP_TRY(cuptiProfilerHostEvaluateToGpuValues,
	       GP_PARAMS(gp_host_values, values, .host = p->config.host, .data = p->data,
			 .bytes = p->data_bytes, .names = metrics->name, .count = metrics->count,
			 .values = values));
	return NULL;
}
