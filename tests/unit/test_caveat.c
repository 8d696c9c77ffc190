/*
 * Whether a recording has every OOM up to now: only then, a count of 0 is an all-clear.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../tools/report/report_caveat.c"

static const struct gp_info whole = { .is_sealed = true, .is_complete = true };

static void whole_recordings_have_all_ooms(void **state)
{
	(void)state;
	struct gp_info running = { .is_running = true };
	struct gp_info launches = whole, wrapped = whole;
	launches.lost_launch = launches.lost_other = 9;
	wrapped.kept_from_ns = 5;
	wrapped.counts[GP_OOM] = wrapped.kept[GP_OOM] = 2;
	wrapped.counts[GP_ALLOC] = 9;
	assert_true(gp_has_all_ooms(&whole));
	assert_true(gp_has_all_ooms(&running));
	assert_true(gp_has_all_ooms(&launches));
	assert_true(gp_has_all_ooms(&wrapped));
}

static void each_missing_event_may_be_an_oom(void **state)
{
	(void)state;
	struct gp_info info[12];
	size_t k = 0;
	for (size_t i = 0; i < sizeof info / sizeof *info; i++)
		info[i] = whole;
	info[k++].is_sealed = false;
	info[k++].is_damaged = true;
	info[k++].has_hole = true;
	info[k++].has_gap = true;
	info[k++].is_late = true;
	info[k++].has_framework_late = true;
	info[k++].ended_by = 1;
	info[k++].lost_memory = 1;
	info[k++].nested = 1;
	info[k++].uncertains = 1;
	info[k].kept_from_ns = 5;
	info[k++].counts[GP_OOM] = 1;
	info[k].kept_from_ns = 5;
	info[k++].counts[GP_ALLOC_FAILED] = 1;
	assert_int_equal(k, sizeof info / sizeof *info);
	while (k-- > 0)
		assert_false(gp_has_all_ooms(&info[k]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_recordings_have_all_ooms),
		cmocka_unit_test(each_missing_event_may_be_an_oom),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
