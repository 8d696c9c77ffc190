/*
 * The effect of the job's ranges on the captured spans and on windows of GPU time. The selected
 * range opens and closes a span, or ranges that end steps are counted. range_mark.c calls it
 * outside of its own work, and only if a rule uses ranges.
 */
#ifndef GP_SCOPE_RANGE_H
#define GP_SCOPE_RANGE_H

#include "range_mark.h"
#include "scope.h"

GP_HOT bool gp_scope_heeds_ranges(void)
{
	return gp_scope_heeds;
}

/*
 * A window of GPU time begins or ends: interpose's; NULL: none. On the thread that ended the step,
 * which is not inside. `number` counts windows from 1.
 */
extern void (*gp_gpu_window)(bool is_open, uint32_t number);
/* The step that runs now belongs to a window. */
bool gp_gpu_window_is_open(void);

/* A range is about to begin. Not 0: the span that it opened, which its end must close. */
GP_COLD uint64_t gp_scope_range_begins(const struct gp_range *range);
/* A range has ended. `span`: the result of gp_scope_range_begins for it. */
GP_COLD void gp_scope_range_ended(uint32_t name, uint64_t span);

#endif
