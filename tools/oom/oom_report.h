/*
 * The report of `gpuprof oom` on one recording, for a person and for a program. The command fills
 * it in. The answer is in oom_answer.h.
 */
#ifndef OOM_REPORT_H
#define OOM_REPORT_H

#include "../io/json.h"
#include "../report/use_print.h"
#include "gpuprof.h"

#define GP_OOM_ROWS 60u	      /* of the long table, and of OOMs in full */
#define GP_OOM_BRIEF_ROWS 20u /* of the short table: each takes replays */
#define GP_OOM_ANSWERS 100u   /* different OOMs with an answer, in JSON */

struct gp_oom_answer;

/* One row of the table, by index in gp_ooms. */
struct gp_oom_row {
	bool is_shown, is_looked;
	bool is_row;		      /* of the short table */
	size_t times;		      /* shown OOMs like it; 0: it is like another */
	struct gp_oom_answer *answer; /* NULL: not built */
	enum gp_verdict verdict;      /* if it was examined; else that of `like` holds */
	uint64_t free_bytes;
	size_t step; /* the step with which the window begins, from 1; 0: none */
	const struct gp_role_makers *roles; /* of live blocks; NULL: not known */
};
struct gp_oom_report {
	struct gp_recording *recording;
	const struct gp_info *info;
	const char *path;
	struct gp_allocator_settings settings;
	struct gp_ooms ooms;
	struct gp_steps steps; /* with `--window step`; else all 0 */
	struct gp_oom_row *row;
	struct gp_role_makers *roles;
	size_t shown;
	uint64_t number; /* the requested OOM, from 1; 0: all */
	bool is_cut;	 /* some are not reported in full */
	uint64_t top;
	FILE *out;
};

/*
 * oom_brief.c: the answer for `first`, and a table if there are several. The answers of `first` and
 * of each row must be set. Merges rows that read the same.
 */
void gp_oom_brief_print(struct gp_oom_report *report, size_t first);
/* oom_print.c: the lines above a table: what is unknown, or that memory did not run out. */
void gp_oom_top_print(const struct gp_oom_report *report);
/* The last line: how to record what an answer needs; else `otherwise`, a command. */
void gp_oom_next_print(const struct gp_oom_report *report, const char *otherwise);

/* oom_print.c, with --details: heading and table, then each case, then the last line */
void gp_oom_head_print(const struct gp_oom_report *report);
enum gp_status gp_oom_case_print(const struct gp_oom_report *report, size_t k,
				 const struct gp_oom_case *looked);
void gp_oom_end_print(const struct gp_oom_report *report);
/* oom_json.c: likewise; `looked` is NULL if an OOM like it was examined */
void gp_oom_head_write(struct gp_json *json, const struct gp_oom_report *report);
enum gp_status gp_oom_case_write(struct gp_json *json, const struct gp_oom_report *report, size_t k,
				 const struct gp_oom_case *looked);

/* ---- oom_text.c ---- */

#define GP_REASON_MAX 640u
#define GP_CAUSE_MAX (GP_REASON_MAX + 32)
/* A sentence with the figures that prove the verdict, without its name. */
void gp_oom_reason(const struct gp_oom *oom, const struct gp_oom_case *looked, char *out);
/* The same after its name: "limit: ..." */
void gp_oom_cause_text(const struct gp_oom *oom, const struct gp_oom_case *looked, char *out);
/* The missing bytes, and what is available of them. */
void gp_oom_missing_text(const struct gp_oom_case *looked, char *out);
/* "stream 0x7e00", "stream 0": the default one */
struct gp_text gp_oom_stream_text(uint64_t stream);
/* The effect of one help. */
struct gp_oom_help_line {
	char s[160];
};
struct gp_oom_help_line gp_oom_help_text(const struct gp_oom_help *help);

/* ---- oom_uses.c: as text; or with `json` the keys `requester`, `holders`, `grew` ---- */

enum gp_status gp_oom_requester_show(const struct gp_oom_report *report, struct gp_json *json,
				     const struct gp_oom *oom);
enum gp_status gp_oom_uses_show(const struct gp_oom_report *report, struct gp_json *json, size_t k,
				const struct gp_oom_case *looked);

#endif
