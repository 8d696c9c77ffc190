/*
 * A replay that resolves uses. It finds the allocation of each used address, and the state of each
 * allocation at its end. It lists live allocations at the peaks with their uses before and after.
 */
#ifndef GP_TOUCH_REPLAY_H
#define GP_TOUCH_REPLAY_H

#include "../../read/file/recording.h"
#include "../../read/tables/row_table.h"
#include "../graph_content.h"
#include "touch_table.h"

/* One in this many launches may be unseen; if more are, no memory is reported as unused. */
#define GP_TOUCH_UNSEEN_SHARE 10u
#define GP_NO_EVENT UINT64_MAX

/* A live allocation at the peak of its device. */
struct gp_peak_part {
	struct gp_live_entry entry;
	struct gp_touch then;		    /* its state at the peak */
	int64_t next_ns, last_ns, freed_ns; /* after the peak; last_ns: of all its uses */
	uint64_t next, last, freed;	    /* counts of launches at these moments */
	bool is_used;
	enum gp_idle_owner owner; /* set by idle.c */
};

/* An allocation at its end, or at the end of the recording. */
struct gp_touch_end {
	const struct gp_live_entry *entry;
	const struct gp_touch *touch;
	int64_t at_ns;
	uint64_t launches;
	bool is_freed;
};

/*
 * Moments of unseen work that may have used all live memory. A live allocation takes them over when
 * it is next accessed: the first one, the longest pause between two later ones, the last.
 */
struct gp_touch_unseen {
	struct gp_touch_moment {
		uint64_t launches;
		int64_t at_ns;
	} * moment;
	size_t moments;
	/*
	 * The pauses that no later one exceeds, so they descend. Each ended with moment `number`,
	 * from 1.
	 */
	struct gp_touch_rest {
		uint64_t number, launches;
		int64_t ns;
	} * rest;
	size_t rests, rest_room;
};

struct gp_touch_replay {
	struct gp_recording *recording;
	/* returns true to continue; false: out of memory */
	bool (*end)(void *context, const struct gp_touch_end *end);
	/*
	 * NULL, or called for each launch that runs and was scanned, with the number of its event
	 * and `entry` NULL; then for the allocation of each of its uses. Returns as `end`.
	 */
	bool (*use)(void *context, uint64_t event, uint32_t thread,
		    const struct gp_live_entry *entry);
	void *context;
	struct gp_idle *counts; /* receives the counts of the replay */
	/* by device, the event of its peak; GP_NO_EVENT: none */
	uint64_t peak_event[GP_DEVICES];
	struct gp_peak_part *part;
	size_t parts, parts_room;
	/* private */
	struct gp_touch_table table;
	struct gp_touch_unseen unseen;
	struct gp_graphs graphs;
	/*
	 * Counts of events after which an address may belong to another allocation: all, and those
	 * not of a block.
	 */
	uint64_t moves, other_moves;
	const struct gp_live *live;
	uint64_t launches, next_peak;
	int64_t at_ns;
	struct gp_row_table threads; /* private to touch_replay.c */
	/* mappings that the current event restores */
	uint64_t undone_at[GP_LIVE_UNDONE_MOST];
	size_t undone;
	bool is_out_of_memory;
};

/*
 * Runs one replay. The caller sets the fields above "private". Release with
 * gp_touch_replay_release.
 */
enum gp_status gp_touch_replay_run(struct gp_touch_replay *replay);
void gp_touch_replay_release(struct gp_touch_replay *replay);

#endif
