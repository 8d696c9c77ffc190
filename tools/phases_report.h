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
	uint64_t depth, top; /* levels; ranges of a level, 0: all */
	bool is_json;
	FILE *out;
	struct gp_json *json;
};

void gp_phases_print(const struct gp_phases_report *report);
void gp_phases_write(const struct gp_phases_report *report);

#endif
