/*
 * Order numbers for which there is no MEMORY event. Numbers have no holes, so each missing one is a
 * lost event. The recorder counted it as lost, or it was in flight when the process ended. Or the
 * file lost it, or it was in rings that were never adopted.
 */
#ifndef GP_MISSING_H
#define GP_MISSING_H

#include "../tables/row_table.h"
#include "recording.h"

struct gp_hole {
	uint64_t from, to; /* orders; `to` is exclusive */
	uint64_t ticks;	   /* time of the event before the hole */
	uint32_t segment;
	bool is_damage; /* a block of the segment is damaged */
};

/* The last order of a thread. */
struct gp_thread_order {
	uint64_t thread, order;
};

/* Starts as zeros. */
struct gp_missing {
	struct gp_hole *hole;
	size_t count;
	uint64_t *late; /* orders of events that came after a greater one */
	size_t lates;
	uint64_t next; /* the next expected order */
	uint64_t ticks;
	bool is_begun;
	struct gp_row_table last; /* of struct gp_thread_order */
};

/* Call it before the event is applied. */
enum gp_status gp_missing_see(struct gp_missing *missing, const struct gp_recording *recording,
			      const struct gp_record *record, uint32_t thread);
/*
 * After the replay: adds the events of a damaged block behind the last event. Removes events that
 * came late from the holes, and sorts the holes by number.
 */
enum gp_status gp_missing_end(struct gp_missing *missing, const struct gp_recording *recording);
/*
 * After gp_missing_end: the number of missing events that are neither counted as lost nor explained
 * by the end of the process. 0 if the recording is damaged. *first: one of them. While the owner
 * lives, a replay ends before the events that are still in its rings.
 */
uint64_t gp_missing_unrecorded(const struct gp_missing *missing,
			       const struct gp_recording *recording, uint64_t *first);
/* Resets to zeros. Also used for a restart after the owner overwrote events that were seen. */
void gp_missing_release(struct gp_missing *missing);

#endif
