/*
 * The start of jobs whose parts are known: which part each moment counts for, calls of unknown
 * duration, and recordings that lack their start. Also the sets of moments that this is made of.
 */
#include "range_records.h"

#include "analyze/startup/span_set.h"

#define MS 1048576u /* about a millisecond: a multiple of the ticks that are kept */
#define STREAM 0x11ull

static struct writer w;
static struct gp_startup startup;

/* The next event is this much after the program's start. */
static void at(uint64_t ms)
{
	w.time = w.header.start_ticks + ms * MS - 64;
}

static void load(uint64_t end_ms, uint64_t took_ms, uint32_t stack, uint32_t flags)
{
	at(end_ms);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_MODULE_LOAD,
				.aux = flags,
				.stack = stack,
				.module_load = { 0x77, 1000, took_ms * MS } });
}

static void context(uint64_t end_ms, uint64_t took_ms)
{
	put(&w, 0,
	    (struct gp_record){ .kind = GP_CONTEXT,
				.context = { .handle = 0x1000,
					     .made = w.header.start_ticks + end_ms * MS,
					     .took = took_ms * MS } });
}

static void copy(uint64_t end_ms, uint64_t took_ms)
{
	at(end_ms);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_COPY,
				.aux = gp_call_pack(GP_COPY_TO_DEVICE, 0, took_ms * MS),
				.copy = { 0x7000, 0x5000, 4096, STREAM } });
}

static void capture(uint64_t ms, enum gp_kind kind)
{
	at(ms);
	put(&w, 0, (struct gp_record){ .kind = kind, .capture_begin.stream = STREAM });
}

static void instantiate(uint64_t end_ms, uint64_t took_ms)
{
	at(end_ms);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_GRAPH_INSTANTIATE,
				.graph_instantiate = { 1, 2, took_ms * MS } });
}

/* Steps of 10 ms: six launches each, of kernels that a step has once. */
static void steps(uint64_t from_ms)
{
	for (unsigned step = 0; step < 12; step++)
		for (unsigned k = 0; k < 6; k++) {
			at(from_ms + 10 * step + k);
			put(&w, 0,
			    (struct gp_record){
				    .kind = GP_LAUNCH,
				    .launch = { .kernel = 0xabc0 + k, .stream = STREAM } });
		}
}

static int open_recording(void **state)
{
	(void)state;
	writer_open(&w, "startup.gpr", 0, 0);
	w.header.loaded_ticks = w.header.start_ticks;
	put_header(&w);
	return 0;
}

static int close_report(void **state)
{
	(void)state;
	gp_startup_free(&startup);
	return 0;
}

static void build_report(void)
{
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_startup_build(r, &startup), GP_OK);
	gp_recording_close(r);
}

/* Fails if the part did not happen. */
static const struct gp_startup_row *part(enum gp_startup_part part)
{
	for (size_t k = 0; k < startup.rows; k++)
		if (startup.row[k].part == part)
			return &startup.row[k];
	fail_msg("no row of %s", gp_startup_part_names[part]);
	return NULL;
}

/* Times of events are kept in units of 64 ticks. */
static void assert_ms(int64_t ns, uint64_t ms)
{
	assert_in_range(ns, ms * MS - 256, ms * MS + 256);
}

static void parts_add_up(void)
{
	int64_t sum = 0;
	for (size_t k = 0; k < startup.rows; k++) {
		sum += startup.row[k].took_ns;
		assert_true(k == 0 || startup.row[k - 1].at_ns <= startup.row[k].at_ns);
	}
	assert_int_equal(sum, startup.to_ns - startup.from_ns);
}

static void each_moment_counts_once(void **state)
{
	(void)state;
	context(400, 300);
	load(600, 50, 1, 0);
	copy(700, 100); /* 600 to 700, of these 20 in a load */
	load(660, 20, 2, GP_MODULE_PTX);
	capture(800, GP_CAPTURE_BEGIN);
	load(840, 10, 1, 0);
	capture(900, GP_CAPTURE_END);
	instantiate(930, 30);
	steps(1000);
	load(1003, 2, 2, 0);
	copy(1008, 1);	     /* in the first step: a part of it */
	load(1050, 5, 1, 0); /* later */
	build_report();
	assert_null(startup.why);
	assert_true(startup.has_program_start && startup.has_first_step && !startup.is_cut);
	assert_ms(startup.to_ns - startup.from_ns, 1010);
	assert_ms(part(GP_STARTUP_BEFORE)->took_ns, 550 - 300);
	assert_ms(part(GP_STARTUP_CONTEXTS)->took_ns, 300);
	assert_ms(part(GP_STARTUP_MODULES)->took_ns, 82);
	assert_int_equal(part(GP_STARTUP_MODULES)->count, 4);
	assert_int_equal(part(GP_STARTUP_MODULES)->bytes, 4000);
	assert_ms(part(GP_STARTUP_COPIES)->took_ns, 80);
	assert_int_equal(part(GP_STARTUP_COPIES)->count, 1);
	assert_int_equal(part(GP_STARTUP_COPIES)->bytes, 4096);
	assert_ms(part(GP_STARTUP_CAPTURES)->took_ns, 90);
	assert_int_equal(part(GP_STARTUP_CAPTURES)->count, 1);
	assert_ms(part(GP_STARTUP_GRAPHS)->took_ns, 30);
	assert_ms(part(GP_STARTUP_FIRST_STEP)->took_ns, 8);
	assert_ms(part(GP_STARTUP_OTHER)->took_ns, 100 + 70);
	assert_ms(part(GP_STARTUP_OTHER)->at_ns - startup.from_ns, 700);
	parts_add_up();
	assert_int_equal(startup.lines, 1); /* none of these stacks is defined */
	assert_int_equal(startup.line[0].count, 4);
	assert_int_equal(startup.line[0].ptx, 1);
	assert_ms(startup.line[0].took_ns, 82);
	assert_ms(startup.line[0].longest_ns, 50);
}

/* Only ranges of PyTorch with that suffix are its compiler; inner ones are a part of the outer. */
static void ranges_of_the_compiler_are_a_part(void **state)
{
	(void)state;
	define_name(&w, 1, "compile_inner (dynamo_timed)");
	define_name(&w, 2, "backend_compile (dynamo_timed)");
	define_name(&w, 3, "Optimizer.step#AdamW.step");
	at(100);
	put_push(&w, 0, 1, GP_RANGE_TORCH);
	at(200);
	put_push(&w, 0, 2, GP_RANGE_TORCH);
	load(250, 30, 1, 0);
	at(300);
	put_pop(&w, 0, GP_RANGE_TORCH);
	at(400);
	put_pop(&w, 0, GP_RANGE_TORCH);
	at(450);
	put_push(&w, 0, 3, GP_RANGE_TORCH);
	at(500);
	put_pop(&w, 0, GP_RANGE_TORCH);
	put_push(&w, 0, 1, GP_RANGE_NVTX);
	at(600);
	put_pop(&w, 0, GP_RANGE_NVTX);
	at(700);
	put_push(&w, 1, 2, GP_RANGE_TORCH); /* not ended */
	load(750, 10, 1, 0);
	build_report();
	assert_ms(part(GP_STARTUP_COMPILE)->took_ns, 300 - 30 + 50 - 10);
	assert_int_equal(part(GP_STARTUP_COMPILE)->count, 2);
	assert_ms(part(GP_STARTUP_OTHER)->took_ns, 300);
	parts_add_up();
}

/* As before format 1.11: the calls are counted, their time is other work. */
static void unknown_durations_are_not_zero(void **state)
{
	(void)state;
	w.header.loaded_ticks = 0;
	put_header(&w);
	at(100);
	put(&w, 0, (struct gp_record){ .kind = GP_CONTEXT, .context.handle = 0x1000 });
	load(150, 0, 1, 0);
	steps(200);
	build_report();
	assert_false(startup.has_program_start);
	assert_ms(startup.to_ns - startup.from_ns, 60);
	assert_int_equal(part(GP_STARTUP_MODULES)->untimed, 1);
	assert_int_equal(part(GP_STARTUP_MODULES)->took_ns, 0);
	assert_int_equal(part(GP_STARTUP_CONTEXTS)->untimed, 1);
	assert_ms(part(GP_STARTUP_OTHER)->took_ns, 50);
	assert_int_equal(startup.line[0].untimed, 1);
	assert_int_equal(startup.line[0].longest_ns, -1);
	parts_add_up();
}

static void without_steps_the_report_ends_with_the_recording(void **state)
{
	(void)state;
	load(150, 50, 1, 0);
	capture(200, GP_CAPTURE_BEGIN);
	load(300, 10, 1, 0);
	build_report();
	assert_false(startup.has_first_step);
	assert_non_null(startup.no_step);
	assert_ms(startup.to_ns - startup.from_ns, 300);
	assert_ms(part(GP_STARTUP_CAPTURES)->took_ns, 90); /* until the end */
	assert_ms(part(GP_STARTUP_MODULES)->took_ns, 60);
	parts_add_up();
}

/* The end of a capture may be lost. */
static void lost_events_end_captures(void **state)
{
	(void)state;
	capture(100, GP_CAPTURE_BEGIN);
	at(120);
	put(&w, 0, (struct gp_record){ .kind = GP_LOST, .lost.other = 1 });
	load(300, 10, 1, 0);
	capture(310, GP_CAPTURE_END); /* of no capture */
	build_report();
	for (size_t k = 0; k < startup.rows; k++)
		assert_true(startup.row[k].part != GP_STARTUP_CAPTURES ||
			    startup.row[k].took_ns == 0);
	parts_add_up();
}

static void late_recording_has_no_start(void **state)
{
	(void)state;
	put(&w, 0, (struct gp_record){ .kind = GP_GAP, .aux = GP_WHY_LATE_START });
	load(150, 50, 1, 0);
	build_report();
	assert_non_null(startup.why);
	assert_int_equal(startup.rows + startup.lines, 0);
}

static void nothing_recorded(void **state)
{
	(void)state;
	build_report();
	assert_non_null(startup.why);
	assert_int_equal(startup.rows + startup.lines, 0);
}

/* ---- sets of moments ---- */

enum { MOMENTS = 64 };

static void assert_set(const struct gp_span_set *set, const bool has[MOMENTS])
{
	int64_t sum = 0, gap = INT64_MAX;
	for (unsigned k = 0; k < MOMENTS; k++) {
		bool is_in = false;
		for (size_t s = 0; s < set->spans; s++)
			is_in |= set->span[s].from_ns <= k && k < set->span[s].to_ns;
		assert_int_equal(is_in, has[k]);
		sum += has[k];
		if (!has[k] && gap == INT64_MAX)
			gap = k;
	}
	assert_int_equal(gp_span_set_ns(set), sum);
	assert_int_equal(gp_span_set_first_gap(set, 0, MOMENTS), gap);
}

static void sets_match_a_brute_force_model(void **state)
{
	(void)state;
	uint64_t random = 1;
	for (unsigned round = 0; round < 5000; round++) {
		struct gp_span_set set[2] = { 0 };
		bool has[MOMENTS] = { false };
		for (unsigned k = 0; k < 2; k++) {
			for (unsigned spans = round % 7; spans != 0; spans--) {
				random = random * 6364136223846793005u + 1442695040888963407u;
				const int64_t from = (int64_t)(random >> 40) % 80 - 8;
				const int64_t to = from + (int64_t)(random >> 50) % 12;
				assert_true(gp_span_set_add(&set[k], from, to));
				for (int64_t m = from; m < to; m++)
					if (m >= 0 && m < MOMENTS)
						has[m] = true;
			}
			gp_span_set_settle(&set[k], 0, MOMENTS);
		}
		assert_true(gp_span_set_unite(&set[0], &set[1]));
		assert_set(&set[0], has);
		gp_span_set_release(&set[0]);
		gp_span_set_release(&set[1]);
	}
}

static void sets_have_a_bound(void **state)
{
	(void)state;
	struct gp_span_set set = { 0 };
	for (size_t k = 0; k <= GP_SPANS_MOST; k++)
		assert_true(gp_span_set_add(&set, (int64_t)(2 * k), (int64_t)(2 * k + 1)));
	assert_int_equal(set.spans, GP_SPANS_MOST);
	assert_true(set.is_cut);
	gp_span_set_release(&set);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_recording, close_report)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_moment_counts_once),
		TEST(ranges_of_the_compiler_are_a_part),
		TEST(unknown_durations_are_not_zero),
		TEST(without_steps_the_report_ends_with_the_recording),
		TEST(lost_events_end_captures),
		TEST(late_recording_has_no_start),
		TEST(nothing_recorded),
		cmocka_unit_test(sets_match_a_brute_force_model),
		cmocka_unit_test(sets_have_a_bound),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
