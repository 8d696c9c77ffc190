/* Arrays that grow by doubling. `array` is the address of the pointer to the first element. */
#ifndef GP_ARRAY_H
#define GP_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Room for `more` elements behind `count`, of `bytes` each; `*room` is 0 at first. False: no
 * memory, the array is as it was.
 */
bool gp_array_reserve(void *array, size_t *room, size_t count, size_t more, size_t bytes);
/* Room for element `index`; new elements are zeros. Else as gp_array_reserve. */
bool gp_array_reach(void *array, size_t *room, size_t index, size_t bytes);
/*
 * One more element at the end, its bytes undefined, of an array that has no other user of its
 * memory: it grows where `*count` is a power of two. NULL: no memory.
 */
void *gp_array_append(void *array, size_t *count, size_t bytes);

/* How many of the `count` numbers, which rise, are `most` or less. */
size_t gp_array_count_to(const int64_t *number, size_t count, int64_t most);

#endif
