/*
 * What ranges of the job mean for what is captured: the one that was selected opens and closes it,
 * or those that end steps are counted. Called by range_mark.c, outside of its own work, and only
 * where the rule speaks of ranges.
 */
#ifndef GP_SCOPE_RANGE_H
#define GP_SCOPE_RANGE_H

#include "range_mark.h"
#include "scope.h"

GP_HOT bool gp_scope_heeds_ranges(void)
{
	return gp_scope_follows(GP_SCOPE_RANGE) || gp_scope_follows(GP_SCOPE_STEPS);
}

/* One is about to begin. Not 0: the span that it opened, which its end is to close. */
GP_COLD uint64_t gp_scope_range_begins(const struct gp_range *range);
/* One has ended. `span`: what gp_scope_range_begins returned for it. */
GP_COLD void gp_scope_range_ended(uint32_t name, uint64_t span);

#endif
