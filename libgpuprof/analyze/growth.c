/*
 * Whether a job holds more from step to step: live bytes where steps begin, in the later half of
 * what comes after warm-up. The slope is the median of all slopes between two steps (Theil, Sen);
 * that it is more than a limit must be significant (Mann, Kendall, ties counted) and hold in each
 * third of these steps, in the last one half as much as in the first, so that caches that fill
 * up, a jump and what swings are no growth.
 */
#include <math.h>
#include <stdlib.h>

#include "../read/recording.h"
#include "growth.h"

#define POINTS_MOST 600u /* pairs are their square */
#define SIGNIFICANT 2.33 /* one side, 1% */
#define THIRDS 3u

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

static double difference(const uint64_t *bytes, size_t i, size_t j)
{
	return bytes[j] >= bytes[i] ? (double)(bytes[j] - bytes[i]) :
				      -(double)(bytes[i] - bytes[j]);
}

/* What is above the limit. */
static double excess(const uint64_t *bytes, size_t i, size_t j, double limit)
{
	return difference(bytes, i, j) - limit * (double)(j - i);
}

static bool find_median_slope(const uint64_t *bytes, size_t count, double *out)
{
	double *slope = calloc(count * count, sizeof *slope);
	size_t slopes = 0;
	if (slope == NULL)
		return false;
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			slope[slopes++] = difference(bytes, i, j) / (double)(j - i);
	qsort(slope, slopes, sizeof *slope, compare_doubles);
	*out = slopes % 2 ? slope[slopes / 2] : (slope[slopes / 2 - 1] + slope[slopes / 2]) / 2;
	free(slope);
	return true;
}

/* Sum over runs of the same value, of which `value` gets sorted. */
static double count_ties(double *value, size_t count)
{
	double ties = 0;
	qsort(value, count, sizeof *value, compare_doubles);
	for (size_t i = 0, run; i < count; i += run) {
		for (run = 1; i + run < count && value[i + run] == value[i]; run++)
			;
		double t = (double)run;
		ties += t * (t - 1) * (2 * t + 5);
	}
	return ties;
}

/* Kendall's S in units of its deviation; 0 where nothing rises. */
static bool find_trend(const uint64_t *bytes, size_t count, double limit, double *out)
{
	double *value = calloc(count, sizeof *value);
	double s = 0, n = (double)count;
	if (value == NULL)
		return false;
	for (size_t i = 0; i < count; i++) {
		value[i] = excess(bytes, 0, i, limit);
		for (size_t j = i + 1; j < count; j++) {
			double d = excess(bytes, i, j, limit);
			s += (d > 0) - (d < 0);
		}
	}
	double variance = (n * (n - 1) * (2 * n + 5) - count_ties(value, count)) / 18;
	*out = variance > 0 && s > 0 ? (s - 1) / sqrt(variance) : 0;
	free(value);
	return true;
}

/* Of one and its neighbours the middle: a single step that begins elsewhere than others is none. */
static double find_level(const uint64_t *bytes, size_t count, size_t at, double limit)
{
	const double here = excess(bytes, 0, at, limit);
	const double before = at > 0 ? excess(bytes, 0, at - 1, limit) : here;
	const double after = at + 1 < count ? excess(bytes, 0, at + 1, limit) : here;
	return fmax(fmin(before, after), fmin(here, fmax(before, after)));
}

/* The least of each third as well: what is gathered and dropped again comes back to the same. */
static bool grows_throughout(const uint64_t *bytes, size_t count, double limit)
{
	double before = -INFINITY;
	for (size_t k = 0; k < THIRDS; k++) {
		size_t from = k * (count - 1) / THIRDS, to = (k + 1) * (count - 1) / THIRDS;
		double least = INFINITY;
		for (size_t i = from; i <= to; i++)
			least = fmin(least, find_level(bytes, count, i, limit));
		double rise =
			find_level(bytes, count, to, limit) - find_level(bytes, count, from, limit);
		if (rise <= 0 || least <= before)
			return false;
		before = least;
	}
	return true;
}

/* By ends and by slopes the last third grew by less than half of the first: it will end. */
static bool find_fading(const uint64_t *bytes, size_t count, bool *out)
{
	const size_t part = (count - 1) / THIRDS, last = count - 1 - part;
	double first_slope, last_slope;
	if (!find_median_slope(bytes, part + 1, &first_slope) ||
	    !find_median_slope(bytes + last, part + 1, &last_slope))
		return false;
	*out = last_slope * 2 < first_slope &&
	       difference(bytes, last, count - 1) * 2 < difference(bytes, 0, part);
	return true;
}

enum gp_status gp_growth_judge(const uint64_t *bytes, size_t count, double limit,
			       struct gp_growth_device *out)
{
	double rise;
	bool is_fading = false;
	if (count < 2)
		return GP_E_ARGUMENT;
	if (!find_median_slope(bytes, count, &out->bytes_per_step) ||
	    !find_trend(bytes, count, limit, &rise) ||
	    (count > THIRDS * 2 && !find_fading(bytes, count, &is_fading)))
		return GP_E_MEMORY;
	out->is_beyond = rise > SIGNIFICANT && out->bytes_per_step > limit &&
			 grows_throughout(bytes, count, limit) && !is_fading;
	return GP_OK;
}

/* ---- what is live where steps begin ---- */

static const enum gp_curve curves[] = { GP_CURVE_ALLOCATED, GP_CURVE_DRIVER };
enum { CURVES = sizeof curves / sizeof *curves };

/* Of many steps each so many-th: then a step is so many of them, and so is the limit. */
struct gp_growth_samples {
	size_t every, count, taken;
	int64_t at_ns[POINTS_MOST];
	uint64_t bytes[GP_DEVICES][CURVES][POINTS_MOST];
	bool is_there[GP_DEVICES][CURVES]; /* something was live at any time */
};

struct gp_growth_samples *gp_growth_samples_open(void)
{
	return calloc(1, sizeof(struct gp_growth_samples));
}

void gp_growth_samples_close(struct gp_growth_samples *s)
{
	free(s);
}

static void choose(const struct gp_step *step, size_t steps, struct gp_growth_samples *s)
{
	s->every = (steps + POINTS_MOST - 1) / POINTS_MOST;
	for (size_t k = (steps - 1) % s->every; k < steps; k += s->every)
		s->at_ns[s->count++] = step[k].begin_ns;
}

void gp_growth_choose(struct gp_growth_samples *s, const struct gp_steps *steps,
		      struct gp_growth *out)
{
	const size_t warm = steps->steps > steps->warmup ? steps->steps - steps->warmup : 0;
	const size_t first = steps->steps - warm / 2;
	*s = (struct gp_growth_samples){ 0 };
	*out = (struct gp_growth){ .steps = steps->steps, .warm = warm, .why = steps->why };
	if (out->why == NULL && warm < GP_GROWTH_STEPS_LEAST)
		out->why = "too few steps after warm-up";
	if (out->why != NULL)
		return;
	out->first = first + 1;
	out->from_ns = steps->step[first].begin_ns;
	out->to_ns = steps->step[steps->steps - 1].begin_ns;
	choose(&steps->step[first], warm / 2, s);
}

bool gp_growth_waits(const struct gp_growth_samples *s)
{
	return s->taken < s->count;
}

static void take(struct gp_growth_samples *s, const struct gp_recording *r)
{
	for (unsigned device = 0; device < GP_DEVICES; device++)
		for (unsigned c = 0; c < CURVES; c++) {
			const struct gp_live_device *d = gp_live_device(r->live, device);
			s->bytes[device][c][s->taken] = d->curve[curves[c]].now_bytes;
			s->is_there[device][c] = d->curve[curves[c]].peak_bytes > 0;
		}
	s->taken++;
}

void gp_growth_see(struct gp_growth_samples *s, const struct gp_recording *r, int64_t at_ns)
{
	while (gp_growth_waits(s) && at_ns >= s->at_ns[s->taken])
		take(s, r);
}

enum gp_status gp_growth_end(const struct gp_growth_samples *s, double limit, struct gp_growth *out)
{
	enum gp_status status = GP_OK;
	if (out->why != NULL)
		return GP_OK;
	for (unsigned device = 0; device < GP_DEVICES && status == GP_OK; device++) {
		unsigned c = 0;
		while (c < CURVES && !s->is_there[device][c])
			c++;
		if (c == CURVES)
			continue;
		struct gp_growth_device *g = &out->device[out->devices++];
		*g = (struct gp_growth_device){ .device = device, .of = curves[c] };
		status =
			gp_growth_judge(s->bytes[device][c], s->count, limit * (double)s->every, g);
		g->bytes_per_step /= (double)s->every;
	}
	if (out->devices == 0)
		out->why = "no memory was recorded";
	return status;
}
