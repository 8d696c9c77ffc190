/* Counters of launches (--metrics): calls of libgpuprof-cupti.so before and after each launch. */
#ifndef GP_COUNTER_RECORD_H
#define GP_COUNTER_RECORD_H

#include "../../libgpuprof/record/process/clock.h"
#include "../driver/cuda_types.h"
#include "counter_start.h"

/*
 * The sink for this source. NULL: counters were not requested, or the two files differ. `resolve`:
 * gp_resolve_call.
 */
const struct gp_counters_sink *gp_counters_open(const struct gp_counters_source *source,
						bool (*resolve)(const char *symbol, void **real));
/* Before the first event of the process: starts the source, or records why nothing is measured. */
void gp_counters_write(void);

/*
 * Set at the start: the clock is the TSC, and no launch is measured. One variable, so that counters
 * cost a launch nothing without --metrics.
 */
extern bool gp_launch_is_plain GP_HOT_DATA __attribute__((visibility("hidden")));

/* noinline, but not GP_COLD: with gcc 12.2 all of the launch's hook would be cold. */
__attribute__((noinline)) uint64_t gp_launch_time_slow(uint64_t function, uint32_t grid_x,
						       uint32_t grid_y, uint32_t grid_z,
						       uint32_t block_x, uint32_t block_y,
						       uint32_t block_z, uint32_t shared_bytes);

/*
 * The time before a launch, inside gp_enter. If the launch is to be measured, the measurement
 * begins here; gp_deferred_launch ends it.
 */
GP_HOT uint64_t gp_launch_time(uint64_t function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
			       uint32_t block_x, uint32_t block_y, uint32_t block_z,
			       uint32_t shared_bytes)
{
	if (gp_likely(gp_launch_is_plain))
		return __rdtsc();
	return gp_launch_time_slow(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
				   shared_bytes);
}
/* The same for a configuration; NULL: the driver will refuse the launch. */
GP_HOT uint64_t gp_launch_time_ex(uint64_t function, const CUlaunchConfig *c)
{
	if (gp_likely(gp_launch_is_plain))
		return __rdtsc();
	return !c ? gp_clock_now() :
		    gp_launch_time_slow(function, c->gridDimX, c->gridDimY, c->gridDimZ,
					c->blockDimX, c->blockDimY, c->blockDimZ,
					c->sharedMemBytes);
}
/* Before the driver ends a context, or after it did. */
GP_HOT void gp_counted_context_end(uint64_t context, bool has_ended)
{
	if (gp_unlikely(gp_counters_source != NULL))
		gp_counters_source->context_end((void *)(uintptr_t)context, has_ended);
}
#endif
