/* Gaps between the operations of a GPU: which wait, load or late launch each is due to. */
#include "range_records.h"
#include "wait_records.h"

static uint32_t launched;    /* correlation ids so far */
#define GPU_AHEAD 5000000ull /* CUPTI's clock minus the recording's */

/* A kernel ran for `took_us` until `ago_us` before now; it is reported now. */
static void ran(uint64_t ago_us, uint64_t took_us, uint32_t correlation)
{
	put(&w, 2,
	    (struct gp_record){
		    .kind = GP_GPU_KERNEL,
		    .gpu_kernel = { .began_ns = w.time + GPU_AHEAD - (ago_us + took_us) * US,
				    .took_ns = took_us * US,
				    .launch = correlation } });
}

static void ran_copy(uint64_t ago_us, uint64_t took_us, uint32_t correlation, uint64_t bytes)
{
	put(&w, 2,
	    (struct gp_record){
		    .kind = GP_GPU_COPY,
		    .aux = 1,
		    .gpu_copy = { .began_ns = w.time + GPU_AHEAD - (ago_us + took_us) * US,
				  .took_ns = took_us * US,
				  .launch = correlation,
				  .bytes = bytes } });
}

static void set_clock(void)
{
	put(&w, 2,
	    (struct gp_record){ .kind = GP_GPU_CLOCK,
				.gpu_clock.gpu_ns = w.time + 64 + GPU_AHEAD });
}

static void assert_us(int64_t ns, uint64_t us)
{
	assert_in_range(ns, us * US - US, us * US + US);
}

/* A kernel runs from its launch on. */
static void run(uint64_t took_us)
{
	launch(STREAM);
	pass(took_us);
	ran(0, took_us, ++launched);
}

/* The host waits for it: it was ahead by as much. */
static void run_and_await(uint64_t took_us, uint32_t stack)
{
	launch(STREAM);
	await(GP_WAIT_STREAM, STREAM, took_us, stack);
	ran(0, took_us, ++launched);
}

static void gaps_are_due_to_what_the_host_did(void **state)
{
	(void)state;
	set_clock();
	run_and_await(100, 1);
	pass(150); /* the host works on, and launches late */
	run(100);
	pass(400);
	load(40);
	pass(10);
	run(60);
	set_clock();
	build_waits();
	assert_true(waits.has_gpu_time);
	assert_us(row_of(GP_WAIT_ON_SYNCHRONIZE)->lost_ns, 150);
	assert_us(row_of(GP_WAIT_ON_RECOMPILE)->lost_ns, 450);
	assert_int_equal(waits.pending_ns, 0);
	assert_int_equal(waits.idle_ns, waits.lost_ns);
	assert_us(waits.idle_ns, 600);
}

/* The kernel ended before the host waited: the wait has only the time that it took. */
static void wait_for_an_idle_gpu_has_its_own_time(void **state)
{
	(void)state;
	set_clock();
	run(100);
	pass(500);
	await(GP_WAIT_STREAM, STREAM, 70, 1);
	put(&w, 1, /* another thread waited, too, and began earlier */
	    (struct gp_record){ .kind = GP_WAIT,
				.stack = 1,
				.aux = gp_call_pack(GP_WAIT_STREAM, 0, 90 * US),
				.wait.handle = STREAM });
	pass(200);
	await(GP_WAIT_CONTEXT, 0, 30, 2);
	run(100);
	set_clock();
	build_waits();
	assert_us(row_of(GP_WAIT_ON_HOST)->lost_ns, 680);
	assert_int_equal(row_of(GP_WAIT_ON_HOST)->count, 1);
	assert_us(row_of(GP_WAIT_ON_SYNCHRONIZE)->lost_ns, 90 + 30);
	assert_us(waits.lost_ns, 800);
	assert_string_equal(gp_wait_kind_names[GP_WAIT_ON_HOST], "other");
}

/* Without the wait, the host would have launched 100 us earlier. */
static void late_launches_are_due_to_a_lost_advance(void **state)
{
	(void)state;
	set_clock();
	run_and_await(100, 1);
	pass(50);
	run(20);
	for (unsigned k = 0; k < 5; k++) {
		pass(30);
		run(20);
	}
	set_clock();
	build_waits();
	assert_us(row_of(GP_WAIT_ON_SYNCHRONIZE)->lost_ns, 50 + 100);
	assert_us(row_of(GP_WAIT_ON_HOST)->lost_ns, 50);
	assert_int_equal(row_of(GP_WAIT_ON_HOST)->count, 2);
}

/* As run_and_await, in a free. */
static void run_and_free(uint64_t took_us)
{
	launch(STREAM);
	await(GP_WAIT_FREE, DEVICE_MEMORY, took_us, 2);
	ran(0, took_us, ++launched);
}

/* A longer wait has the greater advance, and any wait has one after the host was ahead again. */
static void greater_lost_advance_counts(void **state)
{
	(void)state;
	set_clock();
	run_and_await(300, 1);
	pass(50);
	run_and_free(20);
	pass(30);
	run(40);
	pass(150); /* late, due to the first */
	run(40);
	run_and_free(400);
	pass(10);
	run(40);
	pass(200); /* late, due to the second free */
	launch(STREAM);
	launch(STREAM);
	pass(100);
	ran(65, 35, ++launched);
	ran(0, 50, ++launched); /* the host was ahead */
	copy(GP_COPY_TO_HOST, 0, PAGEABLE, DEVICE_MEMORY, 4, 20, 3);
	ran_copy(0, 20, ++launched, 4);
	pass(100); /* late, due to the item */
	run(40);
	pass(70);
	run(40);
	set_clock();
	build_waits();
	assert_us(row_of(GP_WAIT_ON_SYNCHRONIZE)->lost_ns, 50 + 150);
	assert_us(row_of(GP_WAIT_ON_FREE)->lost_ns, 30 + 10 + 200);
	assert_us(waits.pending_ns, 15);
	assert_us(row_of(GP_WAIT_ON_ITEM)->lost_ns, 100 + 20);
	assert_us(row_of(GP_WAIT_ON_HOST)->lost_ns, 50);
}

/* A copy and the wait for it block the host as one: so long was the advance. */
static void advance_of_a_copy_includes_its_call(void **state)
{
	(void)state;
	set_clock();
	copy(GP_COPY_TO_DEVICE, GP_CALL_ASYNC, DEVICE_MEMORY, PAGEABLE, 65536, 200, 1);
	ran_copy(0, 200, ++launched, 65536);
	await(GP_WAIT_STREAM, STREAM, 5, 1);
	pass(10);
	run(20);
	pass(190);
	run(20);
	set_clock();
	build_waits();
	assert_us(row_of(GP_WAIT_ON_PAGEABLE)->lost_ns, 15 + 190);
	assert_int_equal(waits.rows, 1);
}

/* An item through pinned memory ends; the host works on for `us`, and then waits for it. */
static void item_and_late_wait(uint64_t us)
{
	set_clock();
	copy(GP_COPY_TO_HOST, GP_CALL_ASYNC, PINNED, DEVICE_MEMORY, 4, 5, 1);
	ran_copy(0, 3, ++launched, 4);
	w.time += us * US - 64; /* from its return */
	await(GP_WAIT_STREAM, STREAM, 5, 1);
	pass(200);
	run(20);
	set_clock();
	build_waits();
	assert_int_equal(row_of(GP_WAIT_ON_ITEM)->count, 1);
	assert_us(row_of(GP_WAIT_ON_ITEM)->blocked_ns, 5);
}

/* Within 100 us, as at the limit here, both are one call, in which the gap began. */
static void gap_between_a_copy_and_its_wait_is_the_copys(void **state)
{
	(void)state;
	item_and_late_wait(97);
	assert_us(row_of(GP_WAIT_ON_ITEM)->lost_ns, 97 + 5 + 200);
	assert_int_equal(waits.rows, 1);
}

static void host_work_between_a_copy_and_its_wait_is_not_a_wait(void **state)
{
	(void)state;
	item_and_late_wait(98);
	assert_us(row_of(GP_WAIT_ON_ITEM)->lost_ns, 5);
	assert_us(row_of(GP_WAIT_ON_HOST)->lost_ns, 98 + 200);
}

/* As `x.to("cpu", non_blocking=True)`, work of the host, and synchronize(). */
static void late_wait_after_a_pinned_copy_has_its_own_time(void **state)
{
	(void)state;
	set_clock();
	copy(GP_COPY_TO_HOST, GP_CALL_ASYNC, PINNED, DEVICE_MEMORY, 65536, 5, 1);
	ran_copy(0, 3, ++launched, 65536);
	pass(50000);
	await(GP_WAIT_STREAM, STREAM, 5, 1);
	run(20);
	set_clock();
	build_waits();
	assert_us(row_of(GP_WAIT_ON_SYNCHRONIZE)->lost_ns, 5);
	assert_us(row_of(GP_WAIT_ON_HOST)->lost_ns, 50000);
}

/* The host had gone on when the GPU became idle: it is not late. */
static void copy_launched_earlier_waits_for_the_gpu(void **state)
{
	(void)state;
	set_clock();
	launch(STREAM);
	copy(GP_COPY_TO_DEVICE, GP_CALL_ASYNC, DEVICE_MEMORY, PINNED, 65536, 1, 1);
	pass(300);
	ran(200, 99, ++launched);
	ran_copy(0, 150, ++launched, 65536);
	set_clock();
	build_waits();
	assert_us(waits.pending_ns, 50);
	assert_int_equal(waits.lost_ns, 0);
}

/* The driver stages pageable memory in the call: the host's time. */
static void blocking_copy_has_the_gap_before_it(void **state)
{
	(void)state;
	set_clock();
	launch(STREAM);
	copy(GP_COPY_TO_DEVICE, GP_CALL_ASYNC, DEVICE_MEMORY, PAGEABLE, 65536, 300, 1);
	ran(200, 99, ++launched);
	ran_copy(0, 150, ++launched, 65536);
	set_clock();
	build_waits();
	assert_int_equal(waits.pending_ns, 0);
	assert_us(row_of(GP_WAIT_ON_PAGEABLE)->lost_ns, 50);
}

/* Of the wait before the interval, the advance and a part of the gap count. */
static void wait_before_the_interval_explains_gaps(void **state)
{
	(void)state;
	set_clock();
	run(30);
	pass(60);
	run_and_await(100, 1);
	pass(50);
	const int64_t cut_ns = (int64_t)w.time - 512;
	pass(70);
	run(20);
	pass(80);
	run(20);
	pass(40);
	run(20);
	set_clock();
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_waits_build(r, cut_ns, INT64_MAX, &waits), GP_OK);
	gp_recording_close(r);
	assert_us(row_of(GP_WAIT_ON_SYNCHRONIZE)->lost_ns, 70 + 80 + 20);
	assert_int_equal(row_of(GP_WAIT_ON_SYNCHRONIZE)->count, 0);
	assert_us(row_of(GP_WAIT_ON_HOST)->lost_ns, 20);
	assert_us(waits.idle_ns, 70 + 80 + 40);
}

/* The GPU was busy in it, with work that has no record. The advance after it is unknown. */
static void gap_with_a_lost_operation_is_unknown(void **state)
{
	(void)state;
	set_clock();
	run_and_await(100, 1);
	pass(40);
	run(20);
	pass(10);
	copy(GP_COPY_ON_DEVICE, GP_CALL_ASYNC, DEVICE_MEMORY, DEVICE_MEMORY + 4096, 64, 1, 1);
	pass(600);
	++launched;
	run(100);
	pass(30);
	run(50);
	set_clock();
	build_waits();
	assert_us(waits.idle_ns, 40 + 30);
	assert_us(row_of(GP_WAIT_ON_SYNCHRONIZE)->lost_ns, 40);
	assert_us(row_of(GP_WAIT_ON_HOST)->lost_ns, 30);
	assert_int_equal(waits.lost_operations, 0); /* none was counted */
	assert_int_equal(waits.launches_alone, 1);
}

/* The device is idle for 40 us, and for 400 us in which a copy without an operation is launched. */
static void lose_a_copy_of(unsigned device)
{
	set_clock();
	run_and_await(100, 1);
	pass(40);
	run(20);
	pass(150);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_COPY,
				.device = (uint8_t)device,
				.aux = gp_call_pack(GP_COPY_ON_DEVICE, GP_CALL_ASYNC, US),
				.copy = { DEVICE_MEMORY, DEVICE_MEMORY + 4096, 64, STREAM } });
	++launched;
	pass(250);
	run(100);
	set_clock();
	build_waits();
	assert_int_equal(waits.launches_alone, 1);
}

static void lost_operation_removes_no_gap_of_another_gpu(void **state)
{
	(void)state;
	lose_a_copy_of(1);
	assert_us(waits.idle_ns, 40 + 400);
}

static void lost_operation_of_an_unknown_gpu_removes_gaps(void **state)
{
	(void)state;
	lose_a_copy_of(GP_DEVICE_UNKNOWN);
	assert_us(waits.idle_ns, 40);
}

/* In the second half the loader takes less than half of the gap, and has its part. */
static void gap_in_a_data_loader_is_due_to_it(void **state)
{
	(void)state;
	define_name(&w, 1, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
	set_clock();
	launch(STREAM);
	put_push(&w, 0, 1, GP_RANGE_TORCH);
	pass(400);
	put_pop(&w, 0, GP_RANGE_TORCH);
	ran(300, 99, ++launched);
	run(50);
	pass(70); /* an advance of 100 us was lost in the loader */
	run(50);
	pass(130);
	put_push(&w, 0, 1, GP_RANGE_TORCH);
	pass(40);
	put_pop(&w, 0, GP_RANGE_TORCH);
	run(50);
	set_clock();
	build_waits();
	assert_us(row_of(GP_WAIT_ON_DATA)->lost_ns, 300 + 70 + 30 + 40);
	assert_us(row_of(GP_WAIT_ON_HOST)->lost_ns, 100);
}

static void launched_work_waits_for_the_gpu(void **state)
{
	(void)state;
	set_clock();
	launch(STREAM);
	launch(STREAM); /* long before its kernel begins */
	pass(500);
	ran(300, 200, 1);
	ran(0, 250, 2); /* 50 us after the first ended */
	set_clock();
	build_waits();
	assert_us(waits.idle_ns, 50);
	assert_us(waits.pending_ns, 50);
	assert_int_equal(waits.lost_ns, 0);
	assert_int_equal(waits.lost_operations, 0);
}

static void gaps_outside_of_windows_are_unknown(void **state)
{
	(void)state;
	set_clock();
	launch(STREAM);
	pass(100);
	ran(0, 90, 1);
	put(&w, 2, (struct gp_record){ .kind = GP_GPU_TIME, .aux = GP_GPU_TIME_OFF });
	pass(1000);
	put(&w, 2, (struct gp_record){ .kind = GP_GPU_TIME, .aux = GP_GPU_TIME_ON });
	launch(STREAM);
	pass(100);
	ran(0, 90, 2);
	put(&w, 2,
	    (struct gp_record){
		    .kind = GP_GPU_TIME, .aux = GP_GPU_TIME_DROPPED, .gpu_time.number = 7 });
	set_clock();
	build_waits();
	assert_true(waits.has_gpu_time);
	assert_int_equal(waits.idle_ns, 0);
	assert_int_equal(waits.lost_operations, 7);
}

static int begin_gaps(void **state)
{
	launched = 0;
	return begin_waits(state);
}

#define PIECE (1u << 20)
#define FIRST 0x7100000000ull

/* A job that only allocates: no free is the cause. */
static void allocation_has_the_part_of_a_gap_that_it_took(void **state)
{
	(void)state;
	set_clock();
	for (uint64_t k = 0; k < 4; k++) {
		run(100);
		pass(50);
		allocate(0, FIRST + k * PIECE, PIECE, 80);
		pass(30);
	}
	run(20);
	set_clock();
	build_waits();
	const struct gp_wait_row *row = row_of(GP_WAIT_ON_ALLOC);
	assert_us(row->lost_ns, 4 * 80);
	assert_int_equal(row->count, 4);
	assert_us(row_of(GP_WAIT_ON_HOST)->lost_ns, 4 * 80);
	assert_int_equal(waits.rows, 2);
	assert_string_equal(gp_wait_kind_names[GP_WAIT_ON_ALLOC], "other");
}

/* As of a thread that pins batches, while the main thread launches. */
static void allocation_of_another_thread_delays_no_launch(void **state)
{
	(void)state;
	set_clock();
	run(100);
	pass(10);
	allocate(1, FIRST, PIECE, 80);
	run(20);
	set_clock();
	build_waits();
	assert_int_equal(row_of(GP_WAIT_ON_ALLOC)->lost_ns, 0);
	assert_us(row_of(GP_WAIT_ON_ALLOC)->blocked_ns, 80);
	assert_us(row_of(GP_WAIT_ON_HOST)->lost_ns, 90);
}

static void gap_that_begins_in_an_allocation_is_due_to_it(void **state)
{
	(void)state;
	set_clock();
	launch(STREAM);
	allocate(0, FIRST, PIECE, 100);
	ran(40, 60, ++launched);
	pass(25);
	run(20);
	pass(50);
	run(20);
	pass(30);
	run(20);
	set_clock();
	build_waits();
	assert_us(row_of(GP_WAIT_ON_ALLOC)->lost_ns, 40 + 25 + 60);
	assert_us(row_of(GP_WAIT_ON_HOST)->lost_ns, 20);
}

/* It returns before the work is done. */
static void busy_gpu_hides_an_allocation_until_a_launch_is_late(void **state)
{
	(void)state;
	set_clock();
	for (unsigned k = 0; k < 2; k++) {
		launch(STREAM);
		allocate(0, FIRST + k * PIECE, PIECE, 100);
		if (k == 1) /* the host waits in any case, and has lost nothing */
			await(GP_WAIT_EVENT, 0x33, 100, 1);
		pass(300);
		ran(0, k == 1 ? 500 : 400, ++launched);
		pass(150);
	}
	run(20);
	set_clock();
	build_waits();
	assert_us(row_of(GP_WAIT_ON_ALLOC)->lost_ns, 100);
	assert_us(row_of(GP_WAIT_ON_HOST)->lost_ns, 50 + 150);
}

/* The GPU runs out of work in a free. The host launches late, is ahead, and allocates again. */
static void free_and_allocate(bool is_ahead)
{
	launch(STREAM);
	release(FIRST, 20);
	ran(0, 20, ++launched);
	pass(200);
	run(10);
	pass(70); /* late, 20 of it for the lost advance */
	if (is_ahead) {
		launch(STREAM);
		launch(STREAM);
		pass(100);
		ran(65, 35, ++launched);
		ran(0, 63, ++launched);
	} else {
		run(100);
	}
	pass(40); /* late, after the host was ahead */
	allocate(0, FIRST, PIECE, 50);
	run(10);
}

/*
 * Without it the memory would not be allocated again, and the GPU would not be idle in that call.
 * The first allocation follows no free, and one that is larger than all freed memory is needed.
 */
static void memory_that_is_allocated_again_costs_its_free(void **state)
{
	(void)state;
	set_clock();
	run(10);
	allocate(0, FIRST, PIECE, 50);
	for (unsigned k = 0; k < 3; k++)
		free_and_allocate(true);
	launch(STREAM);
	release(FIRST, 20);
	ran(0, 20, ++launched);
	run(10);
	allocate(0, FIRST, 2 * PIECE, 60);
	run(10);
	set_clock();
	build_waits();
	const struct gp_wait_row *row = row_of(GP_WAIT_ON_FREE);
	assert_us(row->lost_ns, 3 * (200 + 70 + 50));
	assert_us(row->blocked_ns, 4 * 20 + 3 * 50);
	assert_int_equal(row->count, 4);
	assert_int_equal(row->again.count, 3);
	assert_int_equal(row->again.bytes, 3 * PIECE);
	assert_us(row->again.blocked_ns, 3 * 50);
	assert_us(row_of(GP_WAIT_ON_ALLOC)->lost_ns, 50 + 60);
	assert_us(row_of(GP_WAIT_ON_HOST)->lost_ns, 3 * 40);
}

static void host_that_was_never_ahead_keeps_its_late_launches(void **state)
{
	(void)state;
	set_clock();
	run(10);
	allocate(0, FIRST, PIECE, 50);
	for (unsigned k = 0; k < 3; k++)
		free_and_allocate(false);
	set_clock();
	build_waits();
	assert_us(row_of(GP_WAIT_ON_FREE)->lost_ns, 3 * (200 + 20 + 50));
	assert_us(row_of(GP_WAIT_ON_HOST)->lost_ns, 3 * (50 + 40));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin_gaps, end_waits)
	const struct CMUnitTest tests[] = {
		TEST(gaps_are_due_to_what_the_host_did),
		TEST(wait_for_an_idle_gpu_has_its_own_time),
		TEST(late_launches_are_due_to_a_lost_advance),
		TEST(greater_lost_advance_counts),
		TEST(advance_of_a_copy_includes_its_call),
		TEST(gap_between_a_copy_and_its_wait_is_the_copys),
		TEST(host_work_between_a_copy_and_its_wait_is_not_a_wait),
		TEST(late_wait_after_a_pinned_copy_has_its_own_time),
		TEST(copy_launched_earlier_waits_for_the_gpu),
		TEST(blocking_copy_has_the_gap_before_it),
		TEST(wait_before_the_interval_explains_gaps),
		TEST(gap_with_a_lost_operation_is_unknown),
		TEST(lost_operation_removes_no_gap_of_another_gpu),
		TEST(lost_operation_of_an_unknown_gpu_removes_gaps),
		TEST(gap_in_a_data_loader_is_due_to_it),
		TEST(launched_work_waits_for_the_gpu),
		TEST(gaps_outside_of_windows_are_unknown),
		TEST(allocation_has_the_part_of_a_gap_that_it_took),
		TEST(allocation_of_another_thread_delays_no_launch),
		TEST(gap_that_begins_in_an_allocation_is_due_to_it),
		TEST(busy_gpu_hides_an_allocation_until_a_launch_is_late),
		TEST(memory_that_is_allocated_again_costs_its_free),
		TEST(host_that_was_never_ahead_keeps_its_late_launches),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
