/*
 * What `frag` and `snapshot` show of one moment: their options, read once, and the report itself.
 */
#ifndef FRAG_OPTIONS_H
#define FRAG_OPTIONS_H

#include "../input/flags.h"
#include "frag_report.h"

struct gp_frag_options {
	const char *fit, *colour_text, *output;
	uint64_t fit_bytes, columns, top; /* fit_bytes and columns: 0 not given */
	int64_t device;			  /* -1: all */
	enum gp_frag_colour colour;
	bool is_json, is_summary, is_map, is_forced, is_svg;
	bool has_holders; /* set by `snapshot`: text begins with who holds memory */
};

#define GP_FRAG_FLAGS 15u /* rows, the last one included */

/* Fills in the end of a table of flags, which write into `options`. */
void gp_frag_options_add(struct gp_frag_options *options, struct gp_flag flags[GP_FRAG_FLAGS]);
/* After gp_flags_parse. False: a value is wrong, which is said in the name of `command`. */
bool gp_frag_options_read(struct gp_frag_options *options, const struct gp_command *command);

/*
 * cmd_frag.c: reports on the recording inputs[0]. `at`: as after --at; NULL: the default. The exit
 * status.
 */
int gp_frag_show(const struct gp_frag_options *options, const char *at, int recordings,
		 char *const *inputs);

#endif
