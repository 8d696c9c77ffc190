/*
 * Reads what the driver counts as used on a device. Reads at a quiet moment after memory was
 * requested or returned, at most every 100 ms for each device. Also reads when the framework runs
 * out of memory. Records the framework's limit, too. cuMemGetInfo takes 4 us on an H200.
 */
#ifndef GP_DEVICE_MEMORY_H
#define GP_DEVICE_MEMORY_H

#include "context.h"
#include "deferred_call.h"

/* Devices whose memory changed since the last read, as bits. */
extern _Atomic uint64_t gp_devices_changed GP_HOT_DATA __attribute__((visibility("hidden")));

GP_HOT void gp_device_memory_changed(unsigned device)
{
	if (device >= GP_DEVICES ||
	    atomic_load_explicit(&gp_devices_changed, memory_order_relaxed) >> device & 1)
		return;
	atomic_fetch_or(&gp_devices_changed, 1ull << device);
	gp_is_due(GP_DUE_MEMORY);
}

/*
 * The fraction of the device's memory that the framework's allocator may use, 0..1; below 0:
 * unknown. Must not be called with the lock of another device held. NULL until the allocator is
 * found.
 */
typedef double gp_device_fraction_of(unsigned device);
extern gp_device_fraction_of *_Atomic gp_device_fraction __attribute__((visibility("hidden")));

/*
 * After a successful call that changes what the driver itself takes on the device (enum
 * gp_memory_cause): reads at once, so that the change is that of this call. Inside gp_enter, with
 * no record reserved. If the driver cannot be called now, the next read has this cause as well.
 */
GP_COLD void gp_device_memory_caused(unsigned device, unsigned causes);
/*
 * Before such a call: reads if the last read is over 100 ms old, so that changes by other processes
 * do not count as the call's. Outside of gp_enter. Keeps errno.
 */
GP_COLD void gp_device_memory_before(void);
/* The same as gp_device_memory_caused without a read, for any moment. */
void gp_device_memory_noted(unsigned device, unsigned causes);
/*
 * At the first launch of a kernel, which needs `local_bytes` of local memory a thread: the read is
 * due at the end of this launch.
 */
void gp_device_memory_kernel(unsigned device, uint64_t local_bytes);
/* The device has stream-ordered allocations, so its default pool is read, too. */
extern _Atomic uint64_t gp_devices_pooled GP_HOT_DATA __attribute__((visibility("hidden")));
GP_HOT void gp_device_memory_pooled(unsigned device)
{
	if (device < GP_DEVICES &&
	    !(atomic_load_explicit(&gp_devices_pooled, memory_order_relaxed) >> device & 1))
		atomic_fetch_or(&gp_devices_pooled, 1ull << device);
}

/* At a quiet moment: reads the calling thread's device, if it is due. */
void gp_device_memory_query(void);
/* Reads at once, with any lock held: the framework has just run out of memory. */
void gp_device_memory_query_oom(unsigned device);

#endif
