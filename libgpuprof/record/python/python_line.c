/*
 * Decoders of the line tables. Formats: CPython's Objects/lnotab_notes.txt (3.8 to 3.10) and
 * Objects/locations.md (since 3.11).
 */
#include <stdbool.h>

#include "python_line.h"

/* Adds lines modulo 2^32: a damaged table may have any value. */
static int32_t moved(int32_t line, int32_t delta)
{
	return (int32_t)((uint32_t)line + (uint32_t)delta);
}

/* Pairs (bytes of code, signed lines): the line of a pair is for the code after its bytes. */
static int32_t lnotab_line(const uint8_t *table, size_t size, int32_t line, int32_t offset)
{
	int64_t start = 0;
	for (size_t k = 0; k + 1 < size; k += 2) {
		start += table[k];
		if (start > offset)
			break;
		line = moved(line, (int8_t)table[k + 1]);
	}
	return line;
}

/*
 * Pairs (bytes of code, signed lines): the line of a pair is for these bytes. -128: they have no
 * line, and the line stays for later ones.
 */
static int32_t linetable_line(const uint8_t *table, size_t size, int32_t line, int32_t offset)
{
	int64_t end = 0;
	for (size_t k = 0; k + 1 < size; k += 2) {
		int8_t delta = (int8_t)table[k + 1];
		bool has_line = delta != -128;
		end += table[k];
		if (has_line)
			line = moved(line, delta);
		if (offset < end)
			return has_line ? line : GP_PYTHON_NO_LINE;
	}
	return GP_PYTHON_NO_LINE;
}

/*
 * Six bits per byte, the lowest first; bit 6 means that more follow. The value's own lowest bit is
 * the sign. Stops at the start of the next entry, which has bit 7.
 */
static int32_t signed_varint(const uint8_t *at, const uint8_t *end)
{
	uint32_t value = 0;
	for (unsigned shift = 0; at < end && !(*at & 0x80); shift += 6) {
		if (shift < 32)
			value |= (uint32_t)(*at & 0x3f) << shift;
		if (!(*at++ & 0x40))
			break;
	}
	return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/*
 * Meaning for lines of the code in an entry's first byte (bits 3 to 6). The others are short forms
 * within the same line.
 */
enum {
	ONE_LINE_0 = 10,
	ONE_LINE_2 = 12,
	NO_COLUMNS = 13,
	LONG_FORM = 14,
	NO_LOCATION = 15,
};

static int32_t locations_line(const uint8_t *table, size_t size, int32_t line, int32_t offset)
{
	const uint8_t *at = table, *const behind = table + size;
	int64_t end = 0;
	while (at < behind) {
		unsigned head = *at++, code = head >> 3 & 15;
		end += 2 * ((int64_t)(head & 7) + 1);
		if (code == NO_COLUMNS || code == LONG_FORM)
			line = moved(line, signed_varint(at, behind));
		else if (code >= ONE_LINE_0 && code <= ONE_LINE_2)
			line = moved(line, (int32_t)(code - ONE_LINE_0));
		if (offset < end)
			return code == NO_LOCATION ? GP_PYTHON_NO_LINE : line;
		while (at < behind && !(*at & 0x80))
			at++;
	}
	return GP_PYTHON_NO_LINE;
}

int32_t gp_python_decode_line(enum gp_python_lines format, const uint8_t *table, size_t size,
			      int32_t first, int32_t offset)
{
	if (offset < 0)
		return first;
	switch (format) {
	case GP_PYTHON_LNOTAB:
		return lnotab_line(table, size, first, offset);
	case GP_PYTHON_LINETABLE:
		return linetable_line(table, size, first, offset);
	case GP_PYTHON_LOCATIONS:
		return locations_line(table, size, first, offset);
	}
	return GP_PYTHON_NO_LINE;
}
