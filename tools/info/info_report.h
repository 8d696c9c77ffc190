/*
 * The report of `gpuprof info` on one recording, for a person and for a program. It has the
 * properties of the recording, and a front page with results of other commands. The command fills
 * it in.
 */
#ifndef INFO_REPORT_H
#define INFO_REPORT_H

#include "../io/json.h"
#include "../leaks/leaks_report.h"
#include "../report/number_line.h"
#include "gpuprof.h"

#define GP_FRONT_HOLDERS 3u

struct gp_oom_brief {
	int64_t at_ns;
	uint64_t requested_bytes;
	uint64_t missing_bytes; /* or GP_BYTES_UNKNOWN */
	const char *cause;	/* as in gp_verdict_names; NULL: not examined */
};
/* Short answers of `peak`, `oom` and `leaks`. */
struct gp_info_front {
	struct gp_peak peak;
	/* the highest peak of allocated memory, else of driver memory; NULL: none */
	const struct gp_holders *most;
	struct gp_groups groups;     /* of `most`, by stack; none if no stacks were recorded */
	struct gp_groups lines;	     /* of `most`, by line */
	uint64_t ooms, failed_calls; /* as in gp_ooms_build */
	uint64_t driver_ooms;	     /* failed CUDA calls that no framework made */
	struct gp_oom_brief first_oom;
	struct gp_leaks_report leaks; /* its steps are those of the report */
	struct gp_leak_answer answer;
	struct gp_role_timeline roles;	    /* one band; no devices: no phases were recorded */
	const struct gp_role_sums *at_peak; /* of the device of `most`; NULL: not known */
	bool is_inference;
	struct gp_graphs_report graphs; /* of an inference job */
	struct gp_number_line line;	/* of the device of `most` */
};
struct gp_info_report {
	const char *path;
	struct gp_recording *recording;
	const struct gp_info *info;
	const struct gp_info_front *front; /* NULL: not available */
	bool has_step_list;
	const struct gp_gpu_sum *gpu; /* by step; NULL: no list, or no GPU time */
	FILE *out;
	struct gp_json *json;
};

/*
 * Takes up to fifteen replays, and memory as gp_leaks_build. Without has_holders, there are no
 * `groups`, `lines`, roles, and no cause of the first OOM. Free with gp_info_front_release, also
 * after a failure.
 */
enum gp_status gp_info_front_build(struct gp_recording *recording, const struct gp_info *info,
				   const char *path, bool has_holders, struct gp_info_front *out);
void gp_info_front_release(struct gp_info_front *front);
/* Whether the shown peaks of a curve are lower limits. */
bool gp_info_is_at_least(const struct gp_info *info, const struct gp_holders *holders);

/*
 * Bytes of kept blocks per kept allocation, free, framework block and launch; NAN: there are none.
 */
double gp_info_bytes_per_event(const struct gp_info *info);

/* info_inference.c: as text, and as the key `inference` */
void gp_info_inference_print(const struct gp_info_report *report);
void gp_info_inference_write(const struct gp_info_report *report);

/* info_print.c, info_json.c */
void gp_info_print(const struct gp_info_report *report);
void gp_info_write(const struct gp_info_report *report);

#endif
