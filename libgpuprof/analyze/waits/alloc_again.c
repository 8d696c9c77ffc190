/* Memory that is allocated again: see alloc_again.h. */
#include "alloc_again.h"

void gp_again_see(struct gp_again *a, uint64_t bytes)
{
	a->bytes = bytes;
}

void gp_again_freed(struct gp_again *a, uint64_t bytes, size_t step)
{
	if (!a->is_burst || step != a->step)
		*a = (struct gp_again){ .bytes = a->bytes, .step = step, .is_burst = true };
	a->freed += bytes < a->bytes ? a->bytes - bytes : 0;
	a->bytes = bytes;
}

void gp_again_returned(struct gp_again *a, size_t place, size_t activity)
{
	if (a->has_place || a->freed == 0)
		return;
	a->has_place = true;
	a->place = place;
	a->activity = activity;
}

bool gp_again_allocated(struct gp_again *a, uint64_t bytes, size_t step)
{
	const uint64_t more = bytes > a->bytes ? bytes - a->bytes : 0;
	a->bytes = bytes;
	a->is_burst = false;
	if (!a->has_place || more == 0 || more > a->freed || step > a->step + 1)
		return false;
	a->freed -= more;
	return true;
}
