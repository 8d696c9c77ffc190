/*
 * Which ranges are the steps: of those that are called so, by name, and the updates of parameters.
 * What counts is how much of the job they account for, and whether a step has an update.
 */
#ifndef GP_STEP_WEIGH_H
#define GP_STEP_WEIGH_H

#include "../gpuprof_steps.h"
#include "step_range.h"

enum gp_step_told {
	GP_TOLD_NOTHING,
	GP_TOLD_LITTLE, /* ranges that are called steps, and do not account for half of the work */
	GP_TOLD_UPDATES,
	GP_TOLD_STEPS,
};

/* After gp_step_ranges_settle; free out->cut. `end` is where the recording ends. GP_E_MEMORY. */
enum gp_status gp_step_weigh(const struct gp_step_ranges *ranges, const struct gp_step_place *end,
			     enum gp_step_told *told, struct gp_step_cuts *out);

/* What share of the recording steps like these account for, 0 to 1. GP_E_MEMORY. */
enum gp_status gp_step_share(const struct gp_step *step, size_t steps, uint64_t launches,
			     int64_t end_ns, double *out);
/* Do most of those steps have several updates each, and as many? GP_E_MEMORY. */
enum gp_status gp_step_have_several(const struct gp_step *step, size_t steps,
				    const struct gp_step_cuts *updates, bool *out);

#endif
