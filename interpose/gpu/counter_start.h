/* The start of counters (--metrics), when the driver has made a context. */
#ifndef GP_COUNTER_START_H
#define GP_COUNTER_START_H

#include "../../libgpuprof/record/hot.h"
#include "counters.h"

/* NULL: counters were not requested. Set before the first thread. */
extern const struct gp_counters_source *gp_counters_source GP_HOT_DATA
	__attribute__((visibility("hidden")));

/* `context`: one of the process; 0: unknown. */
GP_COLD void gp_counters_start(uint64_t context);
/* GPUs of the contexts so far: bits. */
uint64_t gp_counters_devices(void);
/* The recording ends, or the process, before its driver does. */
void gp_counters_end(void);
/* False in a forked child of a process that has started them. */
bool gp_counters_are_started(void);
/*
 * The driver has made a context, so the caller holds no lock that an allocator needs: starts the
 * source, once.
 */
GP_HOT void gp_counters_prepare(uint64_t context)
{
	if (gp_unlikely(gp_counters_source != NULL))
		gp_counters_start(context);
}

#endif
