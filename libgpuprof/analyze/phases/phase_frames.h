/*
 * Phases of a recording without ranges, from the stacks of its events. read/frames/frame_phase.h
 * lists the functions that begin each phase. The results are ranges that a replay uses as if the
 * job had recorded them.
 *
 * - The phases of a stack, outermost first, are its path. A forward in a backward is one that is
 *   computed again. Consecutive events of a thread with the same path, or a longer one, are one
 *   call, from the first of them to the last. An event with another path ends the call; an event
 *   without a stack does not.
 * - Events of an engine thread belong to the backward of the one thread that is in a backward. If
 *   such a thread has a worker's name, events without a stack count, too. If no thread is in a
 *   backward, they begin that of the only thread that showed a phase. Otherwise they are ambiguous,
 *   and every open backward continues.
 * - A stack with missing outer frames is ambiguous, unless it shows the end of its thread's path.
 *   Ambiguous events neither begin nor end a range.
 */
#ifndef GP_PHASE_FRAMES_H
#define GP_PHASE_FRAMES_H

#include "../../read/file/recording.h"
#include "../../read/tables/row_table.h"

#define GP_FRAME_PATH_MOST 8u /* depth of nested phases */

struct gp_frame_ranges {
	struct gp_frame_range {
		uint64_t number, time;
		uint64_t made; /* number of ranges made before it */
		uint32_t thread;
		uint8_t phase, depth;
		bool is_push;
	} * range; /* in the order of a replay */
	size_t ranges, next;
	struct gp_row_table threads;   /* private to phase_frames.c */
	uint64_t shown, none, unclear; /* events with phases, without, ambiguous */
	uint64_t bare_launches;	       /* launches without a stack */
};

/* Takes one replay from the beginning. Release also after a failure. GP_E_MEMORY. */
enum gp_status gp_frame_ranges_find(struct gp_recording *recording, struct gp_frame_ranges *out);
void gp_frame_ranges_release(struct gp_frame_ranges *ranges);
/* True: it is a thread of the engine, by its name or by a stack. */
bool gp_frame_ranges_is_engine(const struct gp_frame_ranges *ranges, uint32_t thread);
/*
 * During a replay of the same events, which are counted from 1. Returns the next RANGE_POP before
 * event `number`, or the next RANGE_PUSH that it begins. The source is GP_RANGE_FRAMES. False: no
 * more.
 */
bool gp_frame_ranges_next(struct gp_frame_ranges *ranges, uint64_t number, bool is_push,
			  uint32_t *thread, struct gp_record *out);

#endif
