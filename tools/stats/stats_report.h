/*
 * Reports of `gpuprof stats`: a table of rows that are made one at a time, since a trace has a row
 * for each operation. docs/man/gpuprof-stats.1.md lists reports and columns.
 */
#ifndef GP_STATS_REPORT_H
#define GP_STATS_REPORT_H

#include "../report/report.h"

#define GP_STAT_COLUMNS 27u
#define GP_STAT_SCRATCH 65536u

enum gp_stat_cell_kind { GP_STAT_EMPTY, GP_STAT_TEXT, GP_STAT_INTEGER, GP_STAT_REAL };
struct gp_stat_cell {
	enum gp_stat_cell_kind kind;
	int64_t integer;
	double real;
	int decimals;	  /* of `real` */
	const char *text; /* until the next row */
};

/* A recording, and the report that is made of it. */
struct gp_stats {
	struct gp_recording *recording;
	const struct gp_info *info;
	int64_t from_ns, to_ns;
	unsigned device;
	struct gp_gpu gpu;
	struct gp_gpu_calls calls; /* if a report needs ranges */
	struct gp_sums sums;
	size_t rows;
	size_t *index;	    /* of each row: an operation or call; NULL: rows of `sums` */
	char **name;	    /* of each function, made when needed */
	uint64_t *child_ns; /* of each call: the durations of calls directly inside it */
	char scratch[GP_STAT_SCRATCH];
	size_t used;
};

enum gp_stat_need { GP_STAT_NEEDS_TIME = 1, GP_STAT_NEEDS_RANGES = 2 };
#define GP_STAT_NO_SUMS (-1)

struct gp_stat_report {
	const char *name, *title;
	const char *heads; /* of the columns, with a bar between them */
	int of;		   /* enum gp_sums_of of its rows, or GP_STAT_NO_SUMS */
	/* NULL: nothing to prepare. Makes other rows, or sorts those of the sums. */
	enum gp_status (*begin)(struct gp_stats *stats);
	/* Fills as many cells as there are columns. Cells are empty at first. */
	void (*row)(struct gp_stats *stats, size_t row, struct gp_stat_cell *cell);
	unsigned needs; /* enum gp_stat_need */
};

extern const struct gp_stat_report gp_stat_reports[]; /* the last one has no name */
/* Makes the rows. gp_stat_end follows, also after a failure. */
enum gp_status gp_stat_begin(struct gp_stats *stats, const struct gp_stat_report *report);
void gp_stat_end(struct gp_stats *stats);

enum gp_stat_format { GP_STAT_TABLE, GP_STAT_CSV, GP_STAT_JSON };
void gp_stat_write(struct gp_stats *stats, const struct gp_stat_report *report,
		   enum gp_stat_format format, FILE *out);

#endif
