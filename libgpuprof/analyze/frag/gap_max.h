/*
 * The largest of many numbers that change one at a time: a tree of 16 branches whose inner nodes
 * hold the largest below them. Most changes end at the first node, for they are neither of the
 * largest below it nor become it; the others cost 16 comparisons a level.
 */
#ifndef GP_GAP_MAX_H
#define GP_GAP_MAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GP_GAP_FAN 16u
#define GP_GAP_LEVELS 8u /* 16^8 numbers */

struct gp_gap_max {
	uint64_t *level[GP_GAP_LEVELS]; /* [0]: the numbers; each has GP_GAP_FAN at least */
	size_t numbers;			/* room, a multiple of GP_GAP_FAN */
	unsigned levels;
};

/* Room for `numbers`; what is there stays, what is new is 0. False: no memory, nothing changed. */
bool gp_gap_max_grow(struct gp_gap_max *max, size_t numbers);
void gp_gap_max_clear(struct gp_gap_max *max);
void gp_gap_max_release(struct gp_gap_max *max);

static inline uint64_t gp_gap_max_of(const struct gp_gap_max *max)
{
	uint64_t largest = 0;
	if (max->levels == 0)
		return 0;
	for (unsigned k = 0; k < GP_GAP_FAN; k++)
		if (max->level[max->levels - 1][k] > largest)
			largest = max->level[max->levels - 1][k];
	return largest;
}

static inline void gp_gap_max_set(struct gp_gap_max *max, size_t which, uint64_t number)
{
	uint64_t before = max->level[0][which];
	max->level[0][which] = number;
	for (unsigned k = 1; k < max->levels; k++) {
		const uint64_t *below = &max->level[k - 1][which & ~(size_t)(GP_GAP_FAN - 1)];
		which /= GP_GAP_FAN;
		uint64_t was = max->level[k][which], is = number;
		if (number <= was && before < was)
			return;
		if (number < was)
			for (unsigned i = 0; i < GP_GAP_FAN; i++)
				is = below[i] > is ? below[i] : is;
		max->level[k][which] = is;
		if (is == was)
			return;
		before = was;
		number = is;
	}
}

#endif
