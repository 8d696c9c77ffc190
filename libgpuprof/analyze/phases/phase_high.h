/* The highest value of a curve since any moment: asked for at each end of a range. */
#ifndef GP_PHASE_HIGH_H
#define GP_PHASE_HIGH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values that no later one exceeds, falling, each with its number: the rest is never asked for. */
struct gp_high {
	struct {
		uint64_t number, bytes;
	} * step;
	size_t steps, room;
	uint64_t number; /* of the current value */
};

void gp_high_release(struct gp_high *high);
/* The next value. False: no memory. */
bool gp_high_put(struct gp_high *high, uint64_t bytes);
/* Of the values from number `since` on, which the current one was then. 0: there is none. */
uint64_t gp_high_since(const struct gp_high *high, uint64_t since);

#endif
