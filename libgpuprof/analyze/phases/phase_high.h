/* The highest value of a curve since any moment: needed at each end of a range. */
#ifndef GP_PHASE_HIGH_H
#define GP_PHASE_HIGH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Values that no later one exceeds, descending, each with its number. The other values are never
 * needed.
 */
struct gp_high {
	struct {
		uint64_t number, bytes;
	} * step;
	size_t steps, room;
	uint64_t number; /* number of the current value */
};

void gp_high_release(struct gp_high *high);
/* Adds the next value. False: out of memory. */
bool gp_high_put(struct gp_high *high, uint64_t bytes);
/*
 * The highest of the values from number `since` on; that number was current at the moment. 0: none.
 */
uint64_t gp_high_since(const struct gp_high *high, uint64_t since);

#endif
