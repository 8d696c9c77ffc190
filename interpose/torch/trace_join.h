/*
 * What the framework's allocator had before its first report to us (hook_trace.h): it makes a
 * snapshot of its own, twice, and where nothing changed between the two, the first is recorded
 * while the second is made, under the lock of each device's allocator: so what is recorded holds at
 * its place among the events. The job's snapshots stay what they were: ours are not recorded.
 *
 * Where the job keeps PyTorch's history each snapshot copies it, and the contexts of its entries
 * stay in host memory: no version read here (2.2 to 2.11) has a switch against that. More segments
 * and blocks than half a ring holds are left alone.
 */
#ifndef GP_TRACE_JOIN_H
#define GP_TRACE_JOIN_H

#include <stdatomic.h>

#include "../../libgpuprof/record/record.h"
#include "torch_allocator.h"

enum gp_join_state {
	GP_JOIN_NONE,	/* nothing is to be taken over, or it was, or cannot be */
	GP_JOIN_WANTED, /* at the next quiet moment */
	GP_JOIN_RUNS,
};
extern _Atomic uint32_t gp_join_state GP_HOT_DATA __attribute__((visibility("hidden")));

/* Before the tracker is attached: the allocator has blocks that it did not report. */
void gp_join_want(const struct gp_torch_allocator *allocator);

/* At a quiet moment, outside the allocator's locks. */
void gp_join_try(void);

/* Under the lock of a device's allocator: it changes. */
GP_COLD void gp_join_changed(unsigned device);
GP_HOT void gp_join_note(unsigned device)
{
	if (gp_unlikely(atomic_load_explicit(&gp_join_state, memory_order_relaxed)))
		gp_join_changed(device);
}

/*
 * Under the lock of a device's allocator, which makes a snapshot that we requested: the device, as
 * they come one after the other; GP_DEVICE_UNKNOWN: there are more than are known. `active_bytes`:
 * as reported.
 */
unsigned gp_join_snapshot(uint64_t active_bytes);

#endif
