/*
 * The join in windows of GPU time: operations belong to a window if they were launched in it. The
 * job may have a profiler of its own, which collects outside of them, too.
 */
#include "gpu_join.h"

static void windows_hide_what_is_outside(void **state)
{
	(void)state;
	job.is_hidden = true;
	for (unsigned window = 1; window <= 4; window++) {
		put_steps(1);
		gpu_pass(3000);
		gpu_window(GP_GPU_TIME_ON, window);
		put_steps(2);
		gpu_window(GP_GPU_TIME_OFF, window);
		gpu_pass(3000);
		put_steps(1);
		gpu_report(NULL); /* later */
	}
	build();
	assert_int_equal(gpu.windows, 4);
	assert_all_joined(480);
}

/* Calls of other threads near an edge: some are collected before ON and after OFF, some are not. */
static void edges_of_other_threads_are_optional(void **state)
{
	(void)state;
	for (unsigned window = 1; window <= 6; window++) {
		job.is_hidden = window % 2 == 0;
		gpu_launch(1, 2, 1, 5);
		gpu_pass(20);
		job.is_hidden = false;
		gpu_window(GP_GPU_TIME_ON, window);
		job.is_hidden = window % 3 == 0;
		gpu_launch(1, 2, 2, 5);
		job.is_hidden = false;
		for (unsigned k = 0; k < 40; k++) {
			gpu_pass(100);
			gpu_launch(0, 1, (unsigned)draw(6), 5);
		}
		gpu_pass(20);
		job.is_hidden = window % 2 == 0;
		gpu_launch(1, 2, 3, 5);
		gpu_pass(20);
		gpu_window(GP_GPU_TIME_OFF, window);
		job.is_hidden = window % 3 != 0;
		gpu_launch(1, 2, 4, 5);
		gpu_pass(5000);
	}
	gpu_report(NULL);
	build();
	assert_int_equal(gpu.windows, 6);
	assert_int_equal(gpu.joined[GP_GPU_UNJOINED], 0);
	assert_int_equal(wrong(GP_GPU_JOINED), 0);
	assert_int_equal(gpu.launches_alone, 0);
	assert_true(gpu.joined[GP_GPU_JOINED] >= 6 * 40);
}

/* CUPTI takes 20 ms to begin, on a thread of its own, and 3 ms to end. */
static void slow_switches_leave_launches_optional(void **state)
{
	(void)state;
	uint64_t since = 0;
	job.is_hidden = true;
	for (unsigned k = 0; k < 900; k++) {
		gpu_launch(0, 1, (unsigned)draw(6), 5);
		gpu_pass(100);
		if (k == 200 || k == 600)
			since = job.w.time;
		if (k == 300 || k == 620)
			job.is_hidden = !job.is_hidden;
		if (k == 400 || k == 630)
			put(&job.w, 3,
			    (struct gp_record){ .kind = GP_GPU_TIME,
						.aux = k == 400 ? GP_GPU_TIME_ON : GP_GPU_TIME_OFF,
						.gpu_time = { .number = 1, .since = since } });
	}
	gpu_report(NULL);
	build();
	assert_int_equal(gpu.operations, 300); /* launched by the begin of the second switch */
	assert_int_equal(gpu.outside, 20);
	assert_int_equal(gpu.joined[GP_GPU_UNJOINED], 0);
	assert_int_equal(wrong(GP_GPU_JOINED), 0);
	assert_int_equal(gpu.launches_alone, 0);
	assert_true(gpu.joined[GP_GPU_JOINED] > 250);
}

/*
 * Windows while the job's own profiler collects all the time. `kernels`: the next one is drawn from
 * so many, or each step has the same. Asserts that all operations of the windows are left.
 */
static void put_shared_windows(unsigned windows, unsigned kernels, bool waits)
{
	uint64_t all = 0;
	for (unsigned step = 0; step < 4 * windows; step++) {
		if (step % 4 == 1)
			gpu_window(GP_GPU_TIME_ON, 1 + step / 4);
		if (step % 4 == 3)
			gpu_window(GP_GPU_TIME_OFF, 1 + step / 4);
		job.is_hidden = false;
		for (unsigned k = 0; k < 400; k++) {
			gpu_launch(0, 1 + k % 5 / 4, kernels != 0 ? (unsigned)draw(kernels) : k % 7,
				   step % 4 == 2 ? 9 : 1);
			gpu_pass(2);
		}
		set_inside(step % 4 == 1 || step % 4 == 2);
		if (waits)
			gpu_wait(0, 1);
		if (waits)
			gpu_wait(0, 2);
	}
	all = job.dones;
	gpu_report(NULL);
	build();
	assert_int_equal(gpu.operations + gpu.outside, all);
	assert_int_equal(of_windows(), windows * 800);
	assert_int_equal(gpu.windows, windows);
	assert_int_equal(gpu.joined[GP_GPU_UNJOINED], 0);
	assert_int_equal(gpu.launches_alone, 0);
	assert_int_equal(wrong(GP_GPU_JOINED), 0);
}

static void operations_of_a_shared_profiler_are_left_out(void **state)
{
	(void)state;
	put_shared_windows(3, 0, true);
	assert_int_equal(gpu.operations, 2400);
	assert_int_equal(gpu.joined[GP_GPU_UNCERTAIN], 0);
}

/* The queue is long: operations begin long after a window that were launched in it. */
static void order_tells_what_a_shared_profiler_adds(void **state)
{
	(void)state;
	put_shared_windows(3, 12, false);
	assert_int_equal(gpu.operations, 2400);
	assert_int_equal(gpu.joined[GP_GPU_UNCERTAIN], 0);
}

/* Without a wait, the operations may be those of the step before or after as well: all are kept. */
static void equal_steps_of_a_shared_profiler_are_uncertain(void **state)
{
	(void)state;
	put_shared_windows(2, 0, false);
	assert_in_range(gpu.operations, 1601, 4000);
	assert_int_equal(gpu.joined[GP_GPU_JOINED], 0);
}

/* The same steps and windows, but no other profiler. */
static void equal_steps_of_windows_alone_are_certain(void **state)
{
	(void)state;
	for (unsigned step = 0; step < 12; step++) {
		if (step % 4 == 1)
			gpu_window(GP_GPU_TIME_ON, 1 + step / 4);
		if (step % 4 == 3)
			gpu_window(GP_GPU_TIME_OFF, 1 + step / 4);
		job.is_hidden = step % 4 == 0 || step % 4 == 3;
		for (unsigned k = 0; k < 100; k++) {
			gpu_launch(0, 1, k % 7, step % 4 == 2 ? 9 : 1);
			gpu_pass(2);
		}
	}
	gpu_report(NULL);
	build();
	assert_all_joined(600);
	assert_int_equal(gpu.outside, 0);
}

/* A call is slow: meanwhile another thread launches on the stream, and waits for that alone. */
static void slow_call_stays_in_its_window(void **state)
{
	(void)state;
	gpu_window(GP_GPU_TIME_ON, 1);
	for (unsigned k = 0; k < 20; k++) {
		gpu_launch(0, 1, k % 4, 5);
		gpu_pass(2);
	}
	const uint32_t call = gpu_call_kernel(0, 1, 5), slow = job.correlation += 3;
	gpu_pass(200);
	gpu_launch(1, 1, 4, 5);
	gpu_wait(1, 1);
	gpu_pass(300);
	const uint32_t last = job.correlation;
	job.correlation = slow;
	gpu_kernel(1, 5, call, job.w.time, 5, 0);
	job.correlation = last;
	gpu_pass(100);
	gpu_window(GP_GPU_TIME_OFF, 1);
	gpu_report(NULL);
	build();
	assert_int_equal(gpu.outside, 0);
	assert_int_equal(gpu.operations, 22);
	assert_int_equal(gpu.launches_alone, 0);
	assert_int_equal(wrong(GP_GPU_JOINED), 0);
}

/* The GPU is behind the host, so they run after the window. Kernel 9 has no launch event. */
static void operations_of_unseen_calls_are_kept(void **state)
{
	(void)state;
	for (unsigned window = 1; window <= 2; window++) {
		gpu_window(GP_GPU_TIME_ON, window);
		for (unsigned k = 0; k < 20; k++) {
			gpu_launch(0, 1, k % 4, 20);
			gpu_name(0, 9);
			job.correlation++;
			gpu_kernel(1, 9, 0, job.w.time, 20, 0);
			gpu_pass(2);
		}
		if (window == 2)
			gpu_wait(0, 1);
		gpu_window(GP_GPU_TIME_OFF, window);
		gpu_launch(0, 1, 8, 5);
		gpu_pass(5000);
	}
	gpu_report(NULL);
	build();
	assert_int_equal(gpu.outside, 0);
	assert_int_equal(gpu.operations, 80);
	assert_int_equal(gpu.joined[GP_GPU_UNJOINED], 40);
	assert_int_equal(gpu.launches_alone, 0);
	assert_int_equal(wrong(GP_GPU_JOINED), 0);
}

/* CUPTI had no clock of the job's profiler yet. */
static void operations_without_a_time_are_dropped(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 40; k++) {
		gpu_launch(0, 1, k % 4, 5);
		gpu_wait(0, 1);
		if (k < 10) {
			job.done[job.dones - 1].gpu_kernel.began_ns = GPU_AHEAD / 2;
			job.done[job.dones - 1].gpu_kernel.took_ns = 0;
		}
	}
	gpu_report(NULL);
	build();
	assert_int_equal(gpu.dropped, 10);
	assert_int_equal(gpu.operations, 30);
	assert_int_equal(gpu.joined[GP_GPU_JOINED], 30);
	assert_int_equal(wrong(GP_GPU_JOINED), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(windows_hide_what_is_outside),
		TEST(edges_of_other_threads_are_optional),
		TEST(slow_switches_leave_launches_optional),
		TEST(operations_of_a_shared_profiler_are_left_out),
		TEST(order_tells_what_a_shared_profiler_adds),
		TEST(equal_steps_of_a_shared_profiler_are_uncertain),
		TEST(equal_steps_of_windows_alone_are_certain),
		TEST(slow_call_stays_in_its_window),
		TEST(operations_of_unseen_calls_are_kept),
		TEST(operations_without_a_time_are_dropped),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
