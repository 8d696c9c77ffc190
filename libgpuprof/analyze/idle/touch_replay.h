/*
 * A replay that resolves uses: to what each address belonged when it was used, what lived at the
 * peaks and was used before and after them, and what each allocation looks like at its end.
 */
#ifndef GP_TOUCH_REPLAY_H
#define GP_TOUCH_REPLAY_H

#include "../graph_content.h"
#include "../peak/peak_moments.h"
#include "touch_table.h"

/* Of all launches one in so many may be unseen; with more nothing is called unused. */
#define GP_TOUCH_UNSEEN_SHARE 10u

/* What lived at the peak of its device. */
struct gp_peak_part {
	struct gp_live_entry entry;
	struct gp_touch then;		    /* as it was at the peak */
	int64_t next_ns, last_ns, freed_ns; /* after it; last_ns: of all its uses */
	uint64_t next, last, freed;	    /* launches by then */
	bool is_used;
	enum gp_idle_owner owner; /* idle.c's */
};

/* An allocation at its end, or at that of the recording. */
struct gp_touch_end {
	const struct gp_live_entry *entry;
	const struct gp_touch *touch;
	int64_t at_ns;
	uint64_t launches;
	bool is_freed;
};

/*
 * Moments at which work was not seen that may have used all that lived. What lives gets them when
 * it is next looked at: the first one, the longest rest between two of those behind it, the last.
 */
struct gp_touch_unseen {
	struct gp_touch_moment {
		uint64_t launches;
		int64_t at_ns;
	} * moment;
	size_t moments;
	/* rests that no later one exceeds, so they fall; each ended with moment `number`, from 1 */
	struct gp_touch_rest {
		uint64_t number, launches;
		int64_t ns;
	} * rest;
	size_t rests, rest_room;
};

struct gp_touch_replay {
	struct gp_recording *recording;
	/* true: go on; false: out of memory */
	bool (*end)(void *context, const struct gp_touch_end *end);
	void *context;
	struct gp_idle *counts; /* what is counted on the way */
	/* of each device the event at which its peak is; GP_NO_EVENT: none */
	uint64_t peak_event[GP_DEVICES];
	struct gp_peak_part *part;
	size_t parts, parts_room;
	/* its own */
	struct gp_touch_table table;
	struct gp_touch_unseen unseen;
	struct gp_graphs graphs;
	/* events by which an address may belong to something else: all, and those not of a block */
	uint64_t moves, other_moves;
	const struct gp_live *live;
	uint64_t launches, next_peak;
	int64_t at_ns;
	bool *is_awaited; /* by thread: its last launch has not resolved yet */
	size_t threads;
	/* mappings that the event at hand brings back */
	uint64_t undone_at[GP_LIVE_UNDONE_MOST];
	size_t undone;
	bool is_out_of_memory;
};

/* One replay. The caller set what stands above "its own"; released with gp_touch_replay_release. */
enum gp_status gp_touch_replay_run(struct gp_touch_replay *replay);
void gp_touch_replay_release(struct gp_touch_replay *replay);

#endif
