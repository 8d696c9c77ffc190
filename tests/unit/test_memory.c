/*
 * The state of memory at a moment against a plain model that has all places: by order, by time, at
 * peaks, failures and snapshots. The files have many segments or a ring.
 */
#include "framework_story.h"

static void every_moment_is_as_it_was(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct story s;
		write_story(&s, "memory.gpr", seed, 0, 0);
		struct gp_recording *r = fixture_read(&s.writer);
		for (unsigned k = MOMENTS; k-- > 0;) {
			const struct moment *m = &s.moment[k];
			build_and_compare(
				r,
				&(struct gp_moment_of){ .when = GP_WHEN_ORDER, .number = m->order },
				&m->model);
			build_and_compare(
				r,
				&(struct gp_moment_of){ .when = GP_WHEN_TIME, .at_ns = m->at_ns },
				&m->model);
		}
		build_and_compare(r, &(struct gp_moment_of){ .when = GP_WHEN_END }, &s.model);
		build_and_compare(
			r, &(struct gp_moment_of){ .when = GP_WHEN_TIME, .at_ns = INT64_MAX },
			&s.model);
		for (unsigned k = 0; k < s.ooms; k++)
			build_and_compare(
				r, &(struct gp_moment_of){ .when = GP_WHEN_OOM, .number = k },
				&s.moment[s.oom[k]].model);
		for (unsigned k = 0; k < s.snapshots; k++)
			build_and_compare(
				r, &(struct gp_moment_of){ .when = GP_WHEN_SNAPSHOT, .number = k },
				&s.moment[s.snapshot[k]].model);
		/* building a state does not move the position of the recording */
		const struct gp_info *info;
		assert_int_equal(gp_recording_info(r, &info), GP_OK);
		assert_int_equal(info->kept_from_ns, 0);
		assert_int_equal(info->counts[GP_SNAPSHOT], s.snapshots);
		gp_recording_close(r);
		free(s.moment);
	}
}

static void moments_that_were_not_are_none(void **state)
{
	(void)state;
	struct story s;
	struct gp_memory memory;
	write_story(&s, "none.gpr", 3, 0, 0);
	struct gp_recording *r = fixture_read(&s.writer);
	const struct gp_moment_of none[] = {
		{ .when = GP_WHEN_OOM, .number = s.ooms },
		{ .when = GP_WHEN_SNAPSHOT, .number = s.snapshots },
		{ .when = GP_WHEN_ORDER, .number = s.writer.order + 1 },
		{ .when = GP_WHEN_PEAK, .device = 5 },
	};
	for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
		assert_int_equal(gp_memory_build(r, &none[i], &memory), GP_END);
	/* before the first event */
	const struct gp_moment_of begin = { .when = GP_WHEN_TIME, .at_ns = -1 };
	assert_int_equal(gp_memory_build(r, &begin, &memory), GP_OK);
	assert_int_equal(memory.segments + memory.outsides, 0);
	gp_memory_free(&memory);
	gp_recording_close(r);
	free(s.moment);
}

static void the_peak_is_the_highest_moment(void **state)
{
	(void)state;
	for (uint64_t seed = 10; seed < 14; seed++) {
		struct story s;
		struct gp_memory memory;
		write_story(&s, "peak.gpr", seed, 0, 0);
		struct gp_recording *r = fixture_read(&s.writer);
		const struct gp_moment_of peak = { .when = GP_WHEN_PEAK,
						   .device = GP_DEVICE_UNKNOWN,
						   .of = GP_CURVE_RESERVED };
		assert_int_equal(gp_memory_build(r, &peak, &memory), GP_OK);
		assert_int_equal(memory.device[0].reserved_bytes, s.model.peak_reserved);
		uint64_t bytes = 0;
		for (size_t i = 0; i < memory.segments; i++)
			bytes += memory.segment[i].bytes;
		assert_int_equal(bytes, s.model.peak_reserved);
		gp_memory_free(&memory);
		gp_recording_close(r);
		free(s.moment);
	}
}

/* Other sums of live memory do not count blocks that were freed and are still in use. */
static void pending_blocks_have_no_holder(void **state)
{
	(void)state;
	struct story s;
	struct gp_peak peak;
	struct gp_top top;
	write_story(&s, "pending.gpr", 31, 0, 0);
	writer_close(&s.writer, true);
	assert_true(s.model.pending > 0 && s.model.allocated > 0);
	struct gp_recording *r = fixture_open(s.writer.path);
	assert_int_equal(gp_peak_build(r, GP_AT_TIME, INT64_MAX, &peak), GP_OK);
	assert_int_equal(peak.holder[0].of, GP_CURVE_ALLOCATED);
	assert_int_equal(peak.holder[0].live_bytes, s.model.allocated);
	assert_int_equal(peak.holder[0].uncertain_bytes, 0);
	gp_peak_free(&peak);
	assert_int_equal(gp_top_build(r, INT64_MIN, INT64_MAX, 1000, &top), GP_OK);
	assert_int_equal(top.curve[0].of, GP_CURVE_ALLOCATED);
	assert_int_equal(top.curve[0].live_bytes, s.model.allocated);
	assert_int_equal(top.curve[0].freed + top.curve[0].live_count, top.curve[0].count);
	gp_top_free(&top);
	gp_recording_close(r);
	free(s.moment);
}

/*
 * A ring has lost its first segments: moments in them have no state, and all others are unchanged.
 */
static void states_in_a_ring_are_right(void **state)
{
	(void)state;
	struct story s;
	struct gp_memory memory;
	write_story(&s, "ring.gpr", 7, 5, 1 << 20);
	struct gp_recording *r = fixture_read(&s.writer);
	const struct gp_info *info;
	assert_int_equal(gp_recording_info(r, &info), GP_OK);
	assert_true(info->kept_from_ns > 0);
	unsigned gone = 0;
	for (unsigned k = 0; k < MOMENTS; k++) {
		const struct moment *m = &s.moment[k];
		const struct gp_moment_of by_order = { .when = GP_WHEN_ORDER, .number = m->order },
					  by_time = { .when = GP_WHEN_TIME, .at_ns = m->at_ns };
		if (m->at_ns < (int64_t)info->kept_from_ns) {
			gone++;
			assert_int_equal(gp_memory_build(r, &by_order, &memory), GP_END);
			assert_int_equal(gp_memory_build(r, &by_time, &memory), GP_END);
			continue;
		}
		build_and_compare(r, &by_order, &m->model);
		build_and_compare(r, &by_time, &m->model);
	}
	assert_true(gone > 5 && gone < MOMENTS - 5);
	gp_recording_close(r);
	free(s.moment);
}

/* ---- captures, limits, doubts ---- */

static void capture(struct story *s, uint64_t graph, bool is_begin)
{
	put(&s->writer, 0,
	    (struct gp_record){ .kind = is_begin ? GP_CAPTURE_BEGIN : GP_CAPTURE_END,
				.capture_begin = { .stream = 0x88, .graph = graph } });
}

static const struct gp_arena *private_arena(const struct gp_memory *memory)
{
	for (size_t i = 0; i < memory->arenas; i++)
		if (memory->arena[i].pool == 1)
			return &memory->arena[i];
	return NULL;
}

/* For any start of the replay, the pool belongs to the capture that made it. */
static void a_private_pool_is_of_its_capture(void **state)
{
	(void)state;
	struct story s = { 0 };
	struct gp_memory memory;
	writer_open(&s.writer, "capture.gpr", 0, 0);
	model_begin(&s.model, &s.writer, 5);
	capture(&s, 0x111, true);
	capture(&s, 0x111, false);
	next_segment(&s.writer);
	put(&s.writer, 0,
	    (struct gp_record){ .kind = GP_CAPTURE_BEGIN,
				.capture_begin = { .stream = 0x99, .graph = 0x999 } });
	capture(&s, 0x222, true);
	int64_t captured_at_ns = model_now_ns(&s.writer);
	next_segment(&s.writer);
	put_definition(
		&s.writer, 0,
		(struct gp_record){ .kind = GP_ARENA, .aux = 5, .arena = { 0x88, 1, 0, 1 } });
	model_new_segment(&s.model, &s.writer, 5);
	capture(&s, 0x222, false);
	uint64_t first = s.writer.order;
	next_segment(&s.writer);
	capture(&s, 0x333, true);
	model_new_segment(&s.model, &s.writer, 5);
	model_new_segment(&s.model, &s.writer, 6);
	capture(&s, 0x333, false);
	next_segment(&s.writer);
	model_step(&s.model, &s.writer);
	struct gp_recording *r = fixture_read(&s.writer);
	const struct gp_moment_of moments[] = { { .when = GP_WHEN_END },
						{ .when = GP_WHEN_ORDER, .number = first } };
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(gp_memory_build(r, &moments[i], &memory), GP_OK);
		const struct gp_arena *a = private_arena(&memory);
		assert_non_null(a);
		assert_int_equal(a->graph, 0x222);
		assert_int_equal(a->captured_at_ns, captured_at_ns);
		for (size_t k = 0; k < memory.arenas; k++)
			if (&memory.arena[k] != a) {
				assert_int_equal(memory.arena[k].graph, 0);
				assert_int_equal(memory.arena[k].captured_at_ns, -1);
			}
		gp_memory_free(&memory);
	}
	gp_recording_close(r);
}

static void the_drivers_last_count_is_kept(void **state)
{
	(void)state;
	struct story s = { 0 };
	struct gp_memory memory;
	writer_open(&s.writer, "used.gpr", 0, 0);
	model_begin(&s.model, &s.writer, 6);
	model_new_segment(&s.model, &s.writer, 1);
	uint64_t before = s.writer.order, driver = s.model.reserved;
	put(&s.writer, 0,
	    (struct gp_record){ .kind = GP_DEVICE_MEMORY,
				.aux = 1,
				.device_memory = { .free_bytes = 700 * MIB,
						   .total_bytes = 1000 * MIB,
						   .limit_bytes = 500 * MIB } });
	int64_t used_at_ns = model_now_ns(&s.writer);
	model_new_segment(&s.model, &s.writer, 2);
	next_segment(&s.writer);
	model_new_segment(&s.model, &s.writer, 2);
	struct gp_recording *r = fixture_read(&s.writer);
	assert_int_equal(gp_memory_build(r, &(struct gp_moment_of){ .when = GP_WHEN_END }, &memory),
			 GP_OK);
	const struct gp_memory_device *d = memory.device;
	assert_int_equal(d->used_bytes, 300 * MIB);
	assert_int_equal(d->total_bytes, 1000 * MIB);
	assert_int_equal(d->limit_bytes, 500 * MIB);
	assert_int_equal(d->used_at_ns, used_at_ns);
	assert_int_equal(d->used_driver_bytes, driver);
	gp_memory_free(&memory);
	assert_int_equal(gp_memory_build(r,
					 &(struct gp_moment_of){ .when = GP_WHEN_ORDER,
								 .number = before - 1 },
					 &memory),
			 GP_OK);
	assert_int_equal(memory.device[0].used_bytes, GP_BYTES_UNKNOWN);
	assert_int_equal(memory.device[0].limit_bytes, GP_BYTES_UNKNOWN);
	gp_memory_free(&memory);
	gp_recording_close(r);
}

/* Without allocator details: the driver's memory that contains blocks, and no invented parts. */
static void without_details_unknown_parts_are_marked(void **state)
{
	(void)state;
	struct writer w;
	struct gp_memory memory;
	uint64_t seed = 0;
	writer_open(&w, "untold.gpr", 0, 0);
	put_work(&w, 2000, &seed);
	uint64_t reserved = gp_live_device(w.live, 0)->curve[GP_CURVE_RESERVED].now_bytes;
	uint64_t allocated = gp_live_device(w.live, 0)->curve[GP_CURVE_ALLOCATED].now_bytes;
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_memory_build(r, &(struct gp_moment_of){ .when = GP_WHEN_END }, &memory),
			 GP_OK);
	assert_false(memory.has_allocator_details);
	assert_false(memory.is_uncertain);
	assert_non_null(strstr(memory.caveat, "recorded without allocator details; figures"));
	assert_int_equal(memory.segments, 1);
	assert_int_equal(memory.segment[0].bytes, reserved);
	assert_int_equal(memory.segment[0].allocated_bytes, allocated);
	assert_int_equal(memory.segment[0].requested_bytes, GP_BYTES_UNKNOWN);
	assert_int_equal(memory.segment[0].arena, 0);
	assert_false(memory.arena[0].is_known);
	assert_int_equal(memory.device[0].requested_bytes, GP_BYTES_UNKNOWN);
	gp_memory_free(&memory);
	gp_recording_close(r);
}

/*
 * Recorded from some moment on: blocks in unknown memory are left out, and the state is marked as
 * such.
 */
static void older_memory_is_not_invented(void **state)
{
	(void)state;
	struct writer w;
	struct gp_memory memory;
	writer_open(&w, "late.gpr", 0, 0);
	put(&w, 0, (struct gp_record){ .kind = GP_GAP, .aux = GP_WHY_LATE_START });
	put(&w, 0,
	    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
				.code = 3,
				.aux = 1,
				.block_alloc = { 0x7000000000, 4096, 90 * MIB, 100 * MIB } });
	put(&w, 0,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = GP_SPACE_DEVICE,
				.alloc = { .address = 0x7100000000, .bytes = 2 * MIB } });
	put(&w, 0,
	    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
				.code = 3,
				.aux = 1,
				.block_alloc = { 0x7100000200, 512, 90 * MIB + 512, 102 * MIB } });
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_memory_build(r, &(struct gp_moment_of){ .when = GP_WHEN_END }, &memory),
			 GP_OK);
	assert_non_null(strstr(memory.caveat, "began after the job"));
	assert_non_null(strstr(memory.caveat, "left out"));
	assert_false(memory.is_uncertain);
	assert_int_equal(memory.segments, 1);
	assert_int_equal(memory.segment[0].blocks, 3); /* a gap before and a gap after */
	assert_int_equal(memory.segment[0].allocated_bytes, 512);
	assert_int_equal(memory.segment[0].requested_bytes, 512);
	assert_int_equal(memory.device[0].reserved_bytes, 102 * MIB);
	gp_memory_free(&memory);
	gp_recording_close(r);
}

static void a_million_blocks_are_read_in_time(void **state)
{
	(void)state;
	struct writer w;
	struct gp_memory memory;
	const uint64_t n = 1000000;
	writer_open(&w, "million.gpr", 0, 0);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = GP_SPACE_DEVICE,
				.alloc = { .address = 0x7100000000, .bytes = n * 1024 } });
	for (uint64_t i = 0; i < n; i++)
		put(&w, 0,
		    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
					.block_alloc = { 0x7100000000 + i * 1024, 512,
							 (i + 1) * 512, n * 1024 } });
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_memory_build(r, &(struct gp_moment_of){ .when = GP_WHEN_END }, &memory),
			 GP_OK);
	assert_int_equal(memory.blocks, 2 * n);
	assert_int_equal(memory.segment[0].allocated_bytes, n * 512);
	gp_memory_free(&memory);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_moment_is_as_it_was),
		cmocka_unit_test(moments_that_were_not_are_none),
		cmocka_unit_test(the_peak_is_the_highest_moment),
		cmocka_unit_test(pending_blocks_have_no_holder),
		cmocka_unit_test(states_in_a_ring_are_right),
		cmocka_unit_test(a_private_pool_is_of_its_capture),
		cmocka_unit_test(the_drivers_last_count_is_kept),
		cmocka_unit_test(without_details_unknown_parts_are_marked),
		cmocka_unit_test(older_memory_is_not_invented),
		cmocka_unit_test(a_million_blocks_are_read_in_time),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
