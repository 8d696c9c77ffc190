/*
 * Fits lines into the width of a terminal. Names are cut in the middle, figures never. A line that
 * is still too wide is folded. Printers mark names with gp_name_begin() and gp_name_end(). Recorded
 * text cannot contain these bytes, since gp_mask escapes them.
 */
#ifndef GP_LINE_FIT_H
#define GP_LINE_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define GP_NAME_BEGIN '\x0e'
#define GP_NAME_END '\x0f'

/* Columns of `bytes` of UTF-8 on a terminal; marks and colours have none. */
size_t gp_display_width(const char *text, size_t bytes);

/* Bytes at the start of `text` that take at most `columns`. */
size_t gp_display_fit(const char *text, size_t bytes, size_t columns);

/*
 * Writes a line without its marks, fitted into `columns` (0: unlimited) if cutting its names is
 * enough. A name keeps at least GP_NAME_LEAST columns. `mark` replaces the omitted part: "…" or
 * "..". Returns the columns written.
 */
#define GP_NAME_LEAST 12u
size_t gp_line_fit(FILE *out, const char *line, size_t bytes, size_t columns, const char *mark);

/*
 * The same, but with at least 40 columns a line that is still too wide is folded at spaces. Its
 * names then take at most half the width. Later lines begin below the last column (two spaces
 * separate columns), else two columns in. Returns the number of terminal lines. The last line has
 * no newline.
 */
size_t gp_line_put(FILE *out, const char *line, size_t bytes, size_t columns, const char *mark);

/* Least columns to which the name can be cut with a `file.py:96` in it whole. */
size_t gp_name_least(const char *name);

/* Cuts the middle of `name` to at most `columns`, with `mark`. Truncates to the room of `out`. */
void gp_name_cut(const char *name, size_t columns, const char *mark, char *out, size_t room);

#endif
