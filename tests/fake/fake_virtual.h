/*
 * The fake driver's virtual memory: reservations, physical handles, mappings. Memory is used from
 * the creation of a handle until it is released and no longer mapped. Only a whole mapping can be
 * removed.
 */
#ifndef FAKE_VIRTUAL_H
#define FAKE_VIRTUAL_H

#include "fake_pools.h"

#define FAKE_GRANULARITY (2ull << 20)

static inline CUresult fake_cuMemAddressReserve(CUdeviceptr *address, size_t bytes,
						size_t alignment, CUdeviceptr wanted,
						unsigned long long flags)
{
	(void)wanted, (void)flags;
	if (!address || bytes == 0 || bytes % FAKE_GRANULARITY != 0)
		return CUDA_ERROR_INVALID_VALUE;
	fake_lock();
	*address = fake_take(bytes, alignment, 0, FAKE_RESERVATION, NULL);
	fake_unlock();
	return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The mappings of all reservations, found by their first address. */
#define FAKE_MAPPING_BUCKETS 8192u
static struct fake_object *fake_mapping[FAKE_MAPPING_BUCKETS];

static struct fake_object **fake_mapping_find(uint64_t address)
{
	struct fake_object **link =
		&fake_mapping[(address / FAKE_GRANULARITY) % FAKE_MAPPING_BUCKETS];
	while (*link && (*link)->address != address)
		link = &(*link)->next;
	return link;
}

/* Lock held. */
static bool fake_has_mappings(uint64_t address, uint64_t bytes)
{
	for (unsigned i = 0; i < FAKE_MAPPING_BUCKETS; i++)
		for (const struct fake_object *m = fake_mapping[i]; m; m = m->next)
			if (m->address < address + bytes && address < m->address + m->bytes)
				return true;
	return false;
}

static inline CUresult fake_cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
	fake_lock();
	struct fake_slot *slot = fake_slot_at(address);
	bool is_whole = slot && slot->space == FAKE_RESERVATION && slot->bytes == bytes &&
			!fake_has_mappings(address, bytes);
	if (is_whole)
		fake_give(address, slot);
	fake_unlock();
	return is_whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- physical handles: one reference for the owner of a handle, one for each mapping ---- */

static CUresult fake_physical(CUmemGenericAllocationHandle *handle, size_t bytes, int device,
			      bool is_import)
{
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	fake_lock();
	uint64_t *used = &fake_device_memory[device].used_bytes;
	struct fake_object *object = NULL;
	if (is_import || *used + bytes <= fake_setup.device_bytes)
		object = fake_new(FAKE_PHYSICAL, device);
	if (object) {
		object->bytes = bytes;
		object->is_registered = is_import;
		object->mode = 1; /* handles that were given out */
		*used += is_import ? 0 : bytes;
		if (*used > fake_device_memory[device].peak_bytes)
			fake_device_memory[device].peak_bytes = *used;
		*handle = (uintptr_t)object;
		result = CUDA_SUCCESS;
	}
	fake_unlock();
	return result;
}

/* Lock held. */
static void fake_physical_drop(struct fake_object *object)
{
	if (--object->references != 0)
		return;
	if (!object->is_registered)
		fake_device_memory[object->device].used_bytes -= object->bytes;
	fake_delete(object);
}

static inline CUresult fake_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
					const CUmemAllocationProp *properties,
					unsigned long long flags)
{
	if (!handle || !properties || bytes == 0 || bytes % FAKE_GRANULARITY != 0 || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	int device = properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE ?
			     properties->location.id :
			     0;
	return fake_is_device(device) ? fake_physical(handle, bytes, device, false) :
					FAKE_INVALID_DEVICE;
}

CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
				      CUmemAllocationHandleType type, unsigned long long flags)
{
	ENTER(cuMemExportToShareableHandle);
	(void)type, (void)flags;
	const struct fake_object *object = GET(handle, FAKE_PHYSICAL);
	if (!object)
		return CUDA_ERROR_INVALID_VALUE;
	*(int *)out = (int)(object - fake_arena);
	return CUDA_SUCCESS;
}

static inline CUresult fake_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle,
							   void *from,
							   CUmemAllocationHandleType type)
{
	(void)type;
	uintptr_t index = (uintptr_t)from;
	const struct fake_object *object =
		index < FAKE_OBJECTS ? GET(&fake_arena[index], FAKE_PHYSICAL) : NULL;
	return object ? fake_physical(handle, object->bytes, object->device, true) :
			CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle,
							void *wanted)
{
	fake_lock();
	struct fake_object *mapping = NULL;
	for (unsigned i = 0; i < FAKE_MAPPING_BUCKETS && !mapping; i++)
		for (mapping = fake_mapping[i]; mapping; mapping = mapping->next)
			if ((uintptr_t)wanted - mapping->address < mapping->bytes)
				break;
	if (mapping) {
		mapping->owner->references++;
		mapping->owner->mode++;
		*handle = (uintptr_t)mapping->owner;
	}
	fake_unlock();
	return mapping ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct fake_object *object = GET(handle, FAKE_PHYSICAL);
	fake_lock();
	bool is_held = object && object->mode > 0;
	if (is_held) {
		object->mode--;
		fake_physical_drop(object);
	}
	fake_unlock();
	return is_held ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- mappings ---- */

static inline CUresult fake_cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
				     CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct fake_object *object = GET(handle, FAKE_PHYSICAL), *mapping;
	if (!object || flags != 0 || bytes == 0 || bytes % FAKE_GRANULARITY ||
	    address % FAKE_GRANULARITY || offset + bytes > object->bytes)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	uint64_t start;
	fake_lock();
	const struct fake_slot *slot = fake_slot_around(address, &start);
	struct fake_object **link = fake_mapping_find(address);
	if (*link) {
		result = FAKE_ALREADY_MAPPED;
	} else if (slot && slot->space == FAKE_RESERVATION &&
		   address + bytes <= start + slot->bytes &&
		   (mapping = fake_new(FAKE_MAPPING, object->device))) {
		mapping->address = address;
		mapping->bytes = bytes;
		mapping->owner = object;
		object->references++;
		*link = mapping;
		result = CUDA_SUCCESS;
	}
	fake_unlock();
	return result;
}

/* Whole mappings, one or several side by side. */
static inline CUresult fake_cuMemUnmap(CUdeviceptr address, size_t bytes)
{
	CUresult result = CUDA_SUCCESS;
	uint64_t at = address;
	fake_lock();
	while (at < address + bytes && *fake_mapping_find(at))
		at += (*fake_mapping_find(at))->bytes;
	if (bytes == 0 || at != address + bytes)
		result = CUDA_ERROR_INVALID_VALUE;
	for (at = address; result == CUDA_SUCCESS && at < address + bytes;) {
		struct fake_object **link = fake_mapping_find(at), *mapping = *link;
		at += mapping->bytes;
		*link = mapping->next;
		fake_physical_drop(mapping->owner);
		fake_delete(mapping);
	}
	fake_unlock();
	return result;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const void *access, size_t count)
{
	ENTER(cuMemSetAccess);
	(void)access, (void)count;
	fake_lock();
	bool is_mapped = bytes != 0 && fake_has_mappings(address, bytes);
	fake_unlock();
	return is_mapped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
			CUdeviceptr address)
{
	ENTER(cuMemGetAccess);
	(void)location;
	fake_lock();
	*flags = fake_has_mappings(address, 1) ? 3 : 0;
	fake_unlock();
	return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *properties,
				       int option)
{
	ENTER(cuMemGetAllocationGranularity);
	(void)properties, (void)option;
	*bytes = FAKE_GRANULARITY;
	return CUDA_SUCCESS;
}

/* ---- multicast objects: handles that things are bound to ---- */

static inline CUresult fake_cuMulticastCreate(CUmemGenericAllocationHandle *multicast,
					      const CUmulticastObjectProp *properties)
{
	return properties->size ? fake_physical(multicast, properties->size, 0, true) :
				  CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuMulticastAddDevice(CUmemGenericAllocationHandle multicast,
						 CUdevice device)
{
	if (!GET(multicast, FAKE_PHYSICAL))
		return CUDA_ERROR_INVALID_VALUE;
	return fake_is_device(device) ? CUDA_SUCCESS : FAKE_INVALID_DEVICE;
}

static inline CUresult fake_cuMulticastBindMem(CUmemGenericAllocationHandle multicast,
					       size_t offset, CUmemGenericAllocationHandle handle,
					       size_t handle_offset, size_t bytes,
					       unsigned long long flags)
{
	(void)offset, (void)handle_offset, (void)bytes, (void)flags;
	return GET(multicast, FAKE_PHYSICAL) && GET(handle, FAKE_PHYSICAL) ?
		       CUDA_SUCCESS :
		       CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuMulticastBindAddr(CUmemGenericAllocationHandle multicast,
						size_t offset, CUdeviceptr address, size_t bytes,
						unsigned long long flags)
{
	(void)offset, (void)address, (void)bytes, (void)flags;
	return GET(multicast, FAKE_PHYSICAL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuMulticastUnbind(CUmemGenericAllocationHandle multicast,
					      CUdevice device, size_t offset, size_t bytes)
{
	(void)device, (void)offset, (void)bytes;
	return GET(multicast, FAKE_PHYSICAL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

#endif
