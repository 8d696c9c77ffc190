/*
 * Records DEVICE_MEMORY (device_memory.h).
 */
#include "device_memory.h"

#include "../driver/cuda_api.h"
#include "capture.h"

#define PERIOD_NS 100000000u
/* a device without launches must not keep launches of other devices on the slow path */
#define GIVE_UP_NS 1000000000u

_Atomic uint64_t gp_devices_changed GP_HOT_DATA;
gp_device_fraction_of *_Atomic gp_device_fraction;

static struct {
	_Atomic uint64_t queried_ns; /* 0: never */
	_Atomic uint64_t waits_ns;   /* since when only others were read; 0: it does not wait */
	_Atomic uint64_t limit;	     /* 0: unknown */
} devices[GP_DEVICES];

/* Inside gp_enter; the device's context is current. False: the driver cannot be called now. */
static bool query_driver(unsigned device, uint64_t *free_bytes, uint64_t *total_bytes)
{
	size_t unused = 0, total = 0;
	if (!gp_cuda.cuMemGetInfo_v2 || !gp_calls_begin())
		return false;
	bool is_known = gp_cuda.cuMemGetInfo_v2(&unused, &total) == CUDA_SUCCESS;
	gp_calls_end();
	*free_bytes = unused;
	*total_bytes = total;
	atomic_store_explicit(&devices[device].queried_ns, gp_clock_raw_ns(CLOCK_MONOTONIC_COARSE),
			      memory_order_relaxed);
	return is_known;
}

static void put_record(unsigned device, uint64_t free_bytes, uint64_t total_bytes)
{
	uint64_t limit = atomic_load_explicit(&devices[device].limit, memory_order_relaxed);
	gp_put((struct gp_record){ .kind = GP_DEVICE_MEMORY,
				   .device = (uint8_t)device,
				   .aux = limit != 0,
				   .device_memory = { .free_bytes = free_bytes,
						      .total_bytes = total_bytes,
						      .limit_bytes = limit } });
}

/*
 * Computes the framework's limit as the framework does: a fraction of the device's memory, cut to a
 * byte.
 */
static void learn_limit(unsigned device, uint64_t total_bytes)
{
	/* partner: the store in gp_trace_attach */
	gp_device_fraction_of *of = atomic_load_explicit(&gp_device_fraction, memory_order_acquire);
	const double fraction = of ? of(device) : -1;
	size_t whole = 0;
	if (fraction < 0)
		return;
	if (fraction < 1 && gp_cuda.cuDeviceTotalMem_v2 && gp_calls_begin()) {
		if (gp_cuda.cuDeviceTotalMem_v2(&whole, (CUdevice)device) != CUDA_SUCCESS)
			whole = 0;
		gp_calls_end();
	}
	if (!whole)
		whole = total_bytes;
	/*
	 * `fraction` is the limit in whole bytes divided by the total: adding half a byte restores
	 * it
	 */
	uint64_t limit =
		fraction < 1 ? (uint64_t)(fraction * (double)whole + 0.5) : (uint64_t)total_bytes;
	atomic_store_explicit(&devices[device].limit, limit, memory_order_relaxed);
}

static void give_up_old(uint64_t changed, uint64_t now_ns)
{
	for (unsigned d = 0; d < GP_DEVICES && changed >> d; d++) {
		uint64_t since = atomic_load_explicit(&devices[d].waits_ns, memory_order_relaxed);
		bool is_waiting = changed >> d & 1;
		if (is_waiting && since && now_ns - since > GIVE_UP_NS) {
			atomic_fetch_and(&gp_devices_changed, ~(1ull << d));
			is_waiting = false;
		}
		if (!is_waiting || !since)
			atomic_store_explicit(&devices[d].waits_ns, is_waiting ? now_ns : 0,
					      memory_order_relaxed);
	}
}

void gp_device_memory_query(void)
{
	uint64_t changed = atomic_load(&gp_devices_changed), free_bytes, total_bytes;
	uint64_t now_ns = gp_clock_raw_ns(CLOCK_MONOTONIC_COARSE);
	unsigned device = gp_device_current();
	bool is_ours = device < GP_DEVICES && changed >> device & 1;
	uint64_t queried_ns =
		is_ours ? atomic_load_explicit(&devices[device].queried_ns, memory_order_relaxed) :
			  0;
	if (is_ours && now_ns - queried_ns >= PERIOD_NS) {
		atomic_fetch_and(&gp_devices_changed, ~(1ull << device));
		atomic_store_explicit(&devices[device].waits_ns, 0, memory_order_relaxed);
		if (query_driver(device, &free_bytes, &total_bytes)) {
			learn_limit(device, total_bytes);
			put_record(device, free_bytes, total_bytes);
		}
	} else if (!is_ours) {
		give_up_old(changed, now_ns);
	}
	if (atomic_load(&gp_devices_changed) == 0) {
		atomic_fetch_and(&gp_due, ~(uint32_t)GP_DUE_MEMORY);
		/* a device may have changed in between */
		if (atomic_load(&gp_devices_changed) != 0)
			gp_is_due(GP_DUE_MEMORY);
	}
}

void gp_device_memory_query_oom(unsigned device)
{
	uint64_t free_bytes, total_bytes;
	if (gp_device_current() != device || !query_driver(device, &free_bytes, &total_bytes))
		return;
	/* this thread holds the lock; it is recursive, so the call may take it again */
	learn_limit(device, total_bytes);
	put_record(device, free_bytes, total_bytes);
}
