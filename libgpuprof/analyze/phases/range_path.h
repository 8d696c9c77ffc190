/* Paths of ranges for reports: folds numbered names, and finds the path of each use. */
#ifndef GP_RANGE_PATH_H
#define GP_RANGE_PATH_H

#include "../stack_text.h"

/*
 * gp_range_paths_open with forwards that the job does not name (phase_forward.h). Finds them in an
 * earlier replay, and rewinds. Call gp_recording_info before; *out must be NULL.
 */
enum gp_status gp_range_paths_derive(struct gp_recording *recording, struct gp_range_paths **out);
/* The two halves of it, before and after the rewind. */
enum gp_status gp_range_paths_prepare(struct gp_recording *recording, struct gp_range_paths **out);
enum gp_status gp_range_paths_begin(struct gp_range_paths *paths);

/* Numbers each call from here on, from 1. Beyond `most` calls have no number. */
void gp_range_paths_keep_calls(struct gp_range_paths *paths, size_t most);
/* The innermost call that the thread's work belongs to; 0: none, or it is not known which. */
uint32_t gp_range_paths_call(struct gp_range_paths *paths, uint32_t thread);

/* Bounds memory: forgets the paths of the memory events that were shown, but of the last one. */
void gp_range_paths_forget(struct gp_range_paths *paths);

/* The identity of a path across recordings: its domains and names. */
struct gp_identity gp_range_identity(struct gp_identity before, const struct gp_range_path *path);

/* NULL: ranges are not needed. */
static inline const struct gp_range_path *gp_range_of_order(struct gp_range_paths *paths,
							    uint64_t order)
{
	return paths != NULL ? gp_range_paths_at(paths, order) : NULL;
}

#endif
