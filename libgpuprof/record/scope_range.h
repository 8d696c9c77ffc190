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

/* One is about to be pushed. True: it opened what is captured, and its end is to close it. */
GP_COLD bool gp_scope_range_pushed(const struct gp_range *range);
/* One was popped. `is_opener`: of it gp_scope_range_pushed was true. */
GP_COLD void gp_scope_range_popped(uint32_t name, bool is_opener);
/* The same of those that have numbers. */
GP_COLD void gp_scope_range_started(const struct gp_range *range, uint64_t number);
GP_COLD void gp_scope_range_finished(uint64_t number);

#endif
