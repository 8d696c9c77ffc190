/* gp_role_timeline_build of a whole recording, for a replay with other analyses. */
#ifndef GP_ROLE_BANDS_H
#define GP_ROLE_BANDS_H

#include "../observe.h"

struct gp_role_timeline;

/* Free the analysis's context afterwards, also after a failure. GP_E_MEMORY, GP_E_ARGUMENT. */
enum gp_status gp_role_timeline_analysis(struct gp_recording *recording, size_t points,
					 struct gp_role_timeline *out,
					 struct gp_analysis *analysis);

#endif
