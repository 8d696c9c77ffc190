/*
 * A leak has a slope, and more: what is left of it was made at all times since it began, by early
 * and by late steps alike. That tells it from a cache that fills up (late steps make nothing), from
 * what is replaced (early steps have nothing left) and from what an epoch gathers and drops (it was
 * as high before).
 */
#include "leak_trend.h"

#include <math.h>
#include <stdlib.h>

#define BIRTHS_MIN 5u	  /* that are left */
#define BIRTHS_SURE 12u	  /* fewer must be from every other span, else from every third */
#define QUARTER_LEAST 0.4 /* of a mean quarter's births */
#define KEPT_LEAST 0.5	  /* of the births: by so much the count must have grown */
#define FORMER_MOST 0.9	  /* of what is live now: more was live before it began */
#define WINDOW_PARTS 4u	  /* it grows for such a part of all samples at least */

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

double gp_trend_slope(const double *at, const double *value, size_t n)
{
	static _Thread_local double slope[GP_LEAK_SAMPLES * (GP_LEAK_SAMPLES - 1) / 2];
	size_t slopes = 0;
	for (size_t i = 0; i < n && n <= GP_LEAK_SAMPLES; i++)
		for (size_t k = i + 1; k < n; k++)
			slope[slopes++] = (value[k] - value[i]) / (at[k] - at[i]);
	if (slopes == 0)
		return 0;
	qsort(slope, slopes, sizeof *slope, compare);
	return (slope[(slopes - 1) / 2] + slope[slopes / 2]) / 2;
}

/* Sum over groups of equal values of t (t - 1) (2 t + 5). */
static double ties(const double *value, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++) {
		size_t same = 0;
		bool is_first = true;
		for (size_t k = 0; k < n; k++) {
			bool is_same = !(value[k] < value[i]) && !(value[k] > value[i]);
			same += is_same;
			is_first = is_first && !(is_same && k < i);
		}
		double t = (double)same;
		sum += is_first && same > 1 ? t * (t - 1) * (2 * t + 5) : 0;
	}
	return sum;
}

double gp_trend_chance(const double *value, size_t n)
{
	double s = 0, size = (double)n;
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			s += (value[k] > value[i]) - (value[k] < value[i]);
	double variance = (size * (size - 1) * (2 * size + 5) - ties(value, n)) / 18;
	if (s <= 0 || variance <= 0)
		return 1;
	return 0.5 * erfc((s - 1) / sqrt(2 * variance));
}

/* Births behind sample `since`, in four parts of equal length. */
static bool is_even(const struct gp_series *s, size_t since, struct gp_trend *out)
{
	size_t spans = s->samples - 1 - since;
	double quarter[4] = { 0 };
	*out = (struct gp_trend){ .since = since, .spans = spans };
	for (size_t k = 0; k < spans; k++) {
		uint32_t births = s->births[since + 1 + k];
		out->births += births;
		out->born_spans += births > 0;
		/* a span across the border of two parts counts for both, as far as it lies there */
		double from = (double)k * 4 / (double)spans,
		       to = (double)(k + 1) * 4 / (double)spans;
		for (size_t q = 0; q < 4; q++) {
			double begin = from > (double)q ? from : (double)q;
			double end = to < (double)(q + 1) ? to : (double)(q + 1);
			quarter[q] += end > begin ? births * (end - begin) / (to - from) : 0;
		}
	}
	if (out->births < BIRTHS_MIN ||
	    out->born_spans * (out->births < BIRTHS_SURE ? 2 : 3) < spans)
		return false;
	double least = (double)out->births / 4 * QUARTER_LEAST;
	return quarter[0] >= least && quarter[1] >= least && quarter[2] >= least &&
	       quarter[3] >= least;
}

static bool was_higher(const struct gp_series *s, size_t since)
{
	double now = s->bytes[s->samples - 1], count = s->count[s->samples - 1];
	for (size_t k = 0; k < since; k++) {
		bool is_high = s->bytes[k] > 0 && s->bytes[k] >= now * FORMER_MOST;
		if (is_high || s->count[k] >= count * FORMER_MOST)
			return true;
	}
	return false;
}

static bool grows_since(const struct gp_series *s, size_t since, struct gp_trend *out)
{
	size_t last = s->samples - 1, n = s->samples - since;
	if (!is_even(s, since, out) ||
	    s->count[last] - s->count[since] < KEPT_LEAST * (double)out->births ||
	    was_higher(s, since))
		return false;
	double of_count = gp_trend_chance(s->count + since, n);
	double of_bytes = gp_trend_chance(s->bytes + since, n);
	/* handles have no bytes */
	out->p = s->bytes[last] > 0 && of_bytes > of_count ? of_bytes : of_count;
	out->bytes_per_step = gp_trend_slope(s->at + since, s->bytes + since, n);
	out->count_per_step = gp_trend_slope(s->at + since, s->count + since, n);
	return out->count_per_step > 0;
}

bool gp_trend_find(const struct gp_series *s, struct gp_trend *out)
{
	if (s->samples < GP_LEAK_SAMPLES_MIN)
		return false;
	size_t least = s->samples / WINDOW_PARTS;
	least = least < GP_LEAK_SAMPLES_MIN ? GP_LEAK_SAMPLES_MIN : least;
	for (size_t since = 0; since + least <= s->samples; since++)
		if (grows_since(s, since, out))
			return true;
	return false;
}
