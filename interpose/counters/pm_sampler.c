/* One call of CUPTI after the other (pm_sampler.h). */
#include "pm_sampler.h"

#define SAMPLES 512u		   /* of a counter data image */
#define HARDWARE_BYTES (64u << 20) /* room for a second at 1 ms and 64 KB a sample */
#define DECODES_MOST 1000u	   /* of one call: a GPU that is faster than we are */

/* ---- open ---- */

/* The driver's refusal of counters shows here first. */
static const char *pm_available(const struct gp_cupti *cupti, unsigned device, uint8_t **image,
				size_t *bytes, char *why)
{
	struct gp_pm_available *a = GP_PARAMS(gp_pm_available, image, .device = device);
	GP_TRY(cuptiPmSamplingGetCounterAvailability, a);
	*bytes = a->bytes;
	*image = a->image = gp_image_make(a->bytes);
	if (!*image)
		return "no memory for counters";
	GP_TRY(cuptiPmSamplingGetCounterAvailability, a);
	return NULL;
}

/* Until a CUPTI and a GPU accept: CUPTI 12.6 has no `append`, and GA100 counts only cycles. */
static const char *pm_configure(const struct gp_cupti *cupti, struct gp_pm_sampler *p,
				uint64_t interval_ns, char *why)
{
	struct gp_pm_config *c = GP_PARAMS(
		gp_pm_config, append, .object = p->object, .config_bytes = p->config.bytes,
		.config = p->config.image, .hardware_bytes = HARDWARE_BYTES);
	const struct {
		size_t size;
		int trigger;
	} attempts[] = { { GP_PARAMS_SIZE(gp_pm_config, append), GP_CUPTI_EVERY_NS },
			 { GP_PARAMS_SIZE(gp_pm_config, trigger), GP_CUPTI_EVERY_NS },
			 { GP_PARAMS_SIZE(gp_pm_config, trigger), GP_CUPTI_EVERY_CYCLES } };
	uint32_t result = GP_CUPTI_INVALID_PARAMETER;
	for (size_t k = 0;
	     k < sizeof attempts / sizeof *attempts &&
	     (result == GP_CUPTI_INVALID_PARAMETER || result == GP_CUPTI_NOT_SUPPORTED);
	     k++) {
		c->size = attempts[k].size;
		c->trigger = attempts[k].trigger;
		c->interval = interval_ns; /* of cycles: some GPUs' clock is a little above 1 GHz */
		result = cupti->cuptiPmSamplingSetConfig(c);
	}
	return result ? gp_profiler_refusal("cuptiPmSamplingSetConfig", result, why) : NULL;
}

static const char *pm_data_clear(const struct gp_cupti *cupti, struct gp_pm_sampler *p, char *why)
{
	GP_TRY(cuptiPmSamplingCounterDataImageInitialize,
	       GP_PARAMS(gp_pm_data, data, .object = p->object, .bytes = p->data_bytes,
			 .data = p->data));
	return NULL;
}

static const char *pm_start(const struct gp_cupti *cupti, struct gp_pm_sampler *p, char *why)
{
	GP_TRY(cuptiPmSamplingStart, GP_PARAMS(gp_pm_object, object, .object = p->object));
	p->is_started = p->is_first = true;
	return NULL;
}

static const char *pm_enable(const struct gp_cupti *cupti, struct gp_pm_sampler *p,
			     const struct gp_metrics *metrics, uint64_t interval_ns, char *why)
{
	struct gp_pm_enable *enable = GP_PARAMS(gp_pm_enable, object, .device = p->device);
	const uint32_t status = cupti->cuptiPmSamplingEnable(enable);
	if (status) /* INVALID_OPERATION: it is enabled already */
		return gp_profiler_refusal(
			"cuptiPmSamplingEnable",
			status == GP_CUPTI_INVALID_OPERATION ? GP_CUPTI_HARDWARE_BUSY : status,
			why);
	p->object = enable->object;
	const char *refusal = pm_configure(cupti, p, interval_ns, why);
	if (refusal)
		return refusal;
	struct gp_pm_data_size *size =
		GP_PARAMS(gp_pm_data_size, bytes, .object = p->object, .names = metrics->name,
			  .count = metrics->count, .samples = SAMPLES);
	GP_TRY(cuptiPmSamplingGetCounterDataSize, size);
	p->data_bytes = size->bytes;
	p->data = gp_image_make(size->bytes);
	if (!p->data)
		return "no memory for counters";
	refusal = pm_data_clear(cupti, p, why);
	return refusal ? refusal : pm_start(cupti, p, why);
}

const char *gp_pm_open(const struct gp_cupti *cupti, struct gp_pm_sampler *p, unsigned device,
		       struct gp_metrics *metrics, uint64_t interval_ns, char *why)
{
	uint8_t *available = NULL;
	size_t bytes = 0;
	*p = (struct gp_pm_sampler){ .device = device };
	struct gp_profiler_chip *name = GP_PARAMS(gp_profiler_chip, name, .device = device);
	const char *refusal = gp_profiler_support(cupti, (int)device, GP_CUPTI_API_SAMPLES, why);
	if (!refusal)
		GP_TRY(cuptiDeviceGetChipName, name);
	if (!refusal)
		refusal = pm_available(cupti, device, &available, &bytes, why);
	const struct gp_chip chip = { name->name, available, GP_CUPTI_PM_SAMPLING };
	if (!refusal)
		refusal = gp_metrics_select(cupti, &chip, metrics, why);
	if (!refusal)
		refusal = gp_metrics_fit(cupti, &chip, metrics, why);
	if (!refusal)
		refusal = gp_metric_config_open(cupti, &chip, metrics, &p->config, why);
	gp_image_free(available, bytes);
	return refusal ? refusal : pm_enable(cupti, p, metrics, interval_ns, why);
}

/* ---- samples ---- */

/* The first sample after a start has no beginning of its own. */
static bool pm_sample_is_whole(struct gp_pm_sampler *p, const struct gp_pm_sample *s)
{
	const bool is_first = p->is_first;
	p->is_first = false;
	return !is_first && s->ended > s->began && s->began >= p->ended;
}

static void pm_gap(struct gp_pm_sampler *p, uint64_t began, const struct gp_pm_hand *hand)
{
	const uint64_t missing = p->took ? (began - p->ended + p->took / 2) / p->took : 0;
	if (missing)
		hand->lost(p->device, missing);
}

static const char *pm_sample(const struct gp_cupti *cupti, struct gp_pm_sampler *p, size_t index,
			     const struct gp_metrics *metrics, const struct gp_pm_hand *hand,
			     char *why)
{
	double values[GP_METRICS_MOST] = { 0 };
	struct gp_pm_sample *s = GP_PARAMS(gp_pm_sample, ended, .object = p->object,
					   .data = p->data, .bytes = p->data_bytes, .index = index);
	GP_TRY(cuptiPmSamplingCounterDataGetSampleInfo, s);
	if (!pm_sample_is_whole(p, s))
		return NULL;
	GP_TRY(cuptiProfilerHostEvaluateToGpuValues,
	       GP_PARAMS(gp_host_values, values, .host = p->config.host, .data = p->data,
			 .bytes = p->data_bytes, .range = index, .names = metrics->name,
			 .count = metrics->count, .values = values));
	pm_gap(p, s->began, hand);
	p->ended = s->ended;
	p->took = s->ended - s->began;
	hand->sample(p->device, s->began, p->took, values, metrics->count);
	return NULL;
}

/* `more`: the image was full. */
static const char *pm_decode_once(const struct gp_cupti *cupti, struct gp_pm_sampler *p,
				  const struct gp_metrics *metrics, const struct gp_pm_hand *hand,
				  bool *more, bool *is_full, char *why)
{
	struct gp_pm_decode *decode = GP_PARAMS(gp_pm_decode, overflow, .object = p->object,
						.data = p->data, .bytes = p->data_bytes);
	const uint32_t status = cupti->cuptiPmSamplingDecodeData(decode);
	if (status && status != GP_CUPTI_OUT_OF_MEMORY)
		return gp_profiler_refusal("cuptiPmSamplingDecodeData", status, why);
	*is_full |= status || decode->overflow;
	*more = !status && decode->reason == GP_CUPTI_DATA_FULL;
	struct gp_pm_info *info =
		GP_PARAMS(gp_pm_info, completed, .data = p->data, .bytes = p->data_bytes);
	GP_TRY(cuptiPmSamplingGetCounterDataInfo, info);
	const char *refusal = NULL;
	for (size_t k = 0; k < info->completed && k < SAMPLES && !refusal; k++)
		refusal = pm_sample(cupti, p, k, metrics, hand, why);
	return refusal ? refusal : pm_data_clear(cupti, p, why);
}

const char *gp_pm_decode(const struct gp_cupti *cupti, struct gp_pm_sampler *p,
			 const struct gp_metrics *metrics, const struct gp_pm_hand *hand, char *why)
{
	bool more = true, is_full = false;
	const char *refusal = NULL;
	for (unsigned k = 0; more && !refusal && k < DECODES_MOST; k++)
		refusal = pm_decode_once(cupti, p, metrics, hand, &more, &is_full, why);
	if (refusal || !is_full || !p->is_started)
		return refusal;
	refusal = gp_pm_stop(cupti, p, why);
	return refusal ? refusal : pm_start(cupti, p, why);
}

const char *gp_pm_stop(const struct gp_cupti *cupti, struct gp_pm_sampler *p, char *why)
{
	if (!p->is_started)
		return NULL;
	p->is_started = false;
	GP_TRY(cuptiPmSamplingStop, GP_PARAMS(gp_pm_object, object, .object = p->object));
	return NULL;
}

void gp_pm_close(const struct gp_cupti *cupti, struct gp_pm_sampler *p)
{
	char why[GP_PROFILER_WHY];
	gp_pm_stop(cupti, p, why);
	if (p->object)
		cupti->cuptiPmSamplingDisable(GP_PARAMS(gp_pm_object, object, .object = p->object));
	gp_metric_config_close(cupti, &p->config);
	gp_image_free(p->data, p->data_bytes);
	*p = (struct gp_pm_sampler){ .device = p->device };
}
