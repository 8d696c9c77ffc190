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

/* At a quiet moment: reads the calling thread's device, if it is due. */
void gp_device_memory_query(void);
/* Reads at once, with any lock held: the framework has just run out of memory. */
void gp_device_memory_query_oom(unsigned device);

#endif
