/*
 * The data of `gpuprof diff`: the sides, which are recordings or moments of one, and tables of
 * groups, one for each curve of a device. The command fills it in; diff_print.c and diff_json.c
 * show it.
 */
#ifndef DIFF_REPORT_H
#define DIFF_REPORT_H

#include "../io/amount.h"
#include "../io/json.h"
#include "../leaks/leaks_report.h"
#include "../report/use_print.h"
#include "gpuprof.h"

#define GP_DIFF_SIDES 16u

struct gp_diff_source {
	const char *path;
	struct gp_recording *recording;
	const struct gp_info *info;
	bool is_peak; /* at the peak of each curve; else at at_ns */
	int64_t at_ns;
	struct gp_peak peak;
	struct gp_figure_list figures;
	struct gp_leak_answer leak; /* as in `gpuprof leaks`; not for moments */
};
struct gp_diff_table {
	unsigned device;
	enum gp_curve of;
	const struct gp_holders *holders[GP_DIFF_SIDES]; /* NULL: the side has none */
	struct gp_diff diff;
	size_t shown; /* number of groups, from the first, that pass the filters */
};
struct gp_diff_report {
	size_t sides;
	struct gp_diff_source side[GP_DIFF_SIDES];
	size_t tables;
	struct gp_diff_table *table; /* by device; none if the sides are not comparable */
	struct gp_use_style style;
	uint64_t least; /* smaller changes do not count */
	bool ignores_lines, is_of_moments;
	bool is_different; /* a change of memory is at least `least` */
	FILE *out;
};

/* ---- figures of a device, one a side ---- */

enum gp_diff_unit { GP_UNIT_BYTES, GP_UNIT_COUNT };
struct gp_diff_row {
	const char *key;   /* of --json: "allocated_bytes" */
	const char *label; /* "allocated, peak" */
	enum gp_diff_unit unit;
	bool is_memory;			/* a change counts as a difference */
	bool is_known[GP_DIFF_SIDES];	/* false: the side does not record it */
	uint64_t number[GP_DIFF_SIDES]; /* shares in millionths */
};
enum { GP_DIFF_ROWS = 32 };
/* Fills in the rows of a device with a value on some side. Returns their number. */
size_t gp_diff_rows(const struct gp_diff_report *report, unsigned device,
		    struct gp_diff_row row[GP_DIFF_ROWS]);
bool gp_diff_row_changed(const struct gp_diff_report *report, const struct gp_diff_row *row);
/*
 * True if memory of ranges is requested and the sides use different sources of ranges. Then groups
 * do not count as changes.
 */
bool gp_diff_phases_differ(const struct gp_diff_report *report);
/*
 * Devices of all sides, ascending; GP_DEVICE_UNKNOWN last if host memory was pinned. Returns their
 * number.
 */
#define GP_DIFF_DEVICES (GP_DEVICES + 1)
size_t gp_diff_devices(const struct gp_diff_report *report, unsigned device[GP_DIFF_DEVICES]);

/* ---- what the runs were made with ---- */

struct gp_diff_setting {
	const char *title, *key; /* "GPUs", "gpu" */
};
enum { GP_DIFF_SETTINGS = 5 };
extern const struct gp_diff_setting gp_diff_settings[GP_DIFF_SETTINGS];
/* NULL: unknown. The text is valid until the recording is closed. */
const char *gp_diff_setting_of(const struct gp_info *info, size_t setting);
bool gp_diff_setting_differs(const struct gp_diff_report *report, size_t setting);

/* diff_print.c, diff_json.c */
void gp_diff_print(const struct gp_diff_report *report);
void gp_diff_write(const struct gp_diff_report *report);

#endif
