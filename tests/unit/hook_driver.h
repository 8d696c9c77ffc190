/*
 * The wrappers and all code behind them, against a driver made of functions in this file and a ring
 * that is never drained. Each driver function counts its calls and returns what the test set. A
 * test program includes this file once, after cmocka's headers.
 */
#ifndef HOOK_DRIVER_H
#define HOOK_DRIVER_H

/* the wrappers of this program are called by their static names */
#define GP_DRIVER_EXPORT_H
#define GP_DRIVER_EXPORT(symbol, implementation)                                  \
	_Static_assert(__builtin_types_compatible_p(__typeof__(implementation),   \
						    __typeof__(*gp_cuda.symbol)), \
		       #symbol)
#include "../../interpose/gpu/counter_idle.c"
#include "../../interpose/gpu/counter_record.c"
#include "../../interpose/gpu/counter_start.c"
#include "../../interpose/gpu/gpu_function.c"
#include "../../interpose/gpu/gpu_record.c"
#include "../../interpose/hooks/capture.c"
#include "../../interpose/hooks/context.c"
#include "../../interpose/hooks/deferred_call.c"
#include "../../interpose/hooks/device_memory.c"
#include "../../interpose/hooks/handle_table.c"
#include "../../interpose/hooks/hook_context.c"
#include "../../interpose/hooks/hook_graph.c"
#include "../../interpose/hooks/hook_launch.c"
#include "../../interpose/hooks/hook_memory.c"
#include "../../interpose/hooks/hook_module.c"
#include "../../interpose/hooks/hook_resource.c"
#include "../../interpose/hooks/hook_wait.c"
#include "../../interpose/hooks/module_image.c"
#include "../../interpose/hooks/use_layout.c"
#include "../../interpose/hooks/use_map.c"
#include "../../interpose/hooks/use_scan.c"
#undef WAITING
#include "../../interpose/driver/wrappers.c"

struct gp_cuda gp_cuda;

bool gp_lookups_open = true;

bool gp_resolve_call(const char *symbol, void **real)
{
	(void)symbol, (void)real;
	return false;
}

/* ---- the framework's allocator: the functions that the recorder calls ---- */

static double fraction;
static unsigned attached;

static void count_attach(void)
{
	attached++;
}

static unsigned joined;

static void count_join(void)
{
	joined++;
}

static const struct gp_deferred_action deferred_actions[] = {
	{ GP_DUE_ATTACH, false, count_attach },
	{ GP_DUE_JOIN, false, count_join },
	{ GP_DUE_MEMORY, true, gp_device_memory_query },
	{ 0 },
};

static double fraction_of(unsigned device)
{
	(void)device;
	return fraction;
}

/* blocks of the backend cudaMallocAsync: the victim malloc_async */
_Atomic bool gp_has_async_blocks;
void gp_async_block_alloc(uint32_t caller, uint64_t address, uint64_t bytes, uint64_t stream,
			  unsigned device)
{
	(void)caller, (void)address, (void)bytes, (void)stream, (void)device;
}
void gp_async_blocks_forget(void)
{
}
void gp_async_block_freed_slow(uint64_t address)
{
	(void)address;
}

void gp_trace_restart(bool is_child)
{
	(void)is_child;
}

/* ---- a driver ---- */

static struct {
	unsigned row_calls[GP_CUDA_ROWS]; /* calls that a wrapper made */
	unsigned own_calls;		  /* calls that we made ourselves */
	CUresult result;
	CUcontext current;
	size_t seen_at_call; /* records committed when the driver was called */
	uint64_t address;
	uint64_t takes; /* clock ticks of a call, at least */
} driver;

static size_t committed(void);

static CUresult called(enum gp_cuda_row row)
{
	driver.row_calls[row]++;
	driver.seen_at_call = committed();
	for (const uint64_t began = gp_clock_now(); gp_clock_now() - began < driver.takes;)
		;
	errno = EPIPE; /* a driver may change errno, and callers may read it */
	return driver.result;
}

#define CUDA(symbol, parameters, arguments, hook) \
	static CUresult real_##symbol parameters  \
	{                                         \
		DISCARD arguments;                \
		return called(GP_ROW_##symbol);   \
	}
#define DISCARD(...) discard(0 __VA_OPT__(, ) __VA_ARGS__)
#define CALL(symbol, parameters)
static void discard(int first, ...)
{
	(void)first;
}
#include "../../interpose/driver/cuda_api.def"
#undef CUDA
#undef CALL

static CUresult alloc_same(CUdeviceptr *address, size_t bytes)
{
	(void)bytes;
	*address = driver.address;
	return called(GP_ROW_cuMemAlloc_v2);
}

static CUresult alloc_async_same(CUdeviceptr *address, size_t bytes, CUstream stream)
{
	(void)bytes, (void)stream;
	*address = driver.address;
	return called(GP_ROW_cuMemAllocAsync);
}

static CUresult create_stream(CUstream *stream, unsigned int flags)
{
	(void)flags;
	*stream = (CUstream)driver.address;
	return called(GP_ROW_cuStreamCreate);
}

static CUresult retain_primary(CUcontext *context, CUdevice device)
{
	*context = (CUcontext)(uintptr_t)(0x1000 + device);
	return called(GP_ROW_cuDevicePrimaryCtxRetain);
}

static CUresult own_current(CUcontext *context)
{
	driver.own_calls++;
	errno = ENOENT;
	*context = driver.current;
	return CUDA_SUCCESS;
}

static CUresult own_device(CUdevice *device)
{
	driver.own_calls++;
	*device = (CUdevice)(uintptr_t)driver.current & 0xf;
	return CUDA_SUCCESS;
}

static CUresult own_stream_device(CUstream stream, CUdevice *device)
{
	driver.own_calls++;
	*device = (CUdevice)(uintptr_t)stream & 0xf;
	return CUDA_SUCCESS;
}

static CUresult own_name(const char **name, CUfunction function)
{
	(void)function;
	driver.own_calls++;
	errno = ENOENT;
	*name = "scale_rows";
	return CUDA_SUCCESS;
}

static CUresult own_state(CUdevice device, unsigned *flags, int *is_active)
{
	(void)device;
	driver.own_calls++;
	*flags = 0;
	*is_active = 0;
	return CUDA_SUCCESS;
}

static CUresult own_memory(size_t *free_bytes, size_t *total_bytes)
{
	driver.own_calls++;
	errno = ENOENT;
	*free_bytes = 77;
	*total_bytes = 99;
	return CUDA_SUCCESS;
}

/* ---- a ring ---- */

static struct gp_control control;
static struct gp_local local;
static struct gp_ring *ring;

static size_t committed(void)
{
	return gp_thread.head;
}

static const struct gp_record *record(size_t index)
{
	assert_true(index < committed());
	return &gp_thread.slots[index];
}

/* The only record of that kind; fails when there are more or none. */
static const struct gp_record *only(enum gp_kind kind)
{
	const struct gp_record *found = NULL;
	for (size_t k = 0; k < committed(); k += 1u + record(k)->extra)
		if (record(k)->kind == kind) {
			assert_null(found);
			found = record(k);
		}
	assert_non_null(found);
	return found;
}

static unsigned count(enum gp_kind kind)
{
	unsigned found = 0;
	for (size_t k = 0; k < committed(); k += 1u + record(k)->extra)
		found += record(k)->kind == kind;
	return found;
}

static int fresh(void **state)
{
	(void)state;
	memset(&driver, 0, sizeof driver);
	memset(&control, 0, sizeof control);
	memset(ring, 0, GP_RING_BYTES);
	memset(&gp_thread, 0, sizeof gp_thread);
	memset(holders, 0, sizeof holders);
	atomic_store(&local.word, 7);
	gp_local = &local;
	gp_control = &control;
	gp_thread.word = 7;
	gp_thread.level = GP_LEVEL_ALL;
	gp_thread.ring = ring;
	gp_thread.slots = gp_region_slots(ring, GP_RING_REGIONS - 1);
	gp_thread.mask = GP_RING_SLOTS - 1;
	gp_thread.limit = GP_RING_SLOTS;
	gp_context_restart(true);
	gp_kernel_forget();
	memset(primaries, 0, sizeof primaries);
	memset(devices, 0, sizeof devices);
	atomic_store(&gp_devices_changed, 0);
	atomic_store(&gp_due, 0);
	attached = 0;
	joined = 0;
	fraction = -1;
	atomic_store(&gp_device_fraction, fraction_of);
	gp_deferred_actions = deferred_actions;
	memset(&gp_cuda, 0, sizeof gp_cuda);
#define CUDA(symbol, parameters, arguments, hook) gp_cuda.symbol = real_##symbol;
#define CALL(symbol, parameters)
#include "../../interpose/driver/cuda_api.def"
#undef CUDA
#undef CALL
	gp_cuda.cuMemAlloc_v2 = alloc_same;
	gp_cuda.cuMemAllocAsync = alloc_async_same;
	gp_cuda.cuStreamCreate = create_stream;
	gp_cuda.cuDevicePrimaryCtxRetain = retain_primary;
	gp_cuda.cuCtxGetCurrent = own_current;
	gp_cuda.cuCtxGetDevice = own_device;
	gp_cuda.cuStreamGetDevice = own_stream_device;
	gp_cuda.cuFuncGetName = own_name;
	gp_cuda.cuDevicePrimaryCtxGetState = own_state;
	gp_cuda.cuMemGetInfo_v2 = own_memory;
	driver.current = (CUcontext)0x1000;
	driver.address = 0x7f0000000000;
	return 0;
}

#endif
