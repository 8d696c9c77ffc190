/* The fake driver's allocations: device, managed, pinned host, arrays, async pools, IPC and
 * external memory. */
#ifndef FAKE_ALLOCATIONS_H
#define FAKE_ALLOCATIONS_H

#include "fake_contexts.h"
#include "fake_streams.h"

/* Real drivers allocate in units of 512 bytes. */
static inline uint64_t fake_round(uint64_t bytes)
{
	return (bytes + 511) & ~511ull;
}

static inline CUresult fake_alloc(CUdeviceptr *address, size_t bytes, enum fake_space space)
{
	struct fake_object *context = fake_current();
	if (fake_unlikely(!context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (fake_unlikely(!address || bytes == 0 || bytes > 1ull << FAKE_CLASS_MAX))
		return !address || bytes == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	if (fake_unlikely(fake_is_unsafe()))
		return fake_refuse_unsafe();
	fake_lock();
	uint64_t found = fake_take(fake_round(bytes), 512, context->device, space, context);
	fake_unlock();
	if (found == 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*address = found;
	return CUDA_SUCCESS;
}

static inline CUresult fake_free(CUdeviceptr address)
{
	if (fake_unlikely(!fake_current()))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (fake_unlikely(fake_is_unsafe()))
		return fake_refuse_unsafe();
	unsigned wait = atomic_load_explicit(&fake_setup.free_us, memory_order_relaxed);
	if (fake_unlikely(wait != 0))
		fake_wait_us(wait);
	fake_lock();
	struct fake_slot *slot = fake_slot_at(address);
	bool is_ours = slot && (slot->space == FAKE_DEVICE || slot->space == FAKE_MANAGED ||
				slot->space == FAKE_ASYNC || slot->space == FAKE_BUFFER);
	if (is_ours)
		fake_give(address, slot);
	fake_unlock();
	return is_ours ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
	return fake_alloc(address, bytes, FAKE_DEVICE);
}

static inline CUresult fake_cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width,
					       size_t height, unsigned int element_bytes)
{
	if (element_bytes != 4 && element_bytes != 8 && element_bytes != 16)
		return CUDA_ERROR_INVALID_VALUE;
	size_t row = fake_round(width);
	CUresult result = fake_alloc(address, row * height, FAKE_DEVICE);
	if (result == CUDA_SUCCESS)
		*pitch = row;
	return result;
}

static inline CUresult fake_cuMemAllocManaged(CUdeviceptr *address, size_t bytes,
					      unsigned int flags)
{
	return flags == 1 || flags == 2 ? fake_alloc(address, bytes, FAKE_MANAGED) :
					  CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuMemFree_v2(CUdeviceptr address)
{
	return fake_free(address);
}

/* Addresses of 32 bits: drivers have had none since 3.2, and gpuprof does not support them. */
static inline CUresult fake_cuMemAlloc(CUdeviceptr_v1 *address, unsigned int bytes)
{
	(void)address, (void)bytes;
	return FAKE_NOT_SUPPORTED;
}

static inline CUresult fake_cuMemAllocPitch(CUdeviceptr_v1 *address, unsigned int *pitch,
					    unsigned int width, unsigned int height,
					    unsigned int element_bytes)
{
	(void)address, (void)pitch, (void)width, (void)height, (void)element_bytes;
	return FAKE_NOT_SUPPORTED;
}

static inline CUresult fake_cuMemFree(CUdeviceptr_v1 address)
{
	(void)address;
	return FAKE_NOT_SUPPORTED;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
	ENTER(cuMemGetAddressRange_v2);
	uint64_t start;
	fake_lock();
	const struct fake_slot *slot = fake_slot_around(address, &start);
	uint64_t size = slot ? slot->bytes : 0;
	fake_unlock();
	if (size == 0)
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = start;
	if (bytes)
		*bytes = size;
	return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr address)
{
	ENTER(cuPointerGetAttribute);
	uint64_t start;
	fake_lock();
	const struct fake_slot *slot = fake_slot_around(address, &start);
	int device = slot ? slot->device : -1;
	fake_unlock();
	if (!slot)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case 2:
		*(unsigned *)data = 2;
		return CUDA_SUCCESS; /* memory type: device */
	case 9:
		*(int *)data = device;
		return CUDA_SUCCESS; /* device ordinal */
	default:
		return FAKE_NOT_SUPPORTED;
	}
}

/* ---- pinned host memory: real pages, found again by their address ---- */

#define FAKE_HOST_BUCKETS 4096u
static struct fake_object *fake_host[FAKE_HOST_BUCKETS];

static struct fake_object **fake_host_find(uint64_t address)
{
	struct fake_object **link = &fake_host[(address >> 12) % FAKE_HOST_BUCKETS];
	while (*link && (*link)->address != address)
		link = &(*link)->next;
	return link;
}

static CUresult fake_host_add(uint64_t address, size_t bytes, unsigned flags, bool is_registered)
{
	struct fake_object *context = fake_current();
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	CUresult result = FAKE_ALREADY_REGISTERED;
	fake_lock();
	struct fake_object **link = fake_host_find(address), *host;
	if (!*link) {
		host = fake_new(FAKE_HOST, context->device);
		result = host ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
		if (host) {
			host->address = address;
			host->bytes = bytes;
			host->flags = flags;
			host->is_registered = is_registered;
			*link = host;
		}
	}
	fake_unlock();
	return result;
}

static bool fake_host_remove(uint64_t address, bool is_registered)
{
	fake_lock();
	struct fake_object **link = fake_host_find(address), *host = *link;
	bool is_found = host && host->is_registered == is_registered;
	if (is_found) {
		*link = host->next;
		fake_delete(host);
	}
	fake_unlock();
	return is_found;
}

static CUresult fake_host_alloc(void **address, size_t bytes, unsigned flags)
{
	void *memory;
	if (!address || bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (fake_is_unsafe())
		return fake_refuse_unsafe();
	if (posix_memalign(&memory, 4096, bytes) != 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	CUresult result = fake_host_add((uintptr_t)memory, bytes, flags, false);
	if (result == CUDA_SUCCESS)
		*address = memory;
	else
		free(memory);
	return result;
}

static inline CUresult fake_cuMemAllocHost(void **address, unsigned int bytes)
{
	return fake_host_alloc(address, bytes, 0);
}

static inline CUresult fake_cuMemAllocHost_v2(void **address, size_t bytes)
{
	return fake_host_alloc(address, bytes, 0);
}

static inline CUresult fake_cuMemHostAlloc(void **address, size_t bytes, unsigned int flags)
{
	return fake_host_alloc(address, bytes, flags);
}

static inline CUresult fake_cuMemFreeHost(void *address)
{
	if (!fake_host_remove((uintptr_t)address, false))
		return CUDA_ERROR_INVALID_VALUE;
	free(address);
	return CUDA_SUCCESS;
}

static inline CUresult fake_cuMemHostRegister(void *address, size_t bytes, unsigned int flags)
{
	return address && bytes ? fake_host_add((uintptr_t)address, bytes, flags, true) :
				  CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuMemHostRegister_v2(void *address, size_t bytes, unsigned int flags)
{
	return address && bytes ? fake_host_add((uintptr_t)address, bytes, flags, true) :
				  CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuMemHostUnregister(void *address)
{
	return fake_host_remove((uintptr_t)address, true) ? CUDA_SUCCESS : FAKE_NOT_REGISTERED;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *address, unsigned int flags)
{
	ENTER(cuMemHostGetDevicePointer_v2);
	(void)flags;
	*device = (uintptr_t)address;
	return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int *flags, void *address)
{
	ENTER(cuMemHostGetFlags);
	fake_lock();
	const struct fake_object *host = *fake_host_find((uintptr_t)address);
	*flags = host ? host->flags : 0;
	fake_unlock();
	return host ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- arrays ---- */

static uint64_t fake_element_bytes(CUarray_format format, unsigned channels)
{
	unsigned bytes = format == 0x01 || format == 0x08		    ? 1 :
			 format == 0x02 || format == 0x09 || format == 0x10 ? 2 :
									      4;
	return bytes * (uint64_t)(channels ? channels : 1);
}

static CUresult fake_array_create(void **array, uint64_t width, uint64_t height, uint64_t depth,
				  uint64_t element)
{
	struct fake_object *context = fake_current();
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!array || width == 0)
		return CUDA_ERROR_INVALID_VALUE;
	uint64_t bytes = fake_round(width * (height ? height : 1) * (depth ? depth : 1) * element);
	fake_lock();
	struct fake_object *object = fake_new(FAKE_ARRAY, context->device);
	uint64_t address =
		object ? fake_take(bytes, 512, context->device, FAKE_DEVICE, context) : 0;
	if (address) {
		object->address = address;
		*array = object;
	} else if (object) {
		fake_delete(object);
	}
	fake_unlock();
	return address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult fake_array_destroy(void *array)
{
	struct fake_object *object = GET(array, FAKE_ARRAY);
	if (!object)
		return CUDA_ERROR_INVALID_HANDLE;
	fake_lock();
	struct fake_slot *slot = object->address ? fake_slot_at(object->address) : NULL;
	if (slot)
		fake_give(object->address, slot);
	fake_delete(object);
	fake_unlock();
	return CUDA_SUCCESS;
}

static inline CUresult fake_cuArrayCreate(CUarray *array, const CUDA_ARRAY_DESCRIPTOR_v1 *d)
{
	return fake_array_create((void **)array, d->Width, d->Height, 1,
				 fake_element_bytes(d->Format, d->NumChannels));
}

static inline CUresult fake_cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d)
{
	return fake_array_create((void **)array, d->Width, d->Height, 1,
				 fake_element_bytes(d->Format, d->NumChannels));
}

static inline CUresult fake_cuArray3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR_v1 *d)
{
	return fake_array_create((void **)array, d->Width, d->Height, d->Depth,
				 fake_element_bytes(d->Format, d->NumChannels));
}

static inline CUresult fake_cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return fake_array_create((void **)array, d->Width, d->Height, d->Depth,
				 fake_element_bytes(d->Format, d->NumChannels));
}

static inline CUresult fake_cuArrayDestroy(CUarray array)
{
	return fake_array_destroy(array);
}

static inline CUresult fake_cuMipmappedArrayCreate(CUmipmappedArray *array,
						   const CUDA_ARRAY3D_DESCRIPTOR *d,
						   unsigned int levels)
{
	if (levels == 0)
		return CUDA_ERROR_INVALID_VALUE;
	return fake_array_create((void **)array, d->Width * 2, d->Height, d->Depth,
				 fake_element_bytes(d->Format, d->NumChannels));
}

static inline CUresult fake_cuMipmappedArrayDestroy(CUmipmappedArray array)
{
	return fake_array_destroy(array);
}

/* ---- memory of others: an exported handle contains the data for an import ---- */

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
	ENTER(cuIpcGetMemHandle);
	fake_lock();
	const struct fake_slot *slot = fake_slot_at(address);
	uint64_t words[2] = { address, slot ? slot->bytes : 0 };
	fake_unlock();
	if (!slot)
		return CUDA_ERROR_INVALID_VALUE;
	memset(handle, 0, sizeof *handle);
	memcpy(handle->reserved, words, sizeof words);
	return CUDA_SUCCESS;
}

static CUresult fake_ipc_open(CUdeviceptr *address, CUipcMemHandle handle)
{
	uint64_t words[2];
	memcpy(words, handle.reserved, sizeof words);
	return words[1] ? fake_alloc(address, words[1], FAKE_OPENED) : CUDA_ERROR_INVALID_HANDLE;
}

static inline CUresult fake_cuIpcOpenMemHandle(CUdeviceptr *address, CUipcMemHandle handle,
					       unsigned int flags)
{
	(void)flags;
	return fake_ipc_open(address, handle);
}

static inline CUresult fake_cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle,
						  unsigned int flags)
{
	(void)flags;
	return fake_ipc_open(address, handle);
}

static CUresult fake_close_opened(CUdeviceptr address)
{
	fake_lock();
	struct fake_slot *slot = fake_slot_at(address);
	bool is_opened = slot && slot->space == FAKE_OPENED;
	if (is_opened)
		fake_give(address, slot);
	fake_unlock();
	return is_opened ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuIpcCloseMemHandle(CUdeviceptr address)
{
	return fake_close_opened(address);
}

static inline CUresult
fake_cuImportExternalMemory(CUexternalMemory *memory,
			    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *descriptor)
{
	struct fake_object *context = fake_current();
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	fake_lock();
	struct fake_object *object = fake_new(FAKE_EXTERNAL, context->device);
	fake_unlock();
	if (!object)
		return CUDA_ERROR_OUT_OF_MEMORY;
	object->bytes = descriptor->size;
	*memory = (CUexternalMemory)object;
	return CUDA_SUCCESS;
}

static inline CUresult
fake_cuExternalMemoryGetMappedBuffer(CUdeviceptr *address, CUexternalMemory memory,
				     const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *descriptor)
{
	const struct fake_object *object = GET(memory, FAKE_EXTERNAL);
	if (!object || descriptor->offset + descriptor->size > object->bytes)
		return object ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
	/* freed with cuMemFree, as with the real driver; takes no memory of the device */
	return fake_alloc(address, descriptor->size, FAKE_BUFFER);
}

static inline CUresult fake_cuExternalMemoryGetMappedMipmappedArray(
	CUmipmappedArray *array, CUexternalMemory memory,
	const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *descriptor)
{
	(void)descriptor;
	const struct fake_object *object = GET(memory, FAKE_EXTERNAL);
	if (!object)
		return CUDA_ERROR_INVALID_HANDLE;
	fake_lock();
	*array = (CUmipmappedArray)fake_new(FAKE_ARRAY, object->device); /* no memory of its own */
	fake_unlock();
	return *array ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static inline CUresult fake_cuDestroyExternalMemory(CUexternalMemory memory)
{
	return fake_destroy(GET(memory, FAKE_EXTERNAL));
}

#endif
