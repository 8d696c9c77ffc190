/* Limits against figures: kept limits, exceeded limits, and figures that must not count as kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../tools/check/check_limits.c"
#include "../../tools/io/amount.c"
#include "../../tools/report/report_caveat.c"

const char *const gp_curve_keys[GP_CURVE_KEYS] = { "driver", "reserved",
						   "allocated", [GP_CURVE_PINNED] = "pinned" };

#define GIB (1ull << 30)

static const struct gp_info whole = { .is_sealed = true, .is_complete = true };
/* 80 GiB of which the job had 40, 36 reserved, 27 allocated */
static const struct gp_figures usual = {
	.bytes = { 40 * GIB, 36 * GIB, 27 * GIB },
	.has_framework = true,
	.total_bytes = 80 * GIB,
	.used_bytes = GP_BYTES_UNKNOWN,
};

static struct gp_check *made(const struct gp_info *info, const struct gp_figures *figures,
			     size_t devices)
{
	struct gp_check *c = calloc(1, sizeof *c);
	c->info = info;
	c->only_device = -1;
	c->figures.device = calloc(devices + 1, sizeof *figures);
	c->figures.devices = devices;
	if (devices)
		memcpy(c->figures.device, figures, devices * sizeof *figures);
	return c;
}

static void drop(struct gp_check *c)
{
	free(c->figures.device);
	free(c);
}

/* The state under one limit. */
static enum gp_check_state under(enum gp_check_condition which, const char *limit,
				 const struct gp_info *info, const struct gp_figures *figures)
{
	struct gp_check *c = made(info, figures, 1);
	assert_true(gp_check_amount_read(limit, which != GP_CHECK_FRAG, &c->limit[which]));
	gp_check_limits(c);
	assert_int_equal(c->findings, 1);
	enum gp_check_state state = gp_check_state_of(c);
	/* a limit that is not judged has a reason, and an exceeded limit has culprits */
	assert_true(state != GP_CHECK_NOT_JUDGED || c->finding[0].why[0]);
	assert_int_equal(state == GP_CHECK_EXCEEDED, c->finding[0].culprits != GP_CULPRITS_NONE);
	drop(c);
	return state;
}

static void limits_are_kept_up_to_the_byte(void **state)
{
	(void)state;
	static const struct {
		enum gp_check_condition which;
		const char *kept, *exceeded;
	} edges[] = {
		{ GP_CHECK_PEAK, "40GiB", "42949672959" },
		{ GP_CHECK_RESERVED, "36GiB", "38654705663" },
		{ GP_CHECK_ALLOCATED, "27GiB", "28991029247" },
		{ GP_CHECK_FRAG, "25%", "24.99%" },
		{ GP_CHECK_HEADROOM, "50%", "50.1%" },
		{ GP_CHECK_HEADROOM, "40GiB", "42949672961" },
	};
	for (size_t k = 0; k < sizeof edges / sizeof *edges; k++) {
		assert_int_equal(under(edges[k].which, edges[k].kept, &whole, &usual),
				 GP_CHECK_KEPT);
		assert_int_equal(under(edges[k].which, edges[k].exceeded, &whole, &usual),
				 GP_CHECK_EXCEEDED);
	}
}

static void figures_that_may_be_too_low_do_not_pass(void **state)
{
	(void)state;
	static const struct gp_info doubtful[] = {
		{ .is_sealed = false },
		{ .is_sealed = false, .is_running = true },
		{ .is_sealed = true, .has_gap = true },
		{ .is_sealed = true, .has_gap = true, .is_late = true },
		{ .is_sealed = true, .has_framework_late = true },
		{ .is_sealed = true, .has_hole = true },
		{ .is_sealed = true, .has_uncertain_peaks = true },
		{ .is_sealed = true, .is_damaged = true },
	};
	static const struct {
		const char *generous, *tight;
	} limits[GP_CHECK_GROWTH] = {
		[GP_CHECK_PEAK] = { "79GiB", "1GiB" },
		[GP_CHECK_RESERVED] = { "79GiB", "1GiB" },
		[GP_CHECK_ALLOCATED] = { "79GiB", "1GiB" },
		[GP_CHECK_FRAG] = { "99%", "1%" },
		[GP_CHECK_HEADROOM] = { "1%", "99%" },
	};
	for (size_t k = 0; k < sizeof doubtful / sizeof *doubtful; k++)
		for (unsigned which = 0; which < GP_CHECK_GROWTH; which++) {
			enum gp_check_state generous =
				under(which, limits[which].generous, &doubtful[k], &usual);
			enum gp_check_state tight =
				under(which, limits[which].tight, &doubtful[k], &usual);
			assert_int_equal(generous, GP_CHECK_NOT_JUDGED);
			/*
			 * more bytes than the limit exceed it even if figures are too low; a
			 * fraction may become smaller
			 */
			assert_int_equal(tight, which == GP_CHECK_FRAG ? GP_CHECK_NOT_JUDGED :
									 GP_CHECK_EXCEEDED);
		}
}

static void unknown_figures_are_not_judged(void **state)
{
	(void)state;
	struct gp_figures f = usual;
	f.total_bytes = 0;
	assert_int_equal(under(GP_CHECK_HEADROOM, "1%", &whole, &f), GP_CHECK_NOT_JUDGED);
	f = (struct gp_figures){ .bytes = { GIB, 0, 0 }, .total_bytes = 80 * GIB };
	assert_int_equal(under(GP_CHECK_FRAG, "99%", &whole, &f), GP_CHECK_NOT_JUDGED);
	assert_int_equal(under(GP_CHECK_ALLOCATED, "1GiB", &whole, &f), GP_CHECK_NOT_JUDGED);
	assert_int_equal(under(GP_CHECK_RESERVED, "1GiB", &whole, &f), GP_CHECK_NOT_JUDGED);
	/* a recording without events is not judged */
	struct gp_check *c = made(&whole, NULL, 0);
	for (unsigned k = 0; k < GP_CHECK_GROWTH; k++)
		assert_true(gp_check_amount_read("1%", true, &c->limit[k]));
	gp_check_limits(c);
	assert_int_equal(c->findings, GP_CHECK_GROWTH);
	assert_int_equal(gp_check_state_of(c), GP_CHECK_NOT_JUDGED);
	drop(c);
	/* a recording without limits is not judged */
	c = made(&whole, &usual, 1);
	gp_check_limits(c);
	assert_int_equal(gp_check_state_of(c), GP_CHECK_NOT_JUDGED);
	drop(c);
}

static void headroom_uses_the_drivers_count(void **state)
{
	(void)state;
	struct gp_figures f = usual;
	f.used_bytes = 72 * GIB;
	assert_int_equal(under(GP_CHECK_HEADROOM, "10%", &whole, &f), GP_CHECK_KEPT);
	assert_int_equal(under(GP_CHECK_HEADROOM, "11%", &whole, &f), GP_CHECK_EXCEEDED);
	/* after an OOM there was no headroom, even if the peak left some */
	f.ooms = 1;
	assert_int_equal(under(GP_CHECK_HEADROOM, "1%", &whole, &f), GP_CHECK_EXCEEDED);
}

static void each_device_is_judged_and_the_worst_counts(void **state)
{
	(void)state;
	struct gp_figures two[2] = { usual, usual };
	two[1].device = 1;
	two[1].bytes[GP_CURVE_DRIVER] = 50 * GIB;
	struct gp_check *c = made(&whole, two, 2);
	assert_true(gp_check_amount_read("45GiB", true, &c->limit[GP_CHECK_PEAK]));
	gp_check_limits(c);
	assert_int_equal(c->findings, 2);
	assert_int_equal(c->finding[0].state, GP_CHECK_KEPT);
	assert_int_equal(c->finding[1].state, GP_CHECK_EXCEEDED);
	assert_int_equal(c->finding[1].device, 1);
	assert_int_equal(gp_check_state_of(c), GP_CHECK_EXCEEDED);
	c->findings = 0;
	c->only_device = 0;
	gp_check_limits(c);
	assert_int_equal(c->findings, 1);
	assert_int_equal(gp_check_state_of(c), GP_CHECK_KEPT);
	drop(c);
}

static void amounts_are_percentages_or_sizes(void **state)
{
	(void)state;
	struct gp_check_amount a;
	assert_true(gp_check_amount_read("12.5%", false, &a) && a.is_share && a.number == 125000);
	assert_true(gp_check_amount_read("2MiB", true, &a) && !a.is_share && a.number == 2097152);
	static const char *const wrong[] = { "",   "%",	  "101%", "-1%",   "1e1%", "nan%",
					     "20", "1 %", "5%%",  "0x10%", "inf",  "1.2.3%" };
	for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
		assert_false(gp_check_amount_read(wrong[k], false, &a));
	assert_false(gp_check_amount_read("much", true, &a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_kept_up_to_the_byte),
		cmocka_unit_test(figures_that_may_be_too_low_do_not_pass),
		cmocka_unit_test(unknown_figures_are_not_judged),
		cmocka_unit_test(headroom_uses_the_drivers_count),
		cmocka_unit_test(each_device_is_judged_and_the_worst_counts),
		cmocka_unit_test(amounts_are_percentages_or_sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
