/*
 * What `gpuprof oom` shows of one recording, for a person and for a program. The command fills it
 * in. The answer has a file of its own, oom_answer.h.
 */
#ifndef OOM_REPORT_H
#define OOM_REPORT_H

#include "../io/json.h"
#include "../report/use_print.h"
#include "gpuprof.h"

#define GP_OOM_ROWS 60u	      /* of the long table, and what is told in full */
#define GP_OOM_BRIEF_ROWS 20u /* of the short one: each takes replays */

struct gp_oom_answer;

/* What the table says of one, by index of gp_ooms. */
struct gp_oom_row {
	bool is_shown, is_looked;
	bool is_row;		      /* of the short table */
	size_t times;		      /* of those shown that are like it; 0: it is like another */
	struct gp_oom_answer *answer; /* NULL: none was made */
	enum gp_verdict verdict;      /* where it was looked at; else that of `like` holds */
	uint64_t free_bytes;
	size_t step; /* with whose begin the window begins, from 1; 0: with none */
};
struct gp_oom_report {
	struct gp_recording *recording;
	const struct gp_info *info;
	const char *path;
	struct gp_allocator_settings settings;
	struct gp_ooms ooms;
	struct gp_steps steps; /* with `--window step`; else all 0 */
	struct gp_oom_row *row;
	size_t shown;
	uint64_t number; /* that was asked for, from 1; 0: all */
	bool is_cut;	 /* there are more than are told in full */
	uint64_t top;
	FILE *out;
};

/*
 * oom_brief.c: the answer for `first`, and a table where there are several. Of it and of each row
 * the answer is there. Rows that read alike become one.
 */
void gp_oom_brief_print(struct gp_oom_report *report, size_t first);
/* oom_print.c: the lines above a table, which state what is not known, and that it did not. */
void gp_oom_top_print(const struct gp_oom_report *report);
/* The last line: how to record what an answer needs; else `otherwise`, a command. */
void gp_oom_next_print(const struct gp_oom_report *report, const char *otherwise);

/* oom_print.c, with --details: the head and the table, then one case each, then the last line */
void gp_oom_head_print(const struct gp_oom_report *report);
enum gp_status gp_oom_case_print(const struct gp_oom_report *report, size_t k,
				 const struct gp_oom_case *looked);
void gp_oom_end_print(const struct gp_oom_report *report);
/* oom_json.c: likewise; `looked` is NULL where another speaks for it */
void gp_oom_head_write(struct gp_json *json, const struct gp_oom_report *report);
enum gp_status gp_oom_case_write(struct gp_json *json, const struct gp_oom_report *report, size_t k,
				 const struct gp_oom_case *looked);

/* ---- oom_text.c ---- */

#define GP_REASON_MAX 640u
#define GP_CAUSE_MAX (GP_REASON_MAX + 32)
/* The figures that prove the verdict, in a sentence without its name. */
void gp_oom_reason(const struct gp_oom *oom, const struct gp_oom_case *looked, char *out);
/* The same behind its name: "limit: ..." */
void gp_oom_cause_text(const struct gp_oom *oom, const struct gp_oom_case *looked, char *out);
/* What is missing, with what there is of it. */
void gp_oom_missing_text(const struct gp_oom_case *looked, char *out);
/* "stream 0x7e00", "stream 0": the default one */
struct gp_text gp_oom_stream_text(uint64_t stream);
/* What one help would have done. */
struct gp_oom_help_line {
	char s[160];
};
struct gp_oom_help_line gp_oom_help_text(const struct gp_oom_help *help);

/* ---- oom_uses.c: as text, or where `json` is not NULL its keys `asker`, `holders`, `grew` ---- */

enum gp_status gp_oom_asker_show(const struct gp_oom_report *report, struct gp_json *json,
				 const struct gp_oom *oom);
enum gp_status gp_oom_uses_show(const struct gp_oom_report *report, struct gp_json *json, size_t k,
				const struct gp_oom_case *looked);

#endif
