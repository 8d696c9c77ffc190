/*
 * A leak has a slope, and more: what is left of it was made at all times since it began, by early
 * and by late steps alike, as many as before, and it still grows at the end. That tells it from a
 * cache that fills up (late steps make less, at last nothing), from what is replaced (early steps
 * have nothing left, or the number stays) and from what an epoch gathers and drops (it was as high
 * before). What is replaced by a larger one each time grows as well: its number stays.
 *
 * The shares below were chosen on made-up histories, of which test_leaks.c keeps some: leaks by
 * each step, each second to fiftieth, at random; caches of many sizes with uniform and skewed keys,
 * those that give up the oldest or any, epochs, garbage.
 */
#include "leak_trend.h"

#include <math.h>
#include <stdlib.h>

#include "leak_decline.h"

#define BIRTHS_MIN 5u /* that are left */
/*
 * Fewer than GP_LEAK_BIRTHS_SURE must be from every other span. More, or those that are not, must
 * be from PARTS_FEW of PARTS parts of equal length, many from PARTS_MANY.
 */
#define PARTS 12u
#define PARTS_FEW 10u
#define PARTS_MANY 8u
#define QUARTER_LEAST 0.4 /* of a mean quarter's births */
#define FORMER_MOST 0.8	  /* of what it has grown by: as much was live before it began, */
#define FORMER_PARTS 32u  /* in more than such a part of the samples */
#define WINDOW_PARTS 4u	  /* it grows for such a part of all samples at least */
#define END_PARTS 3u	  /* in the last part it still grows, */
#define END_LEAST 0.4	  /* by such a share of the slope */
#define END_SAMPLES 6u
#define RISES_LEAST 0.5 /* of the spans, in which what is replaced got larger */

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

/*
 * Orders of n different values with at most `most` pairs that fall, as a share of all n! (Knuth,
 * The Art of Computer Programming 3, 5.1.1): the value put in as the k-th falls behind 0 to k - 1
 * others, each as likely.
 */
static double share_of_orders(size_t n, size_t most)
{
	double share[GP_LEAK_SAMPLES * (GP_LEAK_SAMPLES - 1) / 2 + 1] = { 1 }, all = 0;
	for (size_t k = 2; k <= n; k++) {
		double before[GP_LEAK_SAMPLES], sum = 0; /* the last k of the row above */
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
	double s = 0, size = (double)n, tied = ties(value, n);
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			s += (value[k] > value[i]) - (value[k] < value[i]);
	double variance = (size * (size - 1) * (2 * size + 5) - tied) / 18;
	if (s <= 0 || variance <= 0)
		return 1;
	if (tied <= 0 && n <= GP_LEAK_SAMPLES)
		return share_of_orders(n, (size_t)(size * (size - 1) / 2 - s) / 2);
	return 0.5 * erfc((s - 1) / sqrt(2 * variance));
}

size_t gp_trend_samples_least(size_t series)
{
	size_t n = GP_LEAK_SAMPLES_MIN;
	while (share_of_orders(n, 0) * (double)series >= GP_LEAK_P_MAX)
		n++;
	return n;
}

/* Some are left from nearly everywhere, at what resolution their number allows. */
static bool is_spread(const struct gp_series *s, size_t since, const struct gp_trend *t)
{
	bool has_births[PARTS] = { false };
	size_t parts = 0, least = t->births < GP_LEAK_BIRTHS_MANY ? PARTS_FEW : PARTS_MANY;
	if (t->births < GP_LEAK_BIRTHS_SURE && t->born_spans * 2 >= t->spans)
		return true;
	if (t->spans < PARTS)
		return t->born_spans * 3 >= t->spans && t->births >= GP_LEAK_BIRTHS_SURE;
	for (size_t k = 0; k < t->spans; k++)
		has_births[k * PARTS / t->spans] |= s->births[since + 1 + k] > 0;
	for (size_t k = 0; k < PARTS; k++)
		parts += has_births[k];
	return parts >= least;
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
	if (out->births < BIRTHS_MIN || !is_spread(s, since, out))
		return false;
	double least = (double)out->births / 4 * QUARTER_LEAST;
	return quarter[0] >= least && quarter[1] >= least && quarter[2] >= least &&
	       quarter[3] >= least;
}

/* What has been full for a while grew by the same slope before. */
static bool grows_to_the_end(const struct gp_series *s, const double *value, size_t since,
			     double slope)
{
	size_t n = s->samples - since, end = n / END_PARTS;
	end = end < END_SAMPLES ? END_SAMPLES : end;
	if (end > n)
		end = n;
	return gp_trend_slope(s->at + s->samples - end, value + s->samples - end, end) >=
	       slope * END_LEAST;
}

/* Of what it has grown by, from `begin` to now. */
static bool is_high(double value, double begin, double now)
{
	return now > begin && value - begin >= (now - begin) * FORMER_MOST;
}

/* Before it began. A peak of a sample or two at the beginning is what sets itself up. */
static bool was_higher(const struct gp_series *s, size_t samples, double bytes, double count)
{
	const size_t last = s->samples - 1;
	size_t high = 0;
	for (size_t k = 0; k < samples; k++)
		high += is_high(s->bytes[k], bytes, s->bytes[last]) ||
			is_high(s->count[k], count, s->count[last]);
	return high * FORMER_PARTS > s->samples;
}

static bool grows_since(const struct gp_series *s, size_t since, struct gp_trend *out)
{
	size_t last = s->samples - 1, n = s->samples - since;
	/* it begins with some; what is equal before makes the rise less sure */
	if (s->births[since + 1] == 0 || !is_even(s, since, out) ||
	    s->count[last] - s->count[since] < GP_LEAK_KEPT_LEAST * (double)out->births ||
	    was_higher(s, since, s->bytes[since], s->count[since]))
		return false;
	out->count_per_step = gp_trend_slope(s->at + since, s->count + since, n);
	if (out->count_per_step <= 0 || !grows_to_the_end(s, s->count, since, out->count_per_step))
		return false;
	double of_count = gp_trend_chance(s->count + since, n);
	double of_bytes = gp_trend_chance(s->bytes + since, n);
	/* handles have no bytes */
	out->p = s->bytes[last] > 0 && of_bytes > of_count ? of_bytes : of_count;
	out->bytes_per_step = gp_trend_slope(s->at + since, s->bytes + since, n);
	return true;
}

/* As many as before and never smaller, larger from most samples to the next. */
static bool is_replaced_since(const struct gp_series *s, size_t since, struct gp_trend *out)
{
	size_t last = s->samples - 1, n = s->samples - since, rises = 0;
	*out = (struct gp_trend){ .since = since, .spans = n - 1, .is_replaced = true };
	for (size_t k = since; k < last; k++) {
		if (s->bytes[k + 1] < s->bytes[k] || s->count[k] < 1 ||
		    s->count[k] < s->count[last] || s->count[k] > s->count[last])
			return false;
		rises += s->bytes[k + 1] > s->bytes[k];
		out->births += s->births[k + 1];
		out->born_spans += s->births[k + 1] > 0;
	}
	if ((double)rises < RISES_LEAST * (double)(n - 1) || out->births == 0)
		return false;
	out->p = gp_trend_chance(s->bytes + since, n);
	out->bytes_per_step = gp_trend_slope(s->at + since, s->bytes + since, n);
	return out->bytes_per_step > 0 && grows_to_the_end(s, s->bytes, since, out->bytes_per_step);
}

size_t gp_trend_window_least(size_t samples)
{
	const size_t least = samples / WINDOW_PARTS;
	return least < GP_LEAK_SAMPLES_MIN ? GP_LEAK_SAMPLES_MIN : least;
}

static bool find_in(const struct gp_series *s, struct gp_trend *out)
{
	const size_t least = gp_trend_window_least(s->samples);
	size_t since = 0;
	while (since + least <= s->samples && !is_replaced_since(s, since, out) &&
	       !grows_since(s, since, out))
		since++;
	if (since + least > s->samples)
		return false;
	/* over all samples, whatever the window: towards its end a cache looks even */
	struct gp_decline decline;
	out->is_filling = !out->is_replaced && gp_decline_find(s, &decline);
	if (!out->is_filling)
		return true;
	out->pace = decline.pace;
	out->expected_count = decline.expected;
	return !gp_decline_is_over(s, &decline);
}

/* Over the whole it is no cache, and as much was never live before. */
static bool began_in(const struct gp_series *whole, const struct gp_series *tail, size_t since)
{
	struct gp_decline decline;
	size_t before = 0;
	while (whole->at[before] < tail->at[since])
		before++;
	return !was_higher(whole, before, tail->bytes[since], tail->count[since]) &&
	       !gp_decline_find(whole, &decline);
}

bool gp_trend_find(const struct gp_series *whole, const struct gp_series *tail,
		   struct gp_trend *out)
{
	if (find_in(whole, out))
		return true;
	const bool is_late = find_in(tail, out) && began_in(whole, tail, out->since);
	out->is_late = is_late;
	return is_late;
}
