/*
 * A table with one row a recording, or a device of it, for reports on several recordings. Above it,
 * lines name recordings that are damaged, incomplete, lost events or failed, and outliers. Names
 * are never cut: a narrow terminal shows fewer columns.
 */
#ifndef GP_TABLE_H
#define GP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../io/amount.h"
#include "gpuprof.h"
#include "rank_clock.h"

enum { GP_TABLE_COLUMNS = 10 };

struct gp_cell {
	char text[48];	/* "-": unknown */
	double number;	/* NAN: never an outlier */
	int64_t before; /* in a column of faults: the row with the lowest value is named */
	struct gp_rank_moment moment; /* in a column of moments: the row with the first is named */
};

/* A column in which each number above 0 is a finding, without statistics. */
struct gp_fault {
	const char *label; /* of the line above the table: "leak"; NULL: not a column of faults */
	const char *unit;  /* after the cell's text in that line, " a step"; NULL: omit the text */
	const char *next;  /* the command that explains it */
	bool has_moment;   /* that line has the moment */
};

/* Flaws of a recording itself. */
enum gp_flaw_kind { GP_FLAW_DAMAGED, GP_FLAW_INCOMPLETE, GP_FLAW_LOST, GP_FLAWS };
struct gp_flaw {
	size_t recordings;
	uint64_t events;  /* lost events */
	const char *path; /* the first recording; for losses the one with most */
	uint64_t most;	  /* of that recording */
};

struct gp_report_row {
	const char *path;     /* owned by the caller */
	char part[24];	      /* after the name: "GPU 0" */
	char *note;	      /* the last column, may be cut; NULL: none */
	struct gp_text state; /* after the part: gp_report_table_state_of */
	struct gp_cell cell[GP_TABLE_COLUMNS];
};

struct gp_report_table {
	size_t columns, rows, capacity;
	/* the most important first */
	const char *title[GP_TABLE_COLUMNS];
	bool is_text[GP_TABLE_COLUMNS]; /* left-aligned */
	struct gp_fault fault[GP_TABLE_COLUMNS];
	const char *next; /* the command for details; NULL: none without figures */
	/*
	 * and its recording, if there are no flaws; NULL: an outlier, or the highest number of a
	 * column
	 */
	const char *next_path;
	struct gp_report_row *row;
	bool is_begun; /* the last row's recording has no figures yet */
	size_t recordings;
	const char *first;    /* path */
	size_t folder_length; /* common beginning of all paths, up to a slash */
	struct gp_flaw flaw[GP_FLAWS];
};

/* Counts a recording with its flaws. Its path stays the caller's. */
void gp_report_table_see(struct gp_report_table *table, const char *path,
			 const struct gp_info *info);
/* The same, with a row that stays empty if none is added. False: out of memory, printed. */
bool gp_report_table_begin(struct gp_report_table *table, const char *path,
			   const struct gp_info *info);
/*
 * The next row of the current recording, all "-", to be filled in. `part` is cut to its capacity.
 * NULL: out of memory, printed.
 */
struct gp_report_row *gp_report_table_add(struct gp_report_table *table, const char *part);
/* A row of any recording, all "-", without a state. NULL: out of memory, printed. */
struct gp_report_row *gp_report_table_append(struct gp_report_table *table, const char *path);
/* "damaged", "3 lost", "not complete", "running"; empty: no flaw. */
struct gp_text gp_report_table_state_of(const struct gp_info *info);
/* Copies the note of the row. False: out of memory, printed. */
bool gp_report_table_note(struct gp_report_row *row, const char *note);

void gp_cell_put(struct gp_cell *cell, double number, const char *text);
void gp_cell_put_bytes(struct gp_cell *cell, uint64_t bytes);
/* ">= 1.16 GiB", if events are missing */
void gp_cell_put_least(struct gp_cell *cell, uint64_t bytes, bool is_at_least);
void gp_cell_put_count(struct gp_cell *cell, uint64_t count);
/* "-" if there are none, but gp_has_all_ooms is false. The earliest by the clock is named first. */
void gp_cell_put_ooms(struct gp_cell *cell, const struct gp_info *info, uint64_t ooms,
		      int64_t first_ns);
/* The median time of a step, "-" without steps. */
void gp_cell_put_step(struct gp_cell *cell, const struct gp_steps *steps);

/* "151 ms (2026-11-27 14:57:08.741 UTC)" */
struct gp_text gp_report_table_moment_text(const struct gp_rank_moment *moment);
/* The name of a recording in a report on several, without the common directory and `.gpr`. */
void gp_report_table_name_print(const struct gp_report_table *table, const char *path, FILE *out);
/* One line for each kind of flaw: "lost: rank-20, 384 events". */
void gp_report_table_flaws_print(const struct gp_report_table *table, FILE *out);
/*
 * Printed for a table without rows: "no phases in 64 recordings", with `what` before "in". True: it
 * ends with `next:`, because a recording is damaged.
 */
bool gp_report_table_none_print(const struct gp_report_table *table, const char *what,
				const char *tail, FILE *out);
/* Prints only the rows. */
void gp_report_table_rows_print(const struct gp_report_table *table, FILE *out);
/*
 * Prints the whole table. The last line is the command for details: on a damaged recording, a
 * fault, the highest outlier, or the highest number of the first column. If none stands out, the
 * line is omitted.
 */
void gp_report_table_print(const struct gp_report_table *table, FILE *out);
void gp_report_table_release(struct gp_report_table *table);

#endif
