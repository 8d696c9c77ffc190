/* Texts in a pickle are for a program: valid UTF-8 stays unchanged, also control characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../tools/export/write/pickle.c"
#include "../../tools/io/line_fit.c"
#include "../../tools/io/message.c"
#include "../../tools/io/style.c"

/* Compares the bytes between the length of the only text and the end. */
static void assert_text(const char *text, const char *expected)
{
	static struct gp_pickle pickle;
	const size_t head = 2 + 1 + 4, bytes = strlen(expected);
	char *out = NULL;
	size_t written;
	FILE *file = open_memstream(&out, &written);
	gp_pickle_init(&pickle, file);
	gp_pickle_text(&pickle, text);
	gp_pickle_finish(&pickle);
	fclose(file);
	assert_int_equal(written, head + bytes + 1);
	assert_int_equal((unsigned char)out[3], bytes);
	assert_memory_equal(out + head, expected, bytes);
	free(out);
}

static void valid_utf8_stays(void **state)
{
	(void)state;
	static const char *const texts[] = { "\x1b[31m", "\xc2\x9b", "\xe2\x80\xae", "\xef\xbb\xbf",
					     "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac" };
	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
		assert_text(texts[k], texts[k]);
}

static void invalid_utf8_is_replaced(void **state)
{
	(void)state;
	assert_text("a\xff", "a\xef\xbf\xbd");
	assert_text("\xc2z", "\xef\xbf\xbdz");
	assert_text("\xe0\x80", "\xef\xbf\xbd\xef\xbf\xbd");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_utf8_stays),
		cmocka_unit_test(invalid_utf8_is_replaced),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
