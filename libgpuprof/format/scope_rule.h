/*
 * The options for the captured spans: when capture begins and ends. The library and `gpuprof run`
 * both read them here. Owns the words and their valid combinations; keeps no state.
 */
#ifndef GP_SCOPE_RULE_H
#define GP_SCOPE_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

#define GP_SCOPE_NAME_MAX 200u

enum gp_scope_from {
	GP_SCOPE_ALL,	   /* no range: from the start or the end of the delay on */
	GP_SCOPE_PROFILER, /* cudaProfilerStart to cudaProfilerStop */
	GP_SCOPE_RANGE,	   /* an NVTX range of `name` */
	GP_SCOPE_STEPS,	   /* steps first_step to last_step, which end with a range of `name` */
	GP_SCOPE_ORDERS,   /* controlled by `gpuprof ctl` alone */
};

/* After the last span: */
enum gp_scope_then {
	GP_SCOPE_OUTSIDE, /* memory is recorded as before the span; also with any number of spans */
	GP_SCOPE_STOP,	  /* the recording ends */
	GP_SCOPE_NONE,	  /* the end of the range is ignored */
};

struct gp_scope_rule {
	uint64_t delay_ns;    /* since the job began; 0: none */
	uint64_t duration_ns; /* limit for each span; 0: none */
	enum gp_scope_from from;
	enum gp_scope_then then;
	uint64_t times;			/* maximal number of spans of a range; 0: any number */
	uint64_t first_step, last_step; /* from 1 */
	char name[GP_SCOPE_NAME_MAX];	/* "": for steps, the ranges of optimizers */
	char domain[GP_SCOPE_NAME_MAX]; /* "": the default one; "*": any */
};

/* Texts of the options; "" if not given. */
struct gp_scope_words {
	const char *delay, *duration, *range, *range_end;
};

/* The option that a flaw is in. */
enum gp_scope_word {
	GP_SCOPE_WORD_NONE,
	GP_SCOPE_WORD_DELAY,
	GP_SCOPE_WORD_DURATION,
	GP_SCOPE_WORD_RANGE,
	GP_SCOPE_WORD_END,
};

/* Why the options are invalid, such as "is not a time"; static texts. */
struct gp_scope_flaw {
	enum gp_scope_word word;
	const char *why;
	const char *hint; /* NULL: none */
};

/* When GPU time is collected (--gpu-time). */
enum gp_gpu_when { GP_GPU_NEVER, GP_GPU_ALWAYS, GP_GPU_STEPS };
struct gp_gpu_rule {
	enum gp_gpu_when when;
	/* for steps: these, from 1; with `every`, these of each `every` steps */
	uint64_t first_step, last_step, every;
	char name[GP_SCOPE_NAME_MAX]; /* of the ranges that end a step; "": those of optimizers */
};

/*
 * NULL: `out` is valid. Else why the text is not off, on, always, step:A[-B][@NAME] or
 * step:K/N[@NAME].
 */
const char *gp_gpu_rule_parse(const char *text, struct gp_gpu_rule *out);
/* True if that step belongs to a window. */
bool gp_gpu_rule_has(const struct gp_gpu_rule *rule, uint64_t step);

/*
 * False: `flaw` has the reason, and `out` captures everything. A range is none, cudaProfilerApi,
 * nvtx:NAME[@DOMAIN], step:A[-B][@NAME] or ctl. Write \@ for a @ in the name.
 */
bool gp_scope_parse(const struct gp_scope_words *words, struct gp_scope_rule *out,
		    struct gp_scope_flaw *flaw);
/* "1.5" seconds, "1.5s", "20ms". False: not a time, or longer than a hundred years. */
bool gp_scope_time_parse(const char *text, uint64_t *out_ns);
/* The interval of samples: such a time from 1 ms to 1 s. */
bool gp_interval_parse(const char *text, uint64_t *out_ns);
/* True if some spans are not captured. */
bool gp_scope_is_limited(const struct gp_scope_rule *rule);

/* True if the rule names this range. `domain` NULL: the default domain. */
bool gp_scope_is_named(const struct gp_scope_rule *rule, const char *name, uint64_t bytes,
		       const char *domain, uint64_t domain_bytes);

#endif
