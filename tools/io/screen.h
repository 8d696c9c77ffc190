/*
 * A report on a terminal: its lines are fitted into the width (line_fit.h), and one with more lines
 * than the screen goes to the pager (pager.h). Elsewhere a report is written as it is.
 */
#ifndef GP_SCREEN_H
#define GP_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

/* What the options of all reports ask for. */
struct gp_screen_options {
	bool is_wide, has_no_pager;
};
extern struct gp_screen_options gp_screen_asked;

/*
 * What a report is written to: stdout, or where that is a terminal a stream that ends there. One at
 * a time. Its colours are decided (gp_on).
 */
FILE *gp_screen_open(void);

/* Shows what is held back, and waits for the pager. Returns 0, or errno of what failed. */
int gp_screen_close(void);

/* The user has ended the pager: what is written from now on is not shown. */
bool gp_screen_is_left(void);

/*
 * Where the next message belongs: stderr, or, where that is a terminal too, behind the lines of the
 * report that are held back or are in the pager. *columns: of stderr where that is a terminal, else
 * 0; lines that join the report are folded there.
 */
FILE *gp_screen_messages(unsigned *columns);

/* Whether a line on stderr may come and go: the terminal has no pager, and no report held back. */
bool gp_screen_is_free(void);

/* Columns and lines of the terminal at `fd`; COLUMNS and LINES come first. False: it is none. */
bool gp_terminal_size(int fd, unsigned *columns, unsigned *rows);

/* Of the report's lines; 0: as many as a line has, so with --wide and where no terminal is. */
unsigned gp_screen_columns(void);
/* Whether the report's lines have fewer columns than that: never elsewhere, nor with --wide. */
bool gp_screen_is_below(unsigned columns);

/* Around what may be cut in a line of a table: a name, a path, the label of a stack. */
void gp_name_begin(FILE *out);
void gp_name_end(FILE *out);
/* A recorded text between the two, masked. */
void gp_name_print(FILE *out, const char *text);

#endif
