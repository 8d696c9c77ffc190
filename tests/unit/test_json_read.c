/*
 * The reader of small JSON files: accepted texts, refused texts with their place. No text crashes
 * it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../tools/check/json_read.c"

static bool takes(const char *text, struct gp_json_value *out, char *why)
{
	/* exactly this size, so that sanitizers report a read behind the end */
	size_t bytes = strlen(text);
	char *copy = malloc(bytes + 1);
	memcpy(copy, text, bytes);
	copy = realloc(copy, bytes ? bytes : 1);
	bool is_fine = gp_json_value_read(copy, bytes, out, why);
	free(copy);
	return is_fine;
}

static void values_equal_the_text(void **state)
{
	(void)state;
	struct gp_json_value v;
	char why[GP_JSON_WHY_MAX];
	assert_true(takes(" { \"a\" : [1, 18446744073709, \"x\\n\\\"\\u00e9\\ud83d\\ude00\"],\n"
			  "\"b\": {}, \"c\": null, \"d\": true, \"e\": -1.5e3, \"a\": 7 }\t",
			  &v, why));
	assert_int_equal(v.type, GP_JSON_OBJECT);
	assert_int_equal(v.children, 6);
	const struct gp_json_value *list = gp_json_value_find(&v, "a", GP_JSON_LIST);
	assert_int_equal(list->children, 3);
	assert_int_equal(list->child[0].whole, 1);
	assert_int_equal(list->child[1].whole, 18446744073709);
	assert_string_equal(list->child[2].text, "x\n\"\xc3\xa9\xf0\x9f\x98\x80");
	assert_int_equal(gp_json_value_find(&v, "a", GP_JSON_NUMBER)->whole, 7);
	assert_null(gp_json_value_find(&v, "b", GP_JSON_LIST));
	assert_int_equal(gp_json_value_find(&v, "b", GP_JSON_OBJECT)->children, 0);
	assert_non_null(gp_json_value_find(&v, "c", GP_JSON_NULL));
	assert_true(gp_json_value_find(&v, "d", GP_JSON_BOOL)->is_true);
	assert_false(gp_json_value_find(&v, "e", GP_JSON_NUMBER)->is_whole);
	assert_null(gp_json_value_find(list, "a", GP_JSON_NUMBER));
	gp_json_value_free(&v);
	/* a number of more than 64 bits is not an integer */
	assert_true(takes("99999999999999999999", &v, why));
	assert_false(v.is_whole);
	gp_json_value_free(&v);
}

static void errors_are_reported_with_their_place(void **state)
{
	(void)state;
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{ "", "expected a value at byte 0" },
		{ "{\"a\": 1, }", "expected '\"' at byte 9" },
		{ "{\"a\" 1}", "expected ':' at byte 5" },
		{ "[1 2]", "expected ',' or ']' at byte 3" },
		{ "{\"a\": 1", "expected ',' or '}' at byte 7" },
		{ "[1] x", "expected nothing more at byte 4" },
		{ "\"a\nb\"", "expected no control character at byte 2" },
		{ "\"a", "expected '\"' at byte 2" },
		{ "\"\\q\"", "expected an escape at byte 2" },
		{ "\"\\u12g4\"", "expected four hexadecimal digits at byte 3" },
		{ "\"\\ud800x\"", "expected the second half of a pair at byte 7" },
		{ "\"\\u0000\"", "expected a character at byte 7" },
		{ "nul", "expected a value at byte 0" },
	};
	for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
		struct gp_json_value v;
		char why[GP_JSON_WHY_MAX];
		assert_false(takes(wrong[k].text, &v, why));
		assert_string_equal(why, wrong[k].why);
		gp_json_value_free(&v);
	}
}

static void depth_is_bounded(void **state)
{
	(void)state;
	for (size_t depth = 30; depth < 100000; depth = depth < 36 ? depth + 1 : depth * 3) {
		struct gp_json_value v;
		char why[GP_JSON_WHY_MAX], *text = calloc(2 * depth + 1, 1);
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		assert_int_equal(takes(text, &v, why), depth <= 32);
		gp_json_value_free(&v);
		free(text);
	}
}

/* Each cut and each changed byte: the reader returns a status, and its result can be freed. */
static void no_text_harms_it(void **state)
{
	(void)state;
	static const char whole[] =
		"{\"format\": \"gpuprof baseline 1\", \"tolerance\": {\"driver\": \"5%\"}, "
		"\"entries\": [{\"gpu\": \"NVIDIA\\u0020H200\", \"pytorch\": null, \"devices\": "
		"[{\"device\": 0, \"bytes\": 12345, \"groups\": [{\"key\": \"a\\\"b\"}, true]}]}]}";
	unsigned fine = 0;
	for (size_t n = 0; n < sizeof whole; n++)
		for (unsigned change = 0; change < 256; change += n ? 5 : 256) {
			char text[sizeof whole], why[GP_JSON_WHY_MAX];
			struct gp_json_value v;
			memcpy(text, whole, sizeof text);
			if (change)
				text[n ? n - 1 : 0] = (char)change;
			else
				text[n] = '\0';
			bool is_fine = takes(text, &v, why);
			assert_int_equal(is_fine, why[0] == '\0');
			fine += is_fine;
			gp_json_value_free(&v);
		}
	assert_true(fine > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_equal_the_text),
		cmocka_unit_test(errors_are_reported_with_their_place),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(no_text_harms_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
