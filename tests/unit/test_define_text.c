/*
 * Texts of definitions of each length, at any place of the ring: the reader returns them unchanged.
 */
#include "recorded_child.h"

#include "read/file/recording.h"

#define LENGTHS (GP_TEXT_MAX + 3u)

static void fill(char *text, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		text[k] = (char)('a' + (n + k * 7) % 26);
}

/* More than 32,768 slots, the largest region, so that regions of all sizes wrap. */
static void define_all(void)
{
	char text[LENGTHS];
	for (unsigned k = 0; k < 4 * LENGTHS; k++) {
		const unsigned n = k % LENGTHS;
		const struct gp_record kernel = { .kind = GP_KERNEL, .kernel.handle = n + 1 };
		fill(text, n);
		keep_pace();
		CHECK(gp_enter());
		CHECK(gp_define(&kernel, text, n));
		gp_leave();
	}
}

static void texts_come_back(void **state)
{
	struct gp_recording *r;
	char path[128], expected[LENGTHS + 1];
	(void)state;
	assert_int_equal(in_child("texts.gpr", "0", define_all), 0);
	name_of(path, sizeof path, "texts.gpr");
	assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
	struct gp_event event;
	while (gp_recording_next(r, &event) == GP_OK)
		;
	assert_null(gp_defined_text(r->definitions, GP_KERNEL, 1));
	for (unsigned n = 1; n < LENGTHS; n++) {
		const unsigned kept = n < GP_TEXT_MAX ? n : GP_TEXT_MAX;
		fill(expected, n);
		expected[kept] = '\0';
		const char *text = gp_defined_text(r->definitions, GP_KERNEL, n + 1);
		assert_non_null(text);
		assert_string_equal(text, expected);
	}
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_come_back),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
