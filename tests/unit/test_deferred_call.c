/*
 * Calls that wait for a suitable moment, against the driver and the ring of hook_driver.h. The
 * tracker is attached once, from a launch or a copy that succeeded, never during a capture. The
 * recorder reads the driver's memory figures after they changed, at most every 100 ms.
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

static void launch(void)
{
	wrap_cuLaunchKernel((CUfunction)0x5000, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	assert_int_equal(errno, EPIPE);
}

static void copy(void)
{
	wrap_cuMemcpyHtoDAsync_v2(0x7f0000000000, NULL, 64, NULL);
	assert_int_equal(errno, EPIPE);
}

static void alloc(void)
{
	CUdeviceptr out;
	wrap_cuMemAlloc_v2(&out, 4096);
}

static void attaches_once_at_a_launch(void **state)
{
	(void)state;
	gp_is_due(GP_DUE_ATTACH);
	alloc();
	assert_int_equal(attached, 0);
	launch();
	assert_int_equal(attached, 1);
	launch();
	copy();
	assert_int_equal(attached, 1);
}

static void attaches_at_a_copy_while_launches_are_left_out(void **state)
{
	(void)state;
	gp_is_due(GP_DUE_ATTACH);
	gp_thread.level = GP_LEVEL_MEMORY;
	launch();
	assert_int_equal(attached, 0);
	copy();
	assert_int_equal(attached, 1);
	assert_int_equal(driver.row_calls[GP_ROW_cuMemcpyHtoDAsync_v2], 1);
}

static void attaches_only_while_recording(void **state)
{
	(void)state;
	gp_is_due(GP_DUE_ATTACH);
	gp_thread.level = GP_LEVEL_OFF;
	launch();
	copy();
	assert_int_equal(attached, 0);
	gp_thread.level = GP_LEVEL_ALL;
	copy();
	assert_int_equal(attached, 1);
}

static void waits_for_a_success(void **state)
{
	(void)state;
	gp_is_due(GP_DUE_ATTACH);
	driver.result = 719;
	launch();
	copy();
	assert_int_equal(attached, 0);
	driver.result = CUDA_SUCCESS;
	launch();
	assert_int_equal(attached, 1);
}

static void waits_for_the_end_of_a_capture(void **state)
{
	(void)state;
	CUgraph graph = (CUgraph)0x4000;
	alloc();
	wrap_cuStreamBeginCapture_v2((CUstream)0x8001, 0);
	gp_is_due(GP_DUE_ATTACH);
	launch();
	copy();
	assert_int_equal(attached, 0);
	assert_int_equal(count(GP_DEVICE_MEMORY), 0);
	wrap_cuStreamEndCapture((CUstream)0x8001, &graph);
	launch();
	assert_int_equal(attached, 1);
	assert_int_equal(count(GP_DEVICE_MEMORY), 1);
}

static void reads_figures_after_memory_changed(void **state)
{
	(void)state;
	alloc();
	assert_int_equal(count(GP_DEVICE_MEMORY), 0);
	launch();
	const struct gp_record *r = only(GP_DEVICE_MEMORY);
	assert_int_equal(r->device, 0);
	assert_int_equal(r->device_memory.free_bytes, 77);
	assert_int_equal(r->device_memory.total_bytes, 99);
	assert_int_equal(r->aux, 0);
	assert_int_equal(gp_due, 0);
	launch();
	assert_int_equal(count(GP_DEVICE_MEMORY), 1);
}

static void reads_figures_at_most_every_100_ms(void **state)
{
	(void)state;
	alloc();
	launch();
	alloc();
	launch();
	/* on a slow machine the 100 ms may be over */
	if (gp_clock_raw_ns(CLOCK_MONOTONIC_COARSE) - devices[0].queried_ns < PERIOD_NS / 2)
		assert_int_equal(count(GP_DEVICE_MEMORY), 1);
	assert_int_equal(gp_due, GP_DUE_MEMORY);
	devices[0].queried_ns -= PERIOD_NS;
	copy();
	assert_int_equal(count(GP_DEVICE_MEMORY), 2);
	assert_int_equal(gp_due, 0);
	wrap_cuMemFree_v2(0x7f0000000000);
	devices[0].queried_ns -= PERIOD_NS;
	launch();
	assert_int_equal(count(GP_DEVICE_MEMORY), 3);
}

/* The limit of the same device, as the fraction that PyTorch rounded down to bytes. */
static void records_the_limit(void **state)
{
	(void)state;
	fraction = 33.0 / 99.0;
	alloc();
	launch();
	assert_int_equal(only(GP_DEVICE_MEMORY)->aux, 1);
	assert_int_equal(only(GP_DEVICE_MEMORY)->device_memory.limit_bytes, 33);
	fresh(NULL);
	fraction = 1;
	alloc();
	launch();
	assert_int_equal(only(GP_DEVICE_MEMORY)->aux, 1);
	assert_int_equal(only(GP_DEVICE_MEMORY)->device_memory.limit_bytes, 99);
	fresh(NULL);
	fraction = 0.5;
	assert_true(gp_enter());
	gp_device_memory_query_oom(1); /* of another device */
	assert_int_equal(count(GP_DEVICE_MEMORY), 0);
	gp_device_memory_query_oom(0);
	gp_device_memory_query_oom(0);
	gp_leave();
	assert_int_equal(count(GP_DEVICE_MEMORY), 2);
	assert_int_equal(devices[0].limit, 50);
}

static void a_device_without_launches_is_given_up(void **state)
{
	(void)state;
	gp_device_memory_changed(5);
	launch();
	launch();
	assert_int_equal(gp_due, GP_DUE_MEMORY);
	/* of the current device, after its new kernel */
	assert_int_equal(count(GP_DEVICE_MEMORY), 1);
	devices[5].waits_ns -= GIVE_UP_NS;
	devices[5].waits_ns -= PERIOD_NS;
	launch();
	assert_int_equal(gp_due, 0);
	assert_int_equal(gp_devices_changed, 0);
	/* the device launches again */
	gp_device_memory_changed(5);
	driver.current = (CUcontext)0x1005;
	gp_context_set(NULL);
	launch();
	assert_int_equal(count(GP_DEVICE_MEMORY), 2);
	assert_int_equal(gp_due, 0);
}

int main(void)
{
	ring = mmap(NULL, GP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (ring == MAP_FAILED)
		return 1;
#define TEST(name) cmocka_unit_test_setup(name, fresh)
	const struct CMUnitTest tests[] = {
		TEST(attaches_once_at_a_launch),
		TEST(attaches_at_a_copy_while_launches_are_left_out),
		TEST(attaches_only_while_recording),
		TEST(waits_for_a_success),
		TEST(waits_for_the_end_of_a_capture),
		TEST(reads_figures_after_memory_changed),
		TEST(reads_figures_at_most_every_100_ms),
		TEST(records_the_limit),
		TEST(a_device_without_launches_is_given_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
