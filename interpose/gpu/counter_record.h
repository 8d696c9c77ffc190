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
 * cost a launch nothing without --metrics. Not atomic, as gcc does not compare an atomic in memory;
 * a late look at its one change is harmless.
 */
extern bool gp_launch_is_plain GP_HOT_DATA __attribute__((visibility("hidden")));

/* noinline, but not GP_COLD: with gcc 12.2 all of the launch's hook would be cold. */
__attribute__((noinline)) uint64_t gp_launch_time_slow(uint64_t function, uint32_t grid_x,
						       uint32_t grid_y, uint32_t grid_z,
						       uint32_t block_x, uint32_t block_y,
						       uint32_t block_z, uint32_t shared_bytes,
						       CUstream stream, bool is_per_thread);
__attribute__((noinline)) uint64_t
gp_launch_time_ex_slow(uint64_t function, const CUlaunchConfig *config, bool is_per_thread);

/*
 * The time before a launch, inside gp_enter. If the launch is to be measured, the measurement
 * begins here; gp_deferred_launch ends it. Cooperative launches are never measured: such a kernel
 * may wait for that of another process.
 */
GP_HOT uint64_t gp_launch_time(bool is_cooperative, uint64_t function, uint32_t grid_x,
			       uint32_t grid_y, uint32_t grid_z, uint32_t block_x, uint32_t block_y,
			       uint32_t block_z, uint32_t shared_bytes, CUstream stream,
			       bool is_per_thread)
{
	if (gp_likely(gp_launch_is_plain))
		return __rdtsc();
	return is_cooperative ?
		       gp_clock_now() :
		       gp_launch_time_slow(function, grid_x, grid_y, grid_z, block_x, block_y,
					   block_z, shared_bytes, stream, is_per_thread);
}
/* The same for a configuration; NULL: the driver will refuse the launch. */
GP_HOT uint64_t gp_launch_time_ex(uint64_t function, const CUlaunchConfig *config,
				  bool is_per_thread)
{
	return gp_likely(gp_launch_is_plain) ?
		       __rdtsc() :
		       gp_launch_time_ex_slow(function, config, is_per_thread);
}

/* These keep errno. */
GP_COLD void gp_counted_context_end_slow(uint64_t context, bool is_certain);
GP_COLD void gp_counted_stream_slow(uint64_t stream, bool is_ending);
/* Before the driver ends a context. Not `is_certain`: it may live on, and keep its streams. */
GP_HOT void gp_counted_context_end(uint64_t context, bool is_certain)
{
	if (gp_unlikely(gp_counters_source != NULL))
		gp_counted_context_end_slow(context, is_certain);
}
/* After the driver made a stream, or before it ends one. */
GP_HOT void gp_counted_stream(uint64_t stream, bool is_ending)
{
	if (gp_unlikely(gp_counters_source != NULL))
		gp_counted_stream_slow(stream, is_ending);
}
#endif
