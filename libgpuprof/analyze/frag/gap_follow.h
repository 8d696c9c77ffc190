/*
 * The gaps of all devices during a replay: applies each event to the recording's state and to the
 * maps of gap_map.h. They say what gp_memory_build would say at the same place.
 */
#ifndef GP_GAP_FOLLOW_H
#define GP_GAP_FOLLOW_H

#include "../../read/file/recording.h"
#include "gap_map.h"

struct gp_gap_follow {
	struct gp_recording *recording;
	/* of which the maps are, and its checkpoint: others when one was loaded */
	const struct gp_live *live;
	size_t loaded;
	struct gp_looks looks;
	bool is_due;	/* the maps are to be made anew when there are looks for it */
	uint64_t moved; /* devices whose gaps may have changed, as bits */
	struct gp_gap_map map[GP_DEVICES];
};

/* Behind gp_recording_rewind. Release it also after a failure. */
enum gp_status gp_gap_follow_begin(struct gp_gap_follow *follow, struct gp_recording *recording);
void gp_gap_follow_release(struct gp_gap_follow *follow);
/* In the place of gp_recording_apply, for each fetched event. */
enum gp_status gp_gap_follow_apply(struct gp_gap_follow *follow, const struct gp_record *record);

#endif
