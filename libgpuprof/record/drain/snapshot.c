/*
 * Answers `gpuprof snapshot`: writes all events until the request, and an event for it, then
 * answers the command. The job continues meanwhile. On the drain thread.
 */
#include "../recorder.h"

/* A number in flight for longer belongs to a stopped thread: its event comes late. */
#define FLIGHT_NS 200000000u

static void snapshot_begin(struct gp_recorder *r, uint32_t requested)
{
	r->snapshots_taken = requested;
	r->snapshot_until = atomic_load(&gp_control->next_order);
	r->snapshot_since_ns = gp_now_ns();
	r->has_snapshot_mark = false;
}

bool gp_snapshot_tend(struct gp_recorder *r)
{
	/* partner: the add in gp_process_snapshot, of another process */
	uint32_t requested = atomic_load(&gp_control->snapshots_requested);
	if (r->snapshot_since_ns == 0) {
		if (requested == atomic_load(&gp_control->snapshots_done))
			return false;
		snapshot_begin(r, requested);
		return true; /* earlier events are in the rings, and the next merge applies them */
	}
	uint64_t waited = gp_now_ns() - r->snapshot_since_ns;
	if (r->expected < r->snapshot_until && waited < FLIGHT_NS)
		return false;
	if (!r->has_snapshot_mark) {
		atomic_store(&gp_control->snapshot_order, r->expected);
		gp_drain_write(r,
			       &(struct gp_record){ .kind = GP_SNAPSHOT_REQUESTED,
						    .device = GP_DEVICE_UNKNOWN,
						    .aux = r->snapshots_taken },
			       NULL);
		r->has_snapshot_mark = true;
		return true;
	}
	gp_drain_flush_all(r);
	r->snapshot_since_ns = 0;
	gp_futex_set_shared(&gp_control->snapshots_done, r->snapshots_taken);
	return false;
}
