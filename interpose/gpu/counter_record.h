/* Counters of launches (--metrics): calls of libgpuprof-cupti.so before and after each launch. */
#ifndef GP_COUNTER_RECORD_H
#define GP_COUNTER_RECORD_H

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

/* Not GP_COLD: with gcc 12.2 all of the launch's hook would be cold, and 45 instructions longer. */
__attribute__((noinline)) bool gp_counted_slow(uint64_t function, uint32_t grid_x, uint32_t grid_y,
					       uint32_t grid_z, uint32_t block_x, uint32_t block_y,
					       uint32_t block_z, uint32_t shared_bytes);
__attribute__((noinline)) void gp_counted_end(CUresult result);

/* Before the launch, inside gp_enter. True: it is measured, and gp_counted_end follows it. */
GP_HOT bool gp_counted(uint64_t function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
		       uint32_t block_x, uint32_t block_y, uint32_t block_z, uint32_t shared_bytes)
{
	return gp_unlikely(gp_counters_source != NULL) &&
	       gp_counted_slow(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
			       shared_bytes);
}
/* Before the driver ends a context, or after it did. */
GP_HOT void gp_counted_context_end(uint64_t context, bool has_ended)
{
	if (gp_unlikely(gp_counters_source != NULL))
		gp_counters_source->context_end((void *)(uintptr_t)context, has_ended);
}
/* The same for a configuration; NULL: the driver will refuse the launch. */
GP_HOT bool gp_counted_ex(uint64_t function, const CUlaunchConfig *c)
{
	return gp_unlikely(gp_counters_source != NULL) && c &&
	       gp_counted_slow(function, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX,
			       c->blockDimY, c->blockDimZ, c->sharedMemBytes);
}

#endif
