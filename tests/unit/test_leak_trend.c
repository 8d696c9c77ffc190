/* Does a series grow, and does it slow down? Made-up histories, and brute force. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/leaks/leak_trend.h"

static const struct gp_series none;
static uint64_t random_state = 88172645463325252u;

static double draw_real(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / 9007199254740992.0;
}

/* The slope with as many pairs below as above, by counting. */
static void slopes_are_medians(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		size_t n = 2 + (size_t)(draw_real() * 60), below = 0, above = 0, pairs = 0;
		double at[GP_TREND_SAMPLES], value[GP_TREND_SAMPLES];
		for (size_t k = 0; k < n; k++) {
			at[k] = (double)k + draw_real() * 0.9;
			value[k] = draw_real() * 100 + (round % 3 ? 3 * at[k] : 0);
		}
		double slope = gp_trend_slope(at, value, n);
		for (size_t i = 0; i < n; i++) {
			for (size_t k = i + 1; k < n; k++) {
				double own = (value[k] - value[i]) / (at[k] - at[i]);
				below += own < slope - 1e-9;
				above += own > slope + 1e-9;
				pairs++;
			}
		}
		assert_true(below <= pairs / 2 && above <= pairs / 2);
	}
}

/* All 8! orders of eight values: the number of orders that rise at least as much. */
static size_t count_orders(double *value, size_t from, size_t n, long least)
{
	if (from == n) {
		long s = 0;
		for (size_t i = 0; i < n; i++)
			for (size_t k = i + 1; k < n; k++)
				s += (value[k] > value[i]) - (value[k] < value[i]);
		return s >= least;
	}
	size_t orders = 0;
	for (size_t k = from; k < n; k++) {
		double kept = value[from];
		value[from] = value[k];
		value[k] = kept;
		orders += count_orders(value, from + 1, n, least);
		kept = value[from];
		value[from] = value[k];
		value[k] = kept;
	}
	return orders;
}

static void chances_are_those_of_all_orders(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 12; round++) {
		double value[8], copy[8];
		long s = 0;
		for (size_t k = 0; k < 8; k++)
			value[k] = (double)k + draw_real() * (double)(round * 2);
		for (size_t k = 0; k < 8 && round % 2; k++)
			value[k] = floor(value[k] / 3); /* some are equal */
		for (size_t i = 0; i < 8; i++)
			for (size_t k = i + 1; k < 8; k++)
				s += (value[k] > value[i]) - (value[k] < value[i]);
		memcpy(copy, value, sizeof copy);
		double exact = (double)count_orders(copy, 0, 8, s) / 40320;
		double chance = gp_trend_chance(value, 8);
		if (s <= 0)
			assert_true(chance >= 1);
		else
			assert_true(fabs(chance - exact) < (round % 2 ? 0.02 : 1e-12));
	}
	const double flat[8] = { 0 };
	assert_true(gp_trend_chance(flat, 8) >= 1);
	assert_int_equal(gp_trend_samples_least(40), 8); /* 8! is 40,320 */
	assert_int_equal(gp_trend_samples_least(41), 9);
	assert_int_equal(gp_trend_samples_least(300), 9);
	assert_int_equal(gp_trend_samples_least(1), 8);
	assert_int_equal(gp_trend_samples_least(SIZE_MAX), 23);
}

struct story {
	double count[GP_TREND_SAMPLES], bytes[GP_TREND_SAMPLES], at[GP_TREND_SAMPLES];
	uint32_t births[GP_TREND_SAMPLES];
};

/* `born`: blocks at each sample; `lives`: how many samples they live; 0: for ever. */
static bool grows(const unsigned *born, const unsigned *lives, size_t n, struct gp_leak_trend *out)
{
	static struct story s;
	memset(&s, 0, sizeof s);
	for (size_t k = 0; k < n; k++) {
		s.at[k] = (double)k;
		for (size_t i = 0; i <= k; i++)
			if (lives[i] == 0 || i + lives[i] > k)
				s.count[k] += born[i];
		s.bytes[k] = 512 * s.count[k];
		s.births[k] = lives[k] == 0 || k + lives[k] > n - 1 ? born[k] : 0;
	}
	const struct gp_series series = { n, s.at, s.bytes, s.count, s.births };
	return gp_leak_trend_find(&series, &none, out) && out->p * 100 < GP_TREND_P_MAX;
}

static void only_lasting_growth_is_a_leak(void **state)
{
	(void)state;
	enum { N = 60 };
	unsigned born[N], lives[N];
	struct gp_leak_trend t;
#define STORY(birth, life)                 \
	for (unsigned k = 0; k < N; k++) { \
		born[k] = (birth);         \
		lives[k] = (life);         \
	}
	STORY(1, 0)
	assert_true(grows(born, lives, N, &t));
	assert_int_equal(t.since, 0);
	STORY(k >= 30, 0) /* begins late */
	assert_true(grows(born, lives, N, &t));
	assert_true(t.since >= 22 && t.since <= 30);
	STORY(k % 3 == 0, 0) /* each third step */
	assert_true(grows(born, lives, N, &t));
	assert_true(fabs(t.count_per_step - 1.0 / 3) < 0.05);
	STORY(k % 4 == 0, 0) /* each fourth, such as an evaluation */
	assert_true(grows(born, lives, N, &t));
	STORY(k % 5 == 3 ? 8 : 0, 0) /* eight in each fifth */
	assert_true(grows(born, lives, N, &t));
	STORY(k == 0 ? 500 : 1, k == 0 ? 1 : 0) /* setup */
	assert_true(grows(born, lives, N, &t));
	STORY(1 + (k % 7 == 0) * 5, k % 2 ? 3 : 0) /* half of it is freed */
	assert_true(grows(born, lives, N, &t));
	STORY(k < 20, 0) /* a cache that is full */
	assert_false(grows(born, lives, N, &t));
	STORY(k == 0 ? 100 : 0, 0) /* allocated once */
	assert_false(grows(born, lives, N, &t));
	STORY(1, 10) /* the last ten */
	assert_false(grows(born, lives, N, &t));
	STORY(1, 10 - k % 10) /* emptied every ten */
	assert_false(grows(born, lives, N, &t));
	STORY(1, 25 - k % 25) /* the last time cut off */
	assert_false(grows(born, lives, N, &t));
	STORY(k < 55 ? 0 : 1, 0) /* too short to judge */
	assert_false(grows(born, lives, N, &t));
	STORY(k < 8 ? 8 - k : k == 12 || k == 20 || k == 33, 0) /* fills ever more slowly */
	assert_false(grows(born, lives, N, &t));
	STORY(k * 2654435761u >> 28 & 3, 1 + (k * 40503u >> 5 & 7)) /* random births and frees */
	assert_false(grows(born, lives, N, &t));
#undef STORY
	assert_false(grows(born, lives, 7, &t));
}

/* Caches of `keys`, one drawn at a time: they keep all entries, or drop any entry when full. */
static size_t count_cache_alarms(unsigned steps, unsigned keys, bool gives_up)
{
	enum { N = GP_TREND_SAMPLES, MOST = 1024 };
	size_t alarms = 0;
	for (unsigned seed = 0; seed < 40; seed++) {
		struct story s = { .count = { 0 } };
		unsigned born[MOST] = { 0 }, live = 0;
		for (unsigned step = 0, sample = 0; sample < N; step++) {
			if (step >= sample * (steps - 1) / (N - 1)) {
				s.at[sample] = step;
				s.count[sample] = live;
				s.bytes[sample++] = 512 * live;
			}
			unsigned key = (unsigned)(draw_real() * keys);
			if (!gives_up && born[key])
				continue;
			key = gives_up && live < keys ? live : key;
			live += !born[key];
			born[key] = sample; /* its first sample */
		}
		for (unsigned k = 0; k < keys; k++)
			if (born[k] && born[k] < N)
				s.births[born[k]]++;
		const struct gp_series series = { N, s.at, s.bytes, s.count, s.births };
		struct gp_leak_trend t;
		alarms += gp_leak_trend_find(&series, &none, &t) && !t.is_filling &&
			  t.p * 100 < GP_TREND_P_MAX;
	}
	return alarms;
}

static void caches_are_not_leaks(void **state)
{
	(void)state;
	for (unsigned steps = 200; steps <= 1000; steps += 200) {
		for (unsigned share = 3; share <= 10; share++)
			assert_int_equal(count_cache_alarms(steps, steps / share, false), 0);
		assert_int_equal(count_cache_alarms(steps, steps / 4, true), 0);
		assert_int_equal(count_cache_alarms(steps, steps / 2, true), 0);
		assert_int_equal(count_cache_alarms(steps, steps * 7 / 10, true), 0);
	}
}

/* One block of so many bytes at each sample. */
static bool replaced_grows(const double *bytes, size_t n, struct gp_leak_trend *out)
{
	struct story s = { .count = { 0 } };
	for (size_t k = 0; k < n; k++) {
		s.at[k] = (double)k;
		s.count[k] = 1;
		s.bytes[k] = bytes[k];
	}
	s.births[n - 1] = 1;
	const struct gp_series series = { n, s.at, s.bytes, s.count, s.births };
	return gp_leak_trend_find(&series, &none, out) && out->p * 100 < GP_TREND_P_MAX;
}

/* A buffer that is replaced by a larger copy of itself: always one block, and it grows. */
static void memory_replaced_by_larger_blocks_grows(void **state)
{
	(void)state;
	enum { N = 40 };
	double bytes[N];
	struct gp_leak_trend t;
	for (unsigned k = 0; k < N; k++)
		bytes[k] = 512 * (k + 1);
	assert_true(replaced_grows(bytes, N, &t));
	assert_true(t.is_replaced && fabs(t.bytes_per_step - 512) < 1e-9);
	assert_true(fabs(t.count_per_step) < 1e-9 && t.births == 1 && t.born_spans == 1);
	for (unsigned k = 0; k < N; k++) /* rounded: not larger each time */
		bytes[k] = 512 * floor((k + 1) * 0.7);
	assert_true(replaced_grows(bytes, N, &t));
	for (unsigned k = 0; k < N; k++) /* large enough from some moment on */
		bytes[k] = 512 * (k < 25 ? k + 1 : 25);
	assert_false(replaced_grows(bytes, N, &t));
	for (unsigned k = 0; k < N; k++) /* as long as the longest so far */
		bytes[k] = 512 * (k < 2 ? 3 : k < 7 ? 9 : k < 20 ? 12 : 13);
	assert_false(replaced_grows(bytes, N, &t));
	for (unsigned k = 0; k < N; k++) /* as long as the current one */
		bytes[k] = 512 * (double)(1 + (k * 2654435761u >> 28));
	assert_false(replaced_grows(bytes, N, &t));
}

/* ---- growth that slows down, and growth that does not ---- */

enum { RUNS = 40, KEYS_MOST = 4096 };

/*
 * Blocks that one stack keeps at a step: entries of a cache of `keys`, and leaks by chance or in
 * bursts.
 */
struct kind {
	double keys;		/* of a cache, by steps; 0: it has no cache */
	double chance;		/* of a leak at a step */
	unsigned every, amount; /* or so many blocks at every so many steps */
};
struct verdicts {
	unsigned suspects, fillings, near; /* near: the expected number is within a quarter */
};

static void live_through(const struct kind *kind, unsigned steps, struct story *s)
{
	static bool is_in[KEYS_MOST];
	unsigned live = 0, sample = 0;
	memset(is_in, 0, sizeof is_in);
	memset(s, 0, sizeof *s);
	for (unsigned step = 0; sample < GP_TREND_SAMPLES; step++) {
		if (step >= sample * (steps - 1) / (GP_TREND_SAMPLES - 1)) {
			s->at[sample] = step;
			s->count[sample] = live;
			s->bytes[sample++] = 512 * live;
		}
		unsigned born = 0, key = (unsigned)(draw_real() * kind->keys * steps);
		if (kind->keys > 0 && !is_in[key])
			born += is_in[key] = true;
		born += draw_real() < kind->chance;
		born += kind->every && step % kind->every == 0 ? kind->amount : 0;
		live += born;
		if (sample < GP_TREND_SAMPLES)
			s->births[sample] += born;
	}
}

static struct verdicts judge(const struct kind *kind, unsigned steps)
{
	struct verdicts v = { 0 };
	for (unsigned run = 0; run < RUNS; run++) {
		static struct story s;
		struct gp_leak_trend t;
		live_through(kind, steps, &s);
		const struct gp_series series = { GP_TREND_SAMPLES, s.at, s.bytes, s.count,
						  s.births };
		if (!gp_leak_trend_find(&series, &none, &t) || t.p * 100 >= GP_TREND_P_MAX)
			continue;
		v.suspects += !t.is_filling;
		v.fillings += t.is_filling;
		v.near += t.is_filling && fabs(t.expected_count / (kind->keys * steps) - 1) < 0.25;
	}
	return v;
}

/*
 * A cache with half as many keys as steps fills to 86%. With as many it fills to 63%, with one and
 * a half times as many to 50%.
 */
static void filling_caches_are_separated_from_leaks(void **state)
{
	(void)state;
	for (unsigned steps = 200; steps <= 1000; steps += 400) {
		for (double keys = 0.5; keys < 1.5; keys += 0.47) {
			const struct kind cache = { .keys = keys };
			const struct verdicts v = judge(&cache, steps);
			print_message("cache of %.2f keys a step, %u steps: %u leaks, %u fill, %u "
				      "near\n",
				      keys, steps, v.suspects, v.fillings, v.near);
			/*
			 * at 200 steps the largest cache has too few entries for a verdict in some
			 * runs
			 */
			assert_true(v.suspects <= (steps > 200 ? 8 : keys < 1 ? 6 : 12));
			assert_true(v.fillings >= (steps > 200 ? 32 : 28));
			assert_true(v.near * 4 >= v.fillings * (steps > 200 ? 3 : 2));
		}
	}
}

/* Growth at four fifths of its first pace cannot be separated from a leak, and is a leak. */
static void steady_leaks_do_not_fill(void **state)
{
	(void)state;
	const struct kind kinds[] = {
		{ .chance = 1 },
		{ .chance = 0.5 },
		{ .chance = 0.3 },
		{ .every = 10, .amount = 1 },
		{ .every = 7, .amount = 20 },
		{ .keys = 4, .chance = 0 },
		{ .keys = 0.125, .chance = 1 }, /* and a cache in the same place */
		{ .keys = 0.05, .every = 5, .amount = 4 },
	};
	for (unsigned steps = 200; steps <= 1000; steps += 400)
		for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
			const struct verdicts v = judge(&kinds[k], steps);
			print_message("kind %zu, %u steps: %u leaks, %u fill\n", k, steps,
				      v.suspects, v.fillings);
			assert_true(v.suspects >= RUNS - 3 && v.fillings <= 3);
		}
}

/* ---- results of `check --max-growth 0` for caches (docs/ANALYSIS.md, section 2) ---- */

enum { CACHES = 200, STEPS_MOST = 1000 };

struct rates {
	unsigned suspects, fails, not_judged, passes;
};

/* Samples from step `from` to the last. */
static struct gp_series sample_cache(const unsigned *live, unsigned from, unsigned steps,
				     struct story *s)
{
	const unsigned most = steps - from;
	const unsigned n = most < GP_TREND_SAMPLES ? most : GP_TREND_SAMPLES;
	for (unsigned k = 0; k < n; k++) {
		const unsigned step = from + k * (most - 1) / (n - 1);
		s->at[k] = step;
		s->count[k] = live[step];
		s->bytes[k] = 512 * s->count[k];
		s->births[k] = live[step] - (k ? (unsigned)s->count[k - 1] : 0);
	}
	return (struct gp_series){ n, s->at, s->bytes, s->count, s->births };
}

static void judge_cache(const unsigned *live, unsigned steps, struct rates *out)
{
	static struct story whole_story, tail_story;
	const bool has_tail = steps >= 2 * GP_TREND_SAMPLES;
	const unsigned tail_from = steps - (steps / 4 > 64 ? steps / 4 : 64);
	const struct gp_series whole = sample_cache(live, 0, steps, &whole_story);
	const struct gp_series tail =
		has_tail ? sample_cache(live, tail_from, steps, &tail_story) : none;
	const size_t half = whole.samples / 2;
	struct gp_leak_trend t;
	double slope;
	const bool is_found = gp_leak_trend_find(&whole, &tail, &t) && !t.is_filling &&
			      t.p * (has_tail ? 2 : 1) < GP_TREND_P_MAX;
	const bool is_beyond = gp_trend_judge(whole.at + half, whole.bytes + half,
					      whole.samples - half, 0, &slope) >= GP_GROWTH_SLOWS;
	out->suspects += is_found;
	if (is_found && t.is_steady)
		out->fails++;
	else if (is_found || is_beyond)
		out->not_judged++;
	else
		out->passes++;
}

/* One key is drawn at each step: all equally often, or the k-th as often as 1/k (Zipf). */
static struct rates rates_of_caches(unsigned keys, bool is_skewed, unsigned steps)
{
	struct rates rates = { 0 };
	for (unsigned run = 0; run < CACHES; run++) {
		static bool is_in[4 * STEPS_MOST];
		unsigned live[STEPS_MOST], entries = 0;
		memset(is_in, 0, sizeof is_in);
		for (unsigned step = 0; step < steps; step++) {
			const unsigned key = is_skewed ? (unsigned)pow(keys, draw_real()) - 1 :
							 (unsigned)(draw_real() * keys);
			live[step] = entries;
			entries += !is_in[key];
			is_in[key] = true;
		}
		judge_cache(live, steps, &rates);
	}
	return rates;
}

static void caches_that_fill_slowly_look_like_leaks(void **state)
{
	(void)state;
	static const struct {
		unsigned keys;
		bool is_skewed;
		unsigned steps;
		struct rates rates;
	} rows[] = {
		/* suspects, fail, not judged, pass: the table of the page */
		{ 1, false, 60, { 44, 43, 131, 26 } },	{ 1, false, 200, { 16, 16, 181, 3 } },
		{ 1, false, 1000, { 0, 0, 200, 0 } },	{ 2, false, 60, { 98, 93, 103, 4 } },
		{ 2, false, 200, { 58, 57, 143, 0 } },	{ 2, false, 1000, { 37, 37, 163, 0 } },
		{ 4, false, 60, { 178, 171, 29, 0 } },	{ 4, false, 200, { 190, 185, 15, 0 } },
		{ 4, false, 1000, { 200, 200, 0, 0 } }, { 1, true, 60, { 76, 30, 130, 40 } },
		{ 1, true, 200, { 54, 51, 140, 9 } },	{ 1, true, 1000, { 26, 26, 174, 0 } },
	};
	random_state = 88172645463325252u;
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		const struct rates r = rates_of_caches(rows[k].keys * rows[k].steps,
						       rows[k].is_skewed, rows[k].steps);
		assert_int_equal(r.suspects, rows[k].rates.suspects);
		assert_int_equal(r.fails, rows[k].rates.fails);
		assert_int_equal(r.not_judged, rows[k].rates.not_judged);
		assert_int_equal(r.passes, rows[k].rates.passes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slopes_are_medians),
		cmocka_unit_test(chances_are_those_of_all_orders),
		cmocka_unit_test(only_lasting_growth_is_a_leak),
		cmocka_unit_test(caches_are_not_leaks),
		cmocka_unit_test(memory_replaced_by_larger_blocks_grows),
		cmocka_unit_test(filling_caches_are_separated_from_leaks),
		cmocka_unit_test(steady_leaks_do_not_fill),
		cmocka_unit_test(caches_that_fill_slowly_look_like_leaks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
