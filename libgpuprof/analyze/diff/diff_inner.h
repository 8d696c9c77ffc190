/*
 * Stacks that only some sides of a comparison have, matched from their innermost frames outward:
 * callers that were renamed, added or left out do not part what the same line allocates.
 */
#ifndef GP_DIFF_INNER_H
#define GP_DIFF_INNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../stack_text.h"

struct gp_inner {
	uint32_t sides; /* a bit each that has it */
	uint64_t bytes;
	size_t least;		   /* so many innermost frames must agree; 0: it matches no other */
	size_t frames;		   /* that it has */
	struct gp_identity *frame; /* of gp_diff_inner_identities */
	size_t into; /* out: it is one with this item, which has not its sides; SIZE_MAX: alone */
};
/*
 * Two items without a common side are one when their innermost frames agree, `least` of both at
 * least: those with most such frames first, of these the nearest in bytes. False: no memory.
 */
bool gp_diff_inner_match(struct gp_inner *item, size_t items);

#endif
