/*
 * Hooks of the launch rows: one record for each launch, and the name of each kernel once. The fast
 * half is inline: a clock, the stream's device, a look-up in the kernel table, a record.
 */
#ifndef GP_HOOK_LAUNCH_H
#define GP_HOOK_LAUNCH_H

#include "../../libgpuprof/record/poll_loop.h"
#include "../../libgpuprof/record/stacks/stack_take.h"
#include "capture.h"
#include "context.h"
#include "deferred_call.h"
#include "handle_table.h"
#include "use_scan.h"

/*
 * Functions whose names are recorded in this generation; addresses are reused after an unload. The
 * most recent ones are cached here as function << 8 | generation, in a page that is hot anyway.
 */
#define GP_KERNELS_RECENT 128u
extern _Atomic uint64_t gp_kernels_recent[GP_KERNELS_RECENT] GP_HOT_DATA
	__attribute__((visibility("hidden")));

/* Records the name of `function`, or postpones it during a capture. */
GP_COLD void gp_kernel_name(uint64_t function, unsigned device);
/* The driver's name for it; "": unknown. Only between gp_calls_begin and gp_calls_end. */
const char *gp_kernel_name_query(uint64_t function);
/* Records the names that were postponed until the end of a capture. */
void gp_kernel_name_waiting(void);
/* Functions were unloaded, so every name will be recorded again. */
void gp_kernel_forget(void);

/* The parameters of a launch, for all launch functions. */
struct gp_launch_shape {
	uint64_t function;
	uint32_t grid_x, grid_y, grid_z;
	uint32_t block_x, block_y, block_z;
	uint32_t shared_bytes;
	uint32_t variant; /* enum gp_launch */
	void *const *parameters, *const *extra;
};

/* Searches the whole table. */
bool gp_kernel_is_named_slow(uint64_t function);

GP_HOT _Atomic uint64_t *gp_kernel_recent(uint64_t function)
{
	return &gp_kernels_recent[function * 0x9e3779b97f4a7c15u /
				  (UINT64_MAX / GP_KERNELS_RECENT + 1)];
}

GP_HOT bool gp_kernel_is_named(uint64_t function)
{
	uint64_t generation = atomic_load_explicit(&gp_kernel_generation, memory_order_relaxed);
	uint64_t seen = atomic_load_explicit(gp_kernel_recent(function), memory_order_relaxed);
	return gp_likely(seen == (function << 8 | generation)) || gp_kernel_is_named_slow(function);
}

/* After the call; `time` was taken before it. `source` NULL: the parameters are not scanned. */
GP_HOT void gp_launch_record(CUresult result, uint64_t time, struct gp_launch_shape shape,
			     uint64_t stream, const struct gp_use_source *source)
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
			head)) /* definitions came in between, and a thread's times must increase */
		r->time = gp_poll_time(head, time);
	uint64_t variant =
		gp_unlikely(gp_is_capturing()) ? shape.variant | GP_LAUNCH_CAPTURED : shape.variant;
	if (source)
		variant |= GP_LAUNCH_SCANNED;
	r->launch.kernel = shape.function;
	r->launch.stream = stream;
	r->launch.grid = shape.grid_x | (uint64_t)(uint16_t)shape.grid_y << 32 |
			 (uint64_t)(uint16_t)shape.grid_z << 48;
	r->launch.block = (uint16_t)shape.block_x | (uint64_t)(uint16_t)shape.block_y << 16 |
			  (uint64_t)(uint16_t)shape.block_z << 32 | variant << 48;
	r->aux = shape.shared_bytes;
	r->device = (uint8_t)device;
	r->code = (uint16_t)result;
	const uint64_t at = source ? r->time : 0;
	gp_commit(r);
	if (source)
		gp_uses_of_launch(source, at, device);
}

/*
 * The same, with a scan of the parameters if possible. Takes the shape as single values: a struct
 * would have to be in memory even without a scan.
 */
__attribute__((noinline)) void
gp_hook_launch_scanned(CUresult result, uint64_t time, uint64_t stream, uint64_t function,
		       uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x,
		       uint32_t block_y, uint32_t block_z, uint32_t shared_bytes, uint32_t variant,
		       void *const *parameters, void *const *extra);

GP_HOT void gp_hook_launch(CUresult result, uint64_t time, struct gp_launch_shape s,
			   uint64_t stream)
{
	if (gp_unlikely(atomic_load_explicit(&gp_uses_requested, memory_order_relaxed) != 0))
		gp_hook_launch_scanned(result, time, stream, s.function, s.grid_x, s.grid_y,
				       s.grid_z, s.block_x, s.block_y, s.block_z, s.shared_bytes,
				       s.variant, s.parameters, s.extra);
	else
		gp_launch_record(result, time, s, stream, NULL);
	gp_deferred_launch(result);
}

void gp_hook_launch_ex(CUresult result, uint64_t time, CUfunction function,
		       const CUlaunchConfig *config, bool is_per_thread, void *const *parameters,
		       void *const *extra);
/* cuLaunchCooperativeKernelMultiDevice: one launch for each element. */
void gp_hook_launch_list(CUresult result, uint64_t time, const CUDA_LAUNCH_PARAMS *list,
			 unsigned count);
void gp_hook_graph_launch(CUresult result, uint64_t time, CUgraphExec exec, uint64_t stream,
			  bool is_recording);

#endif
