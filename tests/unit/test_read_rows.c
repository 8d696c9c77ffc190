/* Events as rows: without the state of blocks, they are the same, in recordings of real jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpuprof.h"
#include "recordings.h"

#define ROWS 1000u

static bool assert_recording(const char *path)
{
	struct gp_recording *r, *whole;
	struct gp_event_row *row = calloc(ROWS, sizeof *row), *expected = calloc(ROWS, sizeof *row);
	size_t rows, count;
	enum gp_status status;
	assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
	assert_int_equal(gp_recording_open(path, &whole, NULL), GP_OK);
	do {
		status = gp_recording_read_rows(r, NULL, row, ROWS, &rows);
		assert_int_equal(gp_recording_read_batch(whole, NULL, expected, ROWS, &count),
				 status);
		assert_int_equal(rows, count);
		assert_memory_equal(row, expected, rows * sizeof *row);
	} while (status == GP_OK);
	assert_int_equal(status, GP_END);
	gp_recording_close(whole);
	gp_recording_close(r);
	free(expected);
	free(row);
	return true;
}

static void rows_are_the_same_without_blocks(void **state)
{
	(void)state;
	assert_true(recordings_visit(assert_recording) >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(rows_are_the_same_without_blocks) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
