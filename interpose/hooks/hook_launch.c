/* The slow half of launches: names of kernels, and the rarer ways to launch. */
#include "hook_launch.h"

#include <errno.h>
#include <string.h>

#include "../driver/cuda_api.h"
#include "device_memory.h"
#include "hook_graph.h"

#define WAITING 1024u
#define LOCAL_SIZE_BYTES 3 /* CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES */

/* 65,536 entries; does not grow, since functions of unloaded modules stay until they are evicted */
GP_HANDLE_TABLE(kernels, 14, 1);
_Atomic uint64_t gp_kernels_recent[GP_KERNELS_RECENT] GP_HOT_DATA;
_Atomic uint8_t gp_kernel_generation GP_HOT_DATA = 1;

/* Kernels first launched during a capture. */
static _Atomic uint64_t waiting[WAITING];
static _Atomic uint32_t waiting_count;

static void wait_for_end(uint64_t function)
{
	uint32_t count = atomic_load(&waiting_count);
	for (uint32_t k = 0; k < count && k < WAITING; k++)
		if (atomic_load(&waiting[k]) == function)
			return;
	if (count < WAITING && (count = atomic_fetch_add(&waiting_count, 1)) < WAITING)
		atomic_store(&waiting[count], function);
}

bool gp_kernel_is_named_slow(uint64_t function)
{
	uint8_t generation = atomic_load_explicit(&gp_kernel_generation, memory_order_relaxed);
	if (!gp_handle_has(&kernels, function, generation))
		return false;
	/* an entry of an older generation never matches, so overwriting any entry is safe */
	atomic_store_explicit(gp_kernel_recent(function), function << 8 | generation,
			      memory_order_relaxed);
	return true;
}

/* The runtime passes a CUkernel where a CUfunction is expected. */
const char *gp_kernel_name_query(uint64_t function)
{
	const char *name = NULL;
	if (gp_cuda.cuFuncGetName &&
	    gp_cuda.cuFuncGetName(&name, (CUfunction)function) == CUDA_SUCCESS && name)
		return name;
	if (gp_cuda.cuKernelGetName &&
	    gp_cuda.cuKernelGetName(&name, (CUkernel)function) == CUDA_SUCCESS && name)
		return name;
	return "";
}

/* Local memory that a thread of it needs; 0: none, or unknown. */
static uint64_t local_bytes_query(uint64_t function, unsigned device)
{
	int bytes = 0;
	bool is_known = gp_cuda.cuFuncGetAttribute &&
			gp_cuda.cuFuncGetAttribute(&bytes, LOCAL_SIZE_BYTES,
						   (CUfunction)function) == CUDA_SUCCESS;
	if (!is_known && gp_cuda.cuKernelGetAttribute && device < GP_DEVICES)
		is_known =
			gp_cuda.cuKernelGetAttribute(&bytes, LOCAL_SIZE_BYTES, (CUkernel)function,
						     (CUdevice)device) == CUDA_SUCCESS;
	return is_known && bytes > 0 ? (uint64_t)bytes : 0;
}

void gp_kernel_name(uint64_t function, unsigned device)
{
	int kept = errno;
	if (!gp_calls_begin()) {
		wait_for_end(function);
		gp_device_memory_noted(device, GP_CAUSE_KERNEL);
		errno = kept;
		return;
	}
	uint8_t generation = atomic_load(&gp_kernel_generation);
	const char *name = gp_kernel_name_query(function);
	/* its module may have been loaded at this launch */
	gp_device_memory_kernel(device, local_bytes_query(function, device));
	struct gp_record record = { .kind = GP_KERNEL,
				    .device = (uint8_t)device,
				    .kernel.handle = function };
	if (gp_define(&record, name, strlen(name)))
		gp_handle_put(&kernels, function, generation);
	gp_calls_end();
	errno = kept;
}

void gp_kernel_name_waiting(void)
{
	uint32_t count = atomic_load(&waiting_count);
	if (count == 0 || gp_is_capturing())
		return;
	for (uint32_t k = 0; k < count && k < WAITING; k++) {
		uint64_t function = atomic_exchange(&waiting[k], 0);
		if (function && !gp_kernel_is_named(function))
			gp_kernel_name(function, GP_DEVICE_UNKNOWN);
	}
	/* a kernel added in the meantime is found again at its next launch */
	atomic_store(&waiting_count, 0);
}

void gp_kernel_forget(void)
{
	for (uint32_t k = 0; k < WAITING && k < atomic_load(&waiting_count); k++)
		atomic_store(&waiting[k], 0);
	/* else entries of 255 generations ago would be valid again */
	if (atomic_fetch_add(&gp_kernel_generation, 1) != UINT8_MAX)
		return;
	gp_handle_clear(&kernels);
	for (unsigned k = 0; k < GP_KERNELS_RECENT; k++)
		atomic_store(&gp_kernels_recent[k], 0);
}

void gp_hook_launch_scanned(CUresult result, uint64_t time, uint64_t stream, uint64_t function,
			    uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x,
			    uint32_t block_y, uint32_t block_z, uint32_t shared_bytes,
			    uint32_t variant, void *const *parameters, void *const *extra)
{
	const struct gp_launch_shape shape = {
		.function = function,
		.grid_x = grid_x,
		.grid_y = grid_y,
		.grid_z = grid_z,
		.block_x = block_x,
		.block_y = block_y,
		.block_z = block_z,
		.shared_bytes = shared_bytes,
		.variant = variant,
	};
	struct gp_use_source source;
	bool is_scanned =
		result == CUDA_SUCCESS && gp_use_source_find(&source, function, parameters, extra);
	gp_launch_record(result, time, shape, stream, is_scanned ? &source : NULL);
}

void gp_hook_launch_ex(CUresult result, uint64_t time, CUfunction function,
		       const CUlaunchConfig *config, bool is_per_thread, void *const *parameters,
		       void *const *extra)
{
	static const CUlaunchConfig none;
	if (!config)
		config = &none;
	struct gp_launch_shape shape = {
		.function = (uint64_t)function,
		.grid_x = config->gridDimX,
		.grid_y = config->gridDimY,
		.grid_z = config->gridDimZ,
		.block_x = config->blockDimX,
		.block_y = config->blockDimY,
		.block_z = config->blockDimZ,
		.shared_bytes = config->sharedMemBytes,
		.variant = GP_LAUNCH_EX,
		.parameters = parameters,
		.extra = extra,
	};
	gp_hook_launch(result, time, shape, gp_stream_of(config->hStream, is_per_thread));
}

void gp_hook_launch_list(CUresult result, uint64_t time, const CUDA_LAUNCH_PARAMS *list,
			 unsigned count)
{
	for (unsigned k = 0; list && k < count && result == CUDA_SUCCESS; k++) {
		struct gp_launch_shape shape = {
			.function = (uint64_t)list[k].function,
			.grid_x = list[k].gridDimX,
			.grid_y = list[k].gridDimY,
			.grid_z = list[k].gridDimZ,
			.block_x = list[k].blockDimX,
			.block_y = list[k].blockDimY,
			.block_z = list[k].blockDimZ,
			.shared_bytes = list[k].sharedMemBytes,
			.variant = GP_LAUNCH_COOPERATIVE,
			.parameters = list[k].kernelParams,
		};
		gp_hook_launch(result, time, shape, gp_stream_of(list[k].hStream, false));
	}
}

void gp_hook_graph_launch(CUresult result, uint64_t time, CUgraphExec exec, uint64_t stream,
			  bool is_recording)
{
	const uint64_t took = gp_took(time, gp_clock_now());
	if (result == CUDA_SUCCESS)
		gp_graph_memory_launched(exec);
	if (!is_recording)
		return;
	uint64_t head = gp_thread.head;
	unsigned device = gp_device_of_stream(stream);
	const uint32_t caller = gp_stack_of_launch();
	struct gp_record *r = gp_reserve_at(GP_GRAPH_LAUNCH, time);
	if (!r)
		return;
	r->stack = caller;
	if (gp_thread.head != head)
		r->time = gp_poll_time(head, time);
	r->graph_launch.exec = (uint64_t)exec;
	r->graph_launch.stream = stream;
	r->graph_launch.took = took;
	r->device = (uint8_t)device;
	r->code = (uint16_t)result;
	gp_commit(r);
	gp_deferred_moment(result);
}
