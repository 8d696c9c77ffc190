/* Growing the tree: its levels are rebuilt, which happens as often as its room doubles. */
#include "gap_max.h"

#include <stdlib.h>
#include <string.h>

static size_t rounded(size_t numbers)
{
	return (numbers + GP_GAP_FAN - 1) / GP_GAP_FAN * GP_GAP_FAN;
}

static void build_above(struct gp_gap_max *max)
{
	size_t numbers = max->numbers;
	for (unsigned k = 1; k < max->levels; k++) {
		for (size_t i = 0; i < numbers; i++) {
			uint64_t *above = &max->level[k][i / GP_GAP_FAN];
			*above = max->level[k - 1][i] > *above ? max->level[k - 1][i] : *above;
		}
		numbers = rounded(numbers / GP_GAP_FAN);
	}
}

bool gp_gap_max_grow(struct gp_gap_max *max, size_t numbers)
{
	struct gp_gap_max grown = { .numbers = rounded(numbers) };
	if (grown.numbers <= max->numbers)
		return true;
	for (size_t n = grown.numbers;; n = rounded(n / GP_GAP_FAN)) {
		uint64_t *level = calloc(n, sizeof *level);
		if (level == NULL || grown.levels == GP_GAP_LEVELS) {
			free(level);
			gp_gap_max_release(&grown);
			return false;
		}
		grown.level[grown.levels++] = level;
		if (n == GP_GAP_FAN)
			break;
	}
	if (max->numbers != 0)
		memcpy(grown.level[0], max->level[0], max->numbers * sizeof(uint64_t));
	build_above(&grown);
	gp_gap_max_release(max);
	*max = grown;
	return true;
}

void gp_gap_max_clear(struct gp_gap_max *max)
{
	size_t numbers = max->numbers;
	for (unsigned k = 0; k < max->levels; k++) {
		memset(max->level[k], 0, numbers * sizeof(uint64_t));
		numbers = rounded(numbers / GP_GAP_FAN);
	}
}

void gp_gap_max_release(struct gp_gap_max *max)
{
	for (unsigned k = 0; k < max->levels; k++)
		free(max->level[k]);
	*max = (struct gp_gap_max){ 0 };
}
