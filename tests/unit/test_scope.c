/* Capture rules: the words of the options, and the spans that readers report. */
#include "format/scope_rule.h"
#include "recording_writer.h"

/* ---- words ---- */

static bool parse(const char *delay, const char *duration, const char *range, const char *end,
		  struct gp_scope_rule *rule, struct gp_scope_flaw *flaw)
{
	const struct gp_scope_words words = { delay, duration, range, end };
	return gp_scope_parse(&words, rule, flaw);
}

static void times_are_seconds(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t ns;
	} fine[] = {
		{ "5", 5000000000 },
		{ "1.5", 1500000000 },
		{ "0", 0 },
		{ "20ms", 20000000 },
		{ "0.5ms", 500000 },
		{ "2s", 2000000000 },
		{ "1.0000000019", 1000000001 },
		{ "3155760000", 3155760000000000000 },
	};
	static const char *const wrong[] = { "",    "x",   "-1",	 "1.",
					     ".5",  "1e3", "5m",	 "5 s",
					     "1,5", "5ss", "3155760001", "99999999999999999999" };
	uint64_t ns;
	for (size_t k = 0; k < sizeof fine / sizeof *fine; k++) {
		assert_true(gp_scope_time_parse(fine[k].text, &ns));
		assert_int_equal(ns, fine[k].ns);
	}
	for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
		assert_false(gp_scope_time_parse(wrong[k], &ns));
}

static void ranges_have_names_and_domains(void **state)
{
	(void)state;
	static const struct {
		const char *text, *name, *domain;
	} fine[] = {
		{ "nvtx:train", "train", "" },
		{ "nvtx:a b@lib", "a b", "lib" },
		{ "nvtx:me\\@home@*", "me@home", "*" },
		{ "nvtx:a\\b", "a\\b", "" },
	};
	static const char *const wrong[] = { "nvtx:", "nvtx:@x", "nvtx:a@b@c",
					     "nvtx",  "train",	 "cudaprofilerapi" };
	struct gp_scope_rule rule;
	struct gp_scope_flaw flaw;
	for (size_t k = 0; k < sizeof fine / sizeof *fine; k++) {
		assert_true(parse("", "", fine[k].text, "", &rule, &flaw));
		assert_int_equal(rule.from, GP_SCOPE_RANGE);
		assert_string_equal(rule.name, fine[k].name);
		assert_string_equal(rule.domain, fine[k].domain);
	}
	for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
		assert_false(parse("", "", wrong[k], "", &rule, &flaw));
		assert_int_equal(flaw.word, GP_SCOPE_WORD_RANGE);
		assert_false(gp_scope_is_limited(&rule));
	}
	char longest[300] = "nvtx:";
	memset(longest + 5, 'n', GP_SCOPE_NAME_MAX - 1);
	assert_true(parse("", "", longest, "", &rule, &flaw));
	longest[5 + GP_SCOPE_NAME_MAX - 1] = 'n';
	assert_false(parse("", "", longest, "", &rule, &flaw));
}

static void a_range_is_its_name_in_its_domain(void **state)
{
	(void)state;
	struct gp_scope_rule rule;
	struct gp_scope_flaw flaw;
	assert_true(parse("", "", "nvtx:step", "", &rule, &flaw));
	assert_true(gp_scope_is_named(&rule, "step of", 4, NULL, 0));
	assert_false(gp_scope_is_named(&rule, "step of", 5, NULL, 0));
	assert_false(gp_scope_is_named(&rule, "step", 4, "lib", 3));
	assert_true(parse("", "", "nvtx:step@lib", "", &rule, &flaw));
	assert_true(gp_scope_is_named(&rule, "step", 4, "library", 3));
	assert_false(gp_scope_is_named(&rule, "step", 4, NULL, 0));
	assert_true(parse("", "", "nvtx:step@*", "", &rule, &flaw));
	assert_true(gp_scope_is_named(&rule, "step", 4, NULL, 0));
	assert_true(gp_scope_is_named(&rule, "step", 4, "x", 1));
}

static void steps_are_counted_from_one(void **state)
{
	(void)state;
	static const char *const wrong[] = { "step:",	"step:0",     "step:3-2", "step:2-",
					     "step:-2", "step:1-2-3", "step:1@",  "step:1-2@a@b" };
	struct gp_scope_rule rule;
	struct gp_scope_flaw flaw;
	assert_true(parse("", "", "step:7", "", &rule, &flaw));
	assert_int_equal(rule.first_step, 7);
	assert_int_equal(rule.last_step, 7);
	assert_true(parse("", "", "step:10-12@iteration", "", &rule, &flaw));
	assert_int_equal(rule.first_step, 10);
	assert_int_equal(rule.last_step, 12);
	assert_string_equal(rule.name, "iteration");
	for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
		assert_false(parse("", "", wrong[k], "", &rule, &flaw));
}

static bool gpu_time(const char *text, struct gp_gpu_rule *rule)
{
	return gp_gpu_rule_parse(text, rule) == NULL;
}

static void gpu_time_has_windows_of_steps(void **state)
{
	struct gp_gpu_rule rule;
	(void)state;
	assert_true(gpu_time("off", &rule) && rule.when == GP_GPU_NEVER);
	assert_false(gp_gpu_rule_has(&rule, 1));
	assert_true(gpu_time("on", &rule) && rule.when == GP_GPU_ALWAYS);
	assert_true(gpu_time("always", &rule) && rule.when == GP_GPU_ALWAYS);
	assert_true(gp_gpu_rule_has(&rule, 1));

	assert_true(gpu_time("step:3-4", &rule) && rule.when == GP_GPU_STEPS);
	assert_false(gp_gpu_rule_has(&rule, 2));
	assert_true(gp_gpu_rule_has(&rule, 3) && gp_gpu_rule_has(&rule, 4));
	assert_false(gp_gpu_rule_has(&rule, 5) || gp_gpu_rule_has(&rule, 103));
	assert_string_equal(rule.name, "");

	assert_true(gpu_time("step:2/100@train", &rule));
	assert_string_equal(rule.name, "train");
	unsigned steps = 0;
	for (uint64_t step = 1; step <= 1000; step++)
		steps += gp_gpu_rule_has(&rule, step);
	assert_int_equal(steps, 20);
	assert_true(gp_gpu_rule_has(&rule, 99) && gp_gpu_rule_has(&rule, 1000));
	assert_false(gp_gpu_rule_has(&rule, 1) || gp_gpu_rule_has(&rule, 101));
	assert_true(gpu_time("step:5/5", &rule) && gp_gpu_rule_has(&rule, 1));

	static const char *const wrong[] = { "",	  "sometimes", "step:",	     "step:0",
					     "step:4-3",  "step:3/2",  "step:0/5",   "step:1/0",
					     "step:1/5x", "step:1/5@", "step:1@a@b", "ALWAYS " };
	for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
		assert_false(gpu_time(wrong[k], &rule));
		assert_int_equal(rule.when, GP_GPU_NEVER);
	}
}

static void contradictory_rules_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *delay, *duration, *range, *end;
		enum gp_scope_word word; /* GP_SCOPE_WORD_NONE: all words are valid */
		bool is_limited;
	} rows[] = {
		{ "", "", "", "", GP_SCOPE_WORD_NONE, false },
		{ "", "", "none", "", GP_SCOPE_WORD_NONE, false },
		{ "0", "", "none", "", GP_SCOPE_WORD_NONE, false },
		{ "5", "", "", "", GP_SCOPE_WORD_NONE, true },
		{ "5", "2", "none", "", GP_SCOPE_WORD_NONE, true },
		{ "", "2", "ctl", "", GP_SCOPE_WORD_NONE, true },
		{ "", "2", "nvtx:a", "repeat:3", GP_SCOPE_WORD_NONE, true },
		{ "", "", "cudaProfilerApi", "none", GP_SCOPE_WORD_NONE, true },
		{ "", "", "cudaProfilerApi", "repeat", GP_SCOPE_WORD_NONE, true },
		{ "", "", "step:2-3", "stop", GP_SCOPE_WORD_NONE, true },
		{ "", "", "step:2-3", "outside", GP_SCOPE_WORD_NONE, true },
		{ "", "", "nvtx:a", "outside:3", GP_SCOPE_WORD_NONE, true },
		{ "", "2", "", "stop", GP_SCOPE_WORD_NONE, true },
		{ "5", "2", "none", "stop", GP_SCOPE_WORD_NONE, true },
		{ "5", "2", "", "outside", GP_SCOPE_WORD_NONE, true },
		{ "x", "", "", "", GP_SCOPE_WORD_DELAY, false },
		{ "", "0", "", "", GP_SCOPE_WORD_DURATION, false },
		{ "5", "", "cudaProfilerApi", "", GP_SCOPE_WORD_DELAY, false },
		{ "5", "", "ctl", "", GP_SCOPE_WORD_DELAY, false },
		{ "", "", "", "stop", GP_SCOPE_WORD_END, false },
		{ "", "", "ctl", "repeat", GP_SCOPE_WORD_END, false },
		{ "", "", "step:2-3", "repeat", GP_SCOPE_WORD_END, false },
		{ "", "", "step:2-3", "repeat:2", GP_SCOPE_WORD_END, false },
		{ "", "", "step:2-3", "none", GP_SCOPE_WORD_END, false },
		{ "5", "", "", "stop", GP_SCOPE_WORD_END, false },
		{ "", "2", "", "repeat:2", GP_SCOPE_WORD_END, false },
		{ "", "2", "", "none", GP_SCOPE_WORD_END, false },
		{ "", "2", "ctl", "stop", GP_SCOPE_WORD_END, false },
		{ "", "", "nvtx:a", "outside:", GP_SCOPE_WORD_END, false },
		{ "", "", "nvtx:a", "outside:0", GP_SCOPE_WORD_END, false },
		{ "", "", "nvtx:a", "outsider", GP_SCOPE_WORD_END, false },
		{ "", "", "nvtx:a", "repeat:0", GP_SCOPE_WORD_END, false },
		{ "", "", "nvtx:a", "repeat:2x", GP_SCOPE_WORD_END, false },
		{ "", "", "nvtx:a", "stop-shutdown", GP_SCOPE_WORD_END, false },
	};
	struct gp_scope_rule rule;
	struct gp_scope_flaw flaw;
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		bool is_fine = parse(rows[k].delay, rows[k].duration, rows[k].range, rows[k].end,
				     &rule, &flaw);
		assert_int_equal(flaw.word, rows[k].word);
		assert_int_equal(is_fine, rows[k].word == GP_SCOPE_WORD_NONE);
		assert_int_equal(flaw.why == NULL, is_fine);
		assert_int_equal(gp_scope_is_limited(&rule), rows[k].is_limited);
	}
}

static void actions_after_the_last_span(void **state)
{
	(void)state;
	static const struct {
		const char *end;
		enum gp_scope_then then;
		uint64_t times;
	} rows[] = {
		{ "", GP_SCOPE_OUTSIDE, 1 },	      { "outside", GP_SCOPE_OUTSIDE, 1 },
		{ "outside:7", GP_SCOPE_OUTSIDE, 7 }, { "stop", GP_SCOPE_STOP, 1 },
		{ "repeat", GP_SCOPE_OUTSIDE, 0 },    { "repeat:1", GP_SCOPE_STOP, 1 },
		{ "repeat:12", GP_SCOPE_STOP, 12 },   { "none", GP_SCOPE_NONE, 1 },
	};
	struct gp_scope_rule rule;
	struct gp_scope_flaw flaw;
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		assert_true(parse("", "", "cudaProfilerApi", rows[k].end, &rule, &flaw));
		assert_int_equal(rule.then, rows[k].then);
		assert_int_equal(rule.times, rows[k].times);
	}
}

/* ---- spans of the reader ---- */

static void change(struct writer *w, bool is_open, uint64_t number, unsigned by, uint64_t since)
{
	put(w, 0,
	    (struct gp_record){ .kind = GP_SCOPE,
				.aux = is_open,
				.scope = { .number = number,
					   .by = by,
					   .since = is_open ? w->time + 64 : since } });
}

static void without_a_word_all_was_captured(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed = 0;
	const struct gp_info *info;
	writer_open(&w, "all.gpr", 0, 0);
	put_work(&w, 1000, &seed);
	writer_close(&w, true);
	struct gp_recording *r = fixture_info(w.path, &info);
	assert_false(info->is_captured_in_part);
	assert_int_equal(info->captures, 0);
	assert_true(gp_info_is_captured(info, 5));
	gp_recording_close(r);
}

/* Two spans, the second across the border of a segment; events between them were outside. */
static void spans_are_reported(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed = 0, at[4];
	const struct gp_info *info;
	writer_open(&w, "spans.gpr", 0, 0);
	change(&w, false, 1, GP_SCOPE_BY_START, 0);
	put_work(&w, 700, &seed);
	change(&w, true, 2, GP_SCOPE_BY_PROFILER, 0);
	at[0] = w.time;
	put_work(&w, 700, &seed);
	change(&w, false, 3, GP_SCOPE_BY_PROFILER, 0);
	at[1] = w.time;
	put_work(&w, 700, &seed);
	change(&w, true, 5, GP_SCOPE_BY_ORDER, 0);
	at[2] = w.time;
	put_work(&w, 700, &seed);
	next_segment(&w);
	put_work(&w, 700, &seed);
	change(&w, false, 6, GP_SCOPE_BY_DURATION, 0);
	at[3] = w.time;
	writer_close(&w, true);
	struct gp_recording *r = fixture_info(w.path, &info);
	assert_true(info->is_captured_in_part);
	assert_int_equal(info->captures, 2);
	assert_int_equal(info->captureds, 2);
	assert_int_equal(info->captured_ns, at[1] - at[0] + at[3] - at[2]);
	for (unsigned k = 0; k < 2; k++) {
		assert_int_equal(info->captured[k].from_ns, at[2 * k] - 1024);
		assert_int_equal(info->captured[k].to_ns, at[2 * k + 1] - 1024);
		assert_false(info->captured[k].is_open);
	}
	assert_int_equal(info->captured[1].opened_by, GP_SCOPE_BY_ORDER);
	assert_int_equal(info->captured[1].closed_by, GP_SCOPE_BY_DURATION);
	assert_false(gp_info_is_captured(info, (int64_t)at[0] - 1024 - 64));
	assert_true(gp_info_is_captured(info, (int64_t)at[0] - 1024));
	assert_false(gp_info_is_captured(info, (int64_t)at[1] - 1024 + 64));
	assert_true(gp_info_is_captured(info, (int64_t)at[2] - 1024 + 64));
	gp_recording_close(r);
}

/* `gpuprof ctl PID stop` of a recording that captured all until then. */
static void the_first_end_gives_the_begin(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed = 0;
	const struct gp_info *info;
	writer_open(&w, "stopped.gpr", 0, 0);
	put_work(&w, 700, &seed);
	change(&w, false, 2, GP_SCOPE_BY_ORDER, 1024);
	uint64_t end = w.time;
	put_work(&w, 700, &seed);
	writer_close(&w, true);
	struct gp_recording *r = fixture_info(w.path, &info);
	assert_int_equal(info->captures, 1);
	assert_int_equal(info->captureds, 1);
	assert_int_equal(info->captured[0].from_ns, 0);
	assert_int_equal(info->captured[0].to_ns, end - 1024);
	assert_int_equal(info->captured[0].opened_by, GP_SCOPE_BY_START);
	gp_recording_close(r);
}

/* Of two threads the first one may write last: then its change is outdated. */
static void an_overtaken_change_is_ignored(void **state)
{
	(void)state;
	struct writer w;
	const struct gp_info *info;
	writer_open(&w, "overtaken.gpr", 0, 0);
	change(&w, true, 2, GP_SCOPE_BY_PROFILER, 0);
	change(&w, false, 5, GP_SCOPE_BY_PROFILER, 0);
	change(&w, true, 4, GP_SCOPE_BY_PROFILER, 0);
	change(&w, false, 3, GP_SCOPE_BY_PROFILER, 0);
	writer_close(&w, true);
	struct gp_recording *r = fixture_info(w.path, &info);
	assert_int_equal(info->captures, 1);
	assert_int_equal(info->captureds, 1);
	assert_int_equal(info->captured_ns, 64);
	assert_int_equal(info->counts[GP_SCOPE], 4);
	gp_recording_close(r);
}

/* A flight recorder overwrites spans, but keeps their number and total time. */
static void figures_outlive_overwritten_spans(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed = 0, number = 1, since = 0, ns = 0;
	const struct gp_info *info;
	writer_open(&w, "turned.gpr", 4, 64 << 10);
	for (unsigned k = 0; k < 20; k++) {
		change(&w, true, ++number, GP_SCOPE_BY_RANGE, 0);
		since = w.time;
		put_work(&w, 900, &seed);
		next_segment(&w);
		put_work(&w, 900, &seed);
		if (k == 19)
			break;
		change(&w, false, ++number, GP_SCOPE_BY_RANGE, 0);
		ns += w.time - since;
		put_work(&w, 300, &seed);
	}
	writer_close(&w, true);
	struct gp_recording *r = fixture_info(w.path, &info);
	assert_true(info->kept_from_ns > 0);
	assert_int_equal(info->captures, 20);
	assert_true(info->captureds < 20);
	const struct gp_scope_span *last = &info->captured[info->captureds - 1];
	assert_true(last->is_open);
	assert_int_equal(last->from_ns, since - 1024);
	assert_int_equal(last->to_ns, info->duration_ns);
	assert_int_equal(info->captured_ns, ns + (uint64_t)(last->to_ns - last->from_ns));
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_seconds),
		cmocka_unit_test(ranges_have_names_and_domains),
		cmocka_unit_test(a_range_is_its_name_in_its_domain),
		cmocka_unit_test(steps_are_counted_from_one),
		cmocka_unit_test(gpu_time_has_windows_of_steps),
		cmocka_unit_test(contradictory_rules_are_refused),
		cmocka_unit_test(actions_after_the_last_span),
		cmocka_unit_test(without_a_word_all_was_captured),
		cmocka_unit_test(spans_are_reported),
		cmocka_unit_test(the_first_end_gives_the_begin),
		cmocka_unit_test(an_overtaken_change_is_ignored),
		cmocka_unit_test(figures_outlive_overwritten_spans),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
