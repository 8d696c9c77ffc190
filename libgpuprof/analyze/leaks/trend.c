/*
 * Samples are few, so all pairs are compared. Besides slope and p-value, three rules separate
 * lasting growth from other growth: it has not ended, it reaches a level that was not reached
 * before, and it does not slow down. The p-value alone is not enough: a cumulated count rises
 * significantly even if only a few allocations were made once.
 */
#include "trend.h"

#include <math.h>
#include <stdlib.h>

#define END_PARTS 3u	    /* the end is the last third of the samples */
#define END_SAMPLES 6u	    /* the end has at least these: slopes of fewer are noise */
#define END_LEAST 0.4	    /* share of the slope of all samples: it is 0 if growth has ended */
#define FORMER_PARTS 32u    /* 1 in these may be as high before: a peak at the start is shorter */
#define SLOW_P_MAX 0.05	    /* at most one steady leak in 20 slows down by chance */
#define SLOW_RATE_LEAST 0.4 /* the pace falls to e^-0.4 (two thirds) of the first one, or lower */

static int trend_compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

double gp_trend_slope(const double *at, const double *value, size_t n)
{
	static _Thread_local double slope[GP_TREND_SAMPLES * (GP_TREND_SAMPLES - 1) / 2];
	size_t slopes = 0;
	for (size_t i = 0; i < n && n <= GP_TREND_SAMPLES; i++)
		for (size_t k = i + 1; k < n; k++)
			slope[slopes++] = (value[k] - value[i]) / (at[k] - at[i]);
	if (slopes == 0)
		return 0;
	qsort(slope, slopes, sizeof *slope, trend_compare);
	return (slope[(slopes - 1) / 2] + slope[slopes / 2]) / 2;
}

/* The sum over groups of t equal values of t (t - 1) (2 t + 5). */
static double trend_ties(const double *value, size_t n)
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

/*
 * The share of all n! orders of n different values that have at most `most` falling pairs (Knuth,
 * The Art of Computer Programming 3, 5.1.1). The k-th inserted value makes 0 to k - 1 falling pairs
 * with the others, each with equal probability.
 */
static double trend_share_of_orders(size_t n, size_t most)
{
	double share[GP_TREND_SAMPLES * (GP_TREND_SAMPLES - 1) / 2 + 1] = { 1 }, all = 0;
	for (size_t k = 2; k <= n; k++) {
		double before[GP_TREND_SAMPLES], sum = 0; /* the last k of the row above */
		for (size_t d = 0; d <= most; d++) {
			double gone = d >= k ? before[d % k] : 0;
			before[d % k] = share[d];
			sum += share[d] - gone;
			share[d] = sum / (double)k;
		}
	}
	for (size_t d = 0; d <= most; d++)
		all += share[d];
	return all < 1 ? all : 1;
}

double gp_trend_chance(const double *value, size_t n)
{
	double s = 0, size = (double)n, tied = trend_ties(value, n);
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			s += (value[k] > value[i]) - (value[k] < value[i]);
	double variance = (size * (size - 1) * (2 * size + 5) - tied) / 18;
	if (s <= 0 || variance <= 0)
		return 1;
	if (tied <= 0 && n <= GP_TREND_SAMPLES)
		return trend_share_of_orders(n, (size_t)(size * (size - 1) / 2 - s) / 2);
	return 0.5 * erfc((s - 1) / sqrt(2 * variance));
}

size_t gp_trend_samples_least(size_t tests)
{
	size_t n = GP_TREND_SAMPLES_MIN;
	while (trend_share_of_orders(n, 0) * (double)tests >= GP_TREND_P_MAX)
		n++;
	return n;
}

bool gp_trend_goes_on(const double *at, const double *value, size_t n, double slope)
{
	size_t end = n / END_PARTS > END_SAMPLES ? n / END_PARTS : END_SAMPLES;
	end = end < n ? end : n;
	return gp_trend_slope(at + n - end, value + n - end, end) >= slope * END_LEAST;
}

bool gp_trend_was_high(const double *value, size_t n, size_t since)
{
	const double rise = value[n - 1] - value[since];
	size_t high = 0;
	for (size_t k = 0; k < since && rise > 0; k++)
		high += value[k] - value[since] >= rise * GP_TREND_HALF;
	return high * FORMER_PARTS > n;
}

/*
 * The one-sided p-value of a falling pace, by its correlation with time, if all orders of the
 * intervals are equally likely. The variance of the correlation is 1 / (intervals - 1) (Pitman
 * 1937).
 */
static double trend_chance_of_fall(const double *at, const double *value, size_t spans)
{
	double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
	const double n = (double)spans;
	for (size_t k = 0; k < spans; k++) {
		const double span = (double)k,
			     pace = (value[k + 1] - value[k]) / (at[k + 1] - at[k]);
		x += span;
		y += pace;
		xx += span * span;
		yy += pace * pace;
		xy += span * pace;
	}
	const double variances = (n * xx - x * x) * (n * yy - y * y);
	if (variances <= 0)
		return 1;
	return 0.5 * erfc((x * y - n * xy) / sqrt(variances) * sqrt((n - 1) / 2));
}

/*
 * The maximum-likelihood b of a pace e^-bt, for t from 0 to 1: its mean moment equals that of the
 * rise (Cox and Lewis 1966). 0 if the mean moment is not in the first half.
 */
static double trend_rate_of_fall(const double *at, const double *value, size_t n)
{
	double moment = 0, low = 0, high = 64;
	for (size_t k = 0; k + 1 < n; k++)
		moment += (value[k + 1] - value[k]) * ((at[k] + at[k + 1]) / 2 - at[0]);
	moment /= (value[n - 1] - value[0]) * (at[n - 1] - at[0]);
	for (unsigned k = 0; k < 60 && moment < 0.5; k++) {
		const double b = (low + high) / 2;
		*(1 / b - 1 / expm1(b) > moment ? &low : &high) = b;
	}
	return moment < 0.5 ? low : 0;
}

/* The index of the last of the lowest values: the rise begins there. */
static size_t trend_lowest(const double *value, size_t n)
{
	size_t lowest = 0;
	for (size_t k = 1; k < n; k++)
		lowest = value[k] <= value[lowest] ? k : lowest;
	return lowest;
}

/*
 * The pace must fall as fast without the first third: a set-up beside a leak only slows the
 * beginning.
 */
bool gp_trend_slows(const double *at, const double *value, size_t n, struct gp_trend_fall *out)
{
	const size_t low = trend_lowest(value, n), late = low + (n - low) / END_PARTS, last = n - 1;
	if (late == low || trend_chance_of_fall(at + low, value + low, last - low) >= SLOW_P_MAX)
		return false;
	const double rate = trend_rate_of_fall(at + low, value + low, n - low);
	const double rate_late = trend_rate_of_fall(at + late, value + late, n - late);
	const double part = (at[last] - at[late]) / (at[last] - at[low]);
	const bool is_over = value[last] <= value[late];
	out->pace = 1 + expm1(-rate); /* exp would need glibc 2.29 */
	out->full = value[low] + (value[last] - value[low]) / (1 - out->pace);
	return rate >= SLOW_RATE_LEAST && (is_over || rate_late >= SLOW_RATE_LEAST * part);
}

/* The median of three neighbours, so that a single sample cannot be the lowest or highest. */
static void trend_smooth(const double *value, size_t n, double *out)
{
	out[n - 1] = value[n - 1];
	for (size_t k = 0; k + 1 < n; k++) {
		const size_t at = k == 0 ? 1 : k;
		const double low = fmin(value[at - 1], value[at + 1]);
		const double high = fmax(value[at - 1], value[at + 1]);
		out[k] = fmax(low, fmin(value[at], high));
	}
}

enum gp_growth_rule gp_trend_judge(const double *at, const double *value, size_t n, double limit,
				   double *slope)
{
	double above[GP_TREND_SAMPLES], level[GP_TREND_SAMPLES];
	struct gp_trend_fall fall;
	*slope = gp_trend_slope(at, value, n);
	const double rise = *slope - limit;
	if (n < 3 || rise <= 0)
		return GP_GROWTH_WITHIN;
	for (size_t k = 0; k < n; k++)
		above[k] = value[k] - limit * at[k];
	trend_smooth(above, n, level);
	if (gp_trend_chance(above, n) >= GP_TREND_P_MAX)
		return GP_GROWTH_SWINGS;
	if (!gp_trend_goes_on(at, above, n, rise))
		return GP_GROWTH_STOPS;
	const size_t lowest = trend_lowest(level, n);
	above[lowest] = level[lowest];
	if (lowest + 1 >= n || gp_trend_was_high(above, n, lowest))
		return GP_GROWTH_RETURNS;
	return gp_trend_slows(at, level, n, &fall) ? GP_GROWTH_SLOWS : GP_GROWTH_EXCEEDS;
}
