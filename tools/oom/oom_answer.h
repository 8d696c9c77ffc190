/*
 * The answer of `gpuprof oom`: the request, what was missing, why, and what to change. It has only
 * texts, so that it outlives its recording. Costs and rules are in oom_advice.c.
 */
#ifndef OOM_ANSWER_H
#define OOM_ANSWER_H

#include "../report/again.h"
#include "../report/role_print.h"
#include "oom_report.h"

#define GP_OOM_SITE_MAX 160u
#define GP_OOM_SETTING_MAX 96u
#define GP_OOM_LINE_MAX 400u
#define GP_OOM_ADVICE_MOST 8u
#define GP_OOM_NO_HELP_MOST 3u
#define GP_OOM_ADVICE_SHOWN 3u

/* The cost of a change to the user, lowest first. */
enum gp_oom_cost {
	GP_OOM_COST_SETTING,	   /* a setting of the allocator */
	GP_OOM_COST_ENVIRONMENT,   /* other processes on the device */
	GP_OOM_COST_CONFIGURATION, /* of the job: its batch */
	GP_OOM_COST_CODE,
	GP_OOM_COSTS,
};
extern const char *const gp_oom_cost_names[GP_OOM_COSTS]; /* "setting", ... */

struct gp_oom_advice {
	const char *change; /* a string constant: of gp_help_names, "free_held", "stop_leak" */
	enum gp_oom_cost cost;
	bool is_sure; /* the figures prove it; else `bytes` is an upper limit */
	uint64_t bytes;
	char site[GP_OOM_SITE_MAX];	  /* the line to change; "": none */
	char setting[GP_OOM_SETTING_MAX]; /* "expandable_segments:True"; "": none */
	char brief[96];			  /* for a table */
	char text[GP_OOM_LINE_MAX];
};
struct gp_oom_no_help {
	const char *change; /* a change that does not help */
	char text[128];
};
struct gp_oom_answer {
	bool is_framework;
	uint64_t requested_bytes;
	uint64_t missing_bytes; /* from gp_oom_finding */
	enum gp_verdict verdict;
	char where[128], requester[GP_OOM_SITE_MAX];
	char by[GP_OOM_SITE_MAX];	 /* as `requester`, with all callers that fit into a line */
	char no_requester[GP_AGAIN_WHY]; /* why `requester` is ""; "": no usual cause */
	char missing[GP_REASON_MAX], cause[GP_CAUSE_MAX];
	const struct gp_role_makers *roles; /* as in its row */
	char holds[GP_ROLES_TEXT_MAX];	    /* the sum, then by role and module; "": not known */
	char batch[GP_OOM_LINE_MAX];	    /* the smallest change of the batch; "": not known */
	char leak[GP_OOM_LINE_MAX];	    /* "": no leak explains it */
	size_t advices, no_helps;
	/* sure ones first, then those that remove the cause, then by cost */
	struct gp_oom_advice advice[GP_OOM_ADVICE_MOST];
	struct gp_oom_no_help no_help[GP_OOM_NO_HELP_MOST];
};
/* Rewinds the recording. */
enum gp_status gp_oom_answer_build(const struct gp_oom_report *report, size_t k,
				   const struct gp_oom_case *looked, struct gp_oom_answer *out);
/* Prints at most twelve lines. */
void gp_oom_answer_print(FILE *out, const struct gp_oom_answer *answer);
/* Writes the key `answer`. */
void gp_oom_answer_write(struct gp_json *json, const struct gp_oom_answer *answer);
/* The short text of the first advice; "-": none. */
const char *gp_oom_answer_brief(const struct gp_oom_answer *answer);

/* ---- oom_roles.c ---- */

/* Sets `roles` of the rows with an answer. Free `report->roles`. */
enum gp_status gp_oom_roles_find(struct gp_oom_report *report);
/* `sums` NULL: not known. */
void gp_oom_batch_text(const struct gp_role_makers *sums, const struct gp_oom_case *looked,
		       char out[GP_OOM_LINE_MAX]);
/* Writes the key `roles`. */
void gp_oom_roles_write(struct gp_json *json, const struct gp_role_makers *sums);

/* ---- oom_site.c ---- */

/* The line that allocated: "train.py:97 step < train.py:120 main"; false: unknown. */
bool gp_oom_site(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		 char out[GP_OOM_SITE_MAX]);
/* The same with all callers that fit into a line: "train.py:97 step < :120 main". */
void gp_oom_site_callers(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
			 char out[GP_OOM_SITE_MAX]);
/*
 * The same for live memory. If the request or other live memory has the same line, adds the nearest
 * caller that is on no other call path: "a.py:9 f via b.py:4 main". "": unknown.
 */
enum gp_status gp_oom_sites_distinguish(const struct gp_oom_report *report,
					const struct gp_oom *oom, const struct gp_oom_case *looked,
					uint32_t stack, int64_t at_ns, char out[GP_OOM_SITE_MAX]);
/*
 * Shortens the line if it is too long beside `others` more columns. Omits the caller's file if it
 * is the same ("a.py:9 f < :4 g"), else the caller. Of "f via g" it keeps only the caller.
 */
const char *gp_oom_site_short(const char *site, size_t others, char out[GP_OOM_SITE_MAX]);
/* The line that holds most memory. */
struct gp_oom_holder {
	uint64_t bytes; /* 0: no line is known */
	uint32_t stack;
	char site[GP_OOM_SITE_MAX];
	size_t blocks;
	/* blocks of `stack` that are alone in their segments, as many as needed */
	size_t freed;
	uint64_t freed_bytes; /* of the segments */
	bool is_enough;
};
/* Among the framework's blocks, or among memory outside of it. */
enum gp_status gp_oom_holder_find(const struct gp_oom_report *report, const struct gp_oom *oom,
				  const struct gp_oom_case *looked, bool is_outside,
				  struct gp_oom_holder *out);

/* ---- oom_blocks.c ---- */

#define GP_OOM_BLOCKS_MAX 128u
/* "2 of the 4 blocks (48.0 GiB together)", "the block (1.00 GiB)" */
const char *gp_oom_blocks_text(size_t some, size_t all, uint64_t bytes,
			       char out[GP_OOM_BLOCKS_MAX]);
/* Finds the framework's blocks to free so that the driver gets `needed`. */
enum gp_status gp_oom_holder_free(const struct gp_oom_case *looked, uint64_t needed,
				  struct gp_oom_holder *holder);
/* The line that allocated all blocks of a set; "": not a single line. */
enum gp_status gp_oom_set_site(const struct gp_oom_report *report, const struct gp_oom *oom,
			       const struct gp_oom_case *looked, const struct gp_block_set *set,
			       char site[GP_OOM_SITE_MAX]);
/*
 * The advice to free them. `is_beside`: neighbours that join with gaps, else blocks of whole
 * segments.
 */
void gp_oom_set_text(const struct gp_oom_case *looked, const struct gp_block_set *set,
		     bool is_beside, const char *site, char out[GP_OOM_LINE_MAX]);

/* Live blocks of the request's size, for advice without a known line. */
struct gp_oom_alike {
	size_t blocks;
	uint64_t bytes;
	bool is_most;	/* they hold at least half of the allocated memory */
	bool is_enough; /* freeing any one of them serves the request */
};
void gp_oom_alike_find(const struct gp_oom_case *looked, struct gp_oom_alike *out);

/* ---- what to change ---- */

/* oom_elsewhere.c: the texts of the advice to use the cache of other streams and pools. */
enum gp_status gp_oom_elsewhere_text(const struct gp_oom_report *report, const struct gp_oom *oom,
				     const struct gp_oom_case *looked,
				     struct gp_oom_advice *advice);
/* oom_advice.c: fills in `leak`, advice and no_help. All other parts of the answer must be set. */
enum gp_status gp_oom_advise(const struct gp_oom_report *report, const struct gp_oom *oom,
			     const struct gp_oom_case *looked, struct gp_oom_answer *answer);

#endif
