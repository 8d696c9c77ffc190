/*
 * The line table decoders on tables made by hand: each rule of the three formats, and tables with a
 * wrong end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/python/python_line.h"

#define NO_LINE GP_PYTHON_NO_LINE
#define TABLE(...) ((const uint8_t[]){ __VA_ARGS__ })

/* A table in memory of its own, so that a sanitizer sees a read behind its end. */
static int32_t line(enum gp_python_lines format, const uint8_t *bytes, size_t size, int32_t first,
		    int32_t offset)
{
	uint8_t *copy = calloc(1, size + 1);
	/* at the very end of its memory */
	uint8_t *table = copy + 1;
	if (size)
		memcpy(table, bytes, size);
	int32_t found = gp_python_decode_line(format, table, size, first, offset);
	free(copy);
	return found;
}

/* One line number for each instruction of two bytes. */
static void expect(enum gp_python_lines format, const uint8_t *bytes, size_t size, int32_t first,
		   const int32_t *lines, size_t n)
{
	for (size_t k = 0; k < n; k++)
		assert_int_equal(line(format, bytes, size, first, (int32_t)(2 * k)), lines[k]);
}
#define EXPECT(format, table, first, ...)                                             \
	expect(format, table, sizeof(table), first, (const int32_t[]){ __VA_ARGS__ }, \
	       sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t))

static void not_begun_is_the_first_line(void **state)
{
	(void)state;
	for (int format = GP_PYTHON_LNOTAB; format <= GP_PYTHON_LOCATIONS; format++) {
		assert_int_equal(line((enum gp_python_lines)format, TABLE(2, 5), 2, 7, -1), 7);
		assert_int_equal(line((enum gp_python_lines)format, TABLE(2, 5), 2, 7, -2), 7);
	}
}

static void lnotab(void **state)
{
	(void)state;
	/* bytes 0-3 line 10, 4-7 line 11, 8-9 line 8 (back), then 14 */
	const uint8_t table[] = { 4, 1, 4, 0xfd, 2, 6 };
	EXPECT(GP_PYTHON_LNOTAB, table, 10, 10, 10, 11, 11, 8, 14, 14, 14);
	assert_int_equal(line(GP_PYTHON_LNOTAB, table, 6, 10, 1000000), 14);
}

static void lnotab_of_long_steps(void **state)
{
	(void)state;
	/* 300 bytes and 300 lines ahead; then 200 lines back */
	const uint8_t table[] = { 255, 0, 45, 127, 0, 127, 0, 46, 2, 0x80, 0, 0xb8 };
	assert_int_equal(line(GP_PYTHON_LNOTAB, table, sizeof table, 1, 254), 1);
	assert_int_equal(line(GP_PYTHON_LNOTAB, table, sizeof table, 1, 298), 1);
	assert_int_equal(line(GP_PYTHON_LNOTAB, table, sizeof table, 1, 300), 301);
	assert_int_equal(line(GP_PYTHON_LNOTAB, table, sizeof table, 1, 302), 101);
}

static void linetable(void **state)
{
	(void)state;
	/* the line of a pair is valid for the bytes of the pair, from its own start */
	const uint8_t table[] = { 2, 0, 4, 1, 2, 0xfd, 2, 0x80, 2, 6 };
	EXPECT(GP_PYTHON_LINETABLE, table, 10, 10, 11, 11, 8, NO_LINE, 14, NO_LINE);
}

static void linetable_of_long_steps(void **state)
{
	(void)state;
	/* empty ranges only move the line; 254 bytes at most in one pair; no line in one of them */
	const uint8_t table[] = { 0,	127, 0,	   127, 254,  46, 6, 0, 0,
				  0x81, 2,   0xc9, 4,	0x80, 0,  5, 2, 0 };
	assert_int_equal(line(GP_PYTHON_LINETABLE, table, sizeof table, 1, 0), 301);
	assert_int_equal(line(GP_PYTHON_LINETABLE, table, sizeof table, 1, 258), 301);
	assert_int_equal(line(GP_PYTHON_LINETABLE, table, sizeof table, 1, 260), 301 - 127 - 55);
	assert_int_equal(line(GP_PYTHON_LINETABLE, table, sizeof table, 1, 262), NO_LINE);
	assert_int_equal(line(GP_PYTHON_LINETABLE, table, sizeof table, 1, 266),
			 301 - 127 - 55 + 5);
	assert_int_equal(line(GP_PYTHON_LINETABLE, table, sizeof table, 1, 268), NO_LINE);
}

/* First byte of a location entry. */
#define ENTRY(code, units) (uint8_t)(0x80 | (code) << 3 | ((units)-1))

static void locations(void **state)
{
	(void)state;
	const uint8_t table[] = {
		ENTRY(0, 1),  0x12,			 /* short form, same line */
		ENTRY(9, 2),  0x7f,			 /* short form, same line */
		ENTRY(10, 1), 3,    4,			 /* same line, with columns */
		ENTRY(11, 1), 3,    4,			 /* the next line */
		ENTRY(12, 1), 3,    4,			 /* the one after the next */
		ENTRY(15, 2),				 /* no location */
		ENTRY(13, 1), 6,			 /* + 3, no columns */
		ENTRY(13, 1), 9,			 /* - 4 */
		ENTRY(14, 1), 0x41, 1,	  0,	5, 9,	 /* 0x41: more; (1 | 1 << 6) is -32 */
		ENTRY(14, 8), 0x48, 0x41, 0x3f, 1, 2, 3, /* 8 | 1 << 6 | 63 << 12, halved */
	};
	EXPECT(GP_PYTHON_LOCATIONS, table, 100, 100, 100, 100, 100, 101, 103, NO_LINE, NO_LINE, 106,
	       102, 70, 70 + (8 + 64 + (63 << 12)) / 2);
	assert_int_equal(line(GP_PYTHON_LOCATIONS, table, sizeof table, 100, 2 * 18),
			 70 + (8 + 64 + (63 << 12)) / 2);
	assert_int_equal(line(GP_PYTHON_LOCATIONS, table, sizeof table, 100, 2 * 19), NO_LINE);
}

static void locations_of_far_lines(void **state)
{
	(void)state;
	/* six bytes of a varint hold 36 bits; the value is 2^31 - 2, the line + 2^30 - 1 */
	const uint8_t far[] = { ENTRY(13, 1), 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x01 };
	assert_int_equal(line(GP_PYTHON_LOCATIONS, far, sizeof far, 1, 0), 1 << 30);
	const uint8_t back[] = { ENTRY(13, 1), 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x01 };
	assert_int_equal(line(GP_PYTHON_LOCATIONS, back, sizeof back, 1 << 30, 0), 1);
	/* more bytes than any number has: the value is cut to 32 bits */
	const uint8_t endless[] = { ENTRY(13, 1), 0x42, 0x40, 0x40, 0x40, 0x40,
				    0x40,	  0x40, 0x40, 0x40, 0x7f };
	assert_int_equal(line(GP_PYTHON_LOCATIONS, endless, sizeof endless, 5, 0), 6);
}

static void tables_that_end_too_soon(void **state)
{
	(void)state;
	assert_int_equal(line(GP_PYTHON_LNOTAB, NULL, 0, 3, 0), 3);
	assert_int_equal(line(GP_PYTHON_LNOTAB, TABLE(0), 1, 3, 100), 3);
	assert_int_equal(line(GP_PYTHON_LNOTAB, TABLE(2, 1, 2), 3, 3, 100), 4);
	assert_int_equal(line(GP_PYTHON_LINETABLE, NULL, 0, 3, 0), NO_LINE);
	assert_int_equal(line(GP_PYTHON_LINETABLE, TABLE(2, 1, 2), 3, 3, 0), 4);
	assert_int_equal(line(GP_PYTHON_LINETABLE, TABLE(2, 1, 2), 3, 3, 2), NO_LINE);
	assert_int_equal(line(GP_PYTHON_LOCATIONS, NULL, 0, 3, 0), NO_LINE);
	assert_int_equal(line(GP_PYTHON_LOCATIONS, TABLE(ENTRY(14, 1)), 1, 3, 0), 3);
	assert_int_equal(line(GP_PYTHON_LOCATIONS, TABLE(ENTRY(13, 1), 0x42), 2, 3, 0), 4);
	/* the next entry begins where a number should be: it is not read as part of the number */
	assert_int_equal(line(GP_PYTHON_LOCATIONS, TABLE(ENTRY(13, 1), ENTRY(0, 1)), 2, 3, 0), 3);
	assert_int_equal(line(GP_PYTHON_LOCATIONS, TABLE(ENTRY(13, 1), ENTRY(0, 1)), 2, 3, 2), 3);
	assert_int_equal(line(GP_PYTHON_LOCATIONS, TABLE(ENTRY(0, 1), 1), 2, 3, 2), NO_LINE);
}

/* For any table and any line in it, a decoder ends and does not read behind the table's end. */
static void noise(void **state)
{
	(void)state;
	uint32_t seed = 1;
	for (unsigned round = 0; round < 20000; round++) {
		uint8_t table[24];
		for (size_t k = 0; k < sizeof table; k++) {
			seed = seed * 1664525u + 1013904223u;
			table[k] = (uint8_t)(seed >> 24);
		}
		enum gp_python_lines format = (enum gp_python_lines)(round % 3);
		size_t size = round / 3 % (sizeof table + 1);
		int32_t first = round % 5 ? 1 : INT32_MAX;
		line(format, table, size, first, (int32_t)(seed >> 20));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(not_begun_is_the_first_line),
		cmocka_unit_test(lnotab),
		cmocka_unit_test(lnotab_of_long_steps),
		cmocka_unit_test(linetable),
		cmocka_unit_test(linetable_of_long_steps),
		cmocka_unit_test(locations),
		cmocka_unit_test(locations_of_far_lines),
		cmocka_unit_test(tables_that_end_too_soon),
		cmocka_unit_test(noise),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
