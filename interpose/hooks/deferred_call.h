/*
 * Work that is not allowed when it becomes due, under the lock of the framework's allocator or
 * before the caller's call. It waits for the next launch or copy that the driver accepts: the
 * framework makes none under its lock. Costs each launch one load and one branch.
 */
#ifndef GP_DEFERRED_CALL_H
#define GP_DEFERRED_CALL_H

#include <stdatomic.h>

#include "../../libgpuprof/record/record.h"
#include "../driver/cuda_types.h"

enum gp_due {
	GP_DUE_ATTACH = 1, /* hook_trace.c */
	GP_DUE_MEMORY = 2, /* device_memory.c */
	GP_DUE_JOIN = 4,   /* trace_join.c */
	GP_DUE_RANGES = 8, /* torch_ranges.c */
	GP_DUE_ENDED = 16, /* always, while gp_launch_ended is set */
};
extern _Atomic uint32_t gp_due GP_HOT_DATA __attribute__((visibility("hidden")));

struct gp_deferred_action {
	enum gp_due what;
	bool ends_itself; /* `act` clears its own bit; else one call is enough */
	void (*act)(void);
};
/* In order of execution; `act` NULL ends the list. Set by the constructor. */
extern const struct gp_deferred_action *gp_deferred_actions __attribute__((visibility("hidden")));

GP_HOT void gp_is_due(enum gp_due what)
{
	if (!(atomic_load_explicit(&gp_due, memory_order_relaxed) & (uint32_t)what))
		atomic_fetch_or(&gp_due, (uint32_t)what);
}

/* After each launch, whatever the driver answered; NULL: none. For counters. */
extern void (*gp_launch_ended)(CUresult result) __attribute__((visibility("hidden")));

/* Inside gp_enter, with no record reserved. Keeps errno. */
GP_COLD void gp_deferred_moment_slow(CUresult result);

GP_HOT void gp_deferred_moment(CUresult result)
{
	if (gp_unlikely(atomic_load_explicit(&gp_due, memory_order_relaxed) != 0) &&
	    result == CUDA_SUCCESS)
		gp_deferred_moment_slow(CUDA_SUCCESS);
}
GP_HOT void gp_deferred_launch(CUresult result)
{
	if (gp_unlikely(atomic_load_explicit(&gp_due, memory_order_relaxed) != 0))
		gp_deferred_moment_slow(result);
}

/* After a call that is not itself recorded. */
GP_COLD void gp_deferred_call_slow(void);

GP_HOT void gp_deferred_call(CUresult result)
{
	if (gp_unlikely(atomic_load_explicit(&gp_due, memory_order_relaxed) != 0) &&
	    result == CUDA_SUCCESS)
		gp_deferred_call_slow();
}

#endif
