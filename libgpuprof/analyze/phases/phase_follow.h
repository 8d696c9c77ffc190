/*
 * Finds the range that an event belongs to during a replay. The work of a thread belongs to its
 * innermost open range. Without an open range, an autograd worker works for the thread that waits
 * inside the engine. Its events then belong to that thread's range of source ENGINE. If several
 * threads wait there, the result is ambiguous.
 */
#ifndef GP_PHASE_FOLLOW_H
#define GP_PHASE_FOLLOW_H

#include "phase_forward.h"
#include "phase_frames.h"

#define GP_ENGINES_MOST 64u /* bound on distinct threads inside the engine at once */

struct gp_phase_follow {
	struct gp_recording *recording;
	bool is_by_frames; /* `frames` replace recorded ranges */
	struct gp_frame_ranges frames;
	struct gp_forwards forwards;
	uint64_t number; /* number of the event */
	struct gp_open_ranges *ranges;
	struct gp_range_watch watch; /* ours; it calls the user's */
	const struct gp_range_watch *user;
	bool is_own_thread;
	bool has_named; /* a thread has a worker's name */
	struct {
		uint32_t thread;
		uint32_t depth; /* how often it was entered */
	} engine[GP_ENGINES_MOST];
	uint32_t engines;
};

/*
 * Call it after a rewind. Reports the open ranges of the first checkpoint to `user`. The `mark`s
 * that `user` sets, never 0, stay with the ranges; its `closed` may be NULL. GP_E_MEMORY. Close it
 * also after a failure.
 */
enum gp_status gp_phase_follow_open(struct gp_phase_follow *follow, struct gp_recording *recording,
				    bool is_own_thread, const struct gp_range_watch *user);
/*
 * The same with forwards that the job does not name, as ranges of the source GP_RANGE_DERIVED. With
 * is_by_frames, ranges of frames replace all others. The first call finds them in a replay. Rewind
 * between the two calls.
 */
enum gp_status gp_phase_follow_prepare(struct gp_phase_follow *follow,
				       struct gp_recording *recording, bool is_by_frames,
				       bool is_own_thread, const struct gp_range_watch *user);
enum gp_status gp_phase_follow_begin(struct gp_phase_follow *follow);
void gp_phase_follow_close(struct gp_phase_follow *follow);
/* Call it before each event and after the last one: handles ranges that ended before it. */
void gp_phase_follow_end(struct gp_phase_follow *follow);
/* Call it before the event is applied to the state: ends forwards. */
void gp_phase_follow_before(struct gp_phase_follow *follow, const struct gp_record *record);
/*
 * Call it before queries about the event: handles ranges, names of threads, and forwards that begin
 * after it.
 */
void gp_phase_follow_apply(struct gp_phase_follow *follow, uint32_t thread,
			   const struct gp_record *record);
/* At the end: calls `each` for all open ranges, inner ranges first. */
void gp_phase_follow_finish(struct gp_phase_follow *follow,
			    void (*each)(void *context, const struct gp_open_range *range),
			    void *context);

/*
 * A replay from the beginning with a struct gp_phase_follow around it. Passes each applied event to
 * `see`; false: out of memory. Closes it after the last event. GP_E_MEMORY.
 */
enum gp_status
gp_phase_follow_replay(struct gp_phase_follow *follow, struct gp_recording *recording,
		       bool is_own_thread, const struct gp_range_watch *user,
		       bool (*see)(void *context, uint32_t thread, const struct gp_record *record),
		       void *context);

/* By its name, which PyTorch sets; with frames also by its stacks. */
bool gp_phase_follow_is_worker(const struct gp_phase_follow *follow, uint32_t thread);
/*
 * These functions return marks, 0: none. *is_ambiguous: one of several, it is not known which. The
 * first returns the mark of the range that a thread's work belongs to. That is its own range, else
 * that of the thread that it works for.
 */
uint64_t gp_phase_follow_mark(const struct gp_phase_follow *follow, uint32_t thread,
			      bool *is_ambiguous);
/* The mark of the range in the engine that the thread works for. */
uint64_t gp_phase_follow_engine(const struct gp_phase_follow *follow, uint32_t thread,
				bool *is_ambiguous);
/*
 * The mark of the range around one that was just opened. It also works for a worker's backward
 * inside a backward. Any other thread enters the engine for itself.
 */
uint64_t gp_phase_follow_up(const struct gp_phase_follow *follow, const struct gp_open_range *range,
			    bool *is_ambiguous);

#endif
