/* The parts of gp_steps_find, for a replay with other analyses. */
#ifndef GP_STEP_FIND_H
#define GP_STEP_FIND_H

#include "../../gpuprof_steps.h"
#include "../observe.h"

/* Free the analysis's context afterwards, also after a failure. GP_E_MEMORY. */
enum gp_status gp_steps_analysis(struct gp_recording *recording, struct gp_steps *out,
				 struct gp_analysis *analysis);
/* Keeps a copy for gp_steps_find. */
void gp_steps_keep(struct gp_recording *recording, const struct gp_steps *steps);

#endif
