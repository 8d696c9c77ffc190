/*
 * Creation and end of streams and contexts, and of the memory that ends with them.
 */
#include "hook_context.h"

#include <errno.h>
#include <unistd.h>

#include "../driver/cuda_api.h"
#include "../gpu/counter_record.h"
#include "../torch/async_blocks.h"
#include "../torch/hook_trace.h"
#include "capture.h"
#include "hook_launch.h"
#include "hook_memory.h"
#include "hook_resource.h"

/* ---- streams ---- */

void gp_hook_stream_created(CUresult result, uint64_t stream, unsigned flags, int priority,
			    unsigned device, bool is_recording)
{
	if (result != CUDA_SUCCESS)
		return;
	if (device == GP_DEVICE_UNKNOWN)
		device = is_recording ? gp_device_current() : gp_stream_device_known(0);
	gp_stream_created(stream, device);
	gp_counted_stream(stream, false);
	if (!is_recording)
		return;
	gp_stream_define(stream, flags, priority);
	gp_hook_resource(GP_RESOURCE_STREAM, stream, device);
}

void gp_hook_stream_ending(uint64_t stream, bool is_recording)
{
	unsigned device = gp_stream_device_known(stream);
	const uint64_t captured = gp_capture_forget(stream);
	gp_stream_ending(stream);
	gp_counted_stream(stream, true);
	if (!is_recording)
		return;
	gp_hook_owner_gone(GP_HOW_GRAPH_DESTROY, captured, GP_DEVICE_UNKNOWN);
	gp_hook_resource_gone(GP_RESOURCE_STREAM, stream);
	if (stream)
		gp_put((struct gp_record){ .kind = GP_STREAM_DESTROY,
					   .device = (uint8_t)device,
					   .stream_destroy.handle = stream });
}

/* ---- contexts ---- */

void gp_hook_context_created(CUresult result, uint64_t began, CUcontext context, unsigned flags,
			     CUdevice device, bool is_recording)
{
	const uint64_t took = gp_took(began, gp_clock_now());
	if (result != CUDA_SUCCESS)
		return;
	gp_context_created(context, device);
	if (is_recording)
		gp_context_define((uint64_t)context, flags, took);
}

void gp_hook_context_ending(CUcontext context, bool is_recording)
{
	int device = gp_context_device((uint64_t)context);
	if (is_recording)
		gp_hook_owner_gone(GP_HOW_CONTEXT_DESTROY, (uint64_t)context,
				   device < 0 ? GP_DEVICE_UNKNOWN : (unsigned)device);
	gp_context_ending((uint64_t)context);
	gp_counted_context_end((uint64_t)context, true);
}

void gp_hook_context_ended(CUresult result, CUcontext context)
{
	gp_kernel_forget();
	if (result == CUDA_SUCCESS)
		gp_context_ended((uint64_t)context, true);
}

/* ---- primary contexts ---- */

static unsigned known_device(CUdevice device)
{
	return device >= 0 && device < (int)GP_DEVICES ? (unsigned)device : GP_DEVICE_UNKNOWN;
}

/* False: it is still active, or the driver cannot be called. */
static bool is_primary_gone(CUdevice device)
{
	unsigned flags = 0;
	int is_active = 1;
	if (!gp_cuda.cuDevicePrimaryCtxGetState || !gp_calls_begin())
		return false;
	CUresult result = gp_cuda.cuDevicePrimaryCtxGetState(device, &flags, &is_active);
	gp_calls_end();
	return result == CUDA_SUCCESS && !is_active;
}

void gp_hook_primary_releasing(CUdevice device)
{
	const uint64_t primary = gp_primary_of(device);
	if (primary)
		gp_counted_context_end(primary, false);
}

void gp_hook_primary_released(CUresult result, CUdevice device, bool is_recording)
{
	int kept = errno;
	uint64_t primary = gp_primary_of(device);
	if (result == CUDA_SUCCESS && primary && is_primary_gone(device)) {
		if (is_recording)
			gp_hook_owner_gone(GP_HOW_PRIMARY_RELEASE, primary, known_device(device));
		gp_context_ending(primary);
		gp_context_ended(primary, false);
		gp_counted_context_end(primary, true);
		gp_kernel_forget();
	}
	errno = kept;
}

void gp_hook_primary_ending(CUdevice device, bool is_recording)
{
	uint64_t primary = gp_primary_of(device);
	if (!primary)
		return;
	if (is_recording)
		gp_hook_owner_gone(GP_HOW_PRIMARY_RESET, primary, known_device(device));
	gp_context_ending(primary);
	gp_counted_context_end(primary, true);
}

void gp_hook_primary_ended(CUresult result, CUdevice device)
{
	uint64_t primary = gp_primary_of(device);
	gp_kernel_forget();
	if (!primary)
		return;
	if (result != CUDA_SUCCESS)
		gp_context_known(primary, known_device(device));
	gp_context_ended(primary, false);
}

/* ---- a process starts to record ---- */

void gp_hooks_started(void)
{
	static _Atomic pid_t
		recorded; /* the last process that recorded: in a forked child, the parent */
	pid_t before = atomic_exchange(&recorded, getpid());
	bool is_child = before != 0 && before != getpid();
	gp_context_restart(is_child);
	gp_trace_restart(is_child);
	if (is_child)
		gp_async_blocks_forget();
	gp_kernel_forget();
	gp_uses_restart();
}
