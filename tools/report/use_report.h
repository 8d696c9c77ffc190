/*
 * Who uses memory: the flags that `peak`, `top` and `diff` share, the filters that they set, and
 * what is said where no recording has what was asked for.
 */
#ifndef USE_REPORT_H
#define USE_REPORT_H

#include "again.h"
#include "reading.h"
#include "use_print.h"

#define GP_RANGE_NEAR 64u /* longer names are not held against what was asked for */

/* The first member of a command's own struct, which casts it back. */
struct gp_use_report {
	struct gp_reading r;
	struct gp_use_style style;
	size_t matched, shown; /* of this recording: uses that the filters let through, tables */
	/* of all: how many were read, how many lack what was asked for, the first of them */
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
#define GP_USE_FLAGS 7u /* rows, the last one included */
/* Fills in the end of a table of flags: grouping and filters. */
void gp_use_report_flags(struct gp_use_report *report, struct gp_flag flags[GP_USE_FLAGS]);
/* What they mean, for a reader's `check`. */
void gp_use_report_read(struct gp_use_report *report);
/* Around the report on an open recording, in a reader's `one`; the second returns its status. */
void gp_use_report_begin(struct gp_use_report *report);
int gp_use_report_done(struct gp_use_report *report, enum gp_status status);
/* A reader's `end`: says what was asked for and is in none of the recordings. */
int gp_use_report_end(struct gp_reading *reading, int worst);
/* Of device and curve, by the flags. `is_all`: without --of all curves are shown. */
bool gp_use_report_wants(const struct gp_use_report *report, unsigned device, enum gp_curve of,
			 bool is_all);
/* gp_groups_build as the flags say; notes what there was. */
enum gp_status gp_use_report_groups(struct gp_use_report *report, const struct gp_use *use,
				    size_t uses, struct gp_groups *out);
/* Of a curve that is not shown: libraries that have memory of it could have been asked for. */
enum gp_status gp_use_report_note(struct gp_use_report *report, const struct gp_use *use,
				  size_t uses);
/* A name like that of --range, or a path: the nearest of these, or what it was before. */
void gp_use_range_near(const char *asked, const struct gp_use *use, size_t uses,
		       char near[GP_RANGE_NEAR]);
/* What to do where no recording has memory of --range; `near` may be "". */
void gp_use_range_hint(bool has_phases, const char *asked, const char *near);
/* The first group, with --library or --range the first of what was asked for; NULL: none. */
const struct gp_group *gp_use_largest(const struct gp_groups *groups);

#endif
