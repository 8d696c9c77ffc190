/* What `gpuprof phases` shows, for a person and for a program. */
#ifndef GP_PHASES_REPORT_H
#define GP_PHASES_REPORT_H

#include "report.h"

#define GP_PHASES_TOP UINT64_MAX /* not said */
#define GP_PHASES_FOLD UINT64_MAX

struct gp_phases_report {
	const char *path;
	struct gp_recording *recording;
	const struct gp_info *info;
	struct gp_phases_asked asked;
	struct gp_phases phases;
	uint64_t *held;	     /* by phase: live at the peak; NULL: not known. Of the caller */
	uint64_t depth, top; /* levels; ranges of a level, 0: all */
	bool is_json;
	FILE *out;
	struct gp_json *json;
};

/*
 * Fills in `held`: what was allocated in each phase and its children and is live at the peak of the
 * curve, of each device at its own. Not known of a span; where ranges are read in another way than
 * `gpuprof peak --by range` does; and where names are missing, so that two rows read the same. Up
 * to three replays.
 */
enum gp_status gp_phases_hold(struct gp_phases_report *report);
void gp_phases_print(const struct gp_phases_report *report);
void gp_phases_write(const struct gp_phases_report *report);

#endif
