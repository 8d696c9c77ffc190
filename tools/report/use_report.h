/*
 * A command that reports who uses memory: `peak` and `top` differ in what they ask of a recording
 * and in the columns they show; flags, many recordings, files and exit status are here.
 */
#ifndef USE_REPORT_H
#define USE_REPORT_H

#include "../input/flags.h"
#include "again.h"
#include "report.h"
#include "use_print.h"

#define GP_RANGE_NEAR 64u /* longer names are not held against what was asked for */

struct gp_use_report;
struct gp_use_command {
	const struct gp_command *command;
	/* After the flags are read; false: said what is wrong with them. */
	bool (*check)(struct gp_use_report *report, int words);
	/* The moments that are asked for, in an open recording; false: said why there are none. */
	bool (*find)(struct gp_use_report *report);
	/* One open recording, on its way to `out`, `json` or `sheet`. */
	enum gp_status (*show)(struct gp_use_report *report);
};

/* The first member of a command's own struct, which casts it back. */
struct gp_use_report {
	const struct gp_use_command *command;
	struct gp_report_table sheet; /* of many recordings; the command names its columns */
	/* set for the callbacks */
	struct gp_use_style style;
	const char *path, *file; /* of the output; of the recording */
	bool is_forced, is_many;
	struct gp_sink sink;
	const struct gp_info *info;
	struct gp_recording *recording;
	struct gp_json json;
	FILE *out;
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

/* Runs the command; `own`: its own flags, shown in front of those that both have. */
int gp_use_report_run(struct gp_use_report *report, const struct gp_flag *own, size_t owns,
		      int argc, char **argv);
/* The parts of that which another command has as well: flags behind the `count` that are there, */
#define GP_USE_FLAGS_MAX 24u
void gp_use_report_flags(struct gp_use_report *report, struct gp_flag *flags, size_t count);
/* what they mean, and how many groups are shown when none was said. */
void gp_use_style_read(struct gp_use_style *style);
void gp_use_style_settle(struct gp_use_style *style);
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
