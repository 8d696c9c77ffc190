/*
 * The way of every command that reads recordings: options, output, one recording after the other,
 * JSON or a table of several, exit status. What is its own a command declares in its struct
 * gp_command.
 */
#ifndef GP_READING_H
#define GP_READING_H

#include "../input/inputs.h"
#include "report.h"

/* Options that several commands have: each is declared once, in reading.c. */
enum gp_shared_option {
	GP_OPTION_SPAN = 1, /* --from, --to */
	GP_OPTION_DEVICE = 2,
	GP_OPTION_JSON = 4,
	GP_OPTION_STEPS = 8,
	GP_OPTION_NO_STACKS = 16,
	GP_OPTION_OUTPUT = 32, /* --output, --force */
	GP_OPTION_SCREEN = 64, /* of screen.h and style.h */
};
/* Of a report for a person, a program or a file. */
#define GP_OPTIONS_REPORT (GP_OPTION_JSON | GP_OPTION_OUTPUT | GP_OPTION_SCREEN)

/* The first member of a command's own struct, which casts it back. */
struct gp_reading {
	const struct gp_command *command;
	struct gp_report_table table; /* of several recordings; printed where it has rows */
	/* set by `end`: the rows have no figures, so this stands in their place, and a tail */
	const char *none, *none_tail;
	/* values of options */
	const char *from, *to, *output;
	int64_t device; /* -1: all */
	uint64_t top;	/* 0: all */
	bool is_json, is_forced;
	bool is_top_given;
	/* which `check` may change */
	bool is_text; /* the report is for a person */
	bool is_held; /* the report is written when `end` has looked at all recordings */
	/* the report */
	bool is_many;
	struct gp_sink sink; /* has_report: set by `one` */
	struct gp_json json;
	FILE *out;
	/* the recording */
	const char *path;
	struct gp_recording *recording; /* NULL, set by `one`: it keeps the recording open */
	const struct gp_info *info;
};

/* Runs the command; `own`: its own options, which end with a row without a name. */
int gp_reading_run(struct gp_reading *reading, const struct gp_flag *own, int argc, char **argv);

/* The parts of it, for a command whose words are not recordings: all options, */
#define GP_READING_FLAGS 32u
void gp_reading_flags(struct gp_reading *reading, const struct gp_flag *own,
		      struct gp_flag flags[GP_READING_FLAGS]);
/* what they mean, and the report on these recordings. */
int gp_reading_check(struct gp_reading *reading, int recordings);
int gp_reading_show(struct gp_reading *reading, int recordings, char *const *paths);

/* From within `end`: one of the recordings once more. Its damage is not said again. */
int gp_reading_repeat(struct gp_reading *reading, const char *path);

#endif
