/*
 * Which range an event belongs to, along a replay. A thread's work belongs to its innermost open
 * range. What a worker of autograd does with no range open belongs to the thread that waits for it
 * inside the engine: to the range that says so, of source ENGINE, where one thread has one; of
 * several nobody knows which, and that is the answer.
 */
#ifndef GP_PHASE_FOLLOW_H
#define GP_PHASE_FOLLOW_H

#include "phase_forward.h"
#include "phase_frames.h"

#define GP_ENGINES_MOST 64u /* threads inside the engine at once that are told apart */

struct gp_phase_follow {
	struct gp_recording *recording;
	bool is_by_frames; /* `frames` stand in the place of ranges that were recorded */
	struct gp_frame_ranges frames;
	struct gp_forwards forwards;
	uint64_t number; /* of the event */
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
 * After a rewind: what the first checkpoint says is open is told to `user`, whose `mark`s, never 0,
 * stay with the ranges; its `closed` may be NULL. GP_E_MEMORY. To be closed also after a failure.
 */
enum gp_status gp_phase_follow_open(struct gp_phase_follow *follow, struct gp_recording *recording,
				    bool is_own_thread, const struct gp_range_watch *user);
/*
 * The same with the forwards that the job does not name, which are ranges of the source
 * GP_RANGE_DERIVED, or with those of frames in the place of all. It finds them in a replay before,
 * and rewinds.
 */
enum gp_status gp_phase_follow_derive(struct gp_phase_follow *follow,
				      struct gp_recording *recording, bool is_by_frames,
				      bool is_own_thread, const struct gp_range_watch *user);
void gp_phase_follow_close(struct gp_phase_follow *follow);
/* Before each event, and behind the last: what ended before it. */
void gp_phase_follow_end(struct gp_phase_follow *follow);
/* The event, before it is applied to the state: forwards that it ends. */
void gp_phase_follow_before(struct gp_phase_follow *follow, const struct gp_record *record);
/* The event, before what is asked about it: ranges, names of threads, forwards behind it. */
void gp_phase_follow_apply(struct gp_phase_follow *follow, uint32_t thread,
			   const struct gp_record *record);
/* At the end: calls `each` for all that is open, for what lies in another range first. */
void gp_phase_follow_finish(struct gp_phase_follow *follow,
			    void (*each)(void *context, const struct gp_open_range *range),
			    void *context);

/*
 * A replay from the beginning, with this around it: each event to `see`, which applies it; false:
 * no memory. Closed behind the last one. GP_E_MEMORY.
 */
enum gp_status
gp_phase_follow_replay(struct gp_phase_follow *follow, struct gp_recording *recording,
		       bool is_own_thread, const struct gp_range_watch *user,
		       bool (*see)(void *context, uint32_t thread, const struct gp_record *record),
		       void *context);

/* By its name, which PyTorch gives it; with frames by its stacks as well. */
bool gp_phase_follow_is_worker(const struct gp_phase_follow *follow, uint32_t thread);
/*
 * Marks, 0: none. *is_ambiguous: it is that of one of several. The first: of the range that a
 * thread's work belongs to; its own, else that of the thread that it works for.
 */
uint64_t gp_phase_follow_mark(const struct gp_phase_follow *follow, uint32_t thread,
			      bool *is_ambiguous);
/* Of the one in the engine that it works for. */
uint64_t gp_phase_follow_engine(const struct gp_phase_follow *follow, uint32_t thread,
				bool *is_ambiguous);
/*
 * Of that in which a range lies that has just been opened: also a worker's backward, which is one
 * inside a backward. Any other thread enters the engine for itself.
 */
uint64_t gp_phase_follow_up(const struct gp_phase_follow *follow, const struct gp_open_range *range,
			    bool *is_ambiguous);

#endif
