/*
 * Lines as wide as a terminal: names in them are cut in the middle, figures never; where that is
 * not enough, the line is folded. A printer marks what may be cut with gp_name_begin() and
 * gp_name_end(); recorded text has no such bytes, since gp_mask escapes them.
 */
#ifndef GP_LINE_FIT_H
#define GP_LINE_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define GP_NAME_BEGIN '\x0e'
#define GP_NAME_END '\x0f'

/* Columns that a terminal gives to `bytes` of UTF-8; marks and colours have none. */
size_t gp_display_width(const char *text, size_t bytes);

/*
 * Writes a line without its marks, fitted into `columns` (0: as long as it is) where cutting its
 * names can do that. Of a name at least GP_NAME_LEAST columns are left. `mark` stands for what is
 * left out: "…" or "..". Returns the columns of what was written.
 */
#define GP_NAME_LEAST 12u
size_t gp_line_fit(FILE *out, const char *line, size_t bytes, size_t columns, const char *mark);

/*
 * The same, but from 40 columns on a line that stays too wide is folded at spaces, its names at
 * most half as wide as the terminal. The lines behind the first begin where its last column does
 * (two spaces separate columns), else two columns in. Returns the lines of the terminal that it
 * takes. The last line is not ended.
 */
size_t gp_line_put(FILE *out, const char *line, size_t bytes, size_t columns, const char *mark);

/* Columns in which a name can be cut, so that a `file.py:96` in it stays whole. */
size_t gp_name_least(const char *name);

/*
 * `name` in at most `columns`, cut in the middle with `mark`; what has no room in `out` is missing.
 */
void gp_name_cut(const char *name, size_t columns, const char *mark, char *out, size_t room);

#endif
