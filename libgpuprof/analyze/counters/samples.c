/*
 * Samples of GPUs over time. The GPU's clock is unknown but for its unit. A sample was read at or
 * after its end, so each reading bounds the distance of both clocks from above. The smallest bound
 * counts, and a bound of another moment counts with the most that the clocks drift in between.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../read/file/recording.h"
#include "../settle.h"

#define SAMPLED_VALUES_MOST (1u << 22) /* 32 MiB */
/* Crystals of both clocks are good to 50 ppm each. */
#define DRIFT_PARTS 10000u /* a 10,000th */
/* A sample is read after its end: at once, or after a capture. Longer ones cost the span's end. */
#define READ_LATE_NS 60000000000

struct device_samples {
	size_t samples, room;
	struct gp_sample *sample; /* at_ns: first the bound of the clocks' distance */
	uint64_t *began;	  /* of the GPU's clock */
	double *value;
};

struct samples_reading {
	struct gp_samples *out;
	struct device_samples device[GP_DEVICES];
	uint64_t lost[GP_DEVICES];
	size_t values;
	int64_t from_ns, to_ns;
};

static const char *label_of(const char *name)
{
	static const char *const usual[][2] = {
#define METRIC(label, text) { label, text },
#include "../../format/sampled_metrics.def"
#undef METRIC
	};
	for (size_t k = 0; k < sizeof usual / sizeof *usual; k++)
		if (strcmp(name, usual[k][1]) == 0)
			return usual[k][0];
	return name;
}

static void samples_name(struct gp_recording *recording, struct gp_samples *out)
{
	for (unsigned k = 0; k < GP_COUNTER_METRICS; k++) {
		const char *name = gp_recording_text(recording, GP_FACT, GP_FACT_METRIC + k);
		out->metric[k] = name ? name : "(unknown metric)";
		out->label[k] = label_of(out->metric[k]);
		out->metrics = name ? k + 1 : out->metrics;
	}
}

static bool device_grow(struct device_samples *d, size_t metrics)
{
	const size_t room = d->room * 2 + 256;
	struct gp_sample *sample = realloc(d->sample, room * sizeof *sample);
	d->sample = sample ? sample : d->sample;
	uint64_t *began = realloc(d->began, room * sizeof *began);
	d->began = began ? began : d->began;
	double *value = realloc(d->value, room * metrics * sizeof *value);
	d->value = value ? value : d->value;
	if (!sample || !began || !value)
		return false;
	d->room = room;
	return true;
}

/* The events of a sample come in a row. */
static enum gp_status sample_add(struct samples_reading *in, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	const size_t metrics = in->out->metrics;
	if (r->device >= GP_DEVICES || r->aux >= metrics || e->at_ns < in->from_ns ||
	    (in->to_ns < INT64_MAX - READ_LATE_NS && e->at_ns > in->to_ns + READ_LATE_NS))
		return GP_OK;
	struct device_samples *d = &in->device[r->device];
	if (d->samples == 0 || d->began[d->samples - 1] != r->sample.began_ns) {
		if (in->values + metrics > SAMPLED_VALUES_MOST) {
			in->out->beyond += r->aux == 0;
			return GP_OK;
		}
		if (d->samples == d->room && !device_grow(d, metrics))
			return GP_E_MEMORY;
		for (size_t k = 0; k < metrics; k++)
			d->value[d->samples * metrics + k] = NAN;
		const uint64_t ended = r->sample.began_ns + r->sample.took_ns;
		d->began[d->samples] = r->sample.began_ns;
		d->sample[d->samples++] =
			(struct gp_sample){ .at_ns = (int64_t)((uint64_t)e->at_ns - ended),
					    .took_ns = r->sample.took_ns };
		in->values += metrics;
	}
	memcpy(&d->value[(d->samples - 1) * metrics + r->aux], &r->sample.value, sizeof(double));
	return GP_OK;
}

static enum gp_status samples_read(struct gp_recording *recording, struct samples_reading *in)
{
	struct gp_event e;
	if (!gp_recording_keeps(recording, GP_SAMPLE) &&
	    !gp_recording_keeps(recording, GP_SAMPLES_LOST))
		return gp_recording_end(recording);
	enum gp_status status = gp_recording_rewind(recording);
	while (status == GP_OK && (status = gp_recording_next(recording, &e)) == GP_OK) {
		const struct gp_record *r = &e.record;
		if (r->kind == GP_SAMPLES_LOST && r->device < GP_DEVICES &&
		    e.at_ns >= in->from_ns && e.at_ns < in->to_ns)
			in->lost[r->device] += r->samples_lost.number;
		if (r->kind != GP_SAMPLE)
			continue;
		if (in->out->metrics == 0)
			samples_name(recording, in->out);
		status = sample_add(in, &e);
		if (status != GP_OK)
			return status;
	}
	return status == GP_END ? GP_OK : status;
}

/* ---- the clocks ---- */

/* The bound of one sample in its neighbour's direction. */
static int64_t clock_bound(const struct device_samples *d, size_t from, size_t to, int64_t bound)
{
	const uint64_t a = d->began[from], b = d->began[to];
	const int64_t drift = (int64_t)((a < b ? b - a : a - b) / DRIFT_PARTS);
	int64_t drifted;
	if (__builtin_add_overflow(bound, drift, &drifted))
		return d->sample[to].at_ns;
	return drifted < d->sample[to].at_ns ? drifted : d->sample[to].at_ns;
}

static void device_convert(struct device_samples *d)
{
	for (size_t k = 1; k < d->samples; k++)
		d->sample[k].at_ns = clock_bound(d, k - 1, k, d->sample[k - 1].at_ns);
	for (size_t k = d->samples; k-- > 1;)
		d->sample[k - 1].at_ns = clock_bound(d, k, k - 1, d->sample[k].at_ns);
	for (size_t k = 0; k < d->samples; k++)
		d->sample[k].at_ns = (int64_t)(d->began[k] + (uint64_t)d->sample[k].at_ns);
}

/* ---- figures ---- */

static int by_size(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;
	return a < b ? -1 : a > b;
}

/* `room`: of a number each sample. */
static struct gp_sample_figures figures_of(const struct gp_sampled_device *d, size_t metrics,
					   size_t metric, double *room)
{
	size_t count = 0;
	double sum = 0, time = 0;
	for (size_t k = 0; k < d->samples; k++) {
		const double value = d->value[k * metrics + metric];
		if (isnan(value))
			continue;
		sum += value * (double)d->sample[k].took_ns;
		time += (double)d->sample[k].took_ns;
		room[count++] = value;
	}
	if (count == 0 || time <= 0)
		return (struct gp_sample_figures){ NAN, NAN, NAN };
	qsort(room, count, sizeof *room, by_size);
	return (struct gp_sample_figures){ sum / time, room[(count - 1) / 2], room[count - 1] };
}

static void device_clip(struct device_samples *d, size_t metrics, int64_t from_ns, int64_t to_ns)
{
	size_t kept = 0;
	for (size_t k = 0; k < d->samples; k++) {
		if (d->sample[k].at_ns < from_ns || d->sample[k].at_ns >= to_ns)
			continue;
		d->sample[kept] = d->sample[k];
		memmove(&d->value[kept++ * metrics], &d->value[k * metrics],
			metrics * sizeof *d->value);
	}
	d->samples = kept;
}

static enum gp_status device_finish(struct gp_sampled_device *d, size_t metrics)
{
	double *room = calloc(d->samples + 1, sizeof *room);
	if (room == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < d->samples; k++)
		room[k] = (double)d->sample[k].took_ns;
	qsort(room, d->samples, sizeof *room, by_size);
	d->took_ns = d->samples ? (uint64_t)fmin(room[(d->samples - 1) / 2], 1e18) : 0;
	for (size_t m = 0; m < metrics; m++)
		d->figures[m] = figures_of(d, metrics, m, room);
	free(room);
	return GP_OK;
}

enum gp_status gp_samples_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				struct gp_samples *out)
{
	struct samples_reading in = { .out = out, .from_ns = from_ns, .to_ns = to_ns };
	*out = (struct gp_samples){ .device = calloc(GP_DEVICES, sizeof *out->device) };
	enum gp_status status = out->device ? samples_read(recording, &in) : GP_E_MEMORY;
	for (unsigned k = 0; k < GP_DEVICES; k++) {
		struct device_samples *d = &in.device[k];
		if (d->samples && status == GP_OK) {
			device_convert(d);
			device_clip(d, out->metrics, from_ns, to_ns);
			struct gp_sampled_device *of = &out->device[out->devices++];
			*of = (struct gp_sampled_device){ .device = k,
							  .samples = d->samples,
							  .sample = d->sample,
							  .value = d->value,
							  .lost = in.lost[k] };
			*d = (struct device_samples){ .began = d->began };
			status = device_finish(of, out->metrics);
		}
		free(d->sample);
		free(d->value);
		free(d->began);
	}
	if (status != GP_OK)
		gp_samples_free(out);
	return status;
}

void gp_samples_free(struct gp_samples *samples)
{
	for (size_t k = 0; k < samples->devices; k++) {
		free(samples->device[k].sample);
		free(samples->device[k].value);
	}
	free(samples->device);
	*samples = (struct gp_samples){ 0 };
}
