/*
 * Which range an event belongs to, along a replay. A thread's work belongs to its innermost open
 * range. What a worker of autograd does with no range open belongs to the thread that waits for it
 * inside the engine: to the range that says so, of source ENGINE, where one thread has one; of
 * several nobody knows which, and that is the answer.
 */
#ifndef GP_PHASE_FOLLOW_H
#define GP_PHASE_FOLLOW_H

#include "../../read/file/recording.h"
#include "../../state/open_ranges.h"

#define GP_ENGINES_MOST 64u /* threads inside the engine at once that are told apart */

struct gp_frame_ranges;
struct gp_phase_follow {
	struct gp_recording *recording;
	struct gp_frame_ranges *frames; /* in the place of those that were told; NULL: none are */
	uint64_t number;		/* of the event, with `frames` */
	struct gp_open_ranges *ranges;
	struct gp_range_watch watch; /* ours, which calls the user's */
	const struct gp_range_watch *user;
	bool is_own_thread;
	bool has_named; /* a thread has a worker's name */
	struct {
		uint32_t thread;
		uint32_t depth; /* entered so often */
	} engine[GP_ENGINES_MOST];
	uint32_t engines;
};

/*
 * After a rewind: what the first checkpoint says is open is told to `user`, whose `mark`s stay with
 * the ranges. `frames`: of which it gets ranges in the place of the recording's, as long; NULL.
 * GP_E_MEMORY. To be closed also after a failure.
 */
enum gp_status gp_phase_follow_open(struct gp_phase_follow *follow, struct gp_recording *recording,
				    bool is_own_thread, struct gp_frame_ranges *frames,
				    const struct gp_range_watch *user);
void gp_phase_follow_close(struct gp_phase_follow *follow);
/* Before each event is applied to the state, and behind the last: what ended before it. */
void gp_phase_follow_end(struct gp_phase_follow *follow);
/* Each event, before what is asked about it; of ranges and names of threads. */
void gp_phase_follow_apply(struct gp_phase_follow *follow, uint32_t thread,
			   const struct gp_record *record);

/*
 * A replay from the beginning, with this around it: each event to `see`, which applies it; false:
 * no memory. Closed behind the last one. GP_E_MEMORY.
 */
enum gp_status
gp_phase_follow_replay(struct gp_phase_follow *follow, struct gp_recording *recording,
		       bool is_own_thread, const struct gp_range_watch *user,
		       bool (*see)(void *context, uint32_t thread, const struct gp_record *record),
		       void *context);

/* That in which the one on top of the stack was opened; NULL: in none of its thread. */
const struct gp_open_range *gp_phase_follow_around(const struct gp_range_stack *stack);
/* The innermost of its own ranges; NULL: none. */
const struct gp_open_range *gp_phase_follow_own(const struct gp_phase_follow *follow,
						uint32_t thread);
/* By its name, which PyTorch gives it; with `frames` by its stacks as well. */
bool gp_phase_follow_is_worker(const struct gp_phase_follow *follow, uint32_t thread);
/* That of the thread it works for, if it has none; NULL: none. *is_ambiguous: one of several. */
const struct gp_open_range *gp_phase_follow_engine(struct gp_phase_follow *follow, uint32_t thread,
						   bool *is_ambiguous);
/*
 * The same for a range that it opens, which lies in there: also a worker's backward, which is one
 * inside a backward. Any other thread enters the engine for itself.
 */
const struct gp_open_range *gp_phase_follow_engine_of(struct gp_phase_follow *follow,
						      const struct gp_open_range *range,
						      uint32_t thread, bool *is_ambiguous);

#endif
