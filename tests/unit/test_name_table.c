/* A table of names returns the stored names; wrong definitions are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read/block_room.h"
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
					     .why = has_name ? GP_SYMBOL_NAMED : why };
	}
	return count;
}

static struct gp_name_builder *make_blocks(void)
{
	const struct gp_block_header last = { .ticks = 1 };
	struct gp_name_builder *builder = gp_name_builder_open(&last, MODULES * ROWS + 9);
	struct gp_symbol frame[4];
	for (unsigned m = 0; m < MODULES; m++) {
		assert_int_equal(gp_name_builder_module(builder, &modules[m]), GP_OK);
		for (unsigned row = ROWS; row-- > 0;)
			assert_int_equal(gp_name_builder_add(builder, 7 * row, frame,
							     make_frames(m, row, frame)),
					 GP_OK);
	}
	return builder;
}

static void assert_same_text(const char *a, const char *b)
{
	assert_int_equal(a == NULL, b == NULL);
	if (a != NULL)
		assert_string_equal(a, b);
}

static void a_table_returns_the_stored_names(void **state)
{
	(void)state;
	size_t bytes, named = 0;
	struct gp_name_builder *builder = make_blocks();
	const unsigned char *made = gp_name_builder_blocks(builder, &bytes);
	struct gp_name_table *table;
	const char *what;
	assert_int_equal(gp_name_table_open(made, bytes, &table, &what), GP_OK);
	gp_name_builder_close(builder);
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
				assert_int_equal(got[i].line, put[i].line);
				assert_int_equal(got[i].why, put[i].why);
				assert_int_equal(got[i].is_inlined, put[i].is_inlined);
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

/* Names of the maximal length, and longer ones. */
static void long_texts_are_cut(void **state)
{
	(void)state;
	static char text[20000];
	const struct gp_block_header last = { 0 };
	const size_t most = 255 * 64 - 8;
	size_t bytes;
	memset(text, 'x', sizeof text - 1);
	const struct gp_symbol put = { .function = text, .file = "a.c", .line = 7 },
			       fits = { .function = "f", .file = text + sizeof text - most + 1 };
	struct gp_symbol got;
	struct gp_name_builder *builder = gp_name_builder_open(&last, 2);
	struct gp_name_table *table;
	const char *what;
	assert_int_equal(gp_name_builder_module(builder, &modules[0]), GP_OK);
	assert_int_equal(gp_name_builder_add(builder, 1, &put, 1), GP_OK);
	assert_int_equal(gp_name_builder_add(builder, 2, &fits, 1), GP_OK);
	const unsigned char *made = gp_name_builder_blocks(builder, &bytes);
	assert_int_equal(gp_name_table_open(made, bytes, &table, &what), GP_OK);
	assert_int_equal(gp_name_table_find(table, &modules[0], 1, &got, 1), 1);
	assert_int_equal(strlen(got.function), most);
	assert_null(got.file);
	assert_int_equal(got.line, 7);
	assert_int_equal(gp_name_table_find(table, &modules[0], 2, &got, 1), 1);
	assert_int_equal(strlen(got.file), most - 2);
	gp_name_table_close(table);
	gp_name_builder_close(builder);
}

/* One block of a module and of `name`, with a text. */
static enum gp_status opened(struct gp_record name, bool has_text, uint64_t sequence, unsigned type)
{
	struct gp_block_room room;
	struct gp_record slots[4] = { { .kind = GP_MODULE, .aux = 1, .extra = 1 }, { 0 }, name };
	struct gp_block_header header = { .type = (uint16_t)type, .sequence = sequence };
	size_t bytes;
	struct gp_name_table *table;
	const char *what;
	memcpy(&slots[1], "\4\0\0\0\0\0\0\0- /a", 12);
	memcpy(&slots[3], "\1\0\0\0\0\0\0\0f", 9);
	slots[2].extra = has_text;
	assert_true(gp_block_room_open(&room));
	assert_int_equal(gp_block_encode(room.scratch, &header, slots, 4, 0, 3u + has_text,
					 room.bytes, gp_block_bound(), &bytes),
			 GP_OK);
	const enum gp_status status = gp_name_table_open(room.bytes, bytes, &table, &what);
	assert_true(status == GP_OK ? table != NULL : table == NULL && what != NULL);
	gp_name_table_close(table);
	for (size_t cut = 1; cut < bytes && status == GP_OK; cut++)
		assert_int_equal(gp_name_table_open(room.bytes, cut, &table, &what), GP_E_DAMAGED);
	gp_block_room_release(&room);
	return status;
}

static struct gp_record name_of(uint32_t module, uint64_t line, uint64_t why, uint64_t is_inlined)
{
	return (struct gp_record){ .kind = GP_NATIVE_NAME,
				   .aux = module,
				   .native_name = { 4096, line, why, is_inlined } };
}

static void wrong_definitions_are_refused(void **state)
{
	(void)state;
	const struct {
		struct gp_record name;
		bool has_text;
		uint64_t sequence;
		unsigned type;
		enum gp_status status;
	} cases[] = {
		{ name_of(1, 3, GP_SYMBOL_NAMED, 0), true, 0, GP_BLOCK_DEFINE, GP_OK },
		{ name_of(1, 0, GP_SYMBOL_NO_NAME, 0), false, 0, GP_BLOCK_DEFINE, GP_OK },
		{ { .kind = 127 }, true, 0, GP_BLOCK_DEFINE, GP_OK }, /* of a newer version */
		{ name_of(1, 3, GP_SYMBOL_NAMED, 0), false, 0, GP_BLOCK_DEFINE, GP_E_DAMAGED },
		{ name_of(1, 0, GP_SYMBOL_NO_NAME, 0), true, 0, GP_BLOCK_DEFINE, GP_E_DAMAGED },
		{ name_of(1, 0, GP_SYMBOL_TIME_UP, 0), false, 0, GP_BLOCK_DEFINE, GP_E_DAMAGED },
		{ name_of(1, 1ull << 32, GP_SYMBOL_NAMED, 0), true, 0, GP_BLOCK_DEFINE,
		  GP_E_DAMAGED },
		{ name_of(2, 3, GP_SYMBOL_NAMED, 0), true, 0, GP_BLOCK_DEFINE, GP_E_DAMAGED },
		{ name_of(1, 3, GP_SYMBOL_NAMED, 1), true, 0, GP_BLOCK_DEFINE, GP_E_DAMAGED },
		{ name_of(1, 3, GP_SYMBOL_NAMED, 0), true, 1, GP_BLOCK_DEFINE, GP_E_DAMAGED },
		{ name_of(1, 3, GP_SYMBOL_NAMED, 0), true, 0, GP_BLOCK_OLD_NAMES, GP_E_VERSION },
	};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
		assert_int_equal(
			opened(cases[k].name, cases[k].has_text, cases[k].sequence, cases[k].type),
			cases[k].status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_returns_the_stored_names),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(wrong_definitions_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
