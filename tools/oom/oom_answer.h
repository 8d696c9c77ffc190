/*
 * The answer of `gpuprof oom`: what was asked, what was missing, why, and what to change. Texts
 * alone, so that an answer outlives its recording. Costs and rules stand in oom_advice.c.
 */
#ifndef OOM_ANSWER_H
#define OOM_ANSWER_H

#include "../report/again.h"
#include "oom_report.h"

#define GP_OOM_WHO_MAX 160u
#define GP_OOM_SETTING_MAX 96u
#define GP_OOM_LINE_MAX 400u
#define GP_OOM_ADVICE_MOST 8u
#define GP_OOM_NO_HELP_MOST 3u
#define GP_OOM_ADVICE_SHOWN 3u

/* What a change costs the user, the least first. */
enum gp_oom_cost {
	GP_OOM_COST_SETTING,	   /* of the allocator */
	GP_OOM_COST_ENVIRONMENT,   /* what else runs on the device */
	GP_OOM_COST_CONFIGURATION, /* of the job: its batch */
	GP_OOM_COST_CODE,
	GP_OOM_COSTS,
};
extern const char *const gp_oom_cost_names[GP_OOM_COSTS]; /* "setting", ... */

struct gp_oom_advice {
	const char *change; /* gp_help_names' or "free_held", "stop_leak": holds for ever */
	enum gp_oom_cost cost;
	bool is_sure; /* by the figures; else the bytes are the most that it brings */
	uint64_t bytes;
	char who[GP_OOM_WHO_MAX];	  /* the line to change; "": it names none */
	char setting[GP_OOM_SETTING_MAX]; /* "expandable_segments:True"; "": it is none */
	char brief[96];			  /* for a table */
	char text[GP_OOM_LINE_MAX];
};
struct gp_oom_no_help {
	const char *change; /* that will not help */
	char text[128];
};
struct gp_oom_answer {
	bool is_framework;
	uint64_t asked_bytes;
	uint64_t missing_bytes; /* gp_oom_finding's */
	enum gp_verdict verdict;
	char where[128], asker[GP_OOM_WHO_MAX];
	char by[GP_OOM_WHO_MAX];     /* as asker, with all callers that fit into a line */
	char no_asker[GP_AGAIN_WHY]; /* why asker is ""; "": no usual cause */
	char missing[GP_REASON_MAX], cause[GP_CAUSE_MAX];
	char leak[GP_OOM_LINE_MAX]; /* "": none that explains it was found */
	size_t advices, no_helps;
	/* the sure ones first, of them what removes the cause, then by cost */
	struct gp_oom_advice advice[GP_OOM_ADVICE_MOST];
	struct gp_oom_no_help no_help[GP_OOM_NO_HELP_MOST];
};
/* Rewinds. */
enum gp_status gp_oom_answer_build(const struct gp_oom_report *report, size_t k,
				   const struct gp_oom_case *looked, struct gp_oom_answer *out);
/* At most eight lines. */
void gp_oom_answer_print(FILE *out, const struct gp_oom_answer *answer);
/* The key `answer`. */
void gp_oom_answer_write(struct gp_json *json, const struct gp_oom_answer *answer);
/* Of the first advice; "-": there is none. */
const char *gp_oom_answer_brief(const struct gp_oom_answer *answer);

/* ---- oom_who.c ---- */

/* Who allocated: "train.py:97 step < train.py:120 main"; false: no line is known. */
bool gp_oom_who(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		char out[GP_OOM_WHO_MAX]);
/* The same with all callers that fit into a line: "train.py:97 step < :120 main". */
void gp_oom_who_callers(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
			char out[GP_OOM_WHO_MAX]);
/*
 * The same of memory that is live: where the request or other live memory has the same line, the
 * nearest caller that no other path of calls has: "a.py:9 f via b.py:4 main". "": no line is known.
 */
enum gp_status gp_oom_who_apart(const struct gp_oom_report *report, const struct gp_oom *oom,
				const struct gp_oom_case *looked, uint32_t stack, int64_t at_ns,
				char out[GP_OOM_WHO_MAX]);
/*
 * Where the line would be too long with `others` columns beside it: without the caller's file, if
 * it is the same ("a.py:9 f < :4 g"), or without the caller; of "f via g" the caller alone.
 */
const char *gp_oom_who_short(const char *who, size_t others, char out[GP_OOM_WHO_MAX]);
/* The line that holds most. */
struct gp_oom_holder {
	uint64_t bytes; /* 0: no line is known */
	uint32_t stack;
	char who[GP_OOM_WHO_MAX];
	size_t blocks;
	/* of the blocks of `stack` those that are alone in their segments, until they are enough */
	size_t freed;
	uint64_t freed_bytes; /* of the segments */
	bool is_enough;
};
/* Of the framework's blocks, or of what lies outside of it. */
enum gp_status gp_oom_holder_find(const struct gp_oom_report *report, const struct gp_oom *oom,
				  const struct gp_oom_case *looked, bool is_outside,
				  struct gp_oom_holder *out);

/* ---- oom_blocks.c ---- */

#define GP_OOM_BLOCKS_MAX 128u
/* "2 of the 4 blocks (48.0 GiB together)", "the block (1.00 GiB)" */
const char *gp_oom_blocks_text(size_t some, size_t all, uint64_t bytes,
			       char out[GP_OOM_BLOCKS_MAX]);
/* Which of the framework's blocks it must free so that the driver gets `needed`. */
enum gp_status gp_oom_holder_free(const struct gp_oom_case *looked, uint64_t needed,
				  struct gp_oom_holder *holder);
/* Who allocated all blocks of a set; "": no single line did. */
enum gp_status gp_oom_set_who(const struct gp_oom_report *report, const struct gp_oom *oom,
			      const struct gp_oom_case *looked, const struct gp_block_set *set,
			      char who[GP_OOM_WHO_MAX]);
/* To free them; `is_beside`: neighbours that join with gaps, else blocks of whole segments. */
void gp_oom_set_text(const struct gp_oom_case *looked, const struct gp_block_set *set,
		     bool is_beside, const char *who, char out[GP_OOM_LINE_MAX]);

/* Live blocks that have the request's size: what they are, where no line is known. */
struct gp_oom_alike {
	size_t blocks;
	uint64_t bytes;
	bool is_most;	/* they hold at least half of what is allocated */
	bool is_enough; /* without any one of them the request is served */
};
void gp_oom_alike_find(const struct gp_oom_case *looked, struct gp_oom_alike *out);

/* ---- what to change ---- */

/* oom_elsewhere.c: who, brief and text of an advice to use what other streams and pools cache. */
enum gp_status gp_oom_elsewhere_text(const struct gp_oom_report *report, const struct gp_oom *oom,
				     const struct gp_oom_case *looked,
				     struct gp_oom_advice *advice);
/* oom_advice.c: fills `leak`, advice and no_help of an answer whose other parts are there. */
enum gp_status gp_oom_advise(const struct gp_oom_report *report, const struct gp_oom *oom,
			     const struct gp_oom_case *looked, struct gp_oom_answer *answer);

#endif
