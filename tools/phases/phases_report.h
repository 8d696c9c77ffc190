/*
 * The report of `gpuprof phases`, for a person and for a program.
 */
#ifndef GP_PHASES_REPORT_H
#define GP_PHASES_REPORT_H

#include "../report/report.h"

/* Memory that a phase holds at the peak of a device. */
struct gp_phase_part {
	const struct gp_range_path *phase; /* NULL: no event accounts for it */
	uint64_t bytes;
	const struct gp_use *use;
	size_t uses;
	size_t first; /* position of its largest use among those of the device */
};
struct gp_phases_peak {
	const struct gp_holders *holders;
	size_t parts;
	struct gp_phase_part *part; /* most bytes first */
	struct gp_use *use;	    /* by phase */
};

struct gp_phases_report {
	const char *path;
	struct gp_recording *recording;
	const struct gp_info *info;
	struct gp_phases_options requested;
	struct gp_phases phases;
	uint64_t *held;	     /* live at the peak, by phase; NULL: unknown */
	struct gp_peak peak; /* by ranges; no holders: unknown */
	size_t peaks;
	struct gp_phases_peak *at_peak; /* by device; NULL: unknown */
	struct gp_gpu_ranges gpu;	/* with --gpu */
	struct gp_gpu_sum *gpu_sum;	/* by phase; NULL: not requested, or not recorded */
	bool has_gpu;			/* requested */
	size_t warmup_steps;		/* not part of any mean; they end at requested.warm_ns */
	const char *no_steps;		/* why no steps were found; NULL: they were */
	uint64_t depth, top;		/* levels; ranges of a level, 0: all */
	FILE *out;
	struct gp_json *json;
};

/*
 * Fills in `held`, `peak` and `at_peak`: memory allocated in each phase and its children that is
 * live at the peak of the curve. Each device has its own peak. Unknown for a span, and if ranges
 * are attributed in another way than in `gpuprof peak --by range`. `held` is also unknown if names
 * are missing, so that two rows read the same. Needs up to three replays. Freed by
 * gp_phases_hold_free.
 */
enum gp_status gp_phases_hold(struct gp_phases_report *report);
void gp_phases_hold_free(struct gp_phases_report *report);
/* Whether the holders match the requested curve and device. */
bool gp_phases_selects(const struct gp_phases_report *report, const struct gp_holders *holders);

/*
 * With `has_gpu`: fills in `gpu` and `gpu_sum`, operations of the GPU that were launched in each
 * phase and its children. Needs the default attribution of ranges. Two or three replays. Freed by
 * gp_phases_hold_free.
 */
enum gp_status gp_phases_project(struct gp_phases_report *report);

/*
 * phases_peak.c: builds `at_peak` from `peak`; prints the first lines of the report; writes the key
 * `peaks`
 */
enum gp_status gp_phases_peaks_build(struct gp_phases_report *report);
void gp_phases_peaks_free(struct gp_phases_report *report);
/*
 * "peak in backward; forward holds 552 MiB (46.5%)", for the device with the highest peak. False:
 * no phase is known.
 */
#define GP_PHASES_BRIEF 512u
bool gp_phases_peaks_brief(const struct gp_phases_report *report, char out[GP_PHASES_BRIEF]);
enum gp_status gp_phases_peaks_print(const struct gp_phases_report *report);
enum gp_status gp_phases_peaks_write(const struct gp_phases_report *report);

enum gp_status gp_phases_print(const struct gp_phases_report *report);
enum gp_status gp_phases_write(const struct gp_phases_report *report);

#endif
