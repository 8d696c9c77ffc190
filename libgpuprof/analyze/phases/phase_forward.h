/*
 * The phase "forward" of jobs that do not name it; PyTorch opens no range for it. It lies between
 * the end of a thread's last DataLoader, zero_grad, optimizer or backward and its entry into the
 * engine of autograd. If that is uncertain, there is no forward.
 *
 * - A range of the job that also contains the backward restarts the forward (a step). A range named
 *   "backward" ends it. The forward may contain other ranges.
 * - An interval without launches is not a forward: backward() twice over one graph. If its last
 *   fence was a zero_grad, the forward lies before that.
 * - If a range named "forward" contains half of its launches, the job named the forward itself.
 * - Unclear intervals are left out and counted. They begin with the recording or in a hole of it.
 *   Or a range that is not a step begins inside, or a zero_grad with almost no work after it. One
 *   side is the forward, but which one is unknown.
 * - Threads of autograd that enter the engine again have no forward.
 * - If PyTorch's own ranges were not recorded, there are no forwards: optimizers would lie in them.
 */
#ifndef GP_PHASE_FORWARD_H
#define GP_PHASE_FORWARD_H

#include "../../read/file/recording.h"
#include "../../state/open_ranges.h"

#define GP_STEP_LIKE_MOST 4u

struct gp_forward {
	uint32_t thread;
	/* between two events; those of the recording are counted from 1 */
	uint64_t from, to;
	/* ranges with these names must be steps */
	uint32_t step_like[GP_STEP_LIKE_MOST];
	uint32_t step_likes;
	struct gp_open_range range; /* during a replay: as if the job had opened it */
	uint64_t up;		    /* the mark of the range directly around it */
	uint32_t next;
};

struct gp_forwards {
	struct gp_forward *forward; /* sorted by `from`; those of one thread do not overlap */
	size_t forwards;
	/*
	 * Counts of calls of the engine: the job named their forward, they have none, or it is
	 * uncertain.
	 */
	uint64_t named, none, unclear;
	/* During a replay: how many have begun; 1 + the first open one. */
	uint32_t begun, open;
};

/* Takes one replay from the beginning. Release also after a failure. GP_E_MEMORY. */
enum gp_status gp_forwards_find(struct gp_recording *recording, struct gp_forwards *out);
void gp_forwards_release(struct gp_forwards *forwards);

/*
 * During a replay of the same events, each returns one after the other, then NULL. The first
 * returns forwards that end before event `number`. The second returns those that begin after it;
 * the caller sets `range` and `up`.
 */
struct gp_forward *gp_forwards_end(struct gp_forwards *forwards, uint64_t number);
struct gp_forward *gp_forwards_begin(struct gp_forwards *forwards, uint64_t number);
/* The open forward on that thread directly inside the range with that mark; NULL: none. */
const struct gp_forward *gp_forwards_within(const struct gp_forwards *forwards, uint32_t thread,
					    uint64_t up);

#endif
