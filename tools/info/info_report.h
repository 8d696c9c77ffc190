/*
 * What `gpuprof info` shows of one recording, for a person and for a program: what it is, and the
 * front page of what the other commands find in it. The command fills it in.
 */
#ifndef INFO_REPORT_H
#define INFO_REPORT_H

#include "../io/json.h"
#include "../leaks/leaks_report.h"
#include "gpuprof.h"

#define GP_FRONT_HOLDERS 3u

/* The answers of `peak`, `oom` and `leaks`, short. */
struct gp_info_front {
	struct gp_peak peak;
	/* of what the framework allocated, else of driver memory, where it was most; NULL: none */
	const struct gp_holders *most;
	struct gp_groups groups;     /* by stack, of `most`; none where no stacks were recorded */
	struct gp_groups lines;	     /* likewise by line */
	uint64_t ooms, failed_calls; /* as gp_ooms_build counts them */
	uint64_t driver_ooms;	     /* of the OOMs: failed CUDA calls that no framework made */
	int64_t first_oom_ns;
	struct gp_leaks_report leaks; /* its steps are those of the report */
	struct gp_leak_answer answer;
};
struct gp_info_report {
	const char *path;
	struct gp_recording *recording;
	const struct gp_info *info;
	const struct gp_info_front *front; /* NULL: it could not be had */
	bool has_step_list;
	FILE *out;
	struct gp_json *json;
};

/*
 * Up to six replays; memory as gp_leaks_build needs. Without has_holders `groups` and `lines` stay
 * empty. Free with gp_info_front_release, also after a failure.
 */
enum gp_status gp_info_front_build(struct gp_recording *recording, const struct gp_info *info,
				   const char *path, bool has_holders, struct gp_info_front *out);
void gp_info_front_release(struct gp_info_front *front);
/* The peaks of a curve are at least those that are shown. */
bool gp_info_is_at_least(const struct gp_info *info, const struct gp_holders *holders);

/* Of the kept blocks, over kept allocations, frees, framework blocks and launches; NAN: no such. */
double gp_info_bytes_per_event(const struct gp_info *info);

/* info_print.c, info_json.c */
void gp_info_print(const struct gp_info_report *report);
void gp_info_write(const struct gp_info_report *report);

#endif
