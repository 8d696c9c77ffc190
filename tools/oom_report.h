/*
 * What `gpuprof oom` shows of one recording, for a person and for a program. The command fills it
 * in.
 */
#ifndef OOM_REPORT_H
#define OOM_REPORT_H

#include "gpuprof.h"
#include "json.h"
#include "use_print.h"

struct gp_oom_report {
	struct gp_recording *recording;
	const struct gp_info *info;
	const char *path;
	struct gp_allocator_settings settings;
	struct gp_ooms ooms;
	bool *is_shown; /* of ooms: its row is */
	size_t shown;
	/* the verdict of each that was looked at, by index; of others that of `like` */
	struct gp_oom_case *looked;
	bool *is_looked;
	bool is_cut; /* there are more than were looked at */
	uint64_t top;
	FILE *out;
};

/* oom_print.c: the head and the table, then one case each, then the last line */
void gp_oom_head_print(const struct gp_oom_report *report);
enum gp_status gp_oom_case_print(const struct gp_oom_report *report, size_t k);
void gp_oom_end_print(const struct gp_oom_report *report);
/* oom_json.c: likewise */
void gp_oom_head_write(struct gp_json *json, const struct gp_oom_report *report);
enum gp_status gp_oom_case_write(struct gp_json *json, const struct gp_oom_report *report,
				 size_t k);

/* ---- oom_text.c ---- */

#define GP_REASON_MAX 640u
/* The figures that prove the verdict, in a sentence. */
void gp_oom_reason(const struct gp_oom *oom, const struct gp_oom_case *looked, char *out);
/* What one help would have done, in a sentence. */
void gp_oom_help_text(const struct gp_oom *oom, const struct gp_oom_case *looked,
		      const struct gp_oom_help *help, char *out);

/* By growth, the most first; those that grew are *grown. Stacks with memory then or now. */
void gp_oom_by_growth(struct gp_groups *groups, size_t *grown);
uint64_t gp_oom_growth(const struct gp_use *use);

#endif
