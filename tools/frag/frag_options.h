/*
 * Common parts of `frag` and `snapshot`: their options, and the report on one moment of a
 * recording.
 */
#ifndef FRAG_OPTIONS_H
#define FRAG_OPTIONS_H

#include "../report/reading.h"
#include "frag_report.h"

struct gp_frag_command {
	struct gp_reading r;
	const char *at; /* the text after --at; NULL: the default */
	const char *fit, *colour_text;
	const char *by;		     /* "role": the roles of the blocks, too; NULL: not requested */
	uint64_t fit_bytes, columns; /* 0: not given */
	enum gp_frag_colour colour;
	bool is_summary, is_map, is_svg;
	bool has_holders; /* set by `snapshot`: text output begins with the holders of memory */
	/* the current recording */
	struct gp_frag_report report;
	struct gp_moment_of moment;
	size_t failed_arena; /* arena of the failed request; 0: unknown */
	char not_known[1024];
};

/* of struct gp_command */
#define GP_FRAG_OPTIONS (GP_OPTION_DEVICE | GP_OPTION_JSON | GP_OPTION_NO_STACKS | GP_OPTION_SCREEN)
#define GP_FRAG_PINS 10u /* shown by default */
#define GP_FRAG_FLAGS 9u /* rows, including the terminating one */

/* cmd_frag.c: fills in the end of a table of flags. The hooks take a gp_frag_command. */
void gp_frag_flags(struct gp_frag_command *command, struct gp_flag flags[GP_FRAG_FLAGS]);
int gp_frag_check(struct gp_reading *reading, int recordings);
int gp_frag_one(struct gp_reading *reading);

#endif
