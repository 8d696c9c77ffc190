/* The reader reports definitions that it does not keep. */
#include "recording_writer.h"

enum { KEPT = 1 << 21, BLOCK = 8192 };

/* Names of so many ranges, without a text, in each of two segments. */
static void expect_report(const char *name, uint32_t definitions, bool expected)
{
	static struct gp_record record[SLOTS_KEPT];
	struct writer w;
	const struct gp_info *info;
	writer_open(&w, name, 0, 0);
	for (unsigned segment = 0; segment < 2; segment++) {
		if (segment != 0)
			next_segment(&w);
		for (uint32_t written = 0, n; written < definitions; written += n) {
			for (n = 0; n < BLOCK && written + n < definitions; n++)
				record[n] = (struct gp_record){ .kind = GP_RANGE_NAME,
								.aux = written + n + 1 };
			put_records(&w, GP_BLOCK_DEFINE, 0, GP_THREAD_NONE, &w.none_sequence,
				    record, n);
		}
	}
	writer_close(&w, true);
	struct gp_recording *r = fixture_info(w.path, &info);
	assert_false(info->is_damaged);
	assert_true(info->has_definitions_left_out == expected);
	gp_recording_close(r);
}

/* One definition of `kind` with this number. */
static void expect_number_report(const char *name, enum gp_kind kind, uint32_t number,
				 bool expected)
{
	const struct gp_record record = { .kind = kind,
					  .device = GP_DEVICE_UNKNOWN,
					  .aux = number };
	struct writer w;
	const struct gp_info *info;
	writer_open(&w, name, 0, 0);
	put(&w, 0, record);
	writer_close(&w, true);
	struct gp_recording *r = fixture_info(w.path, &info);
	assert_true(info->has_definitions_left_out == expected);
	gp_recording_close(r);
}

static void numbers_that_are_too_high_are_reported(void **state)
{
	(void)state;
	expect_number_report("arena.gpr", GP_ARENA, 65535, false);
	expect_number_report("arena_high.gpr", GP_ARENA, 65536, true);
	expect_number_report("fact.gpr", GP_FACT, 65535, false);
	expect_number_report("fact_high.gpr", GP_FACT, UINT32_MAX, true);
}

static void left_out_definitions_are_reported(void **state)
{
	(void)state;
	expect_report("kept.gpr", KEPT, false);
	expect_report("more.gpr", KEPT + 1, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(left_out_definitions_are_reported),
		cmocka_unit_test(numbers_that_are_too_high_are_reported),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
