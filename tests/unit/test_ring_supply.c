/*
 * The number of rings that a turn of the drain thread makes: one for each waiting thread. The turn
 * delays the writing of present rings by at most 10 ms. The test has a clock of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../../libgpuprof/record/process/headroom.h"
#include "../../libgpuprof/record/ranges/scope.h"
#include "../../libgpuprof/record/recorder.h"

#define WAITERS 200u

static struct gp_recorder recorder;
static long now_ns, step_ns; /* a step at each read of the clock */

int clock_gettime(clockid_t clock, struct timespec *out)
{
	(void)clock;
	now_ns += step_ns;
	*out = (struct timespec){ now_ns / 1000000000, now_ns % 1000000000 };
	return 0;
}

/* Rings in private memory, none yet, and threads that wait for one. */
static void open_recorder(long step)
{
	memset(&recorder, 0, sizeof recorder);
	step_ns = step;
	now_ns = 1000000000;
	strcpy(gp_settings.ring_dir, "/proc");
	recorder.headroom = GP_NO_LIMIT;
	recorder.budget = UINT64_C(1) << 30;
	recorder.live = gp_live_open();
	recorder.ranges = gp_open_ranges_open(16);
	assert_non_null(recorder.live);
	assert_non_null(recorder.ranges);
	assert_true(gp_ring_place_open(&recorder, gp_scope_begin));
	assert_true(recorder.is_private);
	assert_true(gp_ring_place_add(&recorder)); /* the drain thread's own */
	recorder.rings_requested = WAITERS;
}

static void close_recorder(void)
{
	gp_ring_place_close(&recorder);
	gp_live_close(recorder.live);
	gp_open_ranges_close(recorder.ranges);
}

static uint32_t rings_for_jobs(void)
{
	return atomic_load(&gp_control->rings) - 1;
}

static void a_herd_is_served_in_one_turn(void **state)
{
	(void)state;
	open_recorder(0);
	assert_false(gp_rings_tend(&recorder));
	assert_int_equal(rings_for_jobs(), WAITERS);
	/* the present rings are enough */
	assert_false(gp_rings_tend(&recorder));
	assert_int_equal(rings_for_jobs(), WAITERS);
	close_recorder();
}

static void a_turn_ends_after_10_ms(void **state)
{
	(void)state;
	open_recorder(20000000);
	for (uint32_t made = 1; made < WAITERS; made++) {
		assert_true(gp_rings_tend(&recorder));
		assert_int_equal(rings_for_jobs(), made);
	}
	assert_false(gp_rings_tend(&recorder));
	assert_int_equal(rings_for_jobs(), WAITERS);
	close_recorder();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_herd_is_served_in_one_turn),
		cmocka_unit_test(a_turn_ends_after_10_ms),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
