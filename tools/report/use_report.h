/*
 * The common options of `peak`, `top` and `diff`, their filters, and the errors if no recording
 * matches.
 */
#ifndef USE_REPORT_H
#define USE_REPORT_H

#include "again.h"
#include "reading.h"
#include "use_print.h"

#define GP_RANGE_NEAR 64u /* longer names are not compared with the option */

/* The first member of a command's own struct; the command casts the pointer back. */
struct gp_use_report {
	struct gp_reading r;
	struct gp_use_style style;
	size_t matched, shown; /* of this recording: uses that pass the filters, and tables */
	/* of all: recordings read, those without the requested items, the first of these */
	size_t reports, lackings;
	const char *lacking;
	char devices[GP_DEVICES_TEXT]; /* of the newest of them */
	char again[GP_AGAIN_OPTIONS];  /* the run that records stacks of the newest of them */
	bool lacks_match;	       /* of --library and --range */
	bool has_phases;	       /* any of them, from ranges or frames */
	char near[GP_RANGE_NEAR];
	char libraries[256];
};

#define GP_USE_OPTIONS (GP_OPTIONS_REPORT | GP_OPTION_DEVICE | GP_OPTION_NO_STACKS)
#define GP_USE_TOP 10u
#define GP_USE_FLAGS 7u /* rows, including the terminating one */
/* Fills in the end of a table of options: grouping and filters. */
void gp_use_report_flags(struct gp_use_report *report, struct gp_flag flags[GP_USE_FLAGS]);
/* Applies the options. Call it in `check`. */
void gp_use_report_read(struct gp_use_report *report);
/* False: prints that --why needs --by role. */
bool gp_use_report_may_explain(const struct gp_use_report *report);
/* Call these around the report on an open recording, in `one`; the second returns its status. */
void gp_use_report_begin(struct gp_use_report *report);
int gp_use_report_done(struct gp_use_report *report, enum gp_status status);
/* A hook `end`: prints requested items that no recording has. */
int gp_use_report_end(struct gp_reading *reading, int worst);
/* Applies the options to a device and curve. `is_all`: without --of all curves are shown. */
bool gp_use_report_selects(const struct gp_use_report *report, unsigned device, enum gp_curve of,
			   bool is_all);
/* gp_groups_build with the options. Notes what there was. */
enum gp_status gp_use_report_groups(struct gp_use_report *report, const struct gp_use *use,
				    size_t uses, struct gp_groups *out);
/* For a curve that is not shown: notes its libraries as possible values of --library. */
enum gp_status gp_use_report_note(struct gp_use_report *report, const struct gp_use *use,
				  size_t uses);
/* Finds the name or path nearest to --range. `near` is unchanged if none is nearer. */
void gp_use_range_near(const char *requested, const struct gp_use *use, size_t uses,
		       char near[GP_RANGE_NEAR]);
/* Prints the hint if no recording has memory of --range; `near` may be "". */
void gp_use_range_hint(bool has_phases, const char *requested, const char *near);
/* The first group; with --library or --range the first that matches; NULL: none. */
const struct gp_group *gp_use_largest(const struct gp_groups *groups);

#endif
