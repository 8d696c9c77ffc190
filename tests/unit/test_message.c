/* Recorded texts in output: control characters are masked, and JSON contains each text exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../tools/check/json_read.c"
#include "../../tools/io/json.c"
#include "../../tools/io/line_fit.c"
#include "../../tools/io/message.c"
#include "../../tools/io/style.c"

/* The text as a report prints it. */
static char *masked(const char *text)
{
	char *out = NULL;
	size_t bytes;
	FILE *file = open_memstream(&out, &bytes);
	gp_mask(file, text, strlen(text));
	fclose(file);
	return out;
}

static char *as_json(const char *text, size_t *bytes)
{
	char *out = NULL;
	struct gp_json json;
	FILE *file = open_memstream(&out, bytes);
	gp_json_init(&json, file, 0);
	gp_json_text(&json, NULL, text);
	fclose(file);
	return out;
}

static void assert_shown(const char *text, bool is_shown)
{
	char *report = masked(text);
	size_t bytes;
	char *json = as_json(text, &bytes);
	const bool is_same = strcmp(report, text) == 0, is_in_json = strstr(json, text) != NULL;
	if (is_same != is_shown || is_in_json != is_shown)
		fail_msg("report %s, JSON %s", report, json);
	if (!is_shown)
		for (const char *at = report; *at; at++)
			assert_in_range(*at, 0x20, 0x7e);
	free(report);
	free(json);
}

static void invisible_characters_are_masked(void **state)
{
	(void)state;
	static const char *const masks[] = {
		"\x01",
		"\x1b", /* controls */
		"\x1f",
		"\x7f",
		"\xc2\x80",
		"\xc2\x9f",
		"\xc2\xad", /* soft hyphen */
		"\xd8\x9c",
		"\xe2\x80\x8f",
		"\xe2\x80\xaa",
		"\xe2\x80\xae",
		"\xe2\x81\xa6",
		"\xe2\x81\xa9", /* direction */
		"\xe2\x80\xa8",
		"\xe2\x80\xa9", /* lines */
		"\xe1\xa0\x8e",
		"\xe2\x80\x8b",
		"\xe2\x81\xa0",
		"\xef\xbb\xbf",
		"\xef\xbf\xb9",
		"\xf0\x9d\x85\xb3",
		"\xf3\xa0\x81\x81", /* hidden text */
		"\xef\xbf\xbe",
		"\xef\xbf\xbf", /* not in XML */
	};
	for (size_t k = 0; k < sizeof masks / sizeof *masks; k++)
		assert_shown(masks[k], false);
}

static void characters_of_names_stay(void **state)
{
	(void)state;
	static const char *const shown[] = {
		" ",
		"~",
		"\xc3\xa9\xc2\xb5",				/* é µ */
		"\xe6\xbc\xa2\xe5\xad\x97",			/* 漢字 */
		"\xe2\x9d\xa4\xef\xb8\x8f",			/* ❤ as an emoji */
		"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac", /* joined emoji */
		"\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae\xd9\x88\xd8\xa7\xd9\x87\xd9"
		"\x85", /* Persian */
		"\xef\xbf\xbd",
		"\xf0\x9f\x94\xa5",
	};
	for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
		assert_shown(shown[k], true);
}

static void invalid_utf8_is_masked(void **state)
{
	(void)state;
	static const char *const wrong[] = {
		"\xff",
		"\xc2",
		"\x80",
		"\xc0\x80",
		"\xe0\x80\x80",
		"\xed\xa0\x80",
		"\xf4\x90\x80\x80",
		"\xe2\x80",
		"\xf0\x80\x80\x80",
	};
	for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
		assert_shown(wrong[k], false);
	char *report = masked("a\xe2\x80\xae\xff");
	assert_string_equal(report, "a\\xe2\\x80\\xae\\xff");
	free(report);
}

static size_t put_code(char *out, uint32_t code)
{
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	const size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	for (size_t k = n; k-- > 1; code >>= 6)
		out[k] = (char)(0x80 | (code & 0x3f));
	out[0] = (char)(lead[n] | code);
	return n;
}

/* Each code point, 1024 in a text. */
static void json_has_each_text_exactly(void **state)
{
	(void)state;
	for (uint32_t from = 0; from < 0x110000; from += 1024) {
		char text[4 * 1024 + 1], why[GP_JSON_WHY_MAX];
		size_t bytes, used = 0;
		struct gp_json_value value;
		for (uint32_t code = from ? from : 1; code < from + 1024; code++)
			if (code < 0xd800 || code > 0xdfff)
				used += put_code(text + used, code);
		text[used] = '\0';
		char *json = as_json(text, &bytes);
		assert_true(gp_json_value_read(json, bytes, &value, why));
		assert_string_equal(value.text, text);
		gp_json_value_free(&value);
		free(json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invisible_characters_are_masked),
		cmocka_unit_test(characters_of_names_stay),
		cmocka_unit_test(invalid_utf8_is_masked),
		cmocka_unit_test(json_has_each_text_exactly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
