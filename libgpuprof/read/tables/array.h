/* Arrays that grow by doubling. `array` is the address of the pointer to the first element. */
#ifndef GP_ARRAY_H
#define GP_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Makes room for `more` elements of `bytes` each behind `count`. `*room` is 0 at first. False: out
 * of memory, and the array is unchanged.
 */
bool gp_array_reserve(void *array, size_t *room, size_t count, size_t more, size_t bytes);
/* Makes room for element `index`; new elements are zeros. Else as gp_array_reserve. */
bool gp_array_reach(void *array, size_t *room, size_t index, size_t bytes);
/*
 * Adds one element with undefined bytes at the end. No other function may grow this array: it grows
 * where `*count` is a power of two. NULL: out of memory.
 */
void *gp_array_append(void *array, size_t *count, size_t bytes);

/* How many of the `count` ascending numbers are `most` or less. */
size_t gp_array_count_to(const int64_t *number, size_t count, int64_t most);

#endif
