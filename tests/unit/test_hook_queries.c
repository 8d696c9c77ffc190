/*
 * Loops of queries against the driver and the ring of hook_driver.h: which become a WAIT, and what
 * it has. Their moments are given, so that no machine is too slow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hook_driver.h"

#define EVENT_AT 0x77u

static uint64_t at; /* moment of the last answer */

static int begin(void **state)
{
	fresh(state);
	assert_true(gp_enter()); /* context and stream are defined now */
	gp_device_current();
	gp_device_of_stream(0x5001);
	gp_leave();
	gp_thread.head = 0;
	driver.own_calls = 0;
	at = gp_clock_now() - POLL_US(1000000u); /* later events have the real time */
	return 0;
}

static void answer(CUresult result, enum gp_call kind, uint64_t handle, unsigned after_us)
{
	at += POLL_US(after_us);
	poll_answered(result, kind, handle, at);
}

static void spin(uint64_t event, unsigned queries, unsigned after_us)
{
	while (queries--)
		answer(CUDA_ERROR_NOT_READY, GP_WAIT_EVENT_QUERY, event, after_us);
}

static void test_a_loop_is_one_wait(void **state)
{
	(void)state;
	spin(EVENT_AT, 101, 1);
	assert_int_equal(committed(), 0);
	answer(CUDA_SUCCESS, GP_WAIT_EVENT_QUERY, EVENT_AT, 1);
	const struct gp_record *wait = only(GP_WAIT);
	assert_int_equal(gp_call_kind(wait->aux), GP_WAIT_EVENT_QUERY);
	assert_int_equal(gp_call_took(wait->aux), POLL_US(101u));
	assert_int_equal(wait->time, at);
	assert_int_equal(wait->wait.handle, EVENT_AT);
	assert_int_equal(wait->code, CUDA_SUCCESS);
	assert_int_equal(wait->device, 0);
	/* the next loop is another */
	spin(EVENT_AT, 60, 1);
	answer(719, GP_WAIT_EVENT_QUERY, EVENT_AT, 1);
	assert_int_equal(count(GP_WAIT), 2);
	assert_int_equal(record(committed() - 1)->code, 719);
	assert_int_equal(gp_thread.poll.queries, 0);
	assert_int_equal(gp_thread.inside, 0);
}

static void test_a_stream_has_its_device(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 100; k++)
		answer(CUDA_ERROR_NOT_READY, GP_WAIT_STREAM_QUERY, 0x5001, 1);
	answer(CUDA_SUCCESS, GP_WAIT_STREAM_QUERY, 0x5001, 1);
	assert_int_equal(gp_call_kind(only(GP_WAIT)->aux), GP_WAIT_STREAM_QUERY);
	assert_int_equal(only(GP_WAIT)->device, 1);
}

/* The wrappers: of answers that come at once only one atomic load is made. */
static void test_ready_at_once_is_not_recorded(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 1000; k++) {
		errno = 0;
		assert_int_equal(wrap_cuEventQuery((CUevent)EVENT_AT), CUDA_SUCCESS);
		assert_int_equal(errno, EPIPE);
		assert_int_equal(wrap_cuStreamQuery((CUstream)0x5001), CUDA_SUCCESS);
		assert_int_equal(wrap_cuStreamQuery_ptsz(NULL), CUDA_SUCCESS);
	}
	driver.result = CUDA_ERROR_NOT_READY;
	assert_int_equal(wrap_cuEventQuery((CUevent)EVENT_AT), CUDA_ERROR_NOT_READY);
	assert_int_equal(gp_thread.poll.queries, 1);
	driver.result = CUDA_SUCCESS;
	assert_int_equal(wrap_cuEventQuery((CUevent)EVENT_AT), CUDA_SUCCESS);
	assert_int_equal(gp_thread.poll.queries, 0);
	assert_int_equal(committed(), 0);
	assert_int_equal(driver.own_calls, 0);
}

/* At the values where the thresholds begin. */
static void test_what_is_no_busy_loop(void **state)
{
	(void)state;
	spin(EVENT_AT, 50, 1); /* 49 us, and 50 with the answer: not long */
	answer(CUDA_SUCCESS, GP_WAIT_EVENT_QUERY, EVENT_AT, 1);
	spin(EVENT_AT, 2, 100); /* two queries */
	answer(CUDA_SUCCESS, GP_WAIT_EVENT_QUERY, EVENT_AT, 1);
	spin(EVENT_AT, 200, 6); /* works between them */
	answer(CUDA_SUCCESS, GP_WAIT_EVENT_QUERY, EVENT_AT, 1);
	for (unsigned k = 0; k < 200; k++) /* several objects in turns */
		spin(EVENT_AT + k % 2, 1, 1);
	answer(CUDA_SUCCESS, GP_WAIT_EVENT_QUERY, EVENT_AT, 1);
	assert_int_equal(committed(), 0);
	spin(EVENT_AT, 51, 1);
	answer(CUDA_SUCCESS, GP_WAIT_EVENT_QUERY, EVENT_AT, 1);
	assert_int_equal(count(GP_WAIT), 1);
	spin(EVENT_AT, 4, 20);
	spin(EVENT_AT, 3, 5); /* half of the seven came at once */
	answer(CUDA_SUCCESS, GP_WAIT_EVENT_QUERY, EVENT_AT, 1);
	assert_int_equal(count(GP_WAIT), 2);
}

/* A thread that lost its processor within a loop was still waiting. */
static void test_pauses(void **state)
{
	(void)state;
	spin(EVENT_AT, 60, 1);
	spin(EVENT_AT, 1, 10000);
	spin(EVENT_AT, 60, 1);
	answer(CUDA_SUCCESS, GP_WAIT_EVENT_QUERY, EVENT_AT, 1);
	assert_int_equal(gp_call_took(only(GP_WAIT)->aux) / POLL_US(1u), 10120);
	gp_thread.head = 0;
	spin(EVENT_AT, 60, 1);
	const uint64_t ended = at;
	spin(EVENT_AT, 1, 10001);
	assert_int_equal(only(GP_WAIT)->time, ended);
	assert_int_equal(only(GP_WAIT)->code, CUDA_ERROR_NOT_READY);
	assert_int_equal(CUDA_ERROR_NOT_READY, GP_CODE_NOT_READY);
}

/* The next event of the thread ends the loop, and stands behind it. */
static void test_another_event_ends_the_loop(void **state)
{
	(void)state;
	CUdeviceptr address;
	spin(EVENT_AT, 60, 1);
	const uint64_t ended = at;
	wrap_cuMemAlloc_v2(&address, 4096);
	assert_int_equal(record(0)->kind, GP_WAIT);
	assert_int_equal(record(0)->time, ended);
	assert_int_equal(record(0)->code, CUDA_ERROR_NOT_READY);
	assert_int_equal(record(1)->kind, GP_ALLOC);
	assert_true(record(1)->time > ended);
	/* too short for a record: goes on from the start */
	at = gp_clock_now();
	gp_thread.head = 0;
	spin(EVENT_AT, 40, 1);
	wrap_cuMemFree_v2(address);
	spin(EVENT_AT, 40, 1);
	answer(CUDA_SUCCESS, GP_WAIT_EVENT_QUERY, EVENT_AT, 1);
	assert_int_equal(count(GP_FREE), 1);
	assert_int_equal(gp_call_kind(only(GP_WAIT)->aux), GP_WAIT_FREE);
	/* another object ends it, too */
	gp_thread.head = 0;
	spin(EVENT_AT, 60, 1);
	spin(EVENT_AT + 1, 1, 1);
	assert_int_equal(only(GP_WAIT)->wait.handle, EVENT_AT);
}

static void test_a_launch_after_a_loop_keeps_its_time(void **state)
{
	(void)state;
	const struct gp_launch_shape shape = { .function = 0x5000, .grid_x = 1, .block_x = 1 };
	assert_true(gp_enter_launch()); /* the kernel is named now */
	gp_hook_launch(CUDA_SUCCESS, gp_clock_now(), shape, 0x5001);
	gp_leave();
	gp_thread.head = 0;
	spin(EVENT_AT, 60, 1);
	const uint64_t called = at + POLL_US(10u);
	assert_true(gp_enter_launch());
	gp_hook_launch(CUDA_SUCCESS, called, shape, 0x5001);
	gp_leave();
	assert_int_equal(record(0)->kind, GP_WAIT);
	assert_int_equal(record(1)->kind, GP_LAUNCH);
	assert_int_equal(record(1)->time, called);
}

static void test_not_recorded_without_launches(void **state)
{
	(void)state;
	gp_thread.level = GP_LEVEL_MEMORY;
	spin(EVENT_AT, 100, 1);
	answer(CUDA_SUCCESS, GP_WAIT_EVENT_QUERY, EVENT_AT, 1);
	gp_thread.level = GP_LEVEL_ALL;
	spin(EVENT_AT, 100, 1);
	gp_thread.level = GP_LEVEL_MEMORY; /* the end of a capture */
	answer(CUDA_SUCCESS, GP_WAIT_EVENT_QUERY, EVENT_AT, 1);
	assert_int_equal(committed(), 0);
	assert_int_equal(gp_thread.poll.queries, 0);
}

int main(void)
{
	ring = mmap(NULL, GP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	gp_clock_init();
#define TEST(name) cmocka_unit_test_setup(name, begin)
	const struct CMUnitTest tests[] = {
		TEST(test_a_loop_is_one_wait),
		TEST(test_a_stream_has_its_device),
		TEST(test_ready_at_once_is_not_recorded),
		TEST(test_what_is_no_busy_loop),
		TEST(test_pauses),
		TEST(test_another_event_ends_the_loop),
		TEST(test_a_launch_after_a_loop_keeps_its_time),
		TEST(test_not_recorded_without_launches),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
