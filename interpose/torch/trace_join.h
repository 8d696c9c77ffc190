/*
 * The content of the framework's allocator before its first report to us (hook_trace.h). The
 * allocator makes a snapshot of its own, twice. If nothing changed between the two, the first is
 * recorded while the second is made, under the lock of each device's allocator. So the record is at
 * its right place among the events. Our snapshots are not recorded as snapshots of the job.
 *
 * If the job keeps PyTorch's history, each snapshot copies it, and the contexts of its entries stay
 * in host memory. No version from 2.2 to 2.11 has a switch against that. The content is not taken
 * over if it has more segments and blocks than half a ring holds.
 */
#ifndef GP_TRACE_JOIN_H
#define GP_TRACE_JOIN_H

#include <stdatomic.h>

#include "../../libgpuprof/record/record.h"
#include "torch_allocator.h"

enum gp_join_state {
	GP_JOIN_NONE,	   /* not needed, finished, or impossible */
	GP_JOIN_REQUESTED, /* at the next quiet moment */
	GP_JOIN_RUNS,
};
extern _Atomic uint32_t gp_join_state GP_HOT_DATA __attribute__((visibility("hidden")));

/* Before the tracker is attached: the allocator has blocks that it did not report to us. */
void gp_join_request(const struct gp_torch_allocator *allocator);

/* At a quiet moment, outside the allocator's locks. */
void gp_join_try(void);

/* Under the lock of a device's allocator, when it changes. */
GP_COLD void gp_join_changed(unsigned device);
GP_HOT void gp_join_note(unsigned device)
{
	if (gp_unlikely(atomic_load_explicit(&gp_join_state, memory_order_relaxed)))
		gp_join_changed(device);
}

/*
 * Under the lock of a device's allocator that makes a snapshot for us. Returns the device, since
 * devices come in order; GP_DEVICE_UNKNOWN: there are more than supported. `active_bytes`: as
 * reported.
 */
unsigned gp_join_snapshot(uint64_t active_bytes);

#endif
