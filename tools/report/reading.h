/*
 * The common path of commands that read recordings: options, output, each recording in turn, JSON
 * or a table of several, exit status. The specific parts of a command are in its struct gp_command.
 */
#ifndef GP_READING_H
#define GP_READING_H

#include "../input/inputs.h"
#include "report.h"

/* Options of several commands, each declared once in reading.c. */
enum gp_shared_option {
	GP_OPTION_SPAN = 1, /* --from, --to */
	GP_OPTION_DEVICE = 2,
	GP_OPTION_JSON = 4,
	GP_OPTION_STEPS = 8,
	GP_OPTION_NO_STACKS = 16,
	GP_OPTION_OUTPUT = 32, /* --output, --force */
	GP_OPTION_SCREEN = 64, /* of screen.h and style.h */
};
/* For reports as text, JSON or a file. */
#define GP_OPTIONS_REPORT (GP_OPTION_JSON | GP_OPTION_OUTPUT | GP_OPTION_SCREEN)

/* The first member of a command's own struct; the command casts the pointer back. */
struct gp_reading {
	const struct gp_command *command;
	struct gp_report_table table; /* for several recordings; printed if it has rows */
	/* set by `end` if the rows have no figures: the text in their place, and its tail */
	const char *none, *none_tail;
	/* values of options */
	const char *from, *to, *output;
	int64_t device; /* -1: all */
	uint64_t top;	/* 0: all */
	bool is_json, is_forced;
	bool is_top_given;
	/* may be changed by `check` */
	bool is_text; /* the report is for a person */
	bool is_held; /* write the report after `end`, when all recordings were read */
	/* the report */
	bool is_many;
	struct gp_sink sink; /* has_report: set by `one` */
	struct gp_json json;
	FILE *out;
	/* the recording */
	const char *path;
	struct gp_recording *recording; /* NULL if `one` has taken it, to keep it open */
	const struct gp_info *info;
};

/* Runs the command. `own`: its own options; the last row has no name. */
int gp_reading_run(struct gp_reading *reading, const struct gp_flag *own, int argc, char **argv);

/*
 * The parts of gp_reading_run, for a command whose words are not recordings. gp_reading_flags lists
 * all options, _check checks their values, and _show prints the report on these recordings.
 */
#define GP_READING_FLAGS 32u
void gp_reading_flags(struct gp_reading *reading, const struct gp_flag *own,
		      struct gp_flag flags[GP_READING_FLAGS]);
int gp_reading_check(struct gp_reading *reading, int recordings);
int gp_reading_show(struct gp_reading *reading, int recordings, char *const *paths);

/* Called within `end`: reports on one recording again. Its damage is not printed again. */
int gp_reading_repeat(struct gp_reading *reading, const char *path);

#endif
