/*
 * Phases of a recording without ranges, from the stacks of its events (read/frames/frame_phase.h
 * lists the functions that begin each). The result is ranges, which a replay takes as if the job
 * had recorded them.
 *
 * - The phases of a stack, outermost first, are its path: a forward in a backward is one that is
 *   computed again. Consecutive events of a thread that have the same path, or go deeper, are one
 *   call, from the first of them to the last; an event whose stack shows another path ends it, one
 *   without a stack does not.
 * - What a thread of the engine does is of the backward of the one thread that is in one, also
 *   without a stack if it has such a thread's name; if none is, it begins that of the only thread
 *   that has shown a phase. Else it is not clear whose it is; all that are in one go on.
 * - Neither is a stack whose outer frames are missing, unless it shows the end of its thread's
 *   path. Such events neither begin nor end anything.
 */
#ifndef GP_PHASE_FRAMES_H
#define GP_PHASE_FRAMES_H

#include "../../read/file/recording.h"
#include "../../read/tables/row_table.h"

#define GP_FRAME_PATH_MOST 8u /* phases in each other */

struct gp_frame_ranges {
	struct gp_frame_range {
		uint64_t number, time;
		uint64_t made; /* so many were made before */
		uint32_t thread;
		uint8_t phase, depth;
		bool is_push;
	} * range; /* in the order in which a replay meets them */
	size_t ranges, next;
	struct gp_row_table threads;   /* phase_frames.c's */
	uint64_t shown, none, unclear; /* events whose stacks show phases, no phase, cannot tell */
	uint64_t bare_launches;	       /* launches that only those around them can tell of */
};

/* One replay, from the beginning. To be released also after a failure. GP_E_MEMORY. */
enum gp_status gp_frame_ranges_find(struct gp_recording *recording, struct gp_frame_ranges *out);
void gp_frame_ranges_release(struct gp_frame_ranges *ranges);
/* It is one of the engine's by its name or by a stack. */
bool gp_frame_ranges_is_engine(const struct gp_frame_ranges *ranges, uint32_t thread);
/*
 * Along a replay of the same events, counted from 1: the next RANGE_POP before event `number`, or
 * RANGE_PUSH that it begins, of the source GP_RANGE_FRAMES. False: no more.
 */
bool gp_frame_ranges_next(struct gp_frame_ranges *ranges, uint64_t number, bool is_push,
			  uint32_t *thread, struct gp_record *out);

#endif
