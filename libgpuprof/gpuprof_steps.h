/*
 * Part of gpuprof.h, which includes it: the steps of a job (iterations of its training or inference
 * loop), found without being told. Moments (`*_ns`) count from start_unix_ns.
 */
#ifndef GPUPROF_STEPS_H
#define GPUPROF_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/status.h"

struct gp_recording;

/* Where the boundaries of steps come from. */
enum gp_step_source {
	GP_STEPS_NONE,	     /* no steps were found: `why` */
	GP_STEPS_RANGES,     /* ranges that the job, or its framework, opened each step */
	GP_STEPS_UPDATES,    /* ranges in which PyTorch's optimizers updated parameters */
	GP_STEPS_REPETITION, /* what the job launches and allocates repeats itself */
	GP_STEP_SOURCES,
};
extern const char *const gp_step_source_names[GP_STEP_SOURCES]; /* "none", "ranges", ... */

struct gp_step {
	int64_t begin_ns; /* of its first launch or allocation */
	int64_t end_ns;	  /* where the next one begins; the last one's: of what it did last */
	uint64_t launches;
	uint64_t live_bytes; /* when it began: of the framework, else of the driver */
};

/*
 * Step k of the text interface is step[k - 1]: the first that is kept is 1. What lies between two
 * steps (an evaluation) belongs to the one before.
 */
struct gp_steps {
	enum gp_step_source source;
	const char *why; /* a text that holds for ever; NULL: there are steps */
	size_t steps;
	struct gp_step *step;
	/*
	 * So many at the beginning are unlike those that follow: longer by half than the median, or
	 * with half as many launches more or less. Times are of those behind them.
	 */
	size_t warmup;
	int64_t p50_ns, p99_ns; /* of what lies between two begins; -1: too few steps */
	double per_second;
};

/*
 * Finds the steps of what is kept. One replay; memory by the different things that are launched
 * and allocated, up to 100 MB for the order in which they come, and some hundred bytes for each
 * range that is a step or updates parameters. A recording without steps is no
 * failure: see source. Free with gp_steps_free.
 */
enum gp_status gp_steps_find(struct gp_recording *recording, struct gp_steps *out);
/*
 * Ranges of this name are the steps, whatever the number in it: for whatever is asked of the
 * recording from now on. The text must live as long; NULL: as gp_steps_find finds them.
 */
void gp_steps_name(struct gp_recording *recording, const char *name);
void gp_steps_free(struct gp_steps *steps);

#endif
