/* A falling staircase. */
#include "phase_high.h"

#include <stdlib.h>

#include "../../read/tables/array.h"

void gp_high_release(struct gp_high *h)
{
	free(h->step);
	*h = (struct gp_high){ 0 };
}

bool gp_high_put(struct gp_high *h, uint64_t bytes)
{
	while (h->steps > 0 && h->step[h->steps - 1].bytes <= bytes)
		h->steps--;
	if (!gp_array_reserve(&h->step, &h->room, h->steps, 1, sizeof *h->step))
		return false;
	h->step[h->steps].bytes = bytes;
	h->step[h->steps++].number = ++h->number;
	return true;
}

/* The first step that was made since then is the highest of them. */
uint64_t gp_high_since(const struct gp_high *h, uint64_t since)
{
	size_t low = 0, high = h->steps;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (h->step[middle].number < since)
			low = middle + 1;
		else
			high = middle;
	}
	return low < h->steps ? h->step[low].bytes : 0;
}
