/*
 * What a user asks to have captured: when it begins and ends, as options say it. Read by the
 * library and by `gpuprof run` alike. Owns the words and what goes together; keeps no state.
 */
#ifndef GP_SCOPE_RULE_H
#define GP_SCOPE_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

#define GP_SCOPE_NAME_MAX 200u

enum gp_scope_from {
	GP_SCOPE_ALL,	   /* no range: from the start, or from the delay on */
	GP_SCOPE_PROFILER, /* cudaProfilerStart to cudaProfilerStop */
	GP_SCOPE_RANGE,	   /* an NVTX range of `name` */
	GP_SCOPE_STEPS,	   /* steps first_step to last_step, which end with a range of `name` */
	GP_SCOPE_ORDERS,   /* `gpuprof ctl` alone */
};

/* What follows the last span. */
enum gp_scope_then {
	GP_SCOPE_OUTSIDE, /* memory is recorded on, as before it; with any number of spans, too */
	GP_SCOPE_STOP,	  /* the recording ends with it */
	GP_SCOPE_NONE,	  /* nothing: the end of the range is passed over */
};

struct gp_scope_rule {
	uint64_t delay_ns;    /* since the job began; 0: none */
	uint64_t duration_ns; /* of each span at most; 0: no bound */
	enum gp_scope_from from;
	enum gp_scope_then then;
	uint64_t times;			/* spans that a range may open; 0: any number */
	uint64_t first_step, last_step; /* from 1 on */
	char name[GP_SCOPE_NAME_MAX];	/* "": of steps: the ranges of optimizers */
	char domain[GP_SCOPE_NAME_MAX]; /* "": the default one; "*": any */
};

/* The options' texts; "" where they are not given. */
struct gp_scope_words {
	const char *delay, *duration, *range, *range_end;
};

/* Which of them a flaw is about. */
enum gp_scope_word {
	GP_SCOPE_WORD_NONE,
	GP_SCOPE_WORD_DELAY,
	GP_SCOPE_WORD_DURATION,
	GP_SCOPE_WORD_RANGE,
	GP_SCOPE_WORD_END,
};

/* Why words make no rule, "is not a time"; texts that hold for ever. */
struct gp_scope_flaw {
	enum gp_scope_word word;
	const char *why;
	const char *hint; /* NULL: none */
};

/*
 * False: `flaw` says why, and `out` captures all. A range is none, cudaProfilerApi,
 * nvtx:NAME[@DOMAIN], step:A[-B][@NAME] or ctl; \@ is a @ of the name.
 */
bool gp_scope_parse(const struct gp_scope_words *words, struct gp_scope_rule *out,
		    struct gp_scope_flaw *flaw);
/* "1.5" seconds, "1.5s", "20ms". False: no such time, or longer than a hundred years. */
bool gp_scope_time_parse(const char *text, uint64_t *out_ns);
/* Is anything left out? */
bool gp_scope_is_limited(const struct gp_scope_rule *rule);

/* Is it the range that the rule names? The domain is NULL for the default one. */
bool gp_scope_is_named(const struct gp_scope_rule *rule, const char *name, uint64_t bytes,
		       const char *domain, uint64_t domain_bytes);

#endif
