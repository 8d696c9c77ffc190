/*
 * Tables of contexts, streams, pools and addresses, and the slow halves that fill them. Tables are
 * updated even while recording is off. Definitions are recorded when first needed.
 */
#include "context.h"

#include <errno.h>
#include <string.h>

#include "../driver/cuda_api.h"
#include "../gpu/counter_start.h"
#include "../gpu/gpu_record.h"
#include "capture.h"
#include "device_memory.h"
#include "handle_table.h"

#define STACK_DEPTH 7u

/* A table's byte: the device, and a bit for a definition that has been recorded. */
#define DEFINED 0x80u
#define NOWHERE 0x7fu
#define PLACE(b) ((b)&0x7fu)

_Atomic uint32_t gp_context_epoch GP_HOT_DATA = 1;
_Atomic uint64_t gp_stream_epoch GP_HOT_DATA = 1;

GP_HANDLE_TABLE(contexts, 7, GP_HANDLE_LEVELS);
GP_HANDLE_TABLE(streams, 11, GP_HANDLE_LEVELS);
GP_HANDLE_TABLE(pools, 7, GP_HANDLE_LEVELS);
GP_HANDLE_TABLE(addresses, 13, GP_HANDLE_LEVELS);
GP_HANDLE_TABLE(extras, 7, 1); /* references beyond the first */
static _Atomic uint64_t primaries[GP_DEVICES];
/* the call that made a primary context: its end and its duration in ticks; 0 unknown */
static _Atomic uint64_t primaries_made[GP_DEVICES], primaries_took[GP_DEVICES];
static _Atomic uint64_t devices_written;

/* The contexts below the current one. Deeper ones are read again from the driver. */
struct context_stack {
	uint64_t below[STACK_DEPTH];
	uint32_t depth;
};
static _Thread_local struct context_stack stack __attribute__((tls_model("initial-exec")));

static unsigned device_of(int byte)
{
	return byte < 0 || PLACE((unsigned)byte) == NOWHERE ? GP_DEVICE_UNKNOWN :
							      PLACE((unsigned)byte);
}

static uint8_t byte_of(unsigned device)
{
	return (uint8_t)(device < GP_DEVICES ? device : NOWHERE);
}

static void raise_context_epoch(void)
{
	uint32_t seen = atomic_load(&gp_context_epoch), next;
	do
		next = seen == 0xffffffu ? 1 : seen + 1;
	while (!atomic_compare_exchange_weak(&gp_context_epoch, &seen, next));
	atomic_fetch_add(&gp_stream_epoch, 1);
}

/* ---- definitions ---- */

static uint64_t big_endian(const char *bytes)
{
	uint64_t value = 0;
	for (unsigned k = 0; k < 8; k++)
		value = value << 8 | (unsigned char)bytes[k];
	return value;
}

/* Inside the gate. Fields for functions that this driver lacks stay 0. */
static bool define_device(unsigned device)
{
	struct gp_record record = { .kind = GP_GPU, .device = (uint8_t)device };
	CUdevice ordinal = (CUdevice)device;
	CUuuid uuid = { { 0 } };
	char name[128] = "";
	size_t total_bytes = 0;
	int version = 0;
	if (gp_cuda.cuDriverGetVersion)
		gp_cuda.cuDriverGetVersion(&version);
	if (gp_cuda.cuDeviceGetName)
		gp_cuda.cuDeviceGetName(name, (int)sizeof name - 1, ordinal);
	if (gp_cuda.cuDeviceTotalMem_v2)
		gp_cuda.cuDeviceTotalMem_v2(&total_bytes, ordinal);
	if (gp_cuda.cuDeviceGetUuid_v2)
		gp_cuda.cuDeviceGetUuid_v2(&uuid, ordinal);
	else if (gp_cuda.cuDeviceGetUuid)
		gp_cuda.cuDeviceGetUuid(&uuid, ordinal);
	record.aux = (uint32_t)version;
	record.gpu.total_bytes = total_bytes;
	record.gpu.uuid_high = big_endian(uuid.bytes);
	record.gpu.uuid_low = big_endian(uuid.bytes + 8);
	return gp_define(&record, name, strnlen(name, sizeof name));
}

static void write_device(unsigned device)
{
	if (device >= GP_DEVICES || atomic_load(&devices_written) >> device & 1 ||
	    !gp_calls_begin())
		return;
	if (!(atomic_fetch_or(&devices_written, 1ull << device) >> device & 1) &&
	    !define_device(device))
		atomic_fetch_and(&devices_written, ~(1ull << device));
	gp_calls_end();
}

/* The primary context may be older than the recording. */
static void fill_primary(struct gp_record *record, unsigned device)
{
	if (gp_primary_of((int)device) != record->context.handle)
		return;
	record->context.made = atomic_load(&primaries_made[device]);
	record->context.took = atomic_load(&primaries_took[device]);
}

/* True: all definitions are recorded. `took`: 0 unless the context was made just now. */
static bool write_context(uint64_t context, int byte, unsigned flags, uint64_t took)
{
	unsigned device = device_of(byte);
	write_device(device);
	if (byte >= 0 && !((unsigned)byte & DEFINED)) {
		struct gp_record record = { .kind = GP_CONTEXT,
					    .device = (uint8_t)device,
					    .aux = flags,
					    .context.handle = context };
		if (took == 0) {
			fill_primary(&record, device);
		} else {
			record.context.made = gp_clock_now();
			record.context.took = took;
		}
		if (!gp_define(&record, NULL, 0))
			return false;
		gp_handle_put(&contexts, context, (uint8_t)((unsigned)byte | DEFINED));
	}
	return device >= GP_DEVICES || atomic_load(&devices_written) >> device & 1;
}

void gp_context_define(uint64_t context, unsigned flags, uint64_t took)
{
	int kept = errno;
	write_context(context, gp_handle_find(&contexts, context), flags, took);
	errno = kept;
}

void gp_stream_define(uint64_t stream, unsigned flags, int priority)
{
	int byte = gp_handle_find(&streams, stream);
	struct gp_record record = { .kind = GP_STREAM,
				    .device = (uint8_t)device_of(byte),
				    .aux = flags,
				    .stream.handle = stream };
	record.stream.context = gp_thread.context;
	record.stream.priority = (uint64_t)(int64_t)priority;
	if (byte >= 0 && !((unsigned)byte & DEFINED) && gp_define(&record, NULL, 0))
		gp_handle_put(&streams, stream, (uint8_t)((unsigned)byte | DEFINED));
}

/* ---- looking up ---- */

static uint64_t query_current(void)
{
	CUcontext context = NULL;
	if (!gp_cuda.cuCtxGetCurrent || !gp_calls_begin())
		return 0;
	if (gp_cuda.cuCtxGetCurrent(&context) != CUDA_SUCCESS)
		context = NULL;
	gp_calls_end();
	return (uint64_t)context;
}

/* `context` is current on this thread. */
static int query_context_device(uint64_t context)
{
	CUdevice device = -1;
	if (!gp_cuda.cuCtxGetDevice || !gp_calls_begin())
		return -1;
	CUresult result = gp_cuda.cuCtxGetDevice(&device);
	gp_calls_end();
	if (result != CUDA_SUCCESS || device < 0 || device >= (int)GP_DEVICES)
		return -1;
	gp_handle_put(&contexts, context, (uint8_t)device);
	gp_counters_prepare(context);
	return device;
}

unsigned gp_device_current_slow(void)
{
	int kept = errno;
	struct gp_thread *t = &gp_thread;
	uint32_t epoch = atomic_load(&gp_context_epoch);
	if (!t->context)
		t->context = query_current();
	int byte = t->context ? gp_handle_find(&contexts, t->context) : -1;
	if (t->context && byte < 0)
		byte = query_context_device(t->context);
	if (byte >= 0 && write_context(t->context, byte, 0, 0))
		t->device_epoch = epoch << 8 | device_of(byte);
	errno = kept;
	return device_of(byte);
}

unsigned gp_stream_device_known(uint64_t stream)
{
	bool is_default = stream <= (uint64_t)CU_STREAM_PER_THREAD;
	return device_of(is_default ? gp_handle_find(&contexts, gp_thread.context) :
				      gp_handle_find(&streams, stream));
}

/* Inside the gate. */
static unsigned query_stream_device(CUstream stream)
{
	CUdevice device = -1;
	CUcontext context = NULL;
	/* first the call that is harmless in a capture (driver 580: the other one ends it) */
	int byte = -1;
	if (gp_cuda.cuStreamGetCtx && gp_cuda.cuStreamGetCtx(stream, &context) == CUDA_SUCCESS)
		byte = gp_handle_find(&contexts, (uint64_t)context);
	if (device_of(byte) != GP_DEVICE_UNKNOWN)
		return device_of(byte);
	if (gp_cuda.cuStreamGetDevice && gp_cuda.cuStreamGetDevice(stream, &device) == CUDA_SUCCESS)
		return (unsigned)device;
	return GP_DEVICE_UNKNOWN;
}

unsigned gp_device_of_stream_slow(uint64_t stream)
{
	int kept = errno;
	struct gp_thread *t = &gp_thread;
	uint64_t epoch = atomic_load(&gp_stream_epoch);
	int byte = gp_handle_find(&streams, stream);
	if (device_of(byte) == GP_DEVICE_UNKNOWN && gp_calls_begin()) {
		unsigned device = query_stream_device((CUstream)stream);
		gp_calls_end();
		if (device < GP_DEVICES)
			gp_stream_created(stream, device);
		byte = gp_handle_find(&streams, stream);
	}
	if (device_of(byte) == GP_DEVICE_UNKNOWN) {
		/*
		 * the driver returned no device: the CUDA runtime uses a stream only on its own
		 * device
		 */
		errno = kept;
		return gp_device_current();
	}
	write_device(device_of(byte));
	if (!((unsigned)byte & DEFINED))
		gp_stream_define(stream, 0, 0);
	t->stream = stream;
	t->stream_epoch = epoch;
	t->stream_device = device_of(byte);
	errno = kept;
	return t->stream_device;
}

/* ---- contexts ---- */

void gp_context_known(uint64_t context, unsigned device)
{
	int byte = gp_handle_find(&contexts, context);
	if (byte < 0 || device_of(byte) != device)
		gp_handle_put(&contexts, context, byte_of(device));
	gp_recorder_prepare();
	gp_gpu_time_prepare();
	gp_counters_prepare(context);
}

int gp_context_device(uint64_t context)
{
	unsigned device = device_of(gp_handle_find(&contexts, context));
	return device == GP_DEVICE_UNKNOWN ? -1 : (int)device;
}

void gp_context_set(CUcontext context)
{
	struct gp_thread *t = &gp_thread;
	if (t->context != (uint64_t)context || !context) {
		t->context = (uint64_t)context;
		t->device_epoch = 0;
	}
	if (context) { /* the runtime may have created it through its private table */
		gp_recorder_prepare();
		gp_gpu_time_prepare();
		gp_counters_prepare((uint64_t)context);
	}
}

void gp_context_push(CUcontext context)
{
	if (stack.depth < STACK_DEPTH)
		stack.below[stack.depth] = gp_thread.context;
	stack.depth++;
	gp_context_set(context);
}

void gp_context_pop(void)
{
	uint64_t below = 0;
	if (stack.depth > 0 && --stack.depth < STACK_DEPTH)
		below = stack.below[stack.depth];
	gp_context_set((CUcontext)below);
}

void gp_context_created(CUcontext context, CUdevice device)
{
	gp_handle_put(&contexts, (uint64_t)context, byte_of((unsigned)device));
	gp_device_memory_noted((unsigned)device, GP_CAUSE_CONTEXT);
	gp_context_push(context);
}

void gp_context_ending(uint64_t context)
{
	const int device = gp_handle_take(&contexts, context);
	if (device >= 0)
		gp_device_memory_noted((unsigned)device, GP_CAUSE_CONTEXT);
	raise_context_epoch();
}

void gp_context_ended(uint64_t context, bool is_popped)
{
	raise_context_epoch();
	if (gp_thread.context == context && is_popped)
		gp_context_pop();
	else if (gp_thread.context == context)
		gp_context_set(NULL);
}

void gp_primary_retained(CUcontext context, CUdevice device, uint64_t began)
{
	const uint64_t ended = gp_clock_now();
	/* a context that is retained again is not made again */
	const bool is_made = gp_handle_find(&contexts, (uint64_t)context) < 0;
	if (device >= 0 && device < (int)GP_DEVICES) {
		atomic_store(&primaries[device], (uint64_t)context);
		if (is_made) {
			atomic_store(&primaries_took[device], gp_took(began, ended));
			atomic_store(&primaries_made[device], ended);
			gp_device_memory_noted((unsigned)device, GP_CAUSE_CONTEXT);
		}
	}
	gp_context_known((uint64_t)context, (unsigned)device);
}

uint64_t gp_primary_of(CUdevice device)
{
	return device >= 0 && device < (int)GP_DEVICES ? atomic_load(&primaries[device]) : 0;
}

/* ---- streams, pools, addresses ---- */

void gp_stream_created(uint64_t stream, unsigned device)
{
	gp_handle_put(&streams, stream, byte_of(device));
}

void gp_stream_ending(uint64_t stream)
{
	gp_handle_take(&streams, stream);
	atomic_fetch_add(&gp_stream_epoch, 1);
}

void gp_pool_known(CUmemoryPool pool, unsigned device)
{
	if (device < GP_DEVICES)
		gp_handle_put(&pools, (uint64_t)pool, (uint8_t)device);
	else
		gp_handle_take(&pools, (uint64_t)pool);
}

unsigned gp_pool_device(CUmemoryPool pool)
{
	return device_of(gp_handle_find(&pools, (uint64_t)pool));
}

/* A handle may equal an address. */
static uint64_t address_key(enum gp_space space, uint64_t address)
{
	return address ^ (uint64_t)space << 52;
}

void gp_address_put(enum gp_space space, uint64_t address, unsigned device)
{
	gp_handle_put(&addresses, address_key(space, address), byte_of(device));
}

unsigned gp_address_device(enum gp_space space, uint64_t address, bool is_ending)
{
	uint64_t key = address_key(space, address);
	return device_of(is_ending ? gp_handle_take(&addresses, key) :
				     gp_handle_find(&addresses, key));
}

void gp_reference_again(enum gp_space space, uint64_t address)
{
	uint64_t key = address_key(space, address);
	if (gp_handle_add(&extras, key, 1) < 0)
		gp_handle_put(&extras, key, 1);
}

bool gp_reference_add(enum gp_space space, uint64_t address)
{
	if (gp_handle_find(&addresses, address_key(space, address)) < 0)
		return false;
	gp_reference_again(space, address);
	return true;
}

bool gp_reference_drop(enum gp_space space, uint64_t address)
{
	uint64_t key = address_key(space, address);
	int left = gp_handle_add(&extras, key, -1);
	if (left == 0)
		gp_handle_take(&extras, key);
	return left >= 0;
}

void gp_context_restart(bool is_child)
{
	atomic_store(&devices_written, 0);
	if (is_child) { /* the driver's objects do not survive a fork */
		gp_capture_reset();
		gp_handle_clear(&contexts);
		gp_handle_clear(&streams);
		gp_handle_clear(&pools);
		gp_handle_clear(&addresses);
		gp_handle_clear(&extras);
		gp_thread.context = 0;
		stack.depth = 0;
	}
	gp_handle_mask(&contexts, 0x7f);
	gp_handle_mask(&streams, 0x7f);
	raise_context_epoch();
}
