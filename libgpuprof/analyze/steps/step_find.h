/* The steps of a part of what a recording holds; all of it: gp_steps_find. */
#ifndef GP_STEP_FIND_H
#define GP_STEP_FIND_H

#include "../../gpuprof_steps.h"
#include "step_token.h"

enum gp_status gp_step_find(struct gp_recording *recording, const struct gp_step_view *view,
			    struct gp_steps *out);

#endif
