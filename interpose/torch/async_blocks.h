/*
 * PyTorch's backend cudaMallocAsync reports no blocks. Its blocks are the stream-ordered
 * allocations whose nearest caller outside of the CUDA runtime is libc10_cuda. For each one this
 * file records a block report, with totals as PyTorch's own allocator has them. Without a native
 * stack the caller is unknown, and no block is recorded.
 */
#ifndef GP_ASYNC_BLOCKS_H
#define GP_ASYNC_BLOCKS_H

#include "../../libgpuprof/record/record.h"
#include "../driver/cuda_types.h"

/* Whether the process has such blocks, so that each free is looked up. */
extern _Atomic bool gp_has_async_blocks GP_HOT_DATA __attribute__((visibility("hidden")));

/* All of them inside gp_enter. `stack`: of the ALLOC that was recorded just before. */
void gp_async_block_alloc(uint32_t stack, uint64_t address, uint64_t bytes, uint64_t stream,
			  unsigned device);
/* After the driver has freed `address`. */
GP_COLD void gp_async_block_freed_slow(uint64_t address);
GP_HOT void gp_async_block_freed(uint64_t address)
{
	if (gp_unlikely(atomic_load_explicit(&gp_has_async_blocks, memory_order_relaxed)))
		gp_async_block_freed_slow(address);
}

/* For a forked child, which has no blocks. */
void gp_async_blocks_forget(void);

#endif
