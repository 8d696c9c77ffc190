/*
 * A leak rises by trend.c and is even: nearly all parts of the time since it began have surviving
 * allocations. Memory that is replaced has only new survivors. A single set-up has only old ones.
 * Memory that a larger one replaces each time grows as well, but its count stays the same.
 */
#include "leak_trend.h"

#define PARTS 12u /* of the time since it began */
/* This share of the parts must have survivors: the last parts of a cache have none. */
#define PARTS_LEAST 0.75
#define FULL_LEAST 0.9 /* of the expected count: the cache is nearly full */

/*
 * True: most equal parts of the time behind sample `since` have survivors. 7 intervals need 6, and
 * 12 or more intervals need 9 of 12 parts. So a few survivors are even only if they are regular.
 */
static bool is_even(const struct gp_series *s, size_t since, struct gp_leak_trend *out)
{
	const size_t spans = s->samples - 1 - since, parts = spans < PARTS ? spans : PARTS;
	bool has_births[PARTS] = { false };
	size_t born = 0;
	*out = (struct gp_leak_trend){ .since = since, .spans = spans };
	for (size_t k = 0; k < spans; k++) {
		const uint32_t births = s->births[since + 1 + k];
		out->births += births;
		out->born_spans += births > 0;
		has_births[k * parts / spans] |= births > 0;
	}
	for (size_t k = 0; k < parts; k++)
		born += has_births[k];
	return (double)born >= PARTS_LEAST * (double)parts;
}

/* True: as much of it was live before it began. */
static bool was_high(const struct gp_series *s, size_t since)
{
	return gp_trend_was_high(s->bytes, s->samples, since) ||
	       gp_trend_was_high(s->count, s->samples, since);
}

static bool grows_since(const struct gp_series *s, size_t since, struct gp_leak_trend *out)
{
	size_t last = s->samples - 1, n = s->samples - since;
	/* It begins with an allocation: equal values before it make the rise less certain. */
	if (s->births[since + 1] == 0 || !is_even(s, since, out) ||
	    s->count[last] - s->count[since] < GP_TREND_HALF * (double)out->births ||
	    was_high(s, since))
		return false;
	out->count_per_step = gp_trend_slope(s->at + since, s->count + since, n);
	if (out->count_per_step <= 0 ||
	    !gp_trend_goes_on(s->at + since, s->count + since, n, out->count_per_step))
		return false;
	double of_count = gp_trend_chance(s->count + since, n);
	double of_bytes = gp_trend_chance(s->bytes + since, n);
	/* handles have no bytes */
	out->p = s->bytes[last] > 0 && of_bytes > of_count ? of_bytes : of_count;
	out->bytes_per_step = gp_trend_slope(s->at + since, s->bytes + since, n);
	return true;
}

/* True: the count is constant and bytes never fall, and they rise at most samples. */
static bool is_replaced_since(const struct gp_series *s, size_t since, struct gp_leak_trend *out)
{
	size_t last = s->samples - 1, n = s->samples - since, rises = 0;
	*out = (struct gp_leak_trend){ .since = since, .spans = n - 1, .is_replaced = true };
	for (size_t k = since; k < last; k++) {
		if (s->bytes[k + 1] < s->bytes[k] || s->count[k] < 1 ||
		    s->count[k] < s->count[last] || s->count[k] > s->count[last])
			return false;
		rises += s->bytes[k + 1] > s->bytes[k];
		out->births += s->births[k + 1];
		out->born_spans += s->births[k + 1] > 0;
	}
	if ((double)rises < GP_TREND_HALF * (double)(n - 1) || out->births == 0)
		return false;
	out->p = gp_trend_chance(s->bytes + since, n);
	out->bytes_per_step = gp_trend_slope(s->at + since, s->bytes + since, n);
	return out->bytes_per_step > 0 &&
	       gp_trend_goes_on(s->at + since, s->bytes + since, n, out->bytes_per_step);
}

size_t gp_leak_window_least(size_t samples)
{
	const size_t least = samples / GP_LEAK_WINDOW_PARTS;
	return least < GP_TREND_SAMPLES_MIN ? GP_TREND_SAMPLES_MIN : least;
}

static bool find_in(const struct gp_series *s, struct gp_leak_trend *out)
{
	const size_t least = gp_leak_window_least(s->samples);
	size_t since = 0;
	while (since + least <= s->samples && !is_replaced_since(s, since, out) &&
	       !grows_since(s, since, out))
		since++;
	if (since + least > s->samples)
		return false;
	/* Uses all samples, not only the window: near its end a cache looks even. */
	struct gp_trend_fall fall;
	out->is_filling = !out->is_replaced && gp_trend_slows(s->at, s->count, s->samples, &fall);
	if (!out->is_filling)
		return true;
	out->pace = fall.pace;
	out->expected_count = fall.full;
	return s->count[s->samples - 1] < FULL_LEAST * fall.full;
}

/* True: the whole series does not slow down, and as much was not live before. */
static bool began_in(const struct gp_series *whole, const struct gp_series *tail, size_t since)
{
	size_t before = 0;
	struct gp_trend_fall fall;
	while (whole->at[before] < tail->at[since])
		before++;
	return !was_high(whole, before) &&
	       !gp_trend_slows(whole->at, whole->count, whole->samples, &fall);
}

/* True: its later half alone is a leak, too. */
static bool is_steady_in(const struct gp_series *s)
{
	const size_t half = s->samples / 2;
	const struct gp_series later = { s->samples - half, s->at + half, s->bytes + half,
					 s->count + half, s->births + half };
	struct gp_leak_trend trend;
	return find_in(&later, &trend) && !trend.is_filling && trend.p < GP_TREND_P_MAX;
}

bool gp_leak_trend_find(const struct gp_series *whole, const struct gp_series *tail,
			struct gp_leak_trend *out)
{
	bool is_late = false, is_found = find_in(whole, out);
	if (!is_found)
		is_found = is_late = find_in(tail, out) && began_in(whole, tail, out->since);
	out->is_late = is_late;
	out->is_steady = is_found && !out->is_filling && is_steady_in(is_late ? tail : whole);
	return is_found;
}
