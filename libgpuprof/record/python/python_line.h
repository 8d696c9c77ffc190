/*
 * From the offset of an instruction to its line: the three table formats of CPython 3.8 to 3.14.
 * Pure functions over bytes. Any table, also a damaged one, gives some result within its size.
 */
#ifndef GP_PYTHON_LINE_H
#define GP_PYTHON_LINE_H

#include <stddef.h>
#include <stdint.h>

#define GP_PYTHON_NO_LINE (-1)

enum gp_python_lines {
	GP_PYTHON_LNOTAB,    /* 3.8, 3.9: co_lnotab */
	GP_PYTHON_LINETABLE, /* 3.10: co_linetable of pairs */
	GP_PYTHON_LOCATIONS, /* since 3.11: co_linetable of location entries */
};

/*
 * The line of the instruction at `offset` bytes in code whose first line is `first`, as
 * PyCode_Addr2Line and co_lines() return it. GP_PYTHON_NO_LINE: the instruction has no line, or
 * lies after the table. An offset below 0 (a frame that has not begun) is in `first`.
 */
int32_t gp_python_decode_line(enum gp_python_lines format, const uint8_t *table, size_t size,
			      int32_t first, int32_t offset);

#endif
