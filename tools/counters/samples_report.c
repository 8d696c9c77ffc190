/* Samples of a GPU's counters for a person and for programs (samples_report.h). */
#include "samples_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/csv.h"
#include "../io/message.h"
#include "../io/screen.h"
#include "../io/terminal_width.h"
#include "../timeline/plot.h"

#define STRIP_LEAST 20u
#define STRIP_MOST 200u
#define FIGURES 33u    /* columns of mean, median and max */
#define LABEL_MOST 40u /* columns; longer labels make the line longer */

static bool is_percent(const char *metric)
{
	return strstr(metric, ".pct") || strstr(metric, "_pct");
}

/* A value in the unit that the metric's name has. */
static struct gp_text value_text(const char *metric, double value)
{
	struct gp_text text = { "-" };
	if (isnan(value))
		return text;
	const bool is_rate = strstr(metric, ".per_second");
	if (is_percent(metric))
		snprintf(text.s, sizeof text.s, "%.1f%%", value);
	else if (strstr(metric, "bytes") && value >= 0 && value < 1e18)
		snprintf(text.s, sizeof text.s, "%.40s%s", gp_bytes_text((uint64_t)value).s,
			 is_rate ? "/s" : "");
	else
		snprintf(text.s, sizeof text.s, "%.5g%s", value, is_rate ? "/s" : "");
	return text;
}

void gp_samples_brief(const struct gp_samples *s, const struct gp_sampled_device *d,
		      char out[GP_SAMPLES_BRIEF])
{
	size_t used = 0;
	*out = '\0';
	for (size_t m = 0; m < s->metrics && m < 2 && used < GP_SAMPLES_BRIEF; m++)
		used += (size_t)snprintf(out + used, GP_SAMPLES_BRIEF - used, "%s%.80s %s",
					 m ? ", " : "", s->label[m],
					 value_text(s->metric[m], d->figures[m].mean).s);
}

/* ---- the timeline ---- */

struct strip {
	int64_t from_ns, to_ns;
	unsigned columns;
	double sum[STRIP_MOST], time[STRIP_MOST];
};

/* Adds the parts of a sample to its columns. */
static void strip_add(struct strip *strip, const struct gp_sample *sample, double value)
{
	const double wide = (double)(strip->to_ns - strip->from_ns) / strip->columns;
	const double began = (double)(sample->at_ns - strip->from_ns) / wide,
		     ended = began + (double)sample->took_ns / wide;
	for (unsigned c = began > 0 ? (unsigned)fmin(began, STRIP_MOST) : 0;
	     c < strip->columns && c < ended; c++) {
		const double part = fmin(ended, c + 1.0) - fmax(began, c);
		strip->sum[c] += part > 0 ? value * part : 0;
		strip->time[c] += part > 0 ? part : 0;
	}
}

static void strip_print(FILE *out, struct strip *strip, const struct gp_samples *s,
			const struct gp_sampled_device *d, size_t metric)
{
	const double highest = is_percent(s->metric[metric]) ? 100 : d->figures[metric].most;
	memset(strip->sum, 0, sizeof strip->sum);
	memset(strip->time, 0, sizeof strip->time);
	for (size_t k = 0; k < d->samples; k++)
		if (!isnan(d->value[k * s->metrics + metric]))
			strip_add(strip, &d->sample[k], d->value[k * s->metrics + metric]);
	for (unsigned c = 0; c < strip->columns; c++)
		fputs(gp_plot_height(!gp_is_utf8(),
				     strip->time[c] > 0 && highest > 0 ?
					     strip->sum[c] / strip->time[c] / highest :
					     0),
		      out);
}

void gp_samples_print(FILE *out, const struct gp_samples *s, const struct gp_sampled_device *d,
		      int64_t from_ns, int64_t to_ns)
{
	struct strip strip = { .from_ns = from_ns, .to_ns = to_ns > from_ns ? to_ns : from_ns + 1 };
	size_t label = 0;
	for (size_t m = 0; m < s->metrics; m++)
		label = strlen(s->label[m]) > label ? strlen(s->label[m]) : label;
	const unsigned beside = FIGURES + 2 + (unsigned)(label < LABEL_MOST ? label : LABEL_MOST),
		       width = gp_columns(0, out);
	strip.columns = width < beside + STRIP_LEAST ? STRIP_LEAST : width - beside;
	strip.columns = strip.columns < STRIP_MOST ? strip.columns : STRIP_MOST;
	fprintf(out, "\nGPU %u: %s of %s", d->device, gp_plural(d->samples, "sample").s,
		gp_ns_text((int64_t)d->took_ns).s);
	if (d->lost)
		fprintf(out, ", %s missing", gp_count_text(d->lost).s);
	fprintf(out, "; %s to %s\n      mean     median        max\n", gp_ns_text(strip.from_ns).s,
		gp_ns_text(strip.to_ns).s);
	for (size_t m = 0; m < s->metrics; m++) {
		const struct gp_sample_figures *f = &d->figures[m];
		fprintf(out, "%10s ", value_text(s->metric[m], f->mean).s);
		fprintf(out, "%10s ", value_text(s->metric[m], f->median).s);
		fprintf(out, "%10s ", value_text(s->metric[m], f->most).s);
		strip_print(out, &strip, s, d, m);
		fputc(' ', out);
		gp_name_print(out, s->label[m]);
		fputc('\n', out);
	}
}

/* ---- for programs ---- */

static void device_write(struct gp_json *json, const struct gp_samples *s,
			 const struct gp_sampled_device *d)
{
	gp_json_object(json, NULL);
	gp_json_number(json, "device", d->device);
	gp_json_number(json, "took_ns", d->took_ns);
	gp_json_number(json, "lost", d->lost);
	gp_json_array(json, "metrics");
	for (size_t m = 0; m < s->metrics; m++) {
		gp_json_object(json, NULL);
		gp_json_text(json, "name", s->metric[m]);
		gp_json_text(json, "label", s->label[m]);
		gp_json_real(json, "mean", d->figures[m].mean);
		gp_json_real(json, "median", d->figures[m].median);
		gp_json_real(json, "max", d->figures[m].most);
		gp_json_end(json);
	}
	gp_json_end(json);
	gp_json_array(json, "samples");
	for (size_t k = 0; k < d->samples; k++) {
		gp_json_object(json, NULL);
		gp_json_signed(json, "at_ns", d->sample[k].at_ns);
		gp_json_number(json, "took_ns", d->sample[k].took_ns);
		gp_json_array(json, "values");
		for (size_t m = 0; m < s->metrics; m++)
			gp_json_real(json, NULL, d->value[k * s->metrics + m]);
		gp_json_end(json);
		gp_json_end(json);
	}
	gp_json_end(json);
	gp_json_end(json);
}

void gp_samples_write(struct gp_json *json, const struct gp_samples *s)
{
	gp_json_array(json, "gpus");
	for (size_t k = 0; k < s->devices; k++)
		device_write(json, s, &s->device[k]);
	gp_json_end(json);
}

void gp_samples_csv(FILE *out, const char *path, const struct gp_samples *s)
{
	for (size_t k = 0; k < s->devices; k++) {
		const struct gp_sampled_device *d = &s->device[k];
		for (size_t at = 0; at < d->samples * s->metrics; at++) {
			const struct gp_sample *sample = &d->sample[at / s->metrics];
			gp_csv_put(out, path);
			fprintf(out, ",%u,%" PRId64 ",%" PRIu64 ",", d->device, sample->at_ns,
				sample->took_ns);
			gp_csv_put(out, s->metric[at % s->metrics]);
			if (isnan(d->value[at]))
				fputs(",\n", out);
			else
				fprintf(out, ",%.9g\n", d->value[at]);
		}
	}
}
