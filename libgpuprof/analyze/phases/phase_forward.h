/*
 * The phase "forward" of jobs that do not name it, which PyTorch opens no range for. It is what a
 * thread does between the end of its last DataLoader, zero_grad, optimizer or backward and its
 * entering the engine of autograd; and nothing where that is not certain.
 *
 * - A range of the job that holds the backward too begins it anew (a step), one that is called
 *   "backward" ends it. What it holds otherwise lies inside it.
 * - Where nothing is launched in it, it is none: backward() twice over one graph. If it was a
 *   zero_grad that came last, the forward is what lies before that.
 * - Where a range that is called "forward" holds half of its launches, the job named it itself.
 * - Left out, and counted, is what begins with the recording or in a hole of it; what lies on both
 *   sides of the beginning of a range that is no step, or of a zero_grad with next to nothing
 *   behind it: one side is the forward, and nobody knows which.
 * - Threads of autograd that enter the engine again have none.
 * - Where PyTorch's own ranges are not told there are none: optimizers would lie in them.
 */
#ifndef GP_PHASE_FORWARD_H
#define GP_PHASE_FORWARD_H

#include "../../read/file/recording.h"
#include "../../state/open_ranges.h"

#define GP_STEP_LIKE_MOST 4u

struct gp_forward {
	uint32_t thread;
	/* behind one event and before another; the recording's are counted from 1 */
	uint64_t from, to;
	/* ranges of these names must be steps */
	uint32_t step_like[GP_STEP_LIKE_MOST];
	uint32_t step_likes;
	struct gp_open_range range; /* along a replay: as if the job had opened it */
	uint64_t up;		    /* the mark of the range that it lies right inside */
	uint32_t next;
};

struct gp_forwards {
	struct gp_forward *forward; /* by `from`; those of a thread do not overlap */
	size_t forwards;
	/* calls of the engine that the job named a forward before, that have none, or where it is
	 * not known */
	uint64_t named, none, unclear;
	/* along a replay: so many have begun; 1 + the first of those that are open */
	uint32_t begun, open;
};

/* One replay, from the beginning. To be released also after a failure. GP_E_MEMORY. */
enum gp_status gp_forwards_find(struct gp_recording *recording, struct gp_forwards *out);
void gp_forwards_release(struct gp_forwards *forwards);

/*
 * Along a replay of the same events, each in turn until NULL: what ends before event `number`, and
 * what begins behind it, whose `range` and `up` the caller sets.
 */
struct gp_forward *gp_forwards_end(struct gp_forwards *forwards, uint64_t number);
struct gp_forward *gp_forwards_begin(struct gp_forwards *forwards, uint64_t number);
/* That which is open on that thread right inside the range with that mark; NULL: none. */
const struct gp_forward *gp_forwards_within(const struct gp_forwards *forwards, uint32_t thread,
					    uint64_t up);

#endif
