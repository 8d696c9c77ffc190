/*
 * The recorder's side of counters, with a source of this file: which launches it offers, when it
 * waits for streams, and what a jump, a refusal or the end of a context leaves.
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

#define STREAM_OF_JOB ((CUstream)0x9001)

static const struct gp_counters_sink *counters_sink;
static struct {
	unsigned begun, ended, refused, contexts;
	bool may_call, was_gated;
} seen;
static CUstream busy;
static unsigned busy_answers;
static jmp_buf landing;

static void source_start(void)
{
}

static bool source_await(void)
{
	return true;
}

static bool source_begin(uint64_t function, uint32_t generation, const struct gp_gpu_kernel *kernel)
{
	(void)function, (void)generation, (void)kernel;
	const bool is_idle = counters_sink->await_idle((void *)0x1000);
	seen.begun += is_idle;
	return is_idle;
}

static void source_end(bool is_accepted)
{
	seen.ended += is_accepted;
	seen.refused += !is_accepted;
}

static void source_context_end(void *context, bool may_call)
{
	(void)context;
	seen.contexts++;
	seen.may_call = may_call;
	errno = ENOMEM;
}

static void source_give_up(bool may_call)
{
	(void)may_call;
}

static const struct gp_counters_source source = {
	sizeof source, source_start,	   source_await,   source_begin,
	source_end,    source_context_end, source_give_up,
};

static CUresult query_stream(CUstream stream)
{
	if (stream != busy || busy_answers == 0)
		return CUDA_SUCCESS;
	busy_answers--;
	return CUDA_ERROR_NOT_READY;
}

static CUresult launch_looking(CUfunction function, unsigned int gx, unsigned int gy,
			       unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz,
			       unsigned int shared, CUstream stream, void **parameters,
			       void **extra)
{
	(void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz;
	(void)shared, (void)stream, (void)parameters, (void)extra;
	seen.was_gated = atomic_load(&calling) == 1 && atomic_load(&calling_long) == 1;
	if (function == (CUfunction)0x6000)
		longjmp(landing, 1);
	return called(GP_ROW_cuLaunchKernel);
}

static int fresh_counted(void **state)
{
	fresh(state);
	memset(&seen, 0, sizeof seen);
	busy = NULL;
	busy_answers = 0;
	strcpy(gp_settings.metrics, "dram__bytes.sum");
	strcpy(gp_settings.kernel, ".");
	counters_sink = gp_counters_open(&source, gp_resolve_call);
	gp_cuda.cuStreamQuery = query_stream;
	gp_cuda.cuLaunchKernel = launch_looking;
	return counters_sink == NULL;
}

static void launch(uintptr_t function)
{
	wrap_cuLaunchKernel((CUfunction)function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

static void each_launch_is_offered_inside_the_gate(void **state)
{
	(void)state;
	launch(0x5000);
	assert_true(seen.was_gated);
	assert_int_equal(seen.ended, 1);
	assert_int_equal(only(GP_LAUNCH)->launch.kernel, 0x5000);
	driver.result = 1;
	launch(0x5000);
	assert_int_equal(seen.refused, 1);
	assert_int_equal(count(GP_LAUNCH), 2);
	assert_int_equal(atomic_load(&calling) + atomic_load(&calling_long), 0);
}

static void cooperative_launches_are_not_offered(void **state)
{
	CUlaunchAttribute attribute = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE };
	CUlaunchConfig config = { 1, 1, 1, 1, 1, 1, 0, NULL, &attribute, 1 };
	(void)state;
	wrap_cuLaunchCooperativeKernel((CUfunction)0x5000, 1, 1, 1, 1, 1, 1, 0, NULL, NULL);
	attribute.value.cooperative = 1;
	wrap_cuLaunchKernelEx(&config, (CUfunction)0x5000, NULL, NULL);
	wrap_cuLaunchKernelEx(NULL, (CUfunction)0x5000, NULL, NULL);
	assert_int_equal(seen.begun, 0);
	attribute.value.cooperative = 0;
	wrap_cuLaunchKernelEx(&config, (CUfunction)0x5000, NULL, NULL);
	assert_int_equal(seen.begun, 1);
}

static void a_launch_waits_for_the_streams_of_its_context(void **state)
{
	CUstream made;
	(void)state;
	launch(0x5000); /* reads the current context */
	driver.address = (uintptr_t)STREAM_OF_JOB;
	wrap_cuStreamCreate(&made, 0);
	busy = STREAM_OF_JOB;
	busy_answers = 3;
	launch(0x5000);
	assert_int_equal(busy_answers, 0);
	assert_int_equal(seen.ended, 2);
	busy_answers = 2 * NAPS;
	launch(0x5000); /* it stays busy */
	assert_int_equal(seen.ended, 2);
	wrap_cuStreamDestroy_v2(STREAM_OF_JOB);
	launch(0x5000);
	assert_int_equal(seen.ended, 3);
	wrap_cuStreamCreate(&made, 0);
	wrap_cuCtxDestroy_v2((CUcontext)0x1000); /* its streams with it */
	launch(0x5000);
	assert_int_equal(seen.ended, 4);
}

static void another_launch_inside_the_driver_is_no_idle_gpu(void **state)
{
	(void)state;
	atomic_fetch_add(&launching, 1);
	launch(0x5000);
	assert_int_equal(seen.begun, 0);
	atomic_fetch_sub(&launching, 1);
	launch(0x5000);
	assert_int_equal(seen.begun, 1);
}

static void a_launch_that_a_jump_left_ends_at_the_next(void **state)
{
	(void)state;
	if (setjmp(landing) == 0)
		launch(0x6000);
	gp_leave();
	launch(0x5000);
	assert_int_equal(seen.refused, 1);
	assert_int_equal(seen.ended, 1);
	assert_int_equal(atomic_load(&calling) + atomic_load(&calling_long), 0);
	assert_int_equal(atomic_load(&launching), 0);
}

static void after_a_refusal_no_launch_is_offered(void **state)
{
	(void)state;
	counters_sink->refused();
	launch(0x5000);
	assert_int_equal(seen.begun, gp_clock_is_tsc ? 0 : 1);
	assert_int_equal(gp_due, 0);
	assert_int_equal(gp_launch_is_plain, gp_clock_is_tsc);
}

static void the_end_of_a_context_respects_captures(void **state)
{
	(void)state;
	errno = 0;
	gp_hook_context_ending((CUcontext)0x1000, true);
	assert_true(seen.may_call);
	assert_int_equal(errno, 0);
	gp_capture_begin();
	gp_hook_context_ending((CUcontext)0x1000, true);
	assert_int_equal(seen.contexts, 2);
	assert_false(seen.may_call);
	gp_capture_began(77, CUDA_ERROR_INVALID_VALUE);
	wrap_cuDevicePrimaryCtxRetain(&driver.current, 0);
	wrap_cuDevicePrimaryCtxRelease_v2(0); /* before the driver's call and after it */
	assert_int_equal(seen.contexts, 4);
	assert_true(seen.may_call);
}

/* The CUDA runtime makes contexts through a table of its own: their first hook may be any. */
static void a_context_without_a_device_waits_for_one(void **state)
{
	(void)state;
	CUdeviceptr memory;
	const size_t records = committed();
	const unsigned calls = driver.own_calls;
	driver.current = (CUcontext)0x7003;
	gp_context_set(driver.current);
	assert_int_equal(driver.own_calls, calls);
	assert_int_equal(committed(), records);
	assert_false(gp_counters_devices() >> 3 & 1);
	wrap_cuMemAlloc_v2(&memory, 4096);
	assert_true(gp_counters_devices() >> 3 & 1);
}

int main(void)
{
	ring = mmap(NULL, GP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (ring == MAP_FAILED)
		return 1;
	gp_clock_init();
#define TEST(name) cmocka_unit_test_setup(name, fresh_counted)
	const struct CMUnitTest tests[] = {
		TEST(each_launch_is_offered_inside_the_gate),
		TEST(cooperative_launches_are_not_offered),
		TEST(a_launch_waits_for_the_streams_of_its_context),
		TEST(another_launch_inside_the_driver_is_no_idle_gpu),
		TEST(a_launch_that_a_jump_left_ends_at_the_next),
		TEST(after_a_refusal_no_launch_is_offered),
		TEST(the_end_of_a_context_respects_captures),
		TEST(a_context_without_a_device_waits_for_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
