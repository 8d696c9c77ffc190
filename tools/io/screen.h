/*
 * A report on a terminal. Lines are fitted into the width (line_fit.h), and a report longer than
 * the screen goes to the pager (pager.h). Elsewhere a report is written unchanged.
 */
#ifndef GP_SCREEN_H
#define GP_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

/* The options of all reports. */
struct gp_screen_options {
	bool is_wide, has_no_pager;
};
extern struct gp_screen_options gp_screen_options;

/*
 * Opens the stream of a report: stdout, or on a terminal a stream that writes to it. One at a time.
 * Decides the colours of the report (gp_on).
 */
FILE *gp_screen_open(void);

/* Shows held lines, and waits for the pager. Returns 0, or errno of the failure. */
int gp_screen_close(void);

/* Whether the user ended the pager, so that further output is not shown. */
bool gp_screen_is_left(void);

/*
 * The stream for the next message: stderr. If stderr is a terminal as well, held lines or the
 * pager's lines come first. *columns: the width of stderr for folding if it is a terminal, else 0.
 */
FILE *gp_screen_messages(unsigned *columns);

/* Whether a line on stderr may appear and be erased: no pager runs, and no report is held. */
bool gp_screen_is_free(void);

/*
 * Columns and lines of the terminal at `fd`; COLUMNS and LINES override them. False: not a
 * terminal.
 */
bool gp_terminal_size(int fd, unsigned *columns, unsigned *rows);

/* The width for lines of the report; 0: unlimited, with --wide or without a terminal. */
unsigned gp_screen_columns(void);
/* Whether the width is limited to fewer columns than that. */
bool gp_screen_is_below(unsigned columns);

/* Mark the part of a table's line that may be cut: a name, a path, the label of a stack. */
void gp_name_begin(FILE *out);
void gp_name_end(FILE *out);
/* Writes a recorded text between the marks, masked. */
void gp_name_print(FILE *out, const char *text);

#endif
