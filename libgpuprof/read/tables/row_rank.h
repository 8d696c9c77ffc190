/* Rows in an array that is sorted by a number of 64 bits which each of them begins with. */
#ifndef GP_ROW_RANK_H
#define GP_ROW_RANK_H

#include <stddef.h>
#include <stdint.h>

/* How many have `key` or less; `bytes` of one. */
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
