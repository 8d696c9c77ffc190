/* The records of the sink of GPU time, in the ring of hook_driver.h. */
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
#include "record/recorder.h"

static struct {
	unsigned starts, ends, windows, number;
	bool is_open;
} calls;

static void count_start(void)
{
	calls.starts++;
}

static void count_end(void)
{
	calls.ends++;
}

static void keep_window(bool is_open, uint32_t number)
{
	calls.windows++;
	calls.is_open = is_open;
	calls.number = number;
}

static void *no_route(void *real)
{
	return real;
}

static const struct gp_gpu_source source = {
	.bytes = sizeof source,
	.start = count_start,
	.window = keep_window,
	.route = no_route,
	.end = count_end,
};

static const struct gp_gpu_sink *attached_sink(const char *window)
{
	assert_null(gp_gpu_rule_parse(window, &gp_settings.gpu_time));
	return gp_gpu_time_open(&source);
}

static const struct gp_gpu_kernel kernel = {
	.name = "scale_rows",
	.began_ns = 1000,
	.ended_ns = 1500,
	.correlation = 7,
	.stream = 13,
	.context = 1,
	.device = 2,
	.grid = { 70000, 3, 2 },
	.block = { 128, 2, 1 },
	.static_shared = 48,
	.dynamic_shared = 1024,
	.registers = 40,
	.local_bytes = 16,
};

static int begin(void **state)
{
	memset(&calls, 0, sizeof calls);
	atomic_store(&functions, NULL);
	atomic_store(&is_started, false);
	atomic_store(&unreported, 0);
	gp_gpu_source = NULL;
	return fresh(state);
}

static void a_source_is_taken_only_on_request(void **state)
{
	(void)state;
	struct gp_gpu_source other = source;
	other.bytes--;
	assert_null(attached_sink("off"));
	assert_null(gp_gpu_source);
	assert_non_null(attached_sink("always"));
	assert_null(gp_gpu_time_open(&other));
}

static void hand_kernels(void *sink_of)
{
	const struct gp_gpu_sink *to = sink_of;
	to->kernel(&kernel);
	assert_false(gp_enter()); /* as a signal handler of the job does */
	to->kernel(&kernel);
}

static void kernels_are_recorded_as_reported(void **state)
{
	(void)state;
	const struct gp_gpu_sink *sink_of = attached_sink("always");
	errno = EPIPE;
	assert_true(sink_of->record(hand_kernels, (void *)(uintptr_t)sink_of));
	assert_int_equal(errno, EPIPE);
	assert_int_equal(gp_thread.inside, 0);
	const struct gp_record *define = only(GP_GPU_FUNCTION);
	size_t bytes;
	const char *name = gp_record_text(define, &bytes);
	assert_int_equal(bytes, strlen("scale_rows"));
	assert_memory_equal(name, "scale_rows", bytes);
	assert_int_equal(define->aux, 1);
	assert_int_equal(define->gpu_function.grid, 70000 | 3ull << 32 | 2ull << 48);
	assert_int_equal(define->gpu_function.block, 128 | 2ull << 16 | 1ull << 32);
	assert_int_equal(define->gpu_function.shared, 48 | 1024ull << 32);
	assert_int_equal(define->gpu_function.registers, 40 | 16ull << 32);
	assert_int_equal(count(GP_GPU_KERNEL), 2);
	const struct gp_record *r = record(committed() - 1);
	assert_int_equal(r->kind, GP_GPU_KERNEL);
	assert_int_equal(r->aux, 1);
	assert_int_equal(r->device, 2);
	assert_int_equal(r->code, 1);
	assert_int_equal(r->gpu_kernel.began_ns, 1000);
	assert_int_equal(r->gpu_kernel.took_ns, 500);
	assert_int_equal(GP_GPU_CORRELATION(r->gpu_kernel.launch), 7);
	assert_int_equal(GP_GPU_STREAM(r->gpu_kernel.launch), 13);
}

static void each_shape_has_a_number(void **state)
{
	(void)state;
	char name[] = "another_name";
	struct gp_gpu_kernel other = kernel;
	attached_sink("always");
	assert_true(gp_enter());
	assert_int_equal(gp_gpu_function(&kernel), 1);
	other.grid[0]++;
	assert_int_equal(gp_gpu_function(&other), 2);
	other.name = name;
	assert_int_equal(gp_gpu_function(&other), 3);
	name[0]++; /* the same address with another name */
	assert_int_equal(gp_gpu_function(&other), 4);
	assert_int_equal(gp_gpu_function(&kernel), 1);
	other.name = NULL;
	assert_int_equal(gp_gpu_function(&other), 5);
	gp_leave();
	assert_int_equal(count(GP_GPU_FUNCTION), 5);
}

/* Beyond the room for shapes a kernel has its name alone, and beyond that for names nothing. */
static void a_full_table_keeps_names(void **state)
{
	(void)state;
	struct gp_gpu_kernel other = kernel;
	attached_sink("always");
	assert_true(gp_enter());
	for (uint32_t k = 0; k < GP_GPU_FUNCTIONS; k++) {
		gp_thread.head = 0; /* the ring has no drain thread */
		other.grid[0] = k + 1;
		assert_int_equal(gp_gpu_function(&other), k + 1);
	}
	for (unsigned k = 1; k <= 3; k++) {
		other.grid[0]++;
		gp_thread.head = 0;
		assert_int_equal(gp_gpu_function(&other), GP_GPU_FUNCTIONS + 1);
		assert_int_equal(count(GP_GPU_FUNCTION), k == 1);
		if (k != 1)
			continue;
		const struct gp_record *define = only(GP_GPU_FUNCTION);
		size_t bytes;
		assert_memory_equal(gp_record_text(define, &bytes), "scale_rows", 10);
		assert_int_equal(define->aux, GP_GPU_FUNCTIONS + 1);
		for (unsigned v = 0; v < 4; v++)
			assert_int_equal(define->v[v], 0);
	}
	const struct gp_gpu_kernel unnamed = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
	assert_int_equal(gp_gpu_function(&unnamed), 0);
	for (uint32_t k = 1; k <= GP_GPU_NAMES; k++) {
		char name[32];
		gp_thread.head = 0;
		snprintf(name, sizeof name, "kernel_%u", k);
		other.name = name;
		assert_int_equal(gp_gpu_function(&other),
				 k < GP_GPU_NAMES ? GP_GPU_FUNCTIONS + 1 + k : 0);
	}
	other.name = kernel.name;
	assert_int_equal(gp_gpu_function(&other), GP_GPU_FUNCTIONS + 1);
	other.grid[0] = 5;
	assert_int_equal(gp_gpu_function(&other), 5);
	gp_leave();
}

/* Long names use up the text before the numbers; names alone have text of their own. */
static void text_of_shapes_leaves_text_for_names(void **state)
{
	(void)state;
	static char name[GP_TEXT_MAX + 1];
	struct gp_gpu_kernel other = kernel;
	uint32_t number = 0;
	memset(name, 'x', GP_TEXT_MAX);
	other.name = name;
	attached_sink("always");
	assert_true(gp_enter());
	for (uint32_t k = 1; k <= TEXT_BYTES / GP_TEXT_MAX; k++) {
		gp_thread.head = 0;
		other.grid[0] = k;
		assert_int_equal(gp_gpu_function(&other), k);
	}
	other.grid[0] = 0x10000;
	for (unsigned k = 0; k < 3; k++) {
		gp_thread.head = 0;
		other.grid[1] = k;
		number = gp_gpu_function(&other);
		assert_int_equal(number, GP_GPU_FUNCTIONS + 1);
	}
	gp_leave();
}

/* Without room in the ring a kernel has number 0 for now, and uses up no number. */
static void lost_definitions_are_made_up_for(void **state)
{
	(void)state;
	struct gp_gpu_kernel other = kernel;
	attached_sink("always");
	assert_true(gp_enter());
	gp_thread.region = GP_RING_REGIONS - 1; /* of no further growth */
	for (unsigned k = 0; k < 3; k++) {
		gp_thread.head = GP_RING_SLOTS;
		gp_thread.limit = 0;
		assert_int_equal(gp_gpu_function(&kernel), 0);
	}
	gp_thread.head = 0;
	for (unsigned k = 0; k < 3; k++)
		assert_int_equal(gp_gpu_function(&kernel), 1);
	assert_int_equal(only(GP_GPU_FUNCTION)->aux, 1);
	other.grid[0]++;
	assert_int_equal(gp_gpu_function(&other), 2);
	gp_leave();
}

static void copies_and_sets_are_recorded(void **state)
{
	(void)state;
	const struct gp_gpu_sink *sink_of = attached_sink("always");
	const struct gp_gpu_copied copy = {
		.began_ns = 2000,
		.ended_ns = 1999, /* a clock that steps */
		.bytes = 1 << 20,
		.correlation = 9,
		.stream = 7,
		.device = 300,
		.what = GP_GPU_TO_HOST | 1u << 8 | 3u << 16 | GP_GPU_ASYNC,
	};
	assert_true(gp_enter());
	sink_of->copy(&copy);
	gp_leave();
	const struct gp_record *r = only(GP_GPU_COPY);
	assert_int_equal(r->aux, copy.what);
	assert_int_equal(r->device, GP_DEVICE_UNKNOWN);
	assert_int_equal(r->gpu_copy.took_ns, 0);
	assert_int_equal(r->gpu_copy.bytes, 1 << 20);
	assert_int_equal(GP_GPU_COPY_KIND(r->aux), GP_GPU_TO_HOST);
	assert_int_equal(GP_GPU_COPY_FROM(r->aux), 1);
	assert_int_equal(GP_GPU_COPY_TO(r->aux), 3);
}

static void clocks_have_the_time_of_the_pair(void **state)
{
	(void)state;
	const struct gp_gpu_sink *sink_of = attached_sink("always");
	const uint64_t before = sink_of->now(), after = sink_of->now();
	sink_of->clock(123456, before, after);
	const struct gp_record *r = only(GP_GPU_CLOCK);
	assert_int_equal(r->time, after);
	assert_int_equal(r->aux, after - before);
	assert_int_equal(r->gpu_clock.gpu_ns, 123456);
}

static void losses_are_reported_with_the_next_records(void **state)
{
	(void)state;
	const struct gp_gpu_sink *sink_of = attached_sink("always");
	gp_thread.inside = gp_here(); /* as from within another wrapper of ours */
	assert_false(sink_of->record(hand_kernels, NULL));
	sink_of->lost(5);
	gp_thread.inside = 0;
	assert_int_equal(count(GP_GPU_TIME), 0);
	sink_of->state(GP_GPU_TIME_DROPPED, 3, 0);
	assert_int_equal(count(GP_GPU_TIME), 2);
	assert_int_equal(record(0)->aux, GP_GPU_TIME_LOST);
	assert_int_equal(record(0)->gpu_time.number, 5);
	assert_int_equal(record(1)->aux, GP_GPU_TIME_DROPPED);
	assert_int_equal(record(1)->gpu_time.number, 3);
}

static void windows_reach_a_running_source(void **state)
{
	(void)state;
	attached_sink("step:2-3");
	gp_gpu_window(true, 1);
	assert_int_equal(calls.windows, 0);
	atomic_store(&local.has_gpu_time, 1);
	gp_gpu_window(true, 1);
	assert_true(calls.is_open);
	assert_int_equal(calls.number, 1);
	gp_gpu_time_end();
	gp_gpu_time_end();
	assert_int_equal(calls.ends, 1);
	gp_gpu_window(false, 1);
	assert_int_equal(calls.windows, 1);
}

int main(void)
{
	ring = mmap(NULL, GP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	gp_clock_init();
#define TEST(name) cmocka_unit_test_setup(name, begin)
	const struct CMUnitTest tests[] = {
		TEST(a_source_is_taken_only_on_request),
		TEST(kernels_are_recorded_as_reported),
		TEST(each_shape_has_a_number),
		TEST(a_full_table_keeps_names),
		TEST(text_of_shapes_leaves_text_for_names),
		TEST(lost_definitions_are_made_up_for),
		TEST(copies_and_sets_are_recorded),
		TEST(clocks_have_the_time_of_the_pair),
		TEST(losses_are_reported_with_the_next_records),
		TEST(windows_reach_a_running_source),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
