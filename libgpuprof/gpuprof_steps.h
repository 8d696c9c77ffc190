/*
 * Part of gpuprof.h, which includes it: finds the steps of a job (iterations of its training or
 * inference loop) without annotations. Moments (`*_ns`) count from start_unix_ns.
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
	GP_STEPS_NONE,	     /* no steps were found: see `why` */
	GP_STEPS_RANGES,     /* ranges that the job or its framework opened in each step */
	GP_STEPS_UPDATES,    /* ranges in which PyTorch's optimizers updated parameters */
	GP_STEPS_REPETITION, /* repetition of the job's launches and allocations */
	GP_STEP_SOURCES,
};
extern const char *const gp_step_source_names[GP_STEP_SOURCES]; /* "none", "ranges", ... */

struct gp_step {
	int64_t begin_ns; /* of its first launch or allocation */
	int64_t end_ns;	  /* start of the next step; of the last step: its last event */
	uint64_t launches;
	uint64_t live_bytes; /* at its start: of the framework, else of the driver */
};

/*
 * Step k of the text interface is step[k - 1]; the first kept step is 1. Work between two steps (an
 * evaluation) belongs to the earlier one.
 */
struct gp_steps {
	enum gp_step_source source;
	const char *why; /* static text; NULL: there are steps */
	size_t steps;
	struct gp_step *step;
	/*
	 * Number of steps at the beginning that differ from the following ones. They are longer by
	 * half than the median, or launch half as many kernels more or less. Times exclude them.
	 */
	size_t warmup;
	int64_t p50_ns, p99_ns; /* between two begins; -1: too few steps */
	double per_second;
};

/*
 * Finds the steps of the kept events. One replay; later calls copy the result. Needs memory for
 * each different launch and allocation, up to 100 MB for their order. Ranges that are steps or
 * update parameters need some hundred bytes each. Succeeds also without steps: see `source`. Free
 * with gp_steps_free.
 */
enum gp_status gp_steps_find(struct gp_recording *recording, struct gp_steps *out);
/*
 * Makes ranges of this name the steps, with any number in the name, for all later calls on the
 * recording. The text must live as long; NULL: as gp_steps_find finds them.
 */
void gp_steps_name(struct gp_recording *recording, const char *name);
/* Index of the step that has the moment; steps->steps: none. */
size_t gp_step_at(const struct gp_steps *steps, int64_t at_ns);
void gp_steps_free(struct gp_steps *steps);

#endif
