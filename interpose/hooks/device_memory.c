/*
 * Records DEVICE_MEMORY (device_memory.h).
 */
#include "device_memory.h"

#include <errno.h>

#include "../driver/cuda_api.h"
#include "capture.h"

#define PERIOD_NS 100000000u
/* a device without launches must not keep launches of other devices on the slow path */
#define GIVE_UP_NS 1000000000u
/* CU_LIMIT_STACK_SIZE's default: a context has room for that much local memory of a thread */
#define LOCAL_BYTES 1024u
#define POOL_RESERVED_CURRENT 5 /* CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT */

_Atomic uint64_t gp_devices_changed GP_HOT_DATA;
_Atomic uint64_t gp_devices_pooled GP_HOT_DATA;
gp_device_fraction_of *_Atomic gp_device_fraction;

static struct {
	_Atomic uint64_t queried_ns;  /* at a quiet moment; 0: never, or the next read is due */
	_Atomic uint64_t read_ns;     /* at any moment; 0: never */
	_Atomic uint64_t waits_ns;    /* since when only others were read; 0: it does not wait */
	_Atomic uint64_t limit;	      /* 0: unknown */
	_Atomic uint64_t local_bytes; /* of the kernel that needs most; 0: no kernel yet */
	_Atomic uint32_t causes;      /* enum gp_memory_cause, since the last read */
} devices[GP_DEVICES];

struct reading {
	uint64_t free_bytes, total_bytes, state;
};

/* Between gp_calls_begin and gp_calls_end. 0: unknown. */
static uint64_t query_pool(unsigned device)
{
	CUmemoryPool pool = NULL;
	uint64_t bytes = 0;
	if (!(atomic_load_explicit(&gp_devices_pooled, memory_order_relaxed) >> device & 1) ||
	    !gp_cuda.cuDeviceGetDefaultMemPool || !gp_cuda.cuMemPoolGetAttribute ||
	    gp_cuda.cuDeviceGetDefaultMemPool(&pool, (CUdevice)device) != CUDA_SUCCESS ||
	    gp_cuda.cuMemPoolGetAttribute(pool, POOL_RESERVED_CURRENT, &bytes) != CUDA_SUCCESS)
		return 0;
	return bytes & GP_POOL_BYTES;
}

/* Inside gp_enter; the device's context is current. False: the driver cannot be called now. */
static bool query_driver(unsigned device, struct reading *out)
{
	size_t unused = 0, total = 0;
	if (!gp_cuda.cuMemGetInfo_v2 || !gp_calls_begin())
		return false;
	const uint32_t causes = atomic_exchange(&devices[device].causes, 0);
	const bool is_known = gp_cuda.cuMemGetInfo_v2(&unused, &total) == CUDA_SUCCESS;
	*out = (struct reading){ unused, total,
				 query_pool(device) | (uint64_t)causes << GP_CAUSES_SHIFT };
	gp_calls_end();
	if (!is_known)
		atomic_fetch_or(&devices[device].causes, causes);
	else
		atomic_store_explicit(&devices[device].read_ns,
				      gp_clock_raw_ns(CLOCK_MONOTONIC_COARSE),
				      memory_order_relaxed);
	return is_known;
}

static void put_record(unsigned device, const struct reading *reading)
{
	uint64_t limit = atomic_load_explicit(&devices[device].limit, memory_order_relaxed);
	gp_put((struct gp_record){ .kind = GP_DEVICE_MEMORY,
				   .device = (uint8_t)device,
				   .aux = limit != 0,
				   .device_memory = { .free_bytes = reading->free_bytes,
						      .total_bytes = reading->total_bytes,
						      .limit_bytes = limit,
						      .state = reading->state } });
}

void gp_device_memory_noted(unsigned device, unsigned causes)
{
	if (device >= GP_DEVICES)
		return;
	atomic_fetch_or(&devices[device].causes, causes);
	gp_device_memory_changed(device);
}

void gp_device_memory_caused(unsigned device, unsigned causes)
{
	const int kept = errno;
	struct reading reading;
	gp_device_memory_noted(device, causes);
	if (device < GP_DEVICES && gp_device_current() == device && query_driver(device, &reading))
		put_record(device, &reading);
	errno = kept;
}

void gp_device_memory_before(void)
{
	const int kept = errno;
	const unsigned device = gp_device_known();
	const uint64_t read_ns = device < GP_DEVICES ? atomic_load(&devices[device].read_ns) : 0;
	struct reading reading;
	if (!read_ns || gp_clock_raw_ns(CLOCK_MONOTONIC_COARSE) - read_ns < PERIOD_NS ||
	    !gp_enter())
		return;
	if (query_driver(device, &reading))
		put_record(device, &reading);
	gp_leave();
	errno = kept;
}

void gp_device_memory_kernel(unsigned device, uint64_t local_bytes)
{
	if (device >= GP_DEVICES)
		return;
	_Atomic uint64_t *most = &devices[device].local_bytes;
	const bool is_most = local_bytes > LOCAL_BYTES &&
			     local_bytes > atomic_load_explicit(most, memory_order_relaxed);
	if (is_most)
		atomic_store_explicit(most, local_bytes, memory_order_relaxed);
	gp_device_memory_noted(device, is_most ? GP_CAUSE_LOCAL : GP_CAUSE_KERNEL);
	atomic_store_explicit(&devices[device].queried_ns, 0, memory_order_relaxed);
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
	uint64_t changed = atomic_load(&gp_devices_changed);
	struct reading reading;
	uint64_t now_ns = gp_clock_raw_ns(CLOCK_MONOTONIC_COARSE);
	unsigned device = gp_device_current();
	bool is_ours = device < GP_DEVICES && changed >> device & 1;
	uint64_t queried_ns =
		is_ours ? atomic_load_explicit(&devices[device].queried_ns, memory_order_relaxed) :
			  0;
	if (is_ours && now_ns - queried_ns >= PERIOD_NS) {
		atomic_fetch_and(&gp_devices_changed, ~(1ull << device));
		atomic_store_explicit(&devices[device].waits_ns, 0, memory_order_relaxed);
		atomic_store_explicit(&devices[device].queried_ns, now_ns, memory_order_relaxed);
		if (query_driver(device, &reading)) {
			learn_limit(device, reading.total_bytes);
			put_record(device, &reading);
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
	struct reading reading;
	if (gp_device_current() != device || !query_driver(device, &reading))
		return;
	/* this thread holds the lock; it is recursive, so the call may take it again */
	learn_limit(device, reading.total_bytes);
	put_record(device, &reading);
}
