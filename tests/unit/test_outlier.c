/*
 * The outlier of a list, at the values where each part of its rule begins to hold, and the starts
 * of recordings on one clock. All answers are calculated by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../tools/report/outlier.c"
#include "../../tools/report/rank_clock.c"

#define FIND(...)                                        \
	gp_outlier_find((const double[]){ __VA_ARGS__ }, \
			sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))

/* The median is 12, the distances are 2 1 0 1 and that of the last one: their median is 1. */
static void an_outlier_is_farther_than_five_median_distances(void **state)
{
	(void)state;
	assert_int_equal(FIND(10, 11, 12, 13, 17).far, SIZE_MAX);
	const struct gp_outlier found = FIND(10, 11, 12, 13, 17.01);
	assert_int_equal(found.far, 4);
	assert_int_equal(found.usual, 2);
	assert_true(found.is_higher);
}

/* The median is 100 and the median distance 0, so that 2% of the median decide. */
static void an_outlier_differs_by_a_share_of_the_median(void **state)
{
	(void)state;
	assert_int_equal(FIND(100, 100, 98, 100).far, SIZE_MAX);
	const struct gp_outlier found = FIND(100, 100, 97.99, 100);
	assert_int_equal(found.far, 2);
	assert_int_equal(found.usual, 0);
	assert_false(found.is_higher);
	assert_int_equal(FIND(0, 0, 0, 0, 1).far, 4);
}

/* Of 1 and 9, the median is 5; of two that differ, the farthest counts, of equal ones the first. */
static void few_unknown_and_several(void **state)
{
	(void)state;
	assert_int_equal(FIND(1, 1, 9).usual, SIZE_MAX);
	assert_int_equal(FIND(NAN, 5, 5, 9).far, SIZE_MAX);
	assert_int_equal(FIND(NAN, 5, 5, 5, 9).far, 4);
	assert_int_equal(FIND(5, 5, 9, 5, 5, 20, 5).far, 5);
	assert_int_equal(FIND(5, 5, 9, 5, 5, 9, 5).far, 2);
	assert_int_equal(FIND(1, 1, 9, 9).far, SIZE_MAX);
	assert_int_equal(gp_outlier_find(NULL, 0).far, SIZE_MAX);
}

static struct gp_rank_start start_of(const char *boot_id, uint64_t mono_ns, uint64_t unix_ns)
{
	const struct gp_info info = { .boot_id = boot_id,
				      .start_mono_ns = mono_ns,
				      .start_unix_ns = unix_ns };
	return gp_rank_start_of(&info);
}

/* The time of day was set back by 7000 ns between the starts of a and b. */
static void one_boot_has_one_clock(void **state)
{
	(void)state;
	const struct gp_rank_start a = start_of("one", 1000, 9000), b = start_of("one", 1500, 2500);
	const struct gp_rank_start c = start_of("two", 400, 9600), none = start_of("", 1, 1);
	const struct gp_rank_start last = start_of("one", UINT64_MAX, 0);
	assert_true(gp_rank_is_one_clock(&a, &b));
	assert_false(gp_rank_is_one_clock(&a, &c));
	assert_false(gp_rank_is_one_clock(&none, &none));
	assert_int_equal(gp_rank_apart_ns(&a, &b, true), 500);
	assert_int_equal(gp_rank_apart_ns(&b, &a, true), -500);
	assert_int_equal(gp_rank_apart_ns(&a, &b, false), -6500);
	assert_int_equal(gp_rank_apart_ns(&a, &c, false), 600);
	assert_int_equal(gp_rank_apart_ns(&a, &last, true), GP_NS_MOST);
	assert_int_equal(gp_rank_apart_ns(&last, &a, true), -GP_NS_MOST);
}

/* The second recording started later, but its host's time of day was set back. */
static void moments_are_ordered_by_the_clock_of_a_boot(void **state)
{
	(void)state;
	struct gp_rank_moment moment[] = {
		{ start_of("one", 1000, 9000), 700, 0 },
		{ start_of("one", 1500, 2500), 100, 0 },
		{ start_of("two", 0, 9500), 100, 0 },
	};
	assert_true(gp_rank_moments_align(moment, 2, sizeof *moment));
	assert_int_equal(moment[0].clock_ns, 700);
	assert_int_equal(moment[1].clock_ns, 600);
	assert_false(gp_rank_moments_align(moment, 3, sizeof *moment));
	assert_int_equal(moment[0].clock_ns, 700);
	assert_int_equal(moment[1].clock_ns, -6400);
	assert_int_equal(moment[2].clock_ns, 600);
	assert_true(gp_rank_moments_align(moment, 0, sizeof *moment));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_outlier_is_farther_than_five_median_distances),
		cmocka_unit_test(an_outlier_differs_by_a_share_of_the_median),
		cmocka_unit_test(few_unknown_and_several),
		cmocka_unit_test(one_boot_has_one_clock),
		cmocka_unit_test(moments_are_ordered_by_the_clock_of_a_boot),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
