/*
 * The arithmetic of pictures: ticks are round and few, and the plot on the terminal shows every
 * peak in the column of its moment.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../tools/io/amount.c"
#include "../../tools/io/style.c"
#include "../../tools/timeline/chart.c"
#include "../../tools/timeline/plot.c"

static uint64_t random_state = 20260807;

static uint64_t any(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Of any magnitude. */
static uint64_t any_size(void)
{
	return any() >> (any() % 62 + 1);
}

/* ---- ticks ---- */

static void test_ticks_of_bytes(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 100000; k++) {
		uint64_t highest = any_size();
		unsigned ticks = (unsigned)(any() % 20 + 1);
		uint64_t step = gp_tick_bytes(highest, ticks);
		assert_int_equal(step & (step - 1), 0);
		assert_true(highest / step <= ticks);
		assert_true(step == 1 || highest / (step / 2) > ticks);
	}
}

static void test_ticks_of_time(void **state)
{
	(void)state;
	const int64_t minute = 60000000000;
	for (unsigned k = 0; k < 100000; k++) {
		int64_t span = (int64_t)(any_size() >> 1);
		unsigned ticks = (unsigned)(any() % 20 + 2);
		int64_t step = gp_tick_ns(span, ticks), mantissa = step;
		assert_true(step > 0 && span / step <= ticks);
		/* not so coarse that an axis has only its first tick */
		assert_true(step == 1 || span / step >= 1);
		while (mantissa % 10 == 0)
			mantissa /= 10;
		assert_true(step % minute == 0 || mantissa == 1 || mantissa == 2 || mantissa == 5);
	}
}

/* Also near the limit of 64 bits, where a next step would overflow. */
static void test_ticks_end(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 100000; k++) {
		int64_t to =
			k % 2 ? INT64_MAX - (int64_t)(any() % 1000) : (int64_t)(any_size() >> 1);
		int64_t from = k % 3 ? 0 : to - (int64_t)(any() % 5000);
		int64_t step = gp_tick_ns(to - from, 8), at, count = 0;
		bool has_tick = gp_tick_first(from, to, step, &at);
		for (; has_tick; has_tick = gp_tick_next(to, step, &at)) {
			assert_true(at >= from && at <= to && at % step == 0);
			assert_true(++count <= 9);
		}
	}
}

static void test_tick_texts(void **state)
{
	(void)state;
	const uint64_t mib = 1 << 20;
	const int64_t ms = 1000000, s = 1000 * ms, minute = 60 * s;
	assert_string_equal(gp_tick_bytes_text(0, mib).s, "0");
	assert_string_equal(gp_tick_bytes_text(128 * mib, 128 * mib).s, "128 MiB");
	assert_string_equal(gp_tick_bytes_text(1536 * mib, 512 * mib).s, "1.5 GiB");
	assert_string_equal(gp_tick_bytes_text(1280 * mib, 256 * mib).s, "1.25 GiB");
	assert_string_equal(gp_tick_ns_text(0, s, s).s, "0");
	assert_string_equal(gp_tick_ns_text(20 * ms, 20 * ms, 100 * ms).s, "20 ms");
	assert_string_equal(gp_tick_ns_text(200 * ms, 200 * ms, 1027 * ms).s, "0.2 s");
	assert_string_equal(gp_tick_ns_text(1500 * ms, 500 * ms, 2 * s).s, "1.5 s");
	assert_string_equal(gp_tick_ns_text(100 * s + 20 * ms, 20 * ms, 101 * s).s, "100.02 s");
	assert_string_equal(gp_tick_ns_text(700, 100, 900).s, "700 ns");
	assert_string_equal(gp_tick_ns_text(40 * minute, 10 * minute, 50 * minute).s, "40 min");
	assert_string_equal(gp_tick_ns_text(80 * minute, 20 * minute, 90 * minute).s, "1 h 20 min");
	assert_string_equal(gp_tick_ns_text(120 * minute, 20 * minute, 130 * minute).s, "2 h");
}

/* Sizes as users write them; other texts are rejected. */
static void test_sizes_are_read(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = { { "0", 0 },
		     { "77", 77 },
		     { "512M", 512u << 20 },
		     { "4 MiB", 4 << 20 },
		     { "1g", 1u << 30 },
		     { "2KB", 2048 },
		     { "16777215T", UINT64_C(16777215) << 40 } };
	static const char *const bad[] = { "",	    "M",     "-1",	  "12Q",
					   "4MiBs", "4 M B", "16777216T", "99999999999999999999" };
	uint64_t bytes;
	for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
		assert_true(gp_size_parse(good[k].text, &bytes));
		assert_int_equal(bytes, good[k].bytes);
	}
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
		assert_false(gp_size_parse(bad[k], &bytes));
}

/* ---- the plot on the terminal ---- */

enum { COLUMNS = 80, ROWS = 20, PLOTTED = COLUMNS - LABEL - 2 };

/* Plotted text in lines; 0: the topmost. */
struct shown {
	char *text;
	char *line[64];
	size_t lines;
};

static struct shown show(const struct gp_timeline_device *device, int64_t from_ns, int64_t to_ns,
			 int64_t kept_from_ns)
{
	struct shown s = { 0 };
	size_t bytes;
	const struct gp_plot plot = {
		.device = device,
		.from_ns = from_ns,
		.to_ns = to_ns,
		.kept_from_ns = kept_from_ns,
		.columns = COLUMNS,
		.rows = ROWS,
		.is_ascii = true,
	};
	FILE *out = open_memstream(&s.text, &bytes);
	assert_non_null(out);
	gp_plot_print(&plot, out);
	assert_int_equal(fclose(out), 0);
	for (char *at = strtok(s.text, "\n"); at && s.lines < 64; at = strtok(NULL, "\n"))
		s.line[s.lines++] = at;
	return s;
}

/* Column of a mark in the lines above the plot; -1: there is no mark. */
static long column_of_mark(const struct shown *s, char mark)
{
	for (size_t k = 0; k < s->lines && !strpbrk(s->line[k], "|+"); k++) {
		const char *at = strchr(s->line[k], mark);
		if (at)
			return at - s->line[k] - (LABEL + 2);
	}
	return -1;
}

static size_t count(const struct shown *s, char glyph, size_t column)
{
	size_t found = 0;
	for (size_t k = 0; k < s->lines; k++)
		if (strlen(s->line[k]) > LABEL + 2 + column && strchr("|+", s->line[k][LABEL + 1]))
			found += s->line[k][LABEL + 2 + column] == glyph;
	return found;
}

static void peaks_of(struct gp_timeline_device *d)
{
	for (size_t k = 0; k < d->points; k++) {
		for (unsigned c = 0; c < GP_CURVES; c++) {
			if (d->point[k].bytes[c] <= d->peak_bytes[c])
				continue;
			d->peak_bytes[c] = d->point[k].bytes[c];
			d->peak_at_ns[c] = d->point[k].at_ns;
		}
	}
}

static void test_peaks_are_marked_where_they_are(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 300; k++) {
		struct gp_point point[40];
		struct gp_timeline_device d = { .points = 40, .point = point };
		for (size_t i = 0; i < 40; i++) {
			point[i].at_ns = (int64_t)i * 25 + (int64_t)(any() % 25);
			uint64_t driver = any() % 1000000 + 1, reserved = any() % driver;
			point[i].bytes[GP_CURVE_DRIVER] = driver;
			point[i].bytes[GP_CURVE_RESERVED] = reserved;
			point[i].bytes[GP_CURVE_ALLOCATED] = reserved ? any() % reserved : 0;
		}
		peaks_of(&d);
		struct shown s = show(&d, 0, 1000, 0);
		for (unsigned c = 0; c < GP_CURVES; c++)
			assert_int_equal(column_of_mark(&s, "DRA"[c]),
					 d.peak_bytes[c] ? d.peak_at_ns[c] * PLOTTED / 1000 : -1);
		/* the highest value reaches the top row */
		size_t top = 0;
		while (!strpbrk(s.line[top], "|+"))
			top++;
		size_t peak = (size_t)(d.peak_at_ns[GP_CURVE_DRIVER] * PLOTTED / 1000);
		assert_true(strlen(s.line[top]) > LABEL + 2 + peak);
		assert_int_not_equal(s.line[top][LABEL + 2 + peak], ' ');
		for (size_t i = 0; i < s.lines; i++)
			assert_true(strlen(s.line[i]) <= COLUMNS);
		free(s.text);
	}
}

/* A step that is far shorter than a column leaves its column striped, not flat. */
static void test_short_spike_is_seen(void **state)
{
	(void)state;
	const struct gp_point point[] = {
		{ 0, { 900, 900, 100 }, 0, 0 },
		{ 500000, { 900, 900, 900 }, 0, 0 },
		{ 500001, { 900, 900, 100 }, 0, 0 },
	};
	struct gp_timeline_device d = { .points = 3, .point = point };
	peaks_of(&d);
	struct shown s = show(&d, 0, 1000000, 0);
	size_t spike = PLOTTED / 2;
	assert_true(count(&s, '*', spike) >= 14);
	assert_int_equal(count(&s, '*', spike - 2), 0);
	assert_int_equal(count(&s, '*', spike + 2), 0);
	assert_true(count(&s, '#', spike) >= 1);
	free(s.text);
}

static void test_marks_of_one_column_are_stacked(void **state)
{
	(void)state;
	const struct gp_point point[] = { { 0, { 9, 8, 7 }, 0, 0 } };
	const struct gp_mark oom[] = { { 0, 1 << 30, 1, true, true },
				       { 1, 1 << 30, 2, false, false } };
	struct gp_timeline_device d = {
		.points = 1, .point = point, .marks = 2, .mark = oom, .ooms = 1, .failed_calls = 1
	};
	peaks_of(&d);
	struct shown s = show(&d, 0, 1000000, 0);
	for (unsigned k = 0; k < 5; k++) {
		assert_int_equal(strlen(s.line[k]), LABEL + 3);
		assert_int_equal(s.line[k][LABEL + 2], "DRArx"[k]);
	}
	assert_non_null(strchr(s.line[5], '|'));
	assert_non_null(strstr(s.line[s.lines - 2], "x   out of memory at 0 s: 1.00 GiB"));
	assert_non_null(strstr(s.line[s.lines - 2], "requested from PyTorch"));
	assert_non_null(strstr(s.line[s.lines - 1], "r   1 failed CUDA call, the first at 1 ns"));
	free(s.text);
}

/* A peak in an overwritten part has a value; it has no mark where the curve is not drawn. */
static void test_peak_that_is_not_kept(void **state)
{
	(void)state;
	const struct gp_point point[] = { { 500, { 9, 8, 7 }, 0, 0 } };
	struct gp_timeline_device d = { .points = 1, .point = point };
	peaks_of(&d);
	d.peak_bytes[GP_CURVE_DRIVER] = 77;
	d.peak_at_ns[GP_CURVE_DRIVER] = 20;
	struct shown s = show(&d, 0, 1000, 500);
	bool is_printed = false;
	assert_int_equal(column_of_mark(&s, 'D'), -1);
	assert_int_equal(column_of_mark(&s, 'R'), PLOTTED / 2);
	for (size_t k = 0; k < s.lines; k++)
		is_printed = is_printed || strstr(s.line[k], "(77 bytes) at 20 ns, not kept");
	assert_true(is_printed);
	free(s.text);
}

/* An overwritten part is marked as unknown; without one there is no such mark. */
static void test_gap_is_named(void **state)
{
	(void)state;
	const struct gp_point point[] = { { 500, { 9, 8, 7 }, 0, 0 } };
	struct gp_timeline_device d = { .points = 1, .point = point };
	peaks_of(&d);
	for (int64_t kept = 0; kept <= 500; kept += 500) {
		struct shown s = show(&d, 0, 1000, kept);
		bool is_named = false;
		for (size_t k = 0; k < s.lines; k++)
			is_named = is_named || strstr(s.line[k], not_kept);
		assert_int_equal(is_named, kept > 0);
		free(s.text);
	}
}

/* A device with failures only and a span of length zero: still a picture. */
static void test_failures_alone(void **state)
{
	(void)state;
	const struct gp_mark oom[] = { { 5, 77, 1, false, true } };
	struct gp_timeline_device d = { .marks = 1, .mark = oom, .ooms = 1, .failed_calls = 1 };
	struct shown s = show(&d, 5, 5, 0);
	assert_int_equal(column_of_mark(&s, 'x'), 0);
	assert_non_null(strstr(s.line[s.lines - 1], "77 B requested from the driver"));
	free(s.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticks_of_bytes),
		cmocka_unit_test(test_ticks_of_time),
		cmocka_unit_test(test_ticks_end),
		cmocka_unit_test(test_tick_texts),
		cmocka_unit_test(test_sizes_are_read),
		cmocka_unit_test(test_peaks_are_marked_where_they_are),
		cmocka_unit_test(test_short_spike_is_seen),
		cmocka_unit_test(test_marks_of_one_column_are_stacked),
		cmocka_unit_test(test_peak_that_is_not_kept),
		cmocka_unit_test(test_gap_is_named),
		cmocka_unit_test(test_failures_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
