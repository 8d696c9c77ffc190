/* gp_phases_build for a replay with other analyses. */
#ifndef GP_PHASE_H
#define GP_PHASE_H

#include "../observe.h"

struct gp_phases;
struct gp_phases_options;

/* Free the analysis's context afterwards, also after a failure. GP_E_MEMORY. */
enum gp_status gp_phases_analysis(struct gp_recording *recording,
				  const struct gp_phases_options *requested, struct gp_phases *out,
				  struct gp_analysis *analysis);

#endif
