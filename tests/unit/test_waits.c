/*
 * Waits against recordings whose idle times are known: which call is blamed, what drains a device,
 * and what is left out because the GPU may still have work.
 */
#include "analyze/waits/alloc_again.h"
#include "wait_records.h"

static void idle_time_goes_from_a_wait_to_the_next_launch(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		launch(STREAM);
		await(GP_WAIT_STREAM, STREAM, 7, 1);
		pass(50);
	}
	launch(STREAM);
	build_waits();
	assert_int_equal(waits.rows, 1);
	const struct gp_wait_row *row = row_of(GP_WAIT_ON_SYNCHRONIZE);
	assert_int_equal(row->count, 4);
	assert_true(row->is_repeated);
	assert_int_equal(row->blocked_ns, 4 * 7 * US);
	assert_int_equal(row->longest_ns, 7 * US);
	assert_int_equal(row->lost_ns, 4 * 50 * US);
	assert_int_equal(waits.lost_ns, row->lost_ns);
	assert_int_equal(waits.repeated_lost_ns, row->lost_ns);
}

static void work_of_another_stream_keeps_the_device_busy(void **state)
{
	(void)state;
	launch(OTHER_STREAM);
	launch(STREAM);
	await(GP_WAIT_STREAM, STREAM, 7, 1);
	pass(50);
	launch(STREAM);
	await(GP_WAIT_CONTEXT, 0, 9, 2);
	pass(30);
	launch(STREAM);
	build_waits();
	assert_int_equal(waits.lost_ns, 30 * US);
	assert_int_equal(waits.blocked_ns, 16 * US);
}

static void event_wait_drains_no_stream(void **state)
{
	(void)state;
	launch(STREAM);
	await(GP_WAIT_EVENT, 0x33, 7, 1);
	pass(50);
	launch(STREAM);
	build_waits();
	assert_int_equal(waits.lost_ns, 0);
	assert_int_equal(row_of(GP_WAIT_ON_SYNCHRONIZE)->blocked_ns, 7 * US);
}

/* As .item() does: four bytes to pageable memory, and a wait on their stream. */
static void small_copy_to_the_host_is_an_item(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		launch(STREAM);
		copy(GP_COPY_TO_HOST, GP_CALL_ASYNC, PAGEABLE, DEVICE_MEMORY, 4, 5, 1);
		await(GP_WAIT_STREAM, STREAM, 2, 1);
		pass(20);
	}
	launch(STREAM);
	build_waits();
	assert_int_equal(waits.rows, 1);
	const struct gp_wait_row *row = row_of(GP_WAIT_ON_ITEM);
	assert_int_equal(row->count, 3);
	assert_int_equal(row->bytes, 12);
	assert_int_equal(row->blocked_ns, 3 * 7 * US);
	/* idle from the copy's return: it cannot return before the bytes are there */
	assert_int_equal(row->lost_ns, 3 * (2 + 20) * US);
}

/* The same through pinned memory: the copy does not block, the wait does. */
static void item_through_pinned_memory_is_one_too(void **state)
{
	(void)state;
	launch(STREAM);
	copy(GP_COPY_TO_HOST, GP_CALL_ASYNC, PINNED + 64, DEVICE_MEMORY, 8, 1, 1);
	await(GP_WAIT_STREAM, STREAM, 6, 1);
	pass(20);
	launch(STREAM);
	build_waits();
	const struct gp_wait_row *row = row_of(GP_WAIT_ON_ITEM);
	assert_int_equal(row->count, 1);
	assert_false(row->is_repeated);
	assert_int_equal(row->blocked_ns, 6 * US);
	assert_int_equal(row->lost_ns, 20 * US);
	assert_int_equal(waits.repeated_lost_ns, 0);
}

static void pinned_copy_without_a_wait_has_no_row(void **state)
{
	(void)state;
	launch(STREAM);
	copy(GP_COPY_TO_DEVICE, GP_CALL_ASYNC, DEVICE_MEMORY, PINNED, 65536, 1, 1);
	launch(STREAM);
	build_waits();
	assert_int_equal(waits.rows, 0);
	assert_int_equal(waits.copies[GP_COPY_TO_DEVICE].count, 1);
	assert_int_equal(waits.copies[GP_COPY_TO_DEVICE].bytes, 65536);
	assert_int_equal(waits.copies[GP_COPY_TO_DEVICE].pageable_count, 0);
	assert_int_equal(waits.copies[GP_COPY_TO_DEVICE].took_ns, 1 * US);
}

/* Its bytes may still be on the way from the staging buffer: the device is busy. */
static void pageable_copy_to_the_device_blocks_and_drains_nothing(void **state)
{
	(void)state;
	launch(STREAM);
	copy(GP_COPY_TO_DEVICE, GP_CALL_ASYNC, DEVICE_MEMORY, PAGEABLE, 65536, 12, 1);
	pass(40);
	launch(STREAM);
	build_waits();
	const struct gp_wait_row *row = row_of(GP_WAIT_ON_PAGEABLE);
	assert_int_equal(row->blocked_ns, 12 * US);
	assert_int_equal(row->lost_ns, 0);
	assert_int_equal(waits.copies[GP_COPY_TO_DEVICE].pageable_bytes, 65536);
}

static void unified_copy_gets_its_direction_from_addresses(void **state)
{
	(void)state;
	launch(STREAM);
	copy(GP_COPY_UNIFIED, GP_CALL_ASYNC, PAGEABLE, DEVICE_MEMORY + 128, 4096, 3, 1);
	copy(GP_COPY_UNIFIED, GP_CALL_ASYNC, DEVICE_MEMORY, PINNED, 4096, 3, 1);
	build_waits();
	assert_int_equal(waits.copies[GP_COPY_UNIFIED].count, 0);
	assert_int_equal(waits.copies[GP_COPY_TO_HOST].pageable_count, 1);
	assert_int_equal(waits.copies[GP_COPY_TO_DEVICE].pageable_count, 0);
	assert_int_equal(waits.copies[GP_COPY_TO_DEVICE].count, 1);
}

/* An array has no address; the size of a copy of a batch from an array is unknown. */
static void copy_of_an_array_is_on_the_device(void **state)
{
	(void)state;
	launch(STREAM);
	copy(GP_COPY_UNIFIED, GP_CALL_ASYNC, 0, DEVICE_MEMORY, 64, 1, 1);
	copy(GP_COPY_UNIFIED, GP_CALL_ASYNC, PINNED, 0, 0, 1, 1);
	copy(GP_COPY_UNIFIED, GP_CALL_ASYNC, 0, PINNED, 4096, 1, 1);
	copy(GP_COPY_PREFETCH, GP_CALL_ASYNC, DEVICE_MEMORY, 0, 8192, 1, 1);
	build_waits();
	assert_int_equal(waits.rows, 0);
	assert_int_equal(waits.copies[GP_COPY_ON_DEVICE].count, 1);
	assert_int_equal(waits.copies[GP_COPY_TO_HOST].count, 1);
	assert_int_equal(waits.copies[GP_COPY_TO_DEVICE].bytes, 4096);
	assert_int_equal(waits.copies[GP_COPY_PREFETCH].bytes, 8192);
}

static void free_of_device_memory_drains_the_device(void **state)
{
	(void)state;
	launch(STREAM);
	launch(OTHER_STREAM);
	await(GP_WAIT_FREE, DEVICE_MEMORY, 8, 1);
	pass(25);
	launch(STREAM);
	build_waits();
	const struct gp_wait_row *row = row_of(GP_WAIT_ON_FREE);
	assert_int_equal(row->blocked_ns, 8 * US);
	assert_int_equal(row->lost_ns, 25 * US);
}

static void free_of_pinned_memory_drains_the_device(void **state)
{
	(void)state;
	for (unsigned kind = GP_WAIT_FREE_HOST; kind <= GP_WAIT_UNREGISTER; kind++) {
		launch(STREAM);
		launch(OTHER_STREAM);
		await((enum gp_call)kind, PINNED, 8, 1);
		pass(25);
	}
	launch(STREAM);
	build_waits();
	assert_int_equal(row_of(GP_WAIT_ON_FREE)->lost_ns, 2 * 25 * US);
}

/* The host waits in each; only a stream that answered "ready" has no work. */
static void loops_of_queries_wait(void **state)
{
	(void)state;
	launch(STREAM);
	await(GP_WAIT_EVENT_QUERY, 0x99, 100, 1);
	pass(25);
	launch(STREAM);
	await(GP_WAIT_STREAM_QUERY, STREAM, 200, 2);
	pass(30);
	launch(STREAM);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_WAIT,
				.code = GP_CODE_NOT_READY,
				.stack = 2,
				.aux = gp_call_pack(GP_WAIT_STREAM_QUERY, 0, 0),
				.wait.handle = STREAM });
	pass(50);
	launch(STREAM);
	build_waits();
	assert_int_equal(row_of(GP_WAIT_ON_EVENT_QUERY)->blocked_ns, 100 * US);
	assert_int_equal(row_of(GP_WAIT_ON_EVENT_QUERY)->lost_ns, 0);
	assert_int_equal(row_of(GP_WAIT_ON_STREAM_QUERY)->blocked_ns, 200 * US);
	assert_int_equal(row_of(GP_WAIT_ON_STREAM_QUERY)->lost_ns, 30 * US);
	assert_int_equal(row_of(GP_WAIT_ON_STREAM_QUERY)->count, 2);
	assert_string_equal(gp_wait_kind_names[GP_WAIT_ON_EVENT_QUERY], "synchronize");
}

static void refused_and_captured_calls_change_nothing(void **state)
{
	(void)state;
	launch(STREAM);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_WAIT, .code = 900, .wait.handle = STREAM, .stack = 1 });
	pass(50);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_COPY,
				.stack = 1,
				.aux = gp_call_pack(GP_COPY_TO_HOST, GP_CALL_CAPTURED, US),
				.copy = { PAGEABLE, DEVICE_MEMORY, 4, STREAM } });
	pass(50);
	launch(STREAM);
	build_waits();
	assert_int_equal(waits.lost_ns, 0);
	assert_int_equal(waits.copies[GP_COPY_TO_HOST].count, 0);
}

/* A launch that is lost, or not recorded, may have ended the idle time, on any stream. */
static void unrecorded_work_ends_what_is_known(void **state)
{
	(void)state;
	const struct gp_record unseen[] = {
		{ .kind = GP_LOST, .lost.launch = 1 },
		{ .kind = GP_GAP, .aux = GP_WHY_STOPPED },
		{ .kind = GP_SCOPE, .aux = 1 },
	};
	for (unsigned k = 0; k < 3; k++) {
		launch(STREAM);
		await(GP_WAIT_CONTEXT, 0, 4, 1);
		pass(50);
		put(&w, 0, unseen[k]);
		launch(STREAM);
		await(GP_WAIT_STREAM, STREAM, 4, 1); /* another stream may have work */
		pass(50);
	}
	launch(STREAM);
	await(GP_WAIT_CONTEXT, 0, 4, 1);
	pass(30);
	launch(STREAM);
	build_waits();
	assert_int_equal(waits.lost_ns, 30 * US);
}

/* A compiler runs before it loads the module: the idle time around a load is due to it. */
static void loads_have_their_durations(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		launch(STREAM);
		load(500); /* the device has work */
		await(GP_WAIT_CONTEXT, 0, 4, 1);
		w.time += 20 * US;
		load(60);
		load(10);
		pass(5);
	}
	launch(STREAM);
	build_waits();
	const struct gp_wait_row *row = row_of(GP_WAIT_ON_RECOMPILE);
	assert_int_equal(row->count, 9);
	assert_int_equal(row->bytes, 9000);
	assert_int_equal(row->blocked_ns, 3 * 570 * US);
	assert_int_equal(row->longest_ns, 500 * US);
	assert_int_equal(row->lost_ns, 3 * 95 * US);
	assert_int_equal(waits.lost_ns, 3 * 95 * US);
}

/* Likewise of older recordings, which have no durations. */
static void load_in_the_idle_time_is_blamed(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		launch(STREAM);
		await(GP_WAIT_CONTEXT, 0, 4, 1);
		pass(60);
		put(&w, 0, (struct gp_record){ .kind = GP_MODULE_LOAD, .stack = 2 });
		pass(40);
	}
	launch(STREAM);
	build_waits();
	const struct gp_wait_row *row = row_of(GP_WAIT_ON_RECOMPILE);
	assert_int_equal(row->count, 3);
	assert_int_equal(row->lost_ns, 3 * 100 * US);
	assert_ptr_equal(row, &waits.row[0]);
	assert_int_equal(row_of(GP_WAIT_ON_SYNCHRONIZE)->lost_ns, 0);
}

static void interval_cuts_idle_time(void **state)
{
	(void)state;
	launch(STREAM);
	await(GP_WAIT_CONTEXT, 0, 4, 1);
	pass(100);
	const int64_t cut_ns = (int64_t)w.time - 1024;
	pass(100);
	launch(STREAM);
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_waits_build(r, cut_ns, INT64_MAX, &waits), GP_OK);
	gp_recording_close(r);
	assert_in_range(waits.lost_ns, 100 * US - 64, 100 * US + 64);
	assert_int_equal(waits.blocked_ns, 0);
}

static void elapsed(uint64_t ns, uint32_t stack)
{
	put(&w, 0,
	    (struct gp_record){ .kind = GP_ELAPSED,
				.stack = stack,
				.elapsed = { .start = 1, .end = 2, .elapsed_ns = ns } });
}

static void timers_are_summed_by_line(void **state)
{
	struct gp_timers timers;
	(void)state;
	elapsed(500, 0);
	pass(100);
	const int64_t from_ns = (int64_t)w.time - 1024;
	for (unsigned k = 0; k < 3; k++)
		elapsed(1000 * (k + 1), k); /* stacks 1 and 2 are not in the recording */
	elapsed(UINT64_MAX, 0);
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_timers_build(r, from_ns, INT64_MAX, &timers), GP_OK);
	uint64_t results = 0;
	for (size_t k = 0; k < timers.rows; k++) {
		assert_non_null(timers.row[k].without);
		assert_null(timers.row[k].file);
		results += timers.row[k].count;
	}
	assert_int_equal(results, 4);
	assert_int_equal(timers.row[0].total_ns, UINT64_MAX); /* of a damaged recording */
	assert_int_equal(timers.row[0].least_ns, 1000);
	gp_timers_free(&timers);
	assert_int_equal(gp_timers_build(r, INT64_MIN, from_ns, &timers), GP_OK);
	assert_int_equal(timers.rows, 1);
	assert_int_equal(timers.row[0].total_ns, 500);
	gp_timers_free(&timers);
	gp_recording_close(r);
}

static void allocation_without_gpu_time_has_a_duration_alone(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		launch(STREAM);
		await(GP_WAIT_STREAM, STREAM, 7, 1);
		allocate(0, 0x7100000000 + (uint64_t)k * 65536, 4096, 30);
	}
	launch(STREAM);
	build_waits();
	assert_int_equal(row_of(GP_WAIT_ON_SYNCHRONIZE)->lost_ns, 3 * (30 * US + 64));
	assert_int_equal(row_of(GP_WAIT_ON_ALLOC)->lost_ns, 0);
	assert_in_range(row_of(GP_WAIT_ON_ALLOC)->blocked_ns, 3 * 30 * US - 3 * 30, 3 * 30 * US);
	assert_int_equal(waits.blocked_ns, row_of(GP_WAIT_ON_ALLOC)->blocked_ns +
						   row_of(GP_WAIT_ON_SYNCHRONIZE)->blocked_ns);
}

/* A burst of frees covers what is allocated in its step and in the next, until the next burst. */
static void allocations_of_two_steps_are_again(void **state)
{
	(void)state;
	struct gp_again a = { 0 };
	gp_again_see(&a, 100);
	assert_false(gp_again_allocated(&a, 120, 0)); /* nothing was freed */
	gp_again_freed(&a, 80, 1);
	gp_again_freed(&a, 50, 1);
	assert_false(gp_again_allocated(&a, 60, 1)); /* the free did not wait: no launches */
	gp_again_freed(&a, 40, 2);
	gp_again_returned(&a, 5, 17);
	gp_again_freed(&a, 30, 2);
	gp_again_returned(&a, 6, 18);
	assert_true(gp_again_allocated(&a, 40, 2));
	assert_int_equal(a.place, 5);
	assert_int_equal(a.activity, 17);
	assert_false(gp_again_allocated(&a, 40, 3)); /* it took nothing from the driver */
	assert_true(gp_again_allocated(&a, 60, 3));
	assert_false(gp_again_allocated(&a, 61, 3)); /* more than was freed */
	gp_again_freed(&a, 11, 4);
	gp_again_returned(&a, 7, 19);
	assert_false(gp_again_allocated(&a, 12, 6));
	assert_true(gp_again_allocated(&a, 13, 5));
	gp_again_freed(&a, 3, 5); /* a new burst: of the one before, 49 are left out */
	gp_again_returned(&a, 8, 20);
	assert_false(gp_again_allocated(&a, 20, 5));
	assert_int_equal(a.place, 8);
}

/* As FORMAT.md describes it: exact below 2^22 ticks, else to 1 in 2^21; of ALLOC 2^11 and 2^10. */
static void durations_survive_their_packing(void **state)
{
	(void)state;
	for (uint64_t took = 0; took < 1ull << 42; took += took / 3 + 1) {
		const uint64_t back = gp_alloc_took((uint16_t)gp_took_pack(took, 11));
		assert_in_range(back, took - (took >> 10), took);
		if (took < 1u << 11)
			assert_int_equal(back, took);
	}
	assert_true(gp_took_pack(UINT64_MAX, 11) == UINT16_MAX);
	for (unsigned bit = 0; bit < 53; bit++)
		for (uint64_t more = 0; more <= 2; more++) {
			const uint64_t took = (1ull << bit) - 1 + more;
			const uint32_t call = gp_call_pack(GP_COPY_ON_HOST, GP_CALL_ASYNC, took);
			const uint64_t back = gp_call_took(call);
			assert_int_equal(gp_call_kind(call), GP_COPY_ON_HOST);
			assert_true(call & GP_CALL_ASYNC && !(call & GP_CALL_CAPTURED));
			assert_in_range(back, took - (took >> 21), took);
			if (took < 1u << 22)
				assert_int_equal(back, took);
		}
	assert_true(gp_call_took(gp_call_pack(GP_COPY_FILL, 0, UINT64_MAX)) > 1ull << 52);
	assert_int_equal(gp_call_kind(gp_call_pack(GP_COPY_FILL, 0, UINT64_MAX)), GP_COPY_FILL);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin_waits, end_waits)
	const struct CMUnitTest tests[] = {
		TEST(idle_time_goes_from_a_wait_to_the_next_launch),
		TEST(work_of_another_stream_keeps_the_device_busy),
		TEST(event_wait_drains_no_stream),
		TEST(small_copy_to_the_host_is_an_item),
		TEST(item_through_pinned_memory_is_one_too),
		TEST(pinned_copy_without_a_wait_has_no_row),
		TEST(pageable_copy_to_the_device_blocks_and_drains_nothing),
		TEST(unified_copy_gets_its_direction_from_addresses),
		TEST(copy_of_an_array_is_on_the_device),
		TEST(free_of_device_memory_drains_the_device),
		TEST(free_of_pinned_memory_drains_the_device),
		TEST(refused_and_captured_calls_change_nothing),
		TEST(loops_of_queries_wait),
		TEST(unrecorded_work_ends_what_is_known),
		TEST(loads_have_their_durations),
		TEST(load_in_the_idle_time_is_blamed),
		TEST(interval_cuts_idle_time),
		TEST(timers_are_summed_by_line),
		TEST(allocation_without_gpu_time_has_a_duration_alone),
		cmocka_unit_test(allocations_of_two_steps_are_again),
		cmocka_unit_test(durations_survive_their_packing),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
