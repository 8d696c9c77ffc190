/*
 * The fake driver's stream-ordered memory: pools, and allocations that become graph nodes while
 * their stream captures.
 */
#ifndef FAKE_POOLS_H
#define FAKE_POOLS_H

#include "fake_graphs.h"

/* Lock held. */
static struct fake_object *fake_pool_of(int device)
{
	if (!fake_default_pool[device])
		fake_default_pool[device] = fake_new(FAKE_POOL, device);
	return fake_device_pool[device] ? fake_device_pool[device] : fake_default_pool[device];
}

static CUresult fake_alloc_captured(CUdeviceptr *address, size_t bytes, struct fake_object *stream)
{
	if (stream->status == FAKE_INVALIDATED)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	fake_lock();
	*address = fake_graph_take(stream->first, bytes, stream->device);
	fake_unlock();
	return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult fake_alloc_async(CUdeviceptr *address, size_t bytes, CUstream handle,
				 CUmemoryPool wanted)
{
	struct fake_object *context = fake_stream_context(handle),
			   *stream = GET(handle, FAKE_STREAM);
	struct fake_object *pool = wanted ? GET(wanted, FAKE_POOL) : NULL;
	if (!context || (wanted && !pool))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!address || bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream && stream->status != FAKE_NOT_CAPTURING)
		return fake_alloc_captured(address, bytes, stream);
	fake_lock();
	pool = pool ? pool : fake_pool_of(context->device);
	*address = pool ? fake_take(fake_round(bytes), 512, pool->device, FAKE_ASYNC, pool) : 0;
	if (*address)
		pool->bytes += fake_round(bytes);
	fake_unlock();
	return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/*
 * Also legal on cuMemAlloc's addresses. The graph owns the memory of an allocation node, so its
 * free becomes a node.
 */
static CUresult fake_free_async(CUdeviceptr address, CUstream handle)
{
	struct fake_object *stream = GET(handle, FAKE_STREAM);
	if (!fake_stream_context(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	fake_lock();
	struct fake_slot *slot = fake_slot_at(address);
	if (slot && slot->space == FAKE_GRAPH_NODE) {
		bool is_captured = stream && stream->status == FAKE_CAPTURING;
		if (!is_captured || fake_node_add(stream->first, FAKE_NODE_FREE, address, NULL))
			result = CUDA_SUCCESS;
	} else if (slot && (slot->space == FAKE_ASYNC || slot->space == FAKE_DEVICE)) {
		if (slot->space == FAKE_ASYNC)
			slot->owner->bytes -= slot->bytes;
		fake_give(address, slot);
		result = CUDA_SUCCESS;
	}
	fake_unlock();
	return result;
}

#define ASYNC(suffix)                                                                            \
	static inline CUresult fake_cuMemAllocAsync##suffix(CUdeviceptr *address, size_t bytes,  \
							    CUstream stream)                     \
	{                                                                                        \
		return fake_alloc_async(address, bytes, stream, NULL);                           \
	}                                                                                        \
	static inline CUresult fake_cuMemAllocFromPoolAsync##suffix(                             \
		CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream)          \
	{                                                                                        \
		return pool ? fake_alloc_async(address, bytes, stream, pool) :                   \
			      CUDA_ERROR_INVALID_VALUE;                                          \
	}                                                                                        \
	static inline CUresult fake_cuMemFreeAsync##suffix(CUdeviceptr address, CUstream stream) \
	{                                                                                        \
		return fake_free_async(address, stream);                                         \
	}
ASYNC()
ASYNC(_ptsz)
#undef ASYNC

/* ---- pools ---- */

static inline CUresult fake_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
	if (!pool || !properties || !fake_is_device(properties->location.id))
		return CUDA_ERROR_INVALID_VALUE;
	fake_lock();
	*pool = (CUmemoryPool)fake_new(FAKE_POOL, properties->location.id);
	fake_unlock();
	return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static inline CUresult fake_cuMemPoolDestroy(CUmemoryPool handle)
{
	struct fake_object *pool = GET(handle, FAKE_POOL);
	if (!pool || pool == fake_default_pool[pool->device])
		return CUDA_ERROR_INVALID_VALUE;
	fake_lock();
	fake_give_all(pool);
	if (fake_device_pool[pool->device] == pool)
		fake_device_pool[pool->device] = NULL;
	fake_delete(pool);
	fake_unlock();
	return CUDA_SUCCESS;
}

static inline CUresult fake_cuMemPoolTrimTo(CUmemoryPool pool, size_t keep_bytes)
{
	(void)keep_bytes;
	return GET(pool, FAKE_POOL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
	if (!fake_is_device(device))
		return FAKE_INVALID_DEVICE;
	fake_lock();
	fake_pool_of(device);
	*pool = (CUmemoryPool)fake_default_pool[device];
	fake_unlock();
	return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static inline CUresult fake_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
	if (!fake_is_device(device))
		return FAKE_INVALID_DEVICE;
	fake_lock();
	*pool = (CUmemoryPool)fake_pool_of(device);
	fake_unlock();
	return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static inline CUresult fake_cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle)
{
	struct fake_object *pool = GET(handle, FAKE_POOL);
	if (!fake_is_device(device) || !pool)
		return pool ? FAKE_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
	fake_lock();
	fake_device_pool[device] = pool;
	fake_unlock();
	return CUDA_SUCCESS;
}

static inline CUresult fake_cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location,
						   CUmemAllocationType type)
{
	(void)type;
	return fake_cuDeviceGetDefaultMemPool(pool, location->id);
}

static inline CUresult fake_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location,
					    CUmemAllocationType type)
{
	(void)type;
	return fake_cuDeviceGetMemPool(pool, location->id);
}

static inline CUresult fake_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type,
					    CUmemoryPool pool)
{
	(void)type;
	return fake_cuDeviceSetMemPool(location->id, pool);
}

/*
 * Real drivers fail this inside a capture and end the capture. So a recorder must not call it
 * without the job's request.
 */
CUresult cuMemPoolGetAttribute(CUmemoryPool handle, int attribute, void *value)
{
	ENTER(cuMemPoolGetAttribute);
	const struct fake_object *pool = GET(handle, FAKE_POOL);
	if (fake_is_unsafe())
		return fake_refuse_unsafe();
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	*(uint64_t *)value = attribute == 5 || attribute == 7 ? pool->bytes :
			     attribute == 4		      ? pool->address :
								0;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, int attribute, void *value)
{
	ENTER(cuMemPoolSetAttribute);
	struct fake_object *pool = GET(handle, FAKE_POOL);
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (attribute == 4) /* release threshold */
		pool->address = *(uint64_t *)value;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const void *access, size_t count)
{
	ENTER(cuMemPoolSetAccess);
	(void)access, (void)count;
	return GET(pool, FAKE_POOL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool pool,
					  CUmemAllocationHandleType type, unsigned long long flags)
{
	ENTER(cuMemPoolExportToShareableHandle);
	(void)type, (void)flags;
	if (!GET(pool, FAKE_POOL))
		return CUDA_ERROR_INVALID_VALUE;
	*(int *)out = (int)GET(pool, FAKE_POOL)->number;
	return CUDA_SUCCESS;
}

static inline CUresult fake_cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *handle,
							       CUmemAllocationHandleType type,
							       unsigned long long flags)
{
	(void)handle, (void)type, (void)flags;
	fake_lock();
	*pool = (CUmemoryPool)fake_new(FAKE_POOL, 0);
	fake_unlock();
	return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemPoolExportPointer(uint64_t *shared, CUdeviceptr address)
{
	ENTER(cuMemPoolExportPointer);
	fake_lock();
	const struct fake_slot *slot = fake_slot_at(address);
	shared[0] = address;
	shared[1] = slot ? slot->bytes : 0;
	fake_unlock();
	return slot ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuMemPoolImportPointer(CUdeviceptr *address, CUmemoryPool handle,
						   CUmemPoolPtrExportData *shared)
{
	struct fake_object *pool = GET(handle, FAKE_POOL);
	const uint64_t *words = (const uint64_t *)(const void *)shared;
	if (!pool || words[1] == 0)
		return CUDA_ERROR_INVALID_VALUE;
	fake_lock();
	*address = fake_take(words[1], 512, pool->device, FAKE_BUFFER, pool);
	fake_unlock();
	return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

#endif
