/*
 * Memory that is allocated again. A burst of frees gives back bytes of a device, or of pinned host
 * memory. Allocations up to as many bytes in sum, in the step of the frees or in the next one,
 * would not have been needed if the job had kept the memory.
 */
#ifndef GP_ALLOC_AGAIN_H
#define GP_ALLOC_AGAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one device, or of the host. */
struct gp_again {
	uint64_t bytes; /* that the driver has given, after the last event */
	uint64_t freed; /* of these frees, not yet allocated again */
	/* the first of them has returned: its place, and the index of its activity */
	bool has_place;
	size_t place, activity;
	size_t step;   /* in which they were */
	bool is_burst; /* there was no allocation since */
};

/* Another event: the driver has given `bytes` after it. */
void gp_again_see(struct gp_again *a, uint64_t bytes);
/* A free, in step number `step`. */
void gp_again_freed(struct gp_again *a, uint64_t bytes, size_t step);
/* The free that was seen last has returned. */
void gp_again_returned(struct gp_again *a, size_t place, size_t activity);
/* An allocation. True: the frees gave its memory back, and `a` has the place of the first. */
bool gp_again_allocated(struct gp_again *a, uint64_t bytes, size_t step);

#endif
