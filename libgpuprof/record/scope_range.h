/*
 * What ranges of the job mean for what is captured: the one that was asked for opens and closes it,
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

/* One is about to be pushed. Not 0: the span that it opened, which its end is to close. */
GP_COLD uint64_t gp_scope_range_pushed(const struct gp_range *range);
/* One was popped. `span`: what gp_scope_range_pushed said of it. */
GP_COLD void gp_scope_range_popped(uint32_t name, uint64_t span);
/* The same of those that have numbers. */
GP_COLD void gp_scope_range_started(const struct gp_range *range, uint64_t number);
GP_COLD void gp_scope_range_finished(uint64_t number);

#endif
