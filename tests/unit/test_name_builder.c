/*
 * A builder of names keeps the limits of the reader, and stores no more names once an allocation
 * has failed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read/tables/array.h"

static bool is_memory_out;

static bool reserve(void *array, size_t *room, size_t count, size_t more, size_t bytes)
{
	return !is_memory_out && gp_array_reserve(array, room, count, more, bytes);
}

#define gp_array_reserve reserve
#include "../../libgpuprof/read/symbols/name_builder.c"
#undef gp_array_reserve

static const struct gp_name_module module = { "/a", NULL, 0 };
static char long_name[TEXT_MAX + 1];

static struct gp_name_builder *fresh(void)
{
	const struct gp_block_header last = { 0 };
	struct gp_name_builder *b = gp_name_builder_open(&last, 1);
	assert_non_null(b);
	is_memory_out = false;
	memset(long_name, 'x', TEXT_MAX);
	return b;
}

/* A frame after a lost frame would be stored as the caller into which that one was inlined. */
static void names_are_not_stored_without_memory(void **state)
{
	(void)state;
	const struct gp_symbol pair[2] = { { .function = long_name, .is_inlined = true },
					   { .function = long_name } };
	struct gp_name_builder *b = fresh();
	size_t bytes;
	uint64_t offset = 0;
	assert_int_equal(gp_name_builder_module(b, &module), GP_OK);
	is_memory_out = true;
	while (gp_name_builder_add(b, offset, pair, 2) == GP_OK)
		offset++;
	assert_true(offset > 1); /* at least one block */
	is_memory_out = false;
	assert_int_equal(gp_name_builder_add(b, offset, pair, 2), GP_E_MEMORY);
	assert_int_equal(gp_name_builder_module(b, &module), GP_E_MEMORY);
	assert_null(gp_name_builder_blocks(b, &bytes));
	gp_name_builder_close(b);
}

static void readable(struct gp_name_builder *b)
{
	size_t bytes = 0;
	struct gp_name_table *table;
	const char *what;
	const unsigned char *blocks = gp_name_builder_blocks(b, &bytes);
	assert_true(bytes <= GP_NAME_BYTES_MAX);
	assert_int_equal(gp_name_table_open(blocks, bytes, &table, &what), GP_OK);
	gp_name_table_close(table);
	gp_name_builder_close(b);
}

static void modules_are_as_many_as_a_reader_takes(void **state)
{
	(void)state;
	const struct gp_symbol frame = { .function = "f" };
	struct gp_name_builder *b = fresh();
	for (unsigned m = 1; m < GP_NAME_MODULES_MAX; m++)
		assert_int_equal(gp_name_builder_module(b, &module), GP_OK);
	assert_int_equal(gp_name_builder_add(b, 0, &frame, 1), GP_OK);
	assert_int_equal(gp_name_builder_module(b, &module), GP_E_SPACE);
	readable(b);
}

/* Sets the counter of bytes: real names of that size would take seconds. */
static void bytes_are_as_many_as_a_reader_takes(void **state)
{
	(void)state;
	static struct gp_symbol frame[GP_NAME_FRAMES_MAX];
	struct gp_name_builder *b = fresh();
	for (size_t i = 0; i < GP_NAME_FRAMES_MAX; i++)
		frame[i] = (struct gp_symbol){ .function = long_name,
					       .is_inlined = i + 1 < GP_NAME_FRAMES_MAX };
	assert_int_equal(gp_name_builder_module(b, &module), GP_OK);
	b->bytes = GP_NAME_BYTES_MAX - 3 * gp_block_bound();
	assert_int_equal(gp_name_builder_add(b, 0, frame, GP_NAME_FRAMES_MAX), GP_E_SPACE);
	assert_int_equal(gp_name_builder_add(b, 0, &frame[GP_NAME_FRAMES_MAX - 1], 1), GP_OK);
	b->bytes = GP_NAME_BYTES_MAX - gp_block_bound();
	assert_int_equal(gp_name_builder_module(b, &module), GP_E_SPACE);
	b->bytes = 0;
	readable(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_not_stored_without_memory),
		cmocka_unit_test(modules_are_as_many_as_a_reader_takes),
		cmocka_unit_test(bytes_are_as_many_as_a_reader_takes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
