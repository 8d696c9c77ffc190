/*
 * What the launch rows do: one record a launch, and the name of each kernel once. The fast half is
 * inline: a clock, the stream's device, a probe of the kernel set, a record.
 */
#ifndef GP_HOOK_LAUNCH_H
#define GP_HOOK_LAUNCH_H

#include "../libgpuprof/record/stack_take.h"
#include "capture.h"
#include "context.h"
#include "handle_table.h"

/* Functions whose names are recorded, in this generation: addresses are reused after an unload. */
#define GP_KERNEL_BITS 14u /* 65,536 kernels */
extern struct gp_handle_bucket gp_kernels[1u << GP_KERNEL_BITS]
	__attribute__((visibility("hidden")));
extern _Atomic uint8_t gp_kernel_generation __attribute__((visibility("hidden")));

/* Records the name of `function`, or postpones it while a capture is under way. */
GP_COLD void gp_kernel_name(uint64_t function, unsigned device);
/* Names that had to wait for a capture's end. */
void gp_kernel_name_waiting(void);
/* Functions went away: every name will be recorded again. */
void gp_kernel_forget(void);

/* What a launch asks for, whichever function it came through. */
struct gp_launch_shape {
	uint64_t function;
	uint32_t grid_x, grid_y, grid_z;
	uint32_t block_x, block_y, block_z;
	uint32_t shared_bytes;
	uint32_t variant; /* enum gp_launch */
};

GP_HOT bool gp_kernel_is_named(uint64_t function)
{
	uint8_t generation = atomic_load_explicit(&gp_kernel_generation, memory_order_relaxed);
	return gp_handle_has(gp_kernels, GP_KERNEL_BITS, function, generation);
}

/* After the call; `time` was taken before it. */
GP_HOT void gp_hook_launch(CUresult result, uint64_t time, struct gp_launch_shape shape,
			   uint64_t stream)
{
	uint64_t head = gp_thread.head;
	unsigned device = gp_device_of_stream(stream);
	if (gp_unlikely(!gp_kernel_is_named(shape.function)) && result == CUDA_SUCCESS)
		gp_kernel_name(shape.function, device);
	const uint32_t caller = gp_stack_of_launch();
	struct gp_record *r = gp_reserve_at(GP_LAUNCH, time);
	if (gp_unlikely(!r))
		return;
	r->stack = caller;
	if (gp_unlikely(gp_thread.head !=
			head)) /* definitions came in between: a thread's times only grow */
		r->time = gp_clock_now();
	uint64_t variant =
		gp_unlikely(gp_is_capturing()) ? shape.variant | GP_LAUNCH_CAPTURED : shape.variant;
	r->launch.kernel = shape.function;
	r->launch.stream = stream;
	r->launch.grid = shape.grid_x | (uint64_t)(uint16_t)shape.grid_y << 32 |
			 (uint64_t)(uint16_t)shape.grid_z << 48;
	r->launch.block = (uint16_t)shape.block_x | (uint64_t)(uint16_t)shape.block_y << 16 |
			  (uint64_t)(uint16_t)shape.block_z << 32 | variant << 48;
	r->aux = shape.shared_bytes;
	r->device = (uint8_t)device;
	r->code = (uint16_t)result;
	gp_commit(r);
}

void gp_hook_launch_ex(CUresult result, uint64_t time, CUfunction function,
		       const CUlaunchConfig *config, bool is_per_thread);
/* cuLaunchCooperativeKernelMultiDevice: one launch an element. */
void gp_hook_launch_list(CUresult result, uint64_t time, const CUDA_LAUNCH_PARAMS *list,
			 unsigned count);
void gp_hook_graph_launch(CUresult result, uint64_t time, CUgraphExec exec, uint64_t stream,
			  bool is_recording);

#endif
