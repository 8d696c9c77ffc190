/*
 * The width of output for people, and its character set.
 */
#ifndef TERMINAL_WIDTH_H
#define TERMINAL_WIDTH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define GP_COLUMNS_MIN 50u
#define GP_COLUMNS_MAX 400u
#define GP_COLUMNS_RANGE "50..400" /* of an option */

/*
 * The value of an option, else COLUMNS, else the terminal's width, else 100; limited to the range.
 */
unsigned gp_columns(uint64_t requested, FILE *out);
/* From the locale; false: ASCII only. */
bool gp_is_utf8(void);
/* The mark for the omitted part of a name: "…", or ".." if the locale lacks that character. */
const char *gp_cut_mark(void);

#endif
