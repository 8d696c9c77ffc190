/*
 * The device of an event: from the thread's current context, which the wrapped calls follow, and
 * from the devices of contexts, streams, pools and addresses. Owns those tables and the definitions
 * of devices, contexts and streams. Calls the driver only behind the gate of capture.h, once for
 * each object.
 */
#ifndef GP_CONTEXT_H
#define GP_CONTEXT_H

#include "../../libgpuprof/record/record.h"
#include "../driver/cuda_types.h"

/*
 * Raised when a context (24 bits, never 0) or a stream ends. Invalidates what threads have cached.
 */
extern _Atomic uint32_t gp_context_epoch GP_HOT_DATA __attribute__((visibility("hidden")));
extern _Atomic uint64_t gp_stream_epoch GP_HOT_DATA __attribute__((visibility("hidden")));

GP_COLD unsigned gp_device_current_slow(void);
GP_COLD unsigned gp_device_of_stream_slow(uint64_t stream);

/*
 * The device of the calling thread's context; GP_DEVICE_UNKNOWN if unknown. May call the driver and
 * commit definitions. Call it only while recording, after the job's call succeeded, and with no
 * record reserved.
 */
GP_HOT unsigned gp_device_current(void)
{
	uint32_t known = gp_thread.device_epoch;
	/* relaxed: using a context while another thread ends it is a race of the job */
	if (gp_likely(known >> 8 == atomic_load_explicit(&gp_context_epoch, memory_order_relaxed)))
		return known & 0xff;
	return gp_device_current_slow();
}

/* The same, if it is known without a driver call. For use before the job's call. */
GP_HOT unsigned gp_device_known(void)
{
	uint32_t known = gp_thread.device_epoch;
	return known >> 8 == atomic_load_explicit(&gp_context_epoch, memory_order_relaxed) ?
		       known & 0xff :
		       GP_DEVICE_UNKNOWN;
}

/* The same for a stream from gp_stream_of(). */
GP_HOT unsigned gp_device_of_stream(uint64_t stream)
{
	const struct gp_thread *t = &gp_thread;
	if (stream <= (uint64_t)CU_STREAM_PER_THREAD)
		return gp_device_current();
	if (gp_likely(t->stream == stream &&
		      t->stream_epoch ==
			      atomic_load_explicit(&gp_stream_epoch, memory_order_relaxed)))
		return t->stream_device;
	return gp_device_of_stream_slow(stream);
}

/*
 * The device if it is cached. Makes no driver call and no record, so it is safe before the job's
 * call and with a record reserved.
 */
unsigned gp_stream_device_known(uint64_t stream);

/*
 * One number for each stream: 0 is the legacy default stream, 2 the calling thread's own default
 * stream.
 */
GP_HOT uint64_t gp_stream_of(CUstream stream, bool is_per_thread)
{
	if (!stream)
		return is_per_thread ? (uint64_t)CU_STREAM_PER_THREAD : 0;
	return stream == CU_STREAM_LEGACY ? 0 : (uint64_t)stream;
}

/* ---- reports of the wrapped calls, also while recording is off ---- */

void gp_context_created(CUcontext context, CUdevice device); /* becomes the current one */
void gp_context_known(uint64_t context, unsigned device);    /* context or green context */
int gp_context_device(uint64_t context);		     /* -1: unknown */
void gp_context_set(CUcontext context);
void gp_context_push(CUcontext context);
void gp_context_pop(void);
/*
 * `ending` before the call that ends it, `ended` after it on the same thread. A destroyed context
 * is popped. A primary one stays current and may be activated again.
 */
void gp_context_ending(uint64_t context);
void gp_context_ended(uint64_t context, bool is_popped);

/* The call began at the time `began`; the first one makes the context. */
void gp_primary_retained(CUcontext context, CUdevice device, uint64_t began);
uint64_t gp_primary_of(CUdevice device); /* 0: unknown */

void gp_stream_created(uint64_t stream, unsigned device);
/* Before the call that destroys it. */
void gp_stream_ending(uint64_t stream);
/* Records the STREAM definition, with values that are only known at its creation. */
void gp_stream_define(uint64_t stream, unsigned flags, int priority);
/* `took`: duration of the call that has made it, in ticks. */
void gp_context_define(uint64_t context, unsigned flags, uint64_t took);

void gp_pool_known(CUmemoryPool pool, unsigned device);
unsigned gp_pool_device(CUmemoryPool pool);

/* Devices of physical and multicast handles and of memory of other processes, until they end. */
void gp_address_put(enum gp_space space, uint64_t address, unsigned device);
/* The device, GP_DEVICE_UNKNOWN if unknown; `is_ending` removes the entry. */
unsigned gp_address_device(enum gp_space space, uint64_t address, bool is_ending);

/*
 * Further references to a live address or handle: memory of another process opened twice, a
 * physical handle retained. Only the end of the last reference is a free.
 */
bool gp_reference_add(enum gp_space space,
		      uint64_t address); /* false: not live, this is the first */
void gp_reference_again(enum gp_space space, uint64_t address);
bool gp_reference_drop(enum gp_space space, uint64_t address); /* false: there is only one */

/* For gp_recorder_started: a process begins to record. It may be a forked child. */
void gp_context_restart(bool is_child);

#endif
