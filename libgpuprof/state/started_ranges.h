/*
 * Open started ranges in the order of their starts, found by number and source. Slots never move,
 * so each end costs the same. All zeros are an empty list. No I/O, no memory of its own.
 */
#ifndef GP_STARTED_RANGES_H
#define GP_STARTED_RANGES_H

#include "open_ranges.h"

struct gp_started_slot {
	struct gp_open_range range;
	uint16_t newer, older; /* of slot 0: the oldest and the newest */
	uint16_t next;	       /* next slot of the same hash; of a free slot: the next free one */
};

struct gp_started_ranges {
	uint32_t count;
	uint16_t used; /* slots [1, used] were used before */
	uint16_t free; /* first slot to reuse; 0: none */
	uint16_t head[GP_RANGES_STARTED];
	struct gp_started_slot slot[1 + GP_RANGES_STARTED];
};

/* The newest one, if several have that number. NULL: none is open. */
struct gp_open_range *gp_started_find(struct gp_started_ranges *started, uint64_t number,
				      uint64_t source);
/* NULL: all slots are in use. */
struct gp_open_range *gp_started_add(struct gp_started_ranges *started,
				     const struct gp_open_range *range);
void gp_started_remove(struct gp_started_ranges *started, struct gp_open_range *range);

/* NULL returns the newest. Result NULL: no more. */
struct gp_open_range *gp_started_older(const struct gp_started_ranges *started,
				       const struct gp_open_range *than);
/* NULL returns the oldest. */
struct gp_open_range *gp_started_newer(const struct gp_started_ranges *started,
				       const struct gp_open_range *than);

#endif
