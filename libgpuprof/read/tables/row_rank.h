/* Rows in an array, sorted by the uint64_t at their beginning. */
#ifndef GP_ROW_RANK_H
#define GP_ROW_RANK_H

#include <stddef.h>
#include <stdint.h>

/* How many rows have `key` or less; `bytes`: size of a row. */
static inline size_t gp_row_rank(const void *row, size_t rows, size_t bytes, uint64_t key)
{
	size_t low = 0, high = rows;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (*(const uint64_t *)((const char *)row + middle * bytes) <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* For qsort and bsearch. */
static inline int gp_row_order(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

#endif
