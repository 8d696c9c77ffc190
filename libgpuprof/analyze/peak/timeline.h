/* Parts of gp_timeline_build: for a replay with other analyses, and after it. */
#ifndef GP_TIMELINE_H
#define GP_TIMELINE_H

#include "../observe.h"

struct gp_timeline;

/* Free the analysis's context afterwards, also after a failure. GP_E_MEMORY, GP_E_ARGUMENT. */
enum gp_status gp_timeline_analysis(struct gp_recording *recording, size_t points,
				    struct gp_timeline *out, struct gp_analysis *analysis);
/* Sets is_oom of all marks, and counts them. One more replay if there are marks. GP_E_MEMORY. */
enum gp_status gp_timeline_judge(struct gp_recording *recording, struct gp_timeline *timeline);

#endif
