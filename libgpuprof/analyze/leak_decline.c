/*
 * A cache that draws its keys at random takes a new entry the less often the fuller it is: its pace
 * falls as an exponential to nothing. What falls as surely, by as much, and still does towards the
 * end, is taken for one; what has come to a steady pace is not, however much was made at first.
 *
 * The limits were chosen on made-up histories, of which test_leak_trend.c keeps some. With other
 * seeds 1 of 200 caches of as many keys as steps passes for a leak in 1,000 steps, 20 in 200 and
 * 109 in 60 steps, where there are too few entries to tell; at most 2 of 200 jobs that keep a block
 * by the toss of a coin are taken for a cache. Where one stack has both, a cache of a quarter as
 * many keys as steps and a block at every second step, 172 of 200 are in 1,000 steps: a third of
 * all is the cache then.
 */
#include "leak_decline.h"

#include <math.h>

#define CHANCE_MOST 0.003 /* that births in any order fall so much, */
#define PACE_MOST (2.0 / 3)
#define CHANCE_STEEP 0.01 /* or to such a pace, which few leaks do */
#define PACE_STEEP 0.25
#define LATE_MOST 3.0	/* deviations of late births above what the fall foretells: one in 700 */
#define THIRDS_MOST 0.9 /* of the middle third's births the last third has */
#define FULL_LEAST 0.9	/* of what is expected: it is as good as full */

/* Births behind sample `first`, over a time from 0 to 1. */
struct span {
	const struct gp_series *series;
	size_t first, spans;
	double begin, length;
	double births, mean; /* the moment of a mean one */
};

static double moment(const struct span *s, size_t k)
{
	return (s->series->at[s->first + k] - s->begin) / s->length;
}

/* Between two moments; of a span that lies across a border as much as lies inside. */
static double births_between(const struct span *s, double from, double to)
{
	double births = 0;
	for (size_t k = 0; k < s->spans; k++) {
		const double a = moment(s, k), b = moment(s, k + 1);
		const double begin = a > from ? a : from, end = b < to ? b : to;
		if (end > begin)
			births += s->series->births[s->first + k + 1] * (end - begin) / (b - a);
	}
	return births;
}

/* From the first span that left some: before it there was no cache. */
static void find_span(const struct gp_series *series, struct span *out)
{
	size_t first = 0, last = series->samples - 1;
	while (first + 1 < last && series->births[first + 1] == 0)
		first++;
	*out = (struct span){ .series = series,
			      .first = first,
			      .spans = last - first,
			      .begin = series->at[first],
			      .length = series->at[last] - series->at[first] };
	for (size_t k = 0; k < out->spans; k++) {
		const double births = series->births[first + k + 1];
		out->births += births;
		out->mean += births * (moment(out, k) + moment(out, k + 1)) / 2;
	}
	if (out->births > 0)
		out->mean /= out->births;
}

/*
 * Of the correlation of pace and time, were each order of the spans as likely: its variance is one
 * by the number of spans less one (Pitman 1937). A burst in one span alone is none.
 */
static double chance_of_fall(const struct span *s)
{
	double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
	const double n = (double)s->spans;
	for (size_t k = 0; k < s->spans; k++) {
		const double at = (double)k, pace = s->series->births[s->first + k + 1] /
						    (moment(s, k + 1) - moment(s, k));
		x += at;
		y += pace;
		xx += at * at;
		yy += pace * pace;
		xy += at * pace;
	}
	const double variances = (n * xx - x * x) * (n * yy - y * y);
	if (variances <= 0)
		return 1;
	return 0.5 * erfc((x * y - n * xy) / sqrt(variances) * sqrt((n - 1) / 2));
}

/*
 * The rate b of a pace e^-bt from 0 to 1 whose births have this mean moment, below a half: that of
 * greatest likelihood (Cox and Lewis 1966).
 */
static double rate_of(double mean)
{
	double low = 1e-6, high = 64;
	for (unsigned k = 0; k < 60; k++) {
		const double b = (low + high) / 2;
		*(1 / b - 1 / expm1(b) > mean ? &low : &high) = b;
	}
	return (low + high) / 2;
}

bool gp_decline_find(const struct gp_series *series, struct gp_decline *out)
{
	struct span s;
	find_span(series, &s);
	if (s.births < 1 || s.mean >= 0.5 || s.spans < 2)
		return false;
	const double rate = rate_of(s.mean), of_all = -expm1(-rate);
	const double late = s.births * (exp(-0.75 * rate) - exp(-rate)) / of_all;
	out->pace = exp(-rate);
	out->expected = series->count[s.first] + s.births / of_all;
	const double chance = chance_of_fall(&s);
	if (births_between(&s, 0.75, 1) > late + LATE_MOST * sqrt(late) + 0.5)
		return false;
	if (out->pace <= PACE_STEEP)
		return chance < CHANCE_STEEP;
	return out->pace <= PACE_MOST && chance < CHANCE_MOST &&
	       births_between(&s, 2.0 / 3, 1) <= THIRDS_MOST * births_between(&s, 1.0 / 3, 2.0 / 3);
}

bool gp_decline_is_over(const struct gp_series *series, const struct gp_decline *decline)
{
	return series->count[series->samples - 1] >= FULL_LEAST * decline->expected;
}
