/*
 * Numbers of MEMORY events that no event has. They have no holes, so each one that is missing was
 * lost: told so by the recorder, or in flight when the process ended, or it is gone from the file,
 * or with the rings of a process whose recording was never brought to its end.
 */
#ifndef GP_MISSING_H
#define GP_MISSING_H

#include "../tables/row_table.h"
#include "recording.h"

struct gp_hole {
	uint64_t from, to; /* orders, `to` is not in it */
	uint64_t ticks;	   /* of the event before it */
	uint32_t segment;
	bool is_damage; /* a block of the segment is damaged */
};

/* The last one of a thread. */
struct gp_thread_order {
	uint64_t thread, order;
};

/* Zeroed: nothing was seen yet. */
struct gp_missing {
	struct gp_hole *hole;
	size_t count;
	uint64_t *late; /* orders of events that came behind a greater one */
	size_t lates;
	uint64_t next; /* the order that is expected */
	uint64_t ticks;
	bool is_begun;
	struct gp_row_table last; /* of struct gp_thread_order */
};

/* Before the event is applied. */
enum gp_status gp_missing_see(struct gp_missing *missing, const struct gp_recording *recording,
			      const struct gp_record *record, uint32_t thread);
/*
 * After the replay: adds what a damaged block held behind the last event, leaves out what came
 * late, and sorts by number.
 */
enum gp_status gp_missing_end(struct gp_missing *missing, const struct gp_recording *recording);
/*
 * After gp_missing_end: how many are gone without a word, 0 where the recording is damaged. *first:
 * one of them. While the owner lives a replay ends before those that are still to come.
 */
uint64_t gp_missing_untold(const struct gp_missing *missing, const struct gp_recording *recording,
			   uint64_t *first);
/* It is as at first: for a start anew as well, when the owner wrote over what was seen. */
void gp_missing_release(struct gp_missing *missing);

#endif
