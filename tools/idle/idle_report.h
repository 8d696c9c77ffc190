/*
 * The report of `gpuprof idle` on one recording, for a person and for a program. The command fills
 * it in.
 */
#ifndef IDLE_REPORT_H
#define IDLE_REPORT_H

#include "../io/json.h"
#include "../report/use_print.h"
#include "gpuprof.h"

struct gp_idle_report {
	struct gp_recording *recording;
	const struct gp_info *info;
	const char *path;
	struct gp_idle idle;
	uint64_t top;	/* rows of each table; 0: all */
	int64_t device; /* -1: all */
	bool has_stacks;
	FILE *out;
	struct gp_json *json;
};

/* In JSON: "never", "early", "late", "between", "busy", "unknown". */
extern const char *const gp_idle_state_keys[GP_IDLE_STATES];
/* "early", "late", "never", "between", "churn", "pinned" */
extern const char *const gp_waste_keys[GP_WASTES];

/* Number of rows shown of a table with `rows` rows. */
size_t gp_idle_rows_shown(const struct gp_idle_report *report, size_t rows);
bool gp_idle_selects(const struct gp_idle_report *report, unsigned device);

/*
 * Memory at the peak, in one state or in all. Of the owners whose memory makes up the peak, or of
 * the others.
 */
struct gp_idle_sum gp_idle_state_sum(const struct gp_idle_device *device, bool is_of_peak,
				     enum gp_idle_state state);
struct gp_idle_sum gp_idle_total(const struct gp_idle_device *device, bool is_of_peak);
/* Memory that is neither busy nor unknown. */
uint64_t gp_idle_unused_bytes(const struct gp_idle_device *device, bool is_of_peak);

void gp_idle_print(const struct gp_idle_report *report); /* idle_print.c */
void gp_idle_write(const struct gp_idle_report *report); /* idle_json.c */

#endif
