/*
 * The gaps of all devices during a replay: applies each event to the maps of gap_map.h. The maps
 * have the same figures as gp_memory_build at the same place.
 */
#ifndef GP_GAP_FOLLOW_H
#define GP_GAP_FOLLOW_H

#include "../../read/file/recording.h"
#include "gap_map.h"

struct gp_gap_follow {
	struct gp_recording *recording;
	/*
	 * The state of the maps and its checkpoint. They differ from the recording's after a
	 * checkpoint is loaded.
	 */
	const struct gp_live *live;
	size_t loaded;
	struct gp_looks looks;
	bool is_due;		 /* rebuild the maps once there are looks for it */
	bool is_late, is_loaded; /* the event under way; before it, a checkpoint was loaded */
	uint64_t moved;		 /* devices whose gaps may have changed, one bit each */
	struct gp_gap_map map[GP_DEVICES];
};

/* Call it after gp_recording_rewind. Release it also after a failure. */
enum gp_status gp_gap_follow_begin(struct gp_gap_follow *follow, struct gp_recording *recording);
void gp_gap_follow_release(struct gp_gap_follow *follow);
/* Call these before and after gp_recording_apply, for each fetched event. */
void gp_gap_follow_before(struct gp_gap_follow *follow, const struct gp_record *record);
enum gp_status gp_gap_follow_after(struct gp_gap_follow *follow, const struct gp_record *record);

#endif
