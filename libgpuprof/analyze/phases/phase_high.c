/* A descending staircase of values. */
#include "phase_high.h"

#include <stdlib.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_rank.h"

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

/* The first step since then is the highest of them. */
uint64_t gp_high_since(const struct gp_high *h, uint64_t since)
{
	const size_t before =
		since > 0 ? gp_row_rank(h->step, h->steps, sizeof *h->step, since - 1) : 0;
	return before < h->steps ? h->step[before].bytes : 0;
}
