/* A table of names says what was put in; of wrong ones nothing worse comes than a refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read/symbols/name_table.h"

static const unsigned char one_id[4] = { 1, 2, 3, 4 }, other_id[4] = { 1, 2, 3, 5 };
static const struct gp_name_module modules[] = {
	{ "/lib/b.so", one_id, 4 }, { "/lib/a.so", one_id, 4 }, { "/lib/b.so", other_id, 4 },
	{ "/lib/b.so", one_id, 3 }, { "/lib/c.so", NULL, 0 },
};
enum { MODULES = sizeof modules / sizeof *modules, ROWS = 50 };

/* Frames of module m at offset 7 * row, different for each. */
static size_t make_frames(unsigned m, unsigned row, struct gp_symbol *out)
{
	static char text[MODULES][ROWS][4][24];
	size_t count = 1 + (m + row) % 3;
	enum gp_symbol_why why = row % 5 == 4 ? GP_SYMBOL_NO_FILE : GP_SYMBOL_NO_NAME;
	for (size_t i = 0; i < count; i++) {
		bool has_name = row % 4 != 3 || i + 1 < count;
		snprintf(text[m][row][i], sizeof text[m][row][i], "f%u_%u_%zu", m, row % 10, i);
		out[i] = (struct gp_symbol){ .function = has_name ? text[m][row][i] : NULL,
					     .file = row % 3 ? "file.c" : NULL,
					     .line = row % 3 ? row : 0,
					     .is_inlined = i + 1 < count,
					     .is_unproved = m == 4,
					     .why = has_name ? GP_SYMBOL_NAMED : why,
					     .symbol = row % 2 ? "symbol" : NULL,
					     .symbol_offset = row % 2 ? row : 0 };
	}
	return count;
}

static unsigned char *make_table(size_t *bytes)
{
	struct gp_name_builder *sheet = gp_name_builder_open();
	struct gp_symbol frame[4];
	unsigned char *out;
	for (unsigned row = ROWS; row-- > 0;)
		for (unsigned m = 0; m < MODULES; m++) {
			uint32_t number, again;
			assert_true(gp_name_builder_module(sheet, &modules[m], &number));
			assert_true(gp_name_builder_module(sheet, &modules[m], &again));
			assert_int_equal(number, again);
			assert_true(gp_name_builder_add(sheet, number, 7 * row, frame,
							make_frames(m, row, frame)));
		}
	assert_int_equal(gp_name_builder_encode(sheet, MODULES * ROWS + 9, 9, &out, bytes), GP_OK);
	gp_name_builder_close(sheet);
	return out;
}

static void assert_same_text(const char *a, const char *b)
{
	assert_int_equal(a == NULL, b == NULL);
	if (a != NULL)
		assert_string_equal(a, b);
}

static void a_table_says_what_was_put_in(void **state)
{
	(void)state;
	size_t bytes, named = 0;
	unsigned char *made = make_table(&bytes);
	struct gp_name_table *table;
	const char *what;
	assert_int_equal(gp_name_table_open(made, bytes, &table, &what), GP_OK);
	for (unsigned m = 0; m < MODULES; m++)
		for (unsigned row = 0; row < ROWS; row++) {
			struct gp_symbol put[4], got[4];
			size_t count = make_frames(m, row, put);
			assert_int_equal(gp_name_table_find(table, &modules[m], 7 * row, got, 4),
					 count);
			named += put[count - 1].function != NULL;
			for (size_t i = 0; i < count; i++) {
				assert_same_text(got[i].function, put[i].function);
				assert_same_text(got[i].file, put[i].file);
				assert_same_text(got[i].symbol, put[i].symbol);
				assert_int_equal(got[i].line, put[i].line);
				assert_int_equal(got[i].why, put[i].why);
				assert_int_equal(got[i].is_inlined, put[i].is_inlined);
				assert_int_equal(got[i].is_unproved, put[i].is_unproved);
				assert_int_equal(got[i].symbol_offset, put[i].symbol_offset);
			}
			assert_int_equal(
				gp_name_table_find(table, &modules[m], 7 * row + 1, got, 4), 0);
			assert_int_equal(gp_name_table_find(table, &modules[m], 7 * row, got, 1),
					 1);
		}
	const struct gp_name_module unknown = { "/lib/d.so", one_id, 4 };
	struct gp_symbol got[4];
	assert_int_equal(gp_name_table_find(table, &unknown, 0, got, 4), 0);
	assert_int_equal(gp_name_table_named(table), named);
	assert_int_equal(gp_name_table_frames(table), MODULES * ROWS + 9);
	gp_name_table_close(table);
}

/* Behind checksums that nobody broke lies anything, too. */
static void a_wrong_table_is_refused_or_read(void **state)
{
	(void)state;
	size_t bytes, refused = 0;
	unsigned char *made = make_table(&bytes);
	for (size_t at = 0; at < 2 * bytes; at++) {
		size_t length = at < bytes ? at : bytes;
		unsigned char *copy = malloc(length + 1);
		memcpy(copy, made, length);
		if (at >= bytes)
			copy[at - bytes] ^= (unsigned char)(1u << at % 8);
		struct gp_name_table *table;
		struct gp_symbol got[4];
		const char *what;
		enum gp_status status = gp_name_table_open(copy, length, &table, &what);
		if (status != GP_OK) {
			assert_int_equal(status, GP_E_DAMAGED);
			assert_null(table);
			assert_non_null(what);
			refused++;
			continue;
		}
		assert_true(at >= bytes); /* what is cut off is missed */
		for (unsigned m = 0; m < MODULES; m++)
			for (unsigned row = 0; row < ROWS; row++)
				gp_name_table_find(table, &modules[m], 7 * row, got, 4);
		gp_name_table_close(table);
	}
	assert_true(refused > bytes);
	free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_says_what_was_put_in),
		cmocka_unit_test(a_wrong_table_is_refused_or_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
