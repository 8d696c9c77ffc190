/*
 * Matches stacks that only some sides of a comparison have, from their innermost frames outward. So
 * callers that were renamed, added or left out do not separate the allocations of one line.
 */
#ifndef GP_DIFF_INNER_H
#define GP_DIFF_INNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../stack_text.h"

struct gp_inner {
	uint32_t sides; /* one bit for each side that has it */
	uint64_t bytes;
	size_t least;		   /* least equal innermost frames for a match; 0: never matches */
	size_t frames;		   /* number of its frames */
	struct gp_identity *frame; /* of gp_diff_inner_identities */
	size_t into;		   /* out: item of other sides that it joins; SIZE_MAX: none */
};
/*
 * Joins two items without a common side if at least `least` innermost frames of both are equal.
 * Pairs with the most equal frames come first, and among these the nearest in bytes. False: out of
 * memory.
 */
bool gp_diff_inner_match(struct gp_inner *item, size_t items);

#endif
