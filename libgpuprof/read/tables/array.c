/* Grows to twice the room, or to the requested size. The elements move. */
#include "array.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 64u

bool gp_array_reserve(void *array, size_t *room, size_t count, size_t more, size_t bytes)
{
	void **first = array;
	if (count + more <= *room)
		return true;
	size_t new_room = *room != 0 ? *room * 2 : ROOM_MIN;
	new_room = new_room < count + more ? count + more : new_room;
	void *grown = realloc(*first, new_room * bytes);
	if (grown == NULL)
		return false;
	*first = grown;
	*room = new_room;
	return true;
}

bool gp_array_reach(void *array, size_t *room, size_t index, size_t bytes)
{
	const size_t before = *room;
	if (!gp_array_reserve(array, room, index, 1, bytes))
		return false;
	if (*room != before)
		memset(*(char **)array + before * bytes, 0, (*room - before) * bytes);
	return true;
}

void *gp_array_append(void *array, size_t *count, size_t bytes)
{
	void **first = array;
	if ((*count & (*count - 1)) == 0) {
		void *grown = realloc(*first, (*count == 0 ? 1 : *count * 2) * bytes);
		if (grown == NULL)
			return NULL;
		*first = grown;
	}
	return (char *)*first + (*count)++ * bytes;
}

size_t gp_array_count_to(const int64_t *number, size_t count, int64_t most)
{
	size_t low = 0, high = count;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (number[middle] <= most)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
