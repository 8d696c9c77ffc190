/*
 * A table of one row a recording, or a device of it, in the reports on several recordings. Before
 * it the lines that name a recording: what is damaged, not complete or lost, what failed, and
 * outliers. A name is never cut: on a narrow terminal the last columns are left out.
 */
#ifndef GP_TABLE_H
#define GP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../io/amount.h"
#include "gpuprof.h"

enum { GP_TABLE_COLUMNS = 10 };

struct gp_cell {
	char text[48];	/* "-": not known */
	double number;	/* NAN: never an outlier */
	int64_t before; /* in a column of faults: the row with the least is named */
};

/* A column in which each number above 0 is a finding: it needs no statistics. */
struct gp_fault {
	const char *label; /* of the line before the table: "leak"; NULL: a column like others */
	const char *unit;  /* behind the cell's text in it, " a step"; NULL: without the text */
	const char *next;  /* the command that explains it */
};

/* What may be wrong with a recording as such. */
enum gp_flaw_kind { GP_FLAW_DAMAGED, GP_FLAW_INCOMPLETE, GP_FLAW_LOST, GP_FLAWS };
struct gp_flaw {
	size_t recordings;
	uint64_t events;  /* that were lost */
	const char *path; /* the first recording; of losses the one with most */
	uint64_t most;	  /* in that one */
};

struct gp_report_row {
	const char *path;     /* the caller's */
	char part[24];	      /* behind the name: "GPU 0" */
	char *note;	      /* at the end, and may be cut; NULL: none */
	struct gp_text state; /* behind the part: gp_report_table_state_of */
	struct gp_cell cell[GP_TABLE_COLUMNS];
};

struct gp_report_table {
	size_t columns, rows, capacity;
	/* the most important first */
	const char *title[GP_TABLE_COLUMNS];
	bool is_text[GP_TABLE_COLUMNS]; /* at the left */
	struct gp_fault fault[GP_TABLE_COLUMNS];
	const char *next; /* the command to look closer with */
	/* and at what, if nothing is wrong; NULL: an outlier, or what is highest in a column */
	const char *next_path;
	struct gp_report_row *row;
	bool is_begun; /* the last row is of a recording that has no figures yet */
	size_t recordings;
	const char *first;    /* path */
	size_t folder_length; /* that all paths begin with, up to a slash */
	struct gp_flaw flaw[GP_FLAWS];
};

/* Counts a recording with what is wrong with it. Its path stays the caller's. */
void gp_report_table_see(struct gp_report_table *sheet, const char *path,
			 const struct gp_info *info);
/* The same, with a row that is empty if none is added. False: out of memory, said. */
bool gp_report_table_begin(struct gp_report_table *sheet, const char *path,
			   const struct gp_info *info);
/*
 * The next row of the recording that was begun, all "-", to be filled in; `part` is cut to its
 * room. NULL: out of memory, said.
 */
struct gp_report_row *gp_report_table_add(struct gp_report_table *sheet, const char *part);
/* A row of any recording, all "-", without a state. NULL: out of memory, said. */
struct gp_report_row *gp_report_table_append(struct gp_report_table *sheet, const char *path);
/* "damaged", "3 lost", "not complete", "running"; empty: nothing is wrong. */
struct gp_text gp_report_table_state_of(const struct gp_info *info);
/* What the row is called by, copied. False: out of memory, said. */
bool gp_report_table_note(struct gp_report_row *row, const char *note);

void gp_cell_put(struct gp_cell *cell, double number, const char *text);
void gp_cell_put_bytes(struct gp_cell *cell, uint64_t bytes);
/* ">= 1.16 GiB", where events are missing */
void gp_cell_put_least(struct gp_cell *cell, uint64_t bytes, bool is_at_least);
void gp_cell_put_count(struct gp_cell *cell, uint64_t count);
/* "-" where there is none, but events are missing. The first one by the clock is named first. */
void gp_cell_put_ooms(struct gp_cell *cell, const struct gp_info *info, uint64_t ooms,
		      int64_t first_ns);
/* The usual time of a step, "-" where there is none. */
void gp_cell_put_step(struct gp_cell *cell, const struct gp_steps *steps);

/* A recording in a report on several: without the directory that all have in common and `.gpr`. */
void gp_report_table_name_print(const struct gp_report_table *sheet, const char *path, FILE *out);
/* A line for each kind of flaw that a recording has: "lost: rank-20, 384 events". */
void gp_report_table_flaws_print(const struct gp_report_table *sheet, FILE *out);
bool gp_report_table_has_flaws(const struct gp_report_table *sheet);
/*
 * In the place of a table without rows: "no phases in 64 recordings", `what` before "in". True: it
 * ends with `next:`, for a recording is damaged.
 */
bool gp_report_table_none_print(const struct gp_report_table *sheet, const char *what,
				const char *tail, FILE *out);
/* The rows alone. */
void gp_report_table_rows_print(const struct gp_report_table *sheet, FILE *out);
/*
 * All of it. Ends with the command that looks closer: at what is damaged, at a fault, at the
 * highest outlier, at the highest number of the first column; where none stands out, with no such
 * line.
 */
void gp_report_table_print(const struct gp_report_table *sheet, FILE *out);
void gp_report_table_release(struct gp_report_table *sheet);

#endif
