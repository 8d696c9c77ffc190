/* Growth from step to step, and series that only look like growth. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/leaks/trend.h"

#define LATER 64u
#define STEPS 30u
#define BASE (1ull << 30)

static uint64_t draw(uint64_t *random)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return *random >> 33;
}

static bool is_beyond(const uint64_t *bytes, size_t count, double limit, double *slope)
{
	double at[GP_TREND_SAMPLES], value[GP_TREND_SAMPLES], found;
	assert_true(count <= GP_TREND_SAMPLES);
	for (size_t k = 0; k < count; k++) {
		at[k] = (double)k;
		value[k] = (double)bytes[k];
	}
	const bool is = gp_trend_judge(at, value, count, limit, &found) == GP_GROWTH_EXCEEDS;
	if (slope)
		*slope = found;
	return is;
}

static void a_block_a_step_is_growth(void **state)
{
	(void)state;
	uint64_t bytes[STEPS];
	double slope;
	for (size_t k = 0; k < STEPS; k++)
		bytes[k] = BASE + 512 * k;
	assert_true(is_beyond(bytes, STEPS, 0, &slope));
	assert_true(slope == 512);
	assert_true(is_beyond(bytes, STEPS, 511, NULL));
	assert_false(is_beyond(bytes, STEPS, 512, NULL));
	/* a block each fourth step, and temporary memory of each micro-batch */
	for (size_t k = 0; k < STEPS; k++)
		bytes[k] = BASE + 4096 * (k / 4) + 256 * (k % 2);
	assert_true(is_beyond(bytes, STEPS, 0, &slope));
	assert_true(slope > 800 && slope < 1300);
}

static void growth_in_noise_is_found_at_the_documented_rate(void **state)
{
	(void)state;
	uint64_t random = 3;
	unsigned seen = 0, wrong = 0;
	for (unsigned turn = 0; turn < 2000; turn++) {
		uint64_t clean[STEPS], leaking[STEPS];
		for (size_t k = 0; k < STEPS; k++) {
			uint64_t noise = draw(&random) % (1 << 20);
			clean[k] = BASE + noise;
			leaking[k] = BASE + noise + 128 * 1024 * k;
		}
		wrong += is_beyond(clean, STEPS, 0, NULL);
		seen += is_beyond(leaking, STEPS, 0, NULL);
	}
	/* 1 in 1,000 is allowed; steady growth makes false findings rarer */
	assert_true(wrong <= 2);
	assert_true(seen >= 1900);
}

static void series_that_only_look_like_growth(void **state)
{
	(void)state;
	uint64_t bytes[STEPS];
	for (size_t k = 0; k < STEPS; k++)
		bytes[k] = BASE;
	assert_false(is_beyond(bytes, STEPS, 0, NULL));
	/* ever smaller increases */
	for (size_t k = 0; k < STEPS; k++)
		bytes[k] = BASE - 4096 * k;
	assert_false(is_beyond(bytes, STEPS, 0, NULL));
	/* one jump, at any step */
	for (size_t jump = 1; jump < STEPS; jump++) {
		for (size_t k = 0; k < STEPS; k++)
			bytes[k] = BASE + (k >= jump ? 64u << 20 : 0);
		assert_false(is_beyond(bytes, STEPS, 0, NULL));
	}
	/* a cache that is full after a while */
	for (size_t full = 1; full < STEPS * 2 / 3; full++) {
		for (size_t k = 0; k < STEPS; k++)
			bytes[k] = BASE + 4096 * (k < full ? k : full);
		assert_false(is_beyond(bytes, STEPS, 0, NULL));
	}
	/* a cache that is nearly full: each key adds a hundred entries at its first use */
	for (size_t share = 3; share < 9; share++) {
		uint64_t later[LATER];
		double keys = 2.0 * LATER / (double)share;
		for (size_t k = 0; k < LATER; k++)
			later[k] = BASE + 4096 * (uint64_t)(100 * keys *
							    (1 - exp(-(double)(LATER + k) / keys)));
		assert_false(is_beyond(later, LATER, 0, NULL));
	}
	/* an evaluation every N steps */
	for (size_t every = 2; every < 15; every++) {
		for (size_t k = 0; k < STEPS; k++)
			bytes[k] = BASE + (k % every == every - 1 ? 9u << 20 : 0);
		assert_false(is_beyond(bytes, STEPS, 0, NULL));
	}
}

/*
 * Steps that are found by repetition may begin elsewhere now and then, where less memory is live.
 */
static void single_lows_hide_no_growth(void **state)
{
	(void)state;
	for (size_t low = 3; low + 3 < STEPS; low++) {
		uint64_t bytes[STEPS];
		for (size_t k = 0; k < STEPS; k++)
			bytes[k] = BASE + 4096 * k;
		bytes[low] -= 65536; /* the growth of sixteen steps */
		assert_true(is_beyond(bytes, STEPS, 0, NULL));
	}
}

/* Memory that an epoch collects and frees, at any phase of the judged steps. */
static void collected_and_freed_memory_is_not_growth(void **state)
{
	(void)state;
	static const size_t counts[] = { 12, STEPS, 58, LATER };
	for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
		for (size_t period = 2; period < counts[c]; period += 1 + period / 8)
			for (size_t phase = 0; phase < period; phase++) {
				uint64_t bytes[LATER];
				for (size_t k = 0; k < counts[c]; k++)
					bytes[k] = BASE + 1024 * ((k + phase) % period);
				if (is_beyond(bytes, counts[c], 0, NULL))
					fail_msg("%zu steps, %zu of %zu", counts[c], phase, period);
			}
}

static enum gp_growth_rule rule_of(double (*value_of)(size_t))
{
	double at[STEPS], value[STEPS], slope;
	for (size_t k = 0; k < STEPS; k++) {
		at[k] = (double)k;
		value[k] = value_of(k);
	}
	return gp_trend_judge(at, value, STEPS, 0, &slope);
}

static double flat(size_t k)
{
	return (double)(k / STEPS);
}

static double swinging(size_t k)
{
	return (double)k + (double)(k % 5 * 40);
}

static double ending(size_t k)
{
	return (double)(k < 22 ? k : 22);
}

static double returning(size_t k)
{
	return (double)(k < 2 ? 20 : k);
}

static double slowing(size_t k)
{
	return 1 - exp(-(double)k / STEPS);
}

static double rising(size_t k)
{
	return (double)k;
}

static void each_rule_holds_for_its_shape(void **state)
{
	(void)state;
	assert_int_equal(rule_of(flat), GP_GROWTH_WITHIN);
	assert_int_equal(rule_of(swinging), GP_GROWTH_SWINGS);
	assert_int_equal(rule_of(ending), GP_GROWTH_STOPS);
	assert_int_equal(rule_of(returning), GP_GROWTH_RETURNS);
	assert_int_equal(rule_of(slowing), GP_GROWTH_SLOWS);
	assert_int_equal(rule_of(rising), GP_GROWTH_EXCEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_a_step_is_growth),
		cmocka_unit_test(growth_in_noise_is_found_at_the_documented_rate),
		cmocka_unit_test(series_that_only_look_like_growth),
		cmocka_unit_test(single_lows_hide_no_growth),
		cmocka_unit_test(collected_and_freed_memory_is_not_growth),
		cmocka_unit_test(each_rule_holds_for_its_shape),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
