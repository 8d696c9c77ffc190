/* gp_leaks_build of a whole recording, for a replay with other analyses. */
#ifndef GP_LEAKS_H
#define GP_LEAKS_H

#include "../observe.h"

struct gp_leaks;

/* Free the analysis's context afterwards, also after a failure. GP_E_MEMORY. */
enum gp_status gp_leaks_analysis(struct gp_recording *recording, struct gp_leaks *out,
				 struct gp_analysis *analysis);

#endif
