/*
 * Hooks of the memory rows: allocations are recorded after the driver succeeded, frees before it is
 * called. Each function is called by a wrapper inside gp_enter(); `result` is the driver's.
 */
#ifndef GP_HOOK_MEMORY_H
#define GP_HOOK_MEMORY_H

#include "context.h"
#include "device_memory.h"
#include "hook_reserve.h"
#include "use_map.h"

/* An allocation, without its address. */
struct gp_allocation {
	enum gp_space space;
	uint32_t device; /* GP_DEVICE_UNKNOWN: that of the current context */
	uint32_t flags;	 /* enum gp_alloc_flag | driver's flags << 16 */
	uint64_t bytes, stream;
	uint64_t owner; /* pool, graph or handle; else the hook sets the context */
	uint64_t began; /* of the driver's call, which has just returned; 0: unknown */
};

/* spaces whose memory ends with its context */
#define GP_SPACES_OF_CONTEXT                                                    \
	(1u << GP_SPACE_DEVICE | 1u << GP_SPACE_MANAGED | 1u << GP_SPACE_HOST | \
	 1u << GP_SPACE_HOST_REGISTER | 1u << GP_SPACE_ARRAY)
/* spaces whose events change the free bytes that the driver counts */
#define GP_SPACES_OF_DEVICE (1u << GP_SPACE_DEVICE | 1u << GP_SPACE_ARRAY | 1u << GP_SPACE_PHYSICAL)
/* spaces with several references: gp_reference_add */
#define GP_SPACES_HELD (1u << GP_SPACE_PHYSICAL | 1u << GP_SPACE_IPC | 1u << GP_SPACE_MULTICAST)

GP_COLD void gp_hook_alloc_failed(CUresult result, const struct gp_allocation *what);

/*
 * A record of the call that began at `began` and has just returned, with its duration; NULL: lost,
 * and counted. `kind` is ALLOC or MAP.
 */
GP_HOT struct gp_record *gp_reserve_alloc(enum gp_kind kind, uint64_t began)
{
	const uint64_t ended = gp_clock_now();
	struct gp_record *r = gp_reserve_ended(kind, ended);
	if (gp_unlikely(!r))
		return NULL;
	if (began != 0)
		r->code = (uint16_t)gp_took_pack(gp_took(began, ended), GP_ALLOC_TOOK_BITS);
	return r;
}

/*
 * Records ALLOC or ALLOC_FAILED. `address` is 0 unless the call succeeded. The stack of the ALLOC;
 * GP_NOT_RECORDED: there is none.
 */
#define GP_NOT_RECORDED UINT32_MAX
GP_HOT uint32_t gp_hook_alloc(CUresult result, uint64_t address, struct gp_allocation what)
{
	if (what.device == GP_DEVICE_UNKNOWN)
		what.device = gp_device_current();
	if (gp_unlikely(result != CUDA_SUCCESS)) {
		gp_hook_alloc_failed(result, &what);
		return GP_NOT_RECORDED;
	}
	gp_use_known(what.space, address, what.bytes);
	struct gp_record *r = gp_reserve_alloc(GP_ALLOC, what.began);
	if (gp_unlikely(!r))
		return GP_NOT_RECORDED;
	const uint32_t caller = r->stack;
	r->alloc.address = address;
	r->alloc.bytes = what.bytes;
	r->alloc.stream = what.stream;
	r->alloc.owner = GP_SPACES_OF_CONTEXT >> what.space & 1 ? gp_thread.context : what.owner;
	r->aux = what.flags;
	r->space = (uint8_t)what.space;
	r->device = (uint8_t)what.device;
	gp_commit_memory(r);
	if (GP_SPACES_OF_DEVICE >> what.space & 1)
		gp_device_memory_changed(what.device);
	return caller;
}
void gp_hook_alloc_async(CUresult result, uint64_t began, uint64_t address, uint64_t bytes,
			 uint64_t stream, CUmemoryPool pool);

/* gp_thread.last_free_order when a refused call left no FREE record */
#define GP_NOTHING_FREED UINT64_MAX
#define GP_REFERENCE_FREED (UINT64_MAX - 1)

/* Drops a reference. True: it was the last one, and *device is set again. */
bool gp_hook_release(enum gp_space space, uint64_t address, unsigned *device);

/*
 * Before the call: records FREE, with the fields for FREE_FAILED. A free of NULL is not recorded.
 * Readers find the device in their live set: a look-up here would cost as much as the record.
 */
GP_HOT void gp_hook_free(enum gp_space space, uint64_t address, uint64_t stream)
{
	unsigned device = GP_DEVICE_UNKNOWN;
	gp_thread.last_free_order = GP_NOTHING_FREED;
	if (!address || (GP_SPACES_HELD >> space & 1 && !gp_hook_release(space, address, &device)))
		return;
	const uint32_t caller = gp_stack_of_free();
	struct gp_record *r = gp_reserve(GP_FREE);
	if (gp_unlikely(!r))
		return;
	r->stack = caller;
	r->free.address = address;
	r->free.stream = stream;
	r->space = (uint8_t)space;
	r->device = (uint8_t)device;
	gp_thread.last_free_order = gp_commit_memory(r);
	if (GP_SPACES_OF_DEVICE >> space & 1)
		gp_device_memory_changed(gp_device_known());
}
GP_COLD void gp_hook_free_failed(CUresult result, enum gp_space space, uint64_t address);
/* After any free. */
GP_HOT void gp_hook_freed(CUresult result, enum gp_space space, uint64_t address)
{
	if (gp_unlikely(result != CUDA_SUCCESS))
		gp_hook_free_failed(result, space, address);
}

/* After a stream-ordered free. */
void gp_hook_freed_async(CUresult result, uint64_t address);

/* GP_DEVICE_UNKNOWN for host memory and for NULL. */
unsigned gp_located_device(const CUmemLocation *location);

/* Virtual memory. */
void gp_hook_physical(CUresult result, uint64_t began, uint64_t handle, uint64_t bytes,
		      const CUmemAllocationProp *prop);
void gp_hook_retain(CUresult result, uint64_t handle);
enum gp_space gp_physical_space(uint64_t handle); /* PHYSICAL or MULTICAST */
void gp_hook_map(CUresult result, uint64_t began, uint64_t address, uint64_t bytes, uint64_t offset,
		 uint64_t handle);
void gp_hook_unmap(uint64_t address, uint64_t bytes);
GP_COLD void gp_hook_unmap_failed(CUresult result, uint64_t address, uint64_t bytes);
GP_HOT void gp_hook_unmapped(CUresult result, uint64_t address, uint64_t bytes)
{
	if (gp_unlikely(result != CUDA_SUCCESS))
		gp_hook_unmap_failed(result, address, bytes);
}
void gp_hook_multicast_create(CUresult result, uint64_t handle, uint64_t bytes);
void gp_hook_multicast(CUresult result, enum gp_multicast operation, uint64_t handle,
		       uint64_t member, uint64_t offset, uint64_t bytes, int device);

/* Pools. Allocations of a destroyed pool live until they are freed. */
void gp_hook_pool_create(CUresult result, CUmemoryPool pool, const CUmemPoolProps *properties,
			 bool is_recording);
void gp_hook_pool_destroy(CUmemoryPool pool, bool is_recording);
void gp_hook_pool_trim(CUresult result, CUmemoryPool pool, uint64_t keep_bytes, unsigned device);

/* Memory of other processes; the driver returns its size. */
void gp_hook_import(CUresult result, enum gp_space space, uint64_t address, uint64_t bytes,
		    uint64_t owner);

/* The memory of an owner ends with it. Call it before the call that ends the owner. */
void gp_hook_owner_gone(enum gp_how how, uint64_t owner, unsigned device);

/* Bytes for a descriptor; 0 for NULL, and for arrays whose memory is mapped later. */
uint64_t gp_array_bytes(uint64_t width, uint64_t height, uint64_t depth, CUarray_format format,
			unsigned channels, unsigned flags, unsigned levels);

#endif
