/* Paths of ranges for reports: names that count up are folded, and uses know where they were. */
#ifndef GP_RANGE_PATH_H
#define GP_RANGE_PATH_H

#include "../stack_text.h"

/*
 * gp_range_paths_open with the forwards that the job does not name (phase_forward.h), found in a
 * replay before. It rewinds; gp_recording_info was asked before; *out is NULL before.
 */
enum gp_status gp_range_paths_derive(struct gp_recording *recording, struct gp_range_paths **out);
/* What makes paths of different recordings the same: domains and names. */
struct gp_identity gp_range_identity(struct gp_identity before, const struct gp_range_path *path);

/* NULL: nobody asked. */
static inline const struct gp_range_path *gp_range_of_order(struct gp_range_paths *paths,
							    uint64_t order)
{
	return paths != NULL ? gp_range_paths_at(paths, order) : NULL;
}

#endif
