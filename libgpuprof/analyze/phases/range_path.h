/* Paths of ranges for reports: folds numbered names, and finds the path of each use. */
#ifndef GP_RANGE_PATH_H
#define GP_RANGE_PATH_H

#include "../stack_text.h"

/*
 * gp_range_paths_open with forwards that the job does not name (phase_forward.h). Finds them in an
 * earlier replay, and rewinds. Call gp_recording_info before; *out must be NULL.
 */
enum gp_status gp_range_paths_derive(struct gp_recording *recording, struct gp_range_paths **out);
/* The identity of a path across recordings: its domains and names. */
struct gp_identity gp_range_identity(struct gp_identity before, const struct gp_range_path *path);

/* NULL: ranges are not needed. */
static inline const struct gp_range_path *gp_range_of_order(struct gp_range_paths *paths,
							    uint64_t order)
{
	return paths != NULL ? gp_range_paths_at(paths, order) : NULL;
}

#endif
