/*
 * Memory events. The rules of order (DESIGN 2.5): ALLOC comes after success. FREE and UNMAP come
 * before the call and are undone if the driver refuses. So an address that another thread gets at
 * once is never recorded as allocated before its free.
 */
#include "hook_memory.h"

#include <errno.h>

#include "../driver/cuda_api.h"
#include "../torch/async_blocks.h"
#include "capture.h"
#include "hook_resource.h"

/* ---- allocations ---- */

/*
 * Reads the free bytes of the device after an out-of-memory failure; other failures do not need it.
 */
static void query_free_bytes(CUresult result, struct gp_record *record)
{
	size_t free_bytes = 0, total_bytes = 0;
	if (result != CUDA_ERROR_OUT_OF_MEMORY || !gp_cuda.cuMemGetInfo_v2 || !gp_calls_begin())
		return;
	if (gp_cuda.cuMemGetInfo_v2(&free_bytes, &total_bytes) == CUDA_SUCCESS) {
		record->alloc_failed.free_bytes = free_bytes;
		record->alloc_failed.total_bytes = total_bytes;
	}
	gp_calls_end();
}

void gp_hook_alloc_failed(CUresult result, const struct gp_allocation *what)
{
	int kept = errno;
	struct gp_record failed = { .kind = GP_ALLOC_FAILED,
				    .space = (uint8_t)what->space,
				    .device = (uint8_t)what->device,
				    .code = (uint16_t)result,
				    .aux = what->flags,
				    .alloc_failed.bytes = what->bytes,
				    .alloc_failed.stream = what->stream };
	query_free_bytes(result, &failed);
	failed.stack = gp_stack_of_alloc();
	gp_put(failed);
	/* the job may end because of this failure */
	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		gp_flush_soon();
	errno = kept;
}

/* Memory whose handle or address is looked up again before it ends. */
static void alloc_held(CUresult result, uint64_t address, struct gp_allocation what)
{
	if (what.device == GP_DEVICE_UNKNOWN)
		what.device = gp_device_current();
	if (result == CUDA_SUCCESS)
		gp_address_put(what.space, address, what.device);
	gp_hook_alloc(result, address, what);
}

void gp_hook_alloc_async(CUresult result, uint64_t began, uint64_t address, uint64_t bytes,
			 uint64_t stream, CUmemoryPool pool)
{
	unsigned device = pool ? gp_pool_device(pool) : GP_DEVICE_UNKNOWN;
	struct gp_allocation what = {
		.space = GP_SPACE_ASYNC,
		.device = device == GP_DEVICE_UNKNOWN ? gp_device_of_stream(stream) : device,
		.bytes = bytes,
		.stream = stream,
		.owner = (uint64_t)pool,
		.began = began,
	};
	const uint64_t capture = gp_unlikely(gp_is_capturing()) ? gp_capture_owner(stream) : 0;
	if (gp_unlikely(capture != 0)) {
		what.space = GP_SPACE_GRAPH;
		what.flags = GP_ALLOC_CAPTURED;
		what.owner = capture;
	}
	const uint32_t caller = gp_hook_alloc(result, address, what);
	/* PyTorch's totals do not include memory of graphs */
	if (what.space == GP_SPACE_ASYNC)
		gp_device_memory_pooled(what.device);
	if (caller != GP_NOT_RECORDED && what.space == GP_SPACE_ASYNC)
		gp_async_block_alloc(caller, address, bytes, stream, what.device);
}

/* ---- frees ---- */

void gp_hook_freed_async(CUresult result, uint64_t address)
{
	gp_hook_freed(result, GP_SPACE_ASYNC, address);
	if (gp_likely(result == CUDA_SUCCESS))
		gp_async_block_freed(address);
}

bool gp_hook_release(enum gp_space space, uint64_t address, unsigned *device)
{
	if (gp_reference_drop(space, address)) {
		gp_thread.last_free_order = GP_REFERENCE_FREED;
		return false;
	}
	*device = gp_address_device(space, address, true);
	return true;
}

void gp_hook_free_failed(CUresult result, enum gp_space space, uint64_t address)
{
	if (gp_thread.last_free_order == GP_REFERENCE_FREED)
		gp_reference_again(space, address);
	if (gp_thread.last_free_order >= GP_REFERENCE_FREED)
		return;
	gp_put((struct gp_record){ .kind = GP_FREE_FAILED,
				   .space = (uint8_t)space,
				   .device = GP_DEVICE_UNKNOWN,
				   .code = (uint16_t)result,
				   .free_failed.address = address,
				   .free_failed.undoes = gp_thread.last_free_order });
}

void gp_hook_owner_gone(enum gp_how how, uint64_t owner, unsigned device)
{
	if (owner)
		gp_put((struct gp_record){ .kind = GP_OWNER_GONE,
					   .device = (uint8_t)device,
					   .aux = (uint32_t)how,
					   .owner_gone.owner = owner });
}

/* ---- virtual memory ---- */

unsigned gp_located_device(const CUmemLocation *location)
{
	if (location && location->type == CU_MEM_LOCATION_TYPE_DEVICE && location->id >= 0 &&
	    location->id < (int)GP_DEVICES)
		return (unsigned)location->id;
	return GP_DEVICE_UNKNOWN;
}

void gp_hook_physical(CUresult result, uint64_t began, uint64_t handle, uint64_t bytes,
		      const CUmemAllocationProp *prop)
{
	bool is_ours = prop != NULL;
	if (result == CUDA_SUCCESS && !is_ours && gp_reference_add(GP_SPACE_PHYSICAL, handle))
		return;
	struct gp_allocation what = {
		.space = GP_SPACE_PHYSICAL,
		.device = is_ours ? gp_located_device(&prop->location) : GP_DEVICE_UNKNOWN,
		.flags = is_ours ? 0 : GP_ALLOC_IMPORT,
		.bytes = bytes,
		.began = began,
	};
	alloc_held(result, handle, what);
}

/*
 * The driver returns the existing handle (driver 580). A handle that we did not see created is an
 * import.
 */
void gp_hook_retain(CUresult result, uint64_t handle)
{
	struct gp_allocation what = { .space = GP_SPACE_PHYSICAL,
				      .device = GP_DEVICE_UNKNOWN,
				      .flags = GP_ALLOC_IMPORT | GP_ALLOC_RETAIN };
	if (result == CUDA_SUCCESS && !gp_reference_add(GP_SPACE_PHYSICAL, handle))
		alloc_held(result, handle, what);
}

enum gp_space gp_physical_space(uint64_t handle)
{
	bool is_multicast =
		gp_address_device(GP_SPACE_MULTICAST, handle, false) != GP_DEVICE_UNKNOWN;
	return is_multicast ? GP_SPACE_MULTICAST : GP_SPACE_PHYSICAL;
}

void gp_hook_map(CUresult result, uint64_t began, uint64_t address, uint64_t bytes, uint64_t offset,
		 uint64_t handle)
{
	unsigned device = gp_address_device(GP_SPACE_PHYSICAL, handle, false);
	if (device == GP_DEVICE_UNKNOWN)
		device = gp_device_current();
	if (result != CUDA_SUCCESS)
		return;
	gp_use_known(GP_SPACE_MAPPED, address, bytes);
	struct gp_record *r = gp_reserve_alloc(GP_MAP, began);
	if (!r)
		return;
	r->space = GP_SPACE_MAPPED;
	r->device = (uint8_t)device;
	r->map.address = address;
	r->map.bytes = bytes;
	r->map.handle = handle;
	r->map.offset = offset;
	gp_commit_memory(r);
}

void gp_hook_unmap(uint64_t address, uint64_t bytes)
{
	gp_thread.last_free_order = GP_NOTHING_FREED;
	const uint32_t caller = gp_stack_of_free();
	struct gp_record *r = gp_reserve(GP_UNMAP);
	if (!r)
		return;
	r->stack = caller;
	r->unmap.address = address;
	r->unmap.bytes = bytes;
	r->space = GP_SPACE_MAPPED;
	r->device = GP_DEVICE_UNKNOWN; /* as with FREE */
	gp_thread.last_free_order = gp_commit_memory(r);
}

void gp_hook_unmap_failed(CUresult result, uint64_t address, uint64_t bytes)
{
	if (gp_thread.last_free_order == GP_NOTHING_FREED)
		return;
	gp_put((struct gp_record){ .kind = GP_UNMAP_FAILED,
				   .space = GP_SPACE_MAPPED,
				   .device = GP_DEVICE_UNKNOWN,
				   .code = (uint16_t)result,
				   .unmap_failed = { .address = address,
						     .bytes = bytes,
						     .undoes = gp_thread.last_free_order } });
}

void gp_hook_multicast_create(CUresult result, uint64_t handle, uint64_t bytes)
{
	/* spans devices: use the creator's */
	struct gp_allocation what = { .space = GP_SPACE_MULTICAST,
				      .device = GP_DEVICE_UNKNOWN,
				      .bytes = bytes };
	alloc_held(result, handle, what);
}

void gp_hook_multicast(CUresult result, enum gp_multicast operation, uint64_t handle,
		       uint64_t member, uint64_t offset, uint64_t bytes, int device)
{
	const bool is_known = device >= 0 && device < (int)GP_DEVICES;
	if (result == CUDA_SUCCESS)
		gp_put((struct gp_record){
			.kind = GP_MULTICAST,
			.space = GP_SPACE_MULTICAST,
			.device = (uint8_t)(is_known ? (unsigned)device : GP_DEVICE_UNKNOWN),
			.aux = (uint32_t)operation,
			.multicast = { .handle = handle,
				       .member = member,
				       .offset = offset,
				       .bytes = bytes } });
}

/* ---- pools and imports ---- */

void gp_hook_pool_create(CUresult result, CUmemoryPool pool, const CUmemPoolProps *properties,
			 bool is_recording)
{
	if (result != CUDA_SUCCESS)
		return;
	unsigned device = properties ? gp_located_device(&properties->location) : GP_DEVICE_UNKNOWN;
	gp_pool_known(pool, device);
	if (!is_recording)
		return;
	gp_hook_resource(GP_RESOURCE_POOL, (uint64_t)pool, device);
	gp_put((struct gp_record){ .kind = GP_POOL_CREATE,
				   .device = (uint8_t)device,
				   .aux = properties ? (uint32_t)properties->handleTypes << 16 :
						       GP_ALLOC_IMPORT,
				   .pool_create.pool = (uint64_t)pool,
				   .pool_create.max_bytes = properties ? properties->maxSize : 0 });
}

void gp_hook_pool_destroy(CUmemoryPool pool, bool is_recording)
{
	unsigned device = gp_pool_device(pool);
	gp_pool_known(pool, GP_DEVICE_UNKNOWN);
	if (!pool || !is_recording)
		return;
	gp_hook_resource_gone(GP_RESOURCE_POOL, (uint64_t)pool);
	gp_put((struct gp_record){ .kind = GP_POOL_DESTROY,
				   .device = (uint8_t)device,
				   .pool_destroy.pool = (uint64_t)pool });
}

void gp_hook_pool_trim(CUresult result, CUmemoryPool pool, uint64_t keep_bytes, unsigned device)
{
	if (result == CUDA_SUCCESS)
		gp_put((struct gp_record){ .kind = GP_POOL_TRIM,
					   .device = (uint8_t)device,
					   .pool_trim.pool = (uint64_t)pool,
					   .pool_trim.keep_bytes = keep_bytes });
	gp_device_memory_changed(device);
}

GP_COLD static uint64_t query_bytes(uint64_t address)
{
	int kept = errno;
	CUdeviceptr base = 0;
	size_t bytes = 0;
	if (gp_cuda.cuMemGetAddressRange_v2 && gp_calls_begin()) {
		if (gp_cuda.cuMemGetAddressRange_v2(&base, &bytes, address) != CUDA_SUCCESS)
			bytes = 0;
		gp_calls_end();
	}
	errno = kept;
	return bytes;
}

void gp_hook_import(CUresult result, enum gp_space space, uint64_t address, uint64_t bytes,
		    uint64_t owner)
{
	struct gp_allocation what = {
		.space = space,
		.device = gp_device_current(),
		.flags = GP_ALLOC_IMPORT,
		.owner = owner,
	};
	/*
	 * memory that is already open has the same address, and is closed as often as it was opened
	 */
	bool is_held = space == GP_SPACE_IPC && !owner;
	if (result == CUDA_SUCCESS && is_held && gp_reference_add(space, address))
		return;
	what.bytes = bytes || result != CUDA_SUCCESS ? bytes : query_bytes(address);
	if (is_held) {
		what.owner = gp_thread.context;
		alloc_held(result, address, what);
	} else {
		gp_hook_alloc(result, address, what);
	}
}

/* ---- arrays ---- */

#define ARRAY_LAYERED 0x01u
#define ARRAY_SPARSE 0x40u
#define ARRAY_DEFERRED_MAPPING 0x80u

static uint64_t half(uint64_t extent)
{
	return extent > 1 ? extent / 2 : 1;
}

/* Compressed blocks and planes of video frames are estimated at one byte a channel. */
static uint64_t texel_bytes(CUarray_format format, unsigned channels)
{
	switch (format) {
	case 0x01: /* 8 bits */
	case 0x08:
		return channels;
	case 0x02: /* 16 bits */
	case 0x09:
	case 0x10:
		return 2ull * channels;
	case 0x03: /* 32 bits */
	case 0x0a:
	case 0x20:
		return 4ull * channels;
	default:
		/* normalised x1, x2, x4: 8 bits from 0xc0 and 0xc6, 16 bits from 0xc3 and 0xc9 */
		if (format >= 0xc0 && format <= 0xcb)
			return (1ull << (format - 0xc0) % 3) << (format - 0xc0) / 3 % 2;
		return channels ? channels : 1;
	}
}

uint64_t gp_array_bytes(uint64_t width, uint64_t height, uint64_t depth, CUarray_format format,
			unsigned channels, unsigned flags, unsigned levels)
{
	uint64_t texel = texel_bytes(format, channels), bytes = 0;
	if (flags & (ARRAY_SPARSE | ARRAY_DEFERRED_MAPPING))
		return 0;
	for (unsigned level = 0; level < levels && level < 32; level++) {
		bytes += width * (height ? height : 1) * (depth ? depth : 1) * texel;
		width = half(width);
		height = half(height);
		if (!(flags & ARRAY_LAYERED))
			depth = half(depth);
	}
	return bytes;
}
