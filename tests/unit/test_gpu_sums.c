/* Sums of Nsight Systems' reports, compared with figures calculated by hand. */
#include "gpu_records.h"

#include <math.h>

#define US GPU_US
#define CLOCK_OFF 32u /* GPU_CLOCK is taken in the middle of its 64 ticks */

static struct gp_recording *recording;
static struct gp_gpu gpu;
static struct gp_sums sums;

static int begin(void **state)
{
	(void)state;
	gpu_job_open("sums.gpr");
	gpu_clock_put();
	return 0;
}

static void build(bool has_ranges)
{
	gpu_report(NULL);
	recording = fixture_read(&job.w);
	assert_int_equal(gp_gpu_build(recording, has_ranges, &gpu), GP_OK);
}

static void sum(enum gp_sums_of of)
{
	gp_sums_free(&sums);
	assert_int_equal(
		gp_sums_build(&gpu, NULL, of, INT64_MIN, INT64_MAX, GP_DEVICE_UNKNOWN, &sums),
		GP_OK);
}

static int end(void **state)
{
	(void)state;
	gp_sums_free(&sums);
	gp_gpu_free(&gpu);
	gp_recording_close(recording);
	return 0;
}

static void assert_spread(const struct gp_spread *s, uint64_t count, uint64_t least, uint64_t most,
			  double mean, double median, double deviation)
{
	assert_int_equal(s->count, count);
	assert_int_equal(s->least, least);
	assert_int_equal(s->most, most);
	assert_float_equal(s->mean, mean, 1e-6);
	assert_float_equal(s->median, median, 1e-6);
	assert_float_equal(s->deviation, deviation, 1e-6);
}

static void kernels_have_the_figures_of_their_times(void **state)
{
	(void)state;
	/* kernels 2 and 3 are two shapes of one name */
	const uint64_t took_us[] = { 50, 10, 40, 20 };
	for (unsigned k = 0; k < 4; k++) {
		gpu_launch(0, 1, 2 + k % 2, took_us[k]);
		gpu_pass(100);
	}
	gpu_launch(0, 1, 0, 7);
	build(false);
	sum(GP_SUMS_OF_KERNELS);
	assert_int_equal(sums.rows, 2);
	assert_int_equal(sums.total_ns, 127 * US);
	assert_string_equal(sums.row[0].name, "kernel01(float*)");
	assert_int_equal(sums.row[0].time.total, 120 * US);
	/* squares of 20, 20, 10 and 10 by 3 */
	assert_spread(&sums.row[0].time, 4, 10 * US, 50 * US, 30 * US, 30 * US,
		      sqrt(1000. / 3) * US);
	assert_string_equal(sums.row[1].name, "kernel00(float*)");
	assert_spread(&sums.row[1].time, 1, 7 * US, 7 * US, 7 * US, 7 * US, 0);
}

static void copies_have_times_and_bytes(void **state)
{
	(void)state;
	gpu_copy(0, 1, GP_COPY_TO_DEVICE, 1000);
	gpu_pass(50);
	gpu_copy(0, 1, GP_COPY_TO_DEVICE, 4000);
	gpu_pass(50);
	gpu_copy(0, 1, GP_COPY_FILL, 70);
	build(false);
	sum(GP_SUMS_OF_COPIES);
	assert_int_equal(sums.rows, 2);
	assert_int_equal(sums.row[0].copy, GP_GPU_TO_DEVICE);
	assert_spread(&sums.row[0].time, 2, 3 * US, 3 * US, 3 * US, 3 * US, 0);
	/* 1500 from the mean on either side, by 1 */
	assert_spread(&sums.row[0].other, 2, 1000, 4000, 2500, 2500, sqrt(2 * 1500. * 1500.));
	assert_int_equal(sums.row[1].copy, GP_GPU_SET);
	assert_spread(&sums.row[1].other, 1, 70, 70, 70, 70, 0);
	assert_int_equal(sums.total_ns, 9 * US);
}

static void launches_have_the_time_to_the_end_of_the_kernel(void **state)
{
	(void)state;
	/* the first launch of a kernel is recorded late: it counts, without a total time */
	gpu_launch(1, 1, 0, 5);
	gpu_pass(100);
	gpu_launch(1, 1, 0, 10); /* 4 us to the GPU: 14 us */
	gpu_launch(1, 1, 0, 30); /* behind the one before: 10 us later */
	gpu_pass(100);
	gpu_launch(2, 1, 0, 8);
	gpu_pass(100);
	gpu_graph(2, 1, 1);
	build(false);
	sum(GP_SUMS_OF_LAUNCHES);
	assert_int_equal(sums.rows, 3);
	const struct gp_sum_row *row = &sums.row[0];
	assert_int_equal(row->thread, 1);
	assert_int_equal(row->api, GP_LAUNCH_KERNEL);
	assert_spread(&row->time, 3, 5 * US, 30 * US, 15 * US, 10 * US, sqrt(175) * US);
	/* put() passes 64 ticks from one call to the next */
	assert_int_equal(row->other.count, 2);
	assert_int_equal(row->other.least, 14 * US - CLOCK_OFF);
	assert_int_equal(row->other.most, 44 * US - 64 - CLOCK_OFF);
	assert_int_equal(sums.row[1].thread, 2);
	assert_int_equal(sums.row[1].other.total, 12 * US - CLOCK_OFF);
	assert_int_equal(sums.row[2].api, GP_SUM_BY_GRAPH);
	assert_int_equal(sums.row[2].other.count, 1);
}

static void push(unsigned thread, uint32_t name, uint32_t depth)
{
	put(&job.w, thread,
	    (struct gp_record){ .kind = GP_RANGE_PUSH,
				.device = GP_DEVICE_UNKNOWN,
				.aux = name,
				.range_push = { GP_RANGE_NVTX, name == 2 ? 3 : 0, depth, 0 } });
}

static void pop(unsigned thread, uint32_t name, uint32_t depth)
{
	put(&job.w, thread,
	    (struct gp_record){ .kind = GP_RANGE_POP,
				.device = GP_DEVICE_UNKNOWN,
				.range_pop = { GP_RANGE_NVTX, name == 2 ? 3 : 0, depth, 0 } });
}

/* outer twice, inner twice in the first; a kernel of 10 us before and 20 us in each inner. */
static void put_ranges(void)
{
	static const char *const names[] = { "outer", "inner", "lib" };
	for (uint32_t k = 0; k < 3; k++)
		gpu_put_text(0, (struct gp_record){ .kind = GP_RANGE_NAME, .aux = k + 1 },
			     names[k]);
	gpu_name(0, 0);
	gpu_name(0, 2);
	push(0, 1, 0);
	gpu_launch(0, 1, 0, 10);
	for (unsigned k = 0; k < 2; k++) {
		push(0, 2, 1);
		gpu_launch(0, 1, 2, 20);
		pop(0, 2, 1);
	}
	pop(0, 1, 0);
	gpu_pass(500);
	push(0, 1, 0);
	gpu_launch(0, 1, 0, 10);
	pop(0, 1, 0);
	push(0, 1, 0); /* without an operation */
	pop(0, 1, 0);
}

static void ranges_are_projected_onto_their_operations(void **state)
{
	(void)state;
	struct gp_gpu_calls calls;
	put_ranges();
	build(true);
	assert_int_equal(gp_gpu_calls_build(&gpu, INT64_MIN, INT64_MAX, GP_DEVICE_UNKNOWN, &calls),
			 GP_OK);
	assert_int_equal(calls.calls, 5);
	assert_int_equal(calls.call[1].children, 2);
	assert_int_equal(calls.call[1].sum.operations, 3);
	/* one after the other: 10, 20 and 20 us */
	assert_int_equal(calls.call[1].last_ns - calls.call[1].first_ns, 50 * US);
	assert_int_equal(calls.call[3].depth, 1);
	assert_int_equal(calls.call[3].call->up, 1);
	assert_int_equal(calls.call[3].first_ns - calls.call[1].first_ns, 30 * US);
	assert_int_equal(calls.call[5].sum.operations, 0);
	/* a push and a pop are two events of 64 ticks, with a launch between them */
	assert_int_equal(calls.call[3].call->end_ns - calls.call[3].call->begin_ns, 128);

	assert_int_equal(gp_sums_build(&gpu, &calls, GP_SUMS_OF_RANGES, INT64_MIN, INT64_MAX,
				       GP_DEVICE_UNKNOWN, &sums),
			 GP_OK);
	assert_int_equal(sums.rows, 2);
	assert_string_equal(sums.row[0].range, ":outer");
	assert_spread(&sums.row[0].time, 2, 10 * US, 50 * US, 30 * US, 30 * US,
		      sqrt(2 * 400.) * US);
	assert_int_equal(sums.row[0].operations, 4);
	assert_int_equal(sums.row[0].children, 2);
	assert_string_equal(sums.row[1].range, "lib:inner");
	assert_spread(&sums.row[1].time, 2, 20 * US, 20 * US, 20 * US, 20 * US, 0);
	assert_int_equal(sums.row[1].range_ns, 256);
	assert_int_equal(sums.row[1].depth, 2);
	gp_sums_free(&sums);

	/* a kernel counts in each range around it */
	assert_int_equal(gp_sums_build(&gpu, &calls, GP_SUMS_OF_RANGE_KERNELS, INT64_MIN, INT64_MAX,
				       GP_DEVICE_UNKNOWN, &sums),
			 GP_OK);
	assert_int_equal(sums.rows, 3);
	assert_string_equal(sums.row[0].range, ":outer");
	assert_string_equal(sums.row[0].name, "kernel01(float*)");
	assert_int_equal(sums.row[0].calls, 1);
	assert_int_equal(sums.row[0].time.total, 40 * US);
	assert_string_equal(sums.row[1].name, "kernel00(float*)");
	assert_int_equal(sums.row[1].calls, 2);
	assert_spread(&sums.row[1].time, 2, 10 * US, 10 * US, 10 * US, 10 * US, 0);
	assert_string_equal(sums.row[2].range, "lib:inner");
	assert_int_equal(sums.row[2].calls, 2);
	assert_int_equal(sums.row[2].time.count, 2);
	gp_gpu_calls_free(&calls);
}

static void put_started(unsigned thread, enum gp_kind kind, uint32_t name, uint64_t range)
{
	struct gp_record r = { .kind = kind, .device = GP_DEVICE_UNKNOWN };
	if (kind == GP_RANGE_START) {
		r.aux = name;
		r.range_start.source = GP_RANGE_NVTX;
		r.range_start.range = range;
	} else {
		r.range_end.source = GP_RANGE_NVTX;
		r.range_end.range = range;
	}
	put(&job.w, thread, r);
}

/* Range 1 starts and ends on thread 0; range 2 starts there and ends on thread 1. */
static void started_ranges_own_launches_meanwhile(void **state)
{
	(void)state;
	struct gp_gpu_calls calls;
	gpu_put_text(0, (struct gp_record){ .kind = GP_RANGE_NAME, .aux = 1 }, "own");
	gpu_put_text(0, (struct gp_record){ .kind = GP_RANGE_NAME, .aux = 2 }, "across");
	gpu_name(0, 0);
	gpu_name(0, 2);
	put_started(0, GP_RANGE_START, 1, 1);
	gpu_launch(0, 1, 0, 10);
	put_started(0, GP_RANGE_START, 2, 2);
	gpu_pass(100);
	gpu_launch(1, 2, 2, 20); /* of another thread: in range 2 alone */
	gpu_pass(100);
	gpu_launch(0, 1, 0, 10);
	put_started(0, GP_RANGE_END, 0, 1);
	gpu_pass(100);
	put_started(1, GP_RANGE_END, 0, 2);
	gpu_launch(0, 1, 0, 10); /* after both */
	build(true);
	assert_int_equal(gp_gpu_calls_build(&gpu, INT64_MIN, INT64_MAX, GP_DEVICE_UNKNOWN, &calls),
			 GP_OK);
	assert_int_equal(calls.calls, 2);
	assert_true(calls.call[1].call->is_started);
	assert_int_equal(calls.call[1].call->end_thread, 0);
	assert_int_equal(calls.call[1].sum.operations, 2);
	assert_int_equal(calls.call[1].sum.sum_ns, 20 * US);
	/* 64 ticks from each event to the next, then 100 us twice and a kernel of 10 us */
	assert_int_equal(calls.call[1].last_ns - calls.call[1].first_ns, 210 * US + 3 * 64);
	assert_int_equal(calls.call[2].call->end_thread, 1);
	assert_int_equal(calls.call[2].sum.operations, 2);
	assert_int_equal(calls.call[2].sum.sum_ns, 30 * US);
	assert_int_equal(calls.call[2].last_ns - calls.call[2].first_ns, 110 * US + 64);
	assert_int_equal(gp_sums_build(&gpu, &calls, GP_SUMS_OF_RANGES, INT64_MIN, INT64_MAX,
				       GP_DEVICE_UNKNOWN, &sums),
			 GP_OK);
	assert_int_equal(sums.rows, 2);
	assert_string_equal(sums.row[0].range, ":own");
	assert_true(sums.row[0].is_started);
	/* no work of phases is theirs */
	assert_int_equal(calls.outside[0].sum.operations, 4);
	gp_gpu_calls_free(&calls);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(kernels_have_the_figures_of_their_times),
		TEST(copies_have_times_and_bytes),
		TEST(launches_have_the_time_to_the_end_of_the_kernel),
		TEST(ranges_are_projected_onto_their_operations),
		TEST(started_ranges_own_launches_meanwhile),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
