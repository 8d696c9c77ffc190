/*
 * The join of operations and launches against jobs whose true join is known. A wrong launch may
 * never be reported as certain.
 */
#include "gpu_join.h"

static void operations_of_three_streams_are_joined(void **state)
{
	(void)state;
	put_steps(20);
	gpu_report(NULL);
	build();
	assert_all_joined(1200);
	assert_int_equal(gpu.swapped, 0);
	assert_int_equal(gpu.clock_within_ns, 64);
	for (size_t k = 1; k < gpu.operations; k++)
		assert_true(gpu.operation[k].began_ns >= gpu.operation[k - 1].began_ns);
	for (size_t k = 0; k < gpu.operations; k++)
		assert_in_range(gpu.operation[k].at_ns - gpu.launch[gpu.operation[k].launch].at_ns,
				0, 10000000);
}

static void copies_sets_and_graphs_are_joined(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 100; k++) {
		gpu_copy(0, 1, GP_COPY_TO_DEVICE, 4096 + draw(4));
		gpu_launch(0, 1, (unsigned)draw(6), 5);
		gpu_copy(0, 1, GP_COPY_FILL, 4096);
		gpu_graph(0, 1, 4);
		gpu_launch(0, 0, (unsigned)draw(6), 5);
		gpu_pass(30);
	}
	gpu_report(NULL);
	build();
	assert_all_joined(800);
}

/* Should CUPTI count bytes in another way than the driver, kernels have their launches anyway. */
static void odd_copies_leave_kernels_joined(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 700; k++) {
		gpu_launch(0, 1, k % 4, 5);
		gpu_copy(0, 1, GP_COPY_FILL, 64);
		job.done[job.dones - 1].gpu_copy.bytes = 256;
		gpu_copy(0, 1, GP_COPY_TO_DEVICE, 64 + k % 3);
		if (k % 2)
			gpu_launch(1, 2, k % 4, 5);
		gpu_pass(100);
	}
	gpu_report(NULL);
	build();
	assert_int_equal(gpu.joined[GP_GPU_UNJOINED], 700);
	assert_int_equal(gpu.launches_alone, 700);
	assert_int_equal(gpu.joined[GP_GPU_JOINED] + gpu.joined[GP_GPU_UNCERTAIN], 1750);
	assert_int_equal(wrong(GP_GPU_JOINED), 0);
	for (size_t k = 0; k < gpu.operations; k++)
		if (gpu.operation[k].kind == GP_GPU_IS_KERNEL)
			assert_int_equal(gpu.operation[k].join, GP_GPU_JOINED);
}

static void captured_and_refused_launches_have_no_operation(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 50; k++) {
		gpu_launch(0, 1, k % 3, 5);
		put(&job.w, 0,
		    (struct gp_record){ .kind = GP_LAUNCH,
					.launch = { 0x1000, gpu_handle(1), 1,
						    128 | (uint64_t)GP_LAUNCH_CAPTURED << 48 } });
		put(&job.w, 0,
		    (struct gp_record){ .kind = GP_LAUNCH,
					.code = 700,
					.launch = { 0x1000, gpu_handle(1), 1, 128 } });
	}
	gpu_report(NULL);
	build();
	assert_all_joined(50);
}

static bool is_one_of_50(uint32_t done)
{
	(void)done;
	return draw(50) == 0;
}

/* Each step has the same kernels: without a synchronization a lost one cannot be placed. */
static void lost_operation_among_equal_ones_is_uncertain(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 200; k++) {
		gpu_launch(0, 1, 2, 50);
		gpu_pass(2);
	}
	const uint32_t lost = gpu_report(is_one_of_50);
	build();
	assert_true(lost > 0);
	assert_int_equal(gpu.dropped, lost);
	assert_int_equal(gpu.joined[GP_GPU_JOINED], 0);
	assert_int_equal(gpu.joined[GP_GPU_UNCERTAIN], 200 - lost);
	assert_int_equal(gpu.launches_alone, lost);
}

/* Work that had not ended with the recording: without a report of drops, no others are missing. */
static void last_operations_may_be_missing(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 200; k++) {
		gpu_launch(0, 1, 2, 50);
		gpu_pass(2);
	}
	gpu_clock_put();
	for (uint32_t k = 0; k < 150; k++)
		put(&job.w, 3, job.done[k]);
	build();
	assert_int_equal(gpu.joined[GP_GPU_JOINED], 150);
	assert_int_equal(wrong(GP_GPU_JOINED), 0);
	assert_int_equal(gpu.launches_alone, 50);
}

static void synchronization_places_lost_operations(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 400; k++) {
		gpu_launch(0, 1, 2, 50);
		gpu_pass(2);
		gpu_wait(0, 1);
		gpu_pass(40);
	}
	const uint32_t lost = gpu_report(is_one_of_50);
	build();
	assert_int_equal(gpu.joined[GP_GPU_JOINED], 400 - lost);
	assert_int_equal(wrong(GP_GPU_JOINED), 0);
	assert_int_equal(gpu.launches_alone, lost);
}

/* Two threads race on one stream: their events have one order, CUPTI another. */
static void put_race(unsigned calls, unsigned kernels)
{
	for (unsigned k = 0; k < calls; k++) {
		const unsigned kernel[2] = { (unsigned)draw(kernels), (unsigned)draw(kernels) };
		const bool is_swapped = draw(20) == 0;
		uint32_t call[2];
		for (unsigned t = 0; t < 2; t++)
			call[t] = gpu_call_kernel(t, 1, kernel[t]);
		for (unsigned t = 0; t < 2; t++) {
			const unsigned which = is_swapped ? 1 - t : t;
			job.correlation++;
			gpu_kernel(1, kernel[which], call[which], job.w.time, 3, 0);
		}
		gpu_pass(5 + draw(5));
	}
}

static void swapped_neighbours_are_counted(void **state)
{
	(void)state;
	put_race(500, 12);
	gpu_report(NULL);
	build();
	assert_int_equal(gpu.operations, 1000);
	assert_int_equal(gpu.joined[GP_GPU_UNJOINED], 0);
	assert_true(gpu.swapped > 10 && gpu.swapped < 60);
	assert_int_equal(wrong(GP_GPU_JOINED), 0);
	assert_true(gpu.joined[GP_GPU_JOINED] > 100);
}

/* A stream that ends gives its handle to the next one. */
static void handles_are_used_again(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 8; k++) {
		for (unsigned n = 0; n < 30; n++) {
			gpu_name(0, n % 5);
			const uint32_t call =
				gpu_call(0, (struct gp_record){ .kind = GP_LAUNCH,
								.launch = { 0x1000 + n % 5, 0x9000,
									    1 + n % 5, 128 } });
			job.correlation++;
			gpu_kernel(2 + k, n % 5, call, job.w.time, 4, 0);
			gpu_launch(0, 1, (unsigned)draw(4), 5);
			gpu_pass(4);
		}
		put(&job.w, 0,
		    (struct gp_record){ .kind = GP_STREAM_DESTROY,
					.stream_destroy.handle = 0x9000 });
	}
	gpu_report(NULL);
	build();
	assert_all_joined(480);
}

static void default_stream_of_each_thread_is_its_own(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 200; n++) {
		const unsigned thread = n % 3;
		gpu_name(thread, n % 5);
		const uint32_t call = gpu_call(
			thread,
			(struct gp_record){ .kind = GP_LAUNCH,
					    .launch = { 0x1000 + n % 5, 2, 1 + n % 5, 128 } });
		job.correlation++;
		gpu_kernel(thread, n % 5, call, job.w.time, 4, 0);
		gpu_pass(150);
	}
	gpu_report(NULL);
	build();
	assert_all_joined(200);
}

static void graph_on_a_stream_of_the_driver_is_joined(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 40; k++) {
		const uint32_t call =
			gpu_call(0, (struct gp_record){ .kind = GP_GRAPH_LAUNCH,
							.graph_launch = { 0x77, gpu_handle(1) } });
		job.correlation++;
		gpu_name(0, 3);
		gpu_kernel(9, 3, call, job.w.time, 5, 55);
		gpu_kernel(10, 3, call, job.w.time, 5, 56);
		gpu_launch(0, 1, (unsigned)draw(4), 5);
		gpu_pass(30);
	}
	gpu_report(NULL);
	build();
	assert_int_equal(gpu.joined[GP_GPU_UNJOINED], 0);
	assert_int_equal(wrong(GP_GPU_JOINED) + wrong(GP_GPU_UNCERTAIN), 0);
}

static void recording_without_gpu_time_has_none(void **state)
{
	(void)state;
	gpu_call_kernel(0, 1, 2);
	build();
	assert_false(gpu.has_operations);
	assert_null(gpu.why);
}

/* All kernels have one name: the order decides, and a lost operation leaves no certainty. */
static void kernels_without_a_shape_are_joined_by_name(void **state)
{
	(void)state;
	job.is_shapeless = true;
	for (unsigned k = 0; k < 100; k++) {
		job.is_shapeless = k % 3 != 0;
		gpu_launch(0, 1, (unsigned)draw(4), 5);
		gpu_pass(5);
	}
	gpu_report(NULL);
	build();
	assert_all_joined(100);
	bool has_shapeless = false;
	for (size_t k = 0; k < gpu.functions; k++)
		has_shapeless |= !gp_gpu_has_shape(&gpu.function[k]);
	assert_true(has_shapeless);
}

static bool is_number_50(uint32_t done)
{
	return done == 50;
}

static void lost_operation_among_shapeless_ones_is_uncertain(void **state)
{
	(void)state;
	job.is_shapeless = true;
	for (unsigned k = 0; k < 100; k++) {
		gpu_launch(0, 1, k % 2, 5); /* two shapes of one name */
		gpu_pass(1);
	}
	gpu_report(is_number_50);
	build();
	assert_int_equal(gpu.joined[GP_GPU_UNJOINED], 0);
	assert_int_equal(wrong(GP_GPU_JOINED), 0);
	assert_true(gpu.joined[GP_GPU_UNCERTAIN] >= 49);
}

/* A number without a definition has neither name nor shape: it is of no launch. */
static void unknown_kernels_are_not_joined(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 20; k++) {
		gpu_launch(0, 1, 0, 5);
		if (k % 2)
			job.done[job.dones - 1].aux = 1000; /* not defined */
	}
	gpu_report(NULL);
	build();
	assert_int_equal(gpu.joined[GP_GPU_UNJOINED], 10);
	assert_int_equal(wrong(GP_GPU_JOINED), 0);
}

enum {
	LOST_LAUNCHES = 1,
	COPIES = 2,
	TWO_THREADS = 4,
	RACES = 8,
	LOST_OPERATIONS = 16,
	SHAPELESS = 32,
	WINDOWS = 64, /* of ours, in a profile of the job */
	FAULTS = 128
};

static unsigned fault;
static uint64_t reported_of_windows;
static bool is_lost(uint32_t done)
{
	const struct gp_record *r = &job.done[done];
	if ((fault & LOST_OPERATIONS) != 0 && is_one_of_50(done))
		return true;
	reported_of_windows += is_inside[job.true_call[GP_GPU_CORRELATION(
		r->kind == GP_GPU_KERNEL ? r->gpu_kernel.launch : r->gpu_copy.launch)]];
	return false;
}

static void put_faulty_job(void)
{
	const unsigned kernels = 1 + (unsigned)draw(12);
	job.lead_us = 4 + (uint32_t)draw(300);
	for (unsigned k = 0; k < 400; k++) {
		/* kernels with room for their shape, seen before, lie in between */
		job.is_shapeless = (fault & SHAPELESS) != 0 && k > 100 && draw(3) != 0;
		gpu_launch((fault & TWO_THREADS) != 0 && k % 7 == 0, 1 + (unsigned)draw(2),
			   (unsigned)draw(kernels), 1 + draw(20));
		if (draw(30) == 0)
			gpu_wait(0, 1);
		if ((fault & WINDOWS) != 0 && k % 50 == 25) {
			gpu_pass(2);
			set_inside(k % 100 != 25);
			gpu_window(k % 100 == 25 ? GP_GPU_TIME_ON : GP_GPU_TIME_OFF, k);
			gpu_pass(2);
			job.is_hidden = false;
		}
		if ((fault & LOST_LAUNCHES) != 0 &&
		    draw(40) == 0) { /* the event of a launch is lost */
			const unsigned kernel = (unsigned)draw(kernels);
			job.correlation++;
			gpu_name(0, kernel);
			gpu_kernel(1, kernel, 0, job.w.time, 3, 0);
			put(&job.w, 0, (struct gp_record){ .kind = GP_LOST, .lost.launch = 1 });
		}
		if ((fault & COPIES) != 0 && draw(9) == 0)
			gpu_copy(0, 1, draw(2) ? GP_COPY_UNIFIED : GP_COPY_TO_HOST, 8);
		if ((fault & RACES) != 0 && draw(60) == 0)
			put_race(3, kernels);
		gpu_pass(draw(12));
	}
	set_inside((fault & WINDOWS) == 0);
}

/*
 * Jobs with faults of all kinds: what is reported as certain is true, and no operation of a window
 * is left out.
 */
static void certain_is_never_wrong(void **state)
{
	(void)state;
	uint64_t certain[2] = { 0 }, all[2] = { 0 }, foreign = 0, of_whole_jobs = 0;
	end(NULL);
	writer_close(&job.w, true);
	for (unsigned round = 0; round < 2 * FAULTS; round++) {
		begin(NULL);
		seed = 0x9e3779b97f4a7c15u * (round + 1);
		fault = round % FAULTS;
		reported_of_windows = 0;
		put_faulty_job();
		gpu_report(is_lost);
		build();
		if ((fault & LOST_OPERATIONS) == 0)
			assert_int_equal(of_windows(), reported_of_windows);
		if ((fault & (LOST_OPERATIONS | LOST_LAUNCHES)) == 0) {
			foreign += gpu.operations - reported_of_windows;
			of_whole_jobs += gpu.operations;
		}
		const bool has_windows = (fault & WINDOWS) != 0;
		certain[has_windows] += gpu.joined[GP_GPU_JOINED];
		all[has_windows] += gpu.operations;
		if (wrong(GP_GPU_JOINED) != 0)
			print_message("round %u: %lu wrong\n", round,
				      (unsigned long)wrong(GP_GPU_JOINED));
		assert_int_equal(wrong(GP_GPU_JOINED), 0);
		assert_int_equal(gpu.joined[GP_GPU_JOINED] + gpu.joined[GP_GPU_UNCERTAIN] +
					 gpu.joined[GP_GPU_UNJOINED],
				 gpu.operations);
		end(NULL);
	}
	for (unsigned k = 0; k < 2; k++)
		print_message("certain%s: %lu of %lu\n", k ? " with windows" : "",
			      (unsigned long)certain[k], (unsigned long)all[k]);
	assert_true(certain[0] * 5 > all[0] * 2);
	assert_true(certain[1] * 8 > all[1]);
	/* operations of calls outside: uncertain, where a window's fit at two places */
	print_message("foreign: %lu of %lu\n", (unsigned long)foreign,
		      (unsigned long)of_whole_jobs);
	assert_true(foreign * 20 < of_whole_jobs);
	begin(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(operations_of_three_streams_are_joined),
		TEST(copies_sets_and_graphs_are_joined),
		TEST(odd_copies_leave_kernels_joined),
		TEST(captured_and_refused_launches_have_no_operation),
		TEST(lost_operation_among_equal_ones_is_uncertain),
		TEST(last_operations_may_be_missing),
		TEST(synchronization_places_lost_operations),
		TEST(swapped_neighbours_are_counted),
		TEST(handles_are_used_again),
		TEST(default_stream_of_each_thread_is_its_own),
		TEST(graph_on_a_stream_of_the_driver_is_joined),
		TEST(recording_without_gpu_time_has_none),
		TEST(kernels_without_a_shape_are_joined_by_name),
		TEST(lost_operation_among_shapeless_ones_is_uncertain),
		TEST(unknown_kernels_are_not_joined),
		TEST(certain_is_never_wrong),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
