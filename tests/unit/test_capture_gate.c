/* The gate between captures and the recorder's own driver calls, when a jump leaves such a call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <time.h>

static unsigned yields, naps;

static int count_yield(void)
{
	yields++;
	return 0;
}
static int count_nap(const struct timespec *time, struct timespec *left)
{
	(void)time, (void)left;
	naps++;
	return 0;
}
#define sched_yield count_yield
#define nanosleep count_nap
#include "../../interpose/hooks/capture.c"
#undef sched_yield
#undef nanosleep

/* How often a capture yields before it begins. */
static unsigned waited(void)
{
	yields = 0;
	gp_capture_begin();
	gp_capture_began(77, CUDA_ERROR_INVALID_VALUE); /* the capture failed to begin */
	return yields;
}

static void captures_wait_for_calls_of_ours(void **state)
{
	(void)state;
	assert_int_equal(waited(), 0);
	assert_true(gp_calls_begin());
	assert_int_equal(waited(), WAIT_TURNS);
	gp_calls_end();
	assert_int_equal(waited(), 0);
	assert_true(gp_calls_begin()); /* the gate waits for the next call again */
	assert_int_equal(waited(), WAIT_TURNS);
	gp_calls_end();
	gp_capture_begin();
	assert_false(gp_calls_begin());
	gp_capture_began(77, CUDA_ERROR_INVALID_VALUE);
}

static void captures_wait_longer_for_long_calls(void **state)
{
	(void)state;
	assert_true(gp_calls_begin());
	gp_calls_are_long(true);
	assert_int_equal(waited(), 0);
	assert_int_equal(naps, WAIT_TURNS);
	assert_true((uint64_t)naps * LONG_TURN_NS >= 2000000000u);
	gp_calls_are_long(false);
	gp_calls_end();
}

static void a_call_that_a_jump_left_is_waited_for_once(void **state)
{
	(void)state;
	assert_true(gp_calls_begin()); /* this call never ends */
	assert_int_equal(waited(), WAIT_TURNS);
	for (unsigned k = 0; k < 10; k++) {
		assert_int_equal(waited(), 0);
		assert_true(gp_calls_begin());
		gp_calls_end();
	}
	/* the gate waits for calls that end, as before */
	assert_true(gp_calls_begin());
	assert_int_equal(waited(), WAIT_TURNS);
	gp_calls_end();
	assert_int_equal(waited(), 0);
	gp_capture_reset(); /* a forked child has neither calls nor captures */
	assert_true(gp_calls_begin());
	assert_int_equal(waited(), WAIT_TURNS);
	gp_calls_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captures_wait_for_calls_of_ours),
		cmocka_unit_test(captures_wait_longer_for_long_calls),
		cmocka_unit_test(a_call_that_a_jump_left_is_waited_for_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
