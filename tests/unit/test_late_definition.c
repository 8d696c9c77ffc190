/*
 * The recorder writes a library's definition at the place where its analysis began, with the time
 * when it ended. Later events have earlier times, and spans are chosen by these times.
 */
#include "range_records.h"

enum { BLOCKS = 40 };

static int64_t middle_ns; /* half of the allocations are before it */

static void define_slowly(struct writer *w)
{
	struct gp_record module[3] = { { .kind = GP_MODULE, .aux = 9 } };
	fill_text(module, "/usr/lib/libslow.so");
	module[0].order = w->order;
	module[0].time = w->time + 3600000000000u;
	for (unsigned k = 0; k <= module->extra; k++)
		w->buffer[0][w->buffered[0]++] = module[k];
	flush(w, 0);
}

static struct gp_recording *record_job(void)
{
	static struct writer w;
	begin(&w, "late.gpr");
	for (unsigned k = 0; k < BLOCKS; k++) {
		if (k == 1)
			define_slowly(&w);
		if (k == BLOCKS / 2)
			middle_ns = (int64_t)(w.time + 32 - w.header.start_ticks);
		put_push(&w, 1, STEP, GP_RANGE_NVTX);
		put_alloc(&w, 1, 0x700000000000 + 0x10000 * k, 512);
		put_pop(&w, 1, GP_RANGE_NVTX);
	}
	struct gp_recording *r = fixture_read(&w);
	return r;
}

static uint64_t count_requests(struct gp_recording *r, int64_t from_ns, int64_t to_ns)
{
	struct gp_top top;
	uint64_t count = 0;
	assert_int_equal(gp_top_build(r, from_ns, to_ns, 0, &top), GP_OK);
	for (size_t k = 0; k < top.curves; k++)
		for (size_t i = 0; i < top.curve[k].uses; i++)
			count += top.curve[k].use[i].count;
	gp_top_free(&top);
	return count;
}

static void top_counts_up_to_the_moment(void **state)
{
	(void)state;
	struct gp_recording *r = record_job();
	assert_int_equal(count_requests(r, INT64_MIN, middle_ns), BLOCKS / 2);
	assert_int_equal(count_requests(r, middle_ns, INT64_MAX), BLOCKS / 2);
	gp_recording_close(r);
}

static void phases_count_up_to_the_moment(void **state)
{
	(void)state;
	struct gp_phases phases;
	struct gp_recording *r = record_job();
	const int64_t span_ns[2][2] = { { INT64_MIN, middle_ns }, { middle_ns, INT64_MAX } };
	for (unsigned k = 0; k < 2; k++) {
		struct gp_phases_options asked = whole;
		asked.from_ns = span_ns[k][0];
		asked.to_ns = span_ns[k][1];
		assert_int_equal(gp_phases_build(r, &asked, &phases), GP_OK);
		assert_int_equal(find(&phases, "step")->calls, BLOCKS / 2);
		assert_int_equal(find(&phases, "step")->allocated_bytes, 512 * BLOCKS / 2);
		gp_phases_free(&phases);
	}
	gp_recording_close(r);
}

static bool count_allocs(void *context, const struct gp_act *act)
{
	*(unsigned *)context += act->kind == GP_ACT_ALLOC;
	return true;
}

static void a_history_begins_at_the_moment(void **state)
{
	(void)state;
	struct gp_history history;
	struct gp_recording *r = record_job();
	const int64_t span_ns[2][2] = { { INT64_MIN, middle_ns }, { middle_ns, INT64_MAX } };
	for (unsigned k = 0; k < 2; k++) {
		unsigned allocs = 0;
		assert_int_equal(gp_history_open(r, span_ns[k][0], span_ns[k][1], &history), GP_OK);
		assert_int_equal(gp_history_visit(&history, count_allocs, &allocs), GP_OK);
		assert_int_equal(allocs, BLOCKS / 2);
		gp_history_close(&history);
	}
	gp_recording_close(r);
}

static void a_timeline_begins_at_the_moment(void **state)
{
	(void)state;
	struct gp_timeline timeline;
	struct gp_recording *r = record_job();
	assert_int_equal(gp_timeline_build(r, 16, middle_ns, INT64_MAX, &timeline), GP_OK);
	assert_int_equal(timeline.devices, 1);
	assert_int_equal(timeline.device[0].point[0].bytes[GP_CURVE_DRIVER], 512 * BLOCKS / 2);
	gp_timeline_free(&timeline);
	gp_recording_close(r);
}

static void memory_is_that_of_the_moment(void **state)
{
	(void)state;
	struct gp_memory memory;
	struct gp_recording *r = record_job();
	const struct gp_moment_of middle = { .when = GP_WHEN_TIME, .at_ns = middle_ns };
	assert_int_equal(gp_memory_build(r, &middle, &memory), GP_OK);
	assert_int_equal(memory.outsides, BLOCKS / 2);
	gp_memory_free(&memory);
	gp_recording_close(r);
}

/* All samples were taken at the definition, before the first allocation. */
static void growth_is_that_of_the_steps(void **state)
{
	(void)state;
	struct gp_growth growth;
	struct gp_leaks leaks;
	struct gp_recording *r = record_job();
	assert_int_equal(gp_growth_find(r, 0, &leaks, &growth), GP_OK);
	gp_leaks_free(&leaks);
	assert_int_equal(growth.steps, BLOCKS);
	assert_int_equal(growth.devices, 1);
	assert_true(growth.device[0].bytes_per_step == 512);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(top_counts_up_to_the_moment),
		cmocka_unit_test(phases_count_up_to_the_moment),
		cmocka_unit_test(a_history_begins_at_the_moment),
		cmocka_unit_test(a_timeline_begins_at_the_moment),
		cmocka_unit_test(memory_is_that_of_the_moment),
		cmocka_unit_test(growth_is_that_of_the_steps),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
