/*
 * How many rings there are: one for each thread that waits, made in one go, and those of threads
 * that ended without a word taken back before. On the drain thread.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder.h"

#define BATCH_NS 10000000u /* so long, at most, what the rings hold waits while more are made */
#define SWEEP_NS 10000000u

/* Rings that are free, or will be when this turn has written what is left in them. */
static uint32_t count_free(const struct gp_recorder *r)
{
	const uint32_t rings = atomic_load(&gp_control->rings);
	uint32_t count = 0;
	for (uint32_t k = 1; k < rings; k++) {
		const uint32_t state = atomic_load(&r->views[k].ring->state);
		count += state == GP_RING_FREE || state == GP_RING_RETIRED;
	}
	return count;
}

/*
 * A thread whose key destructors use the driver in all four rounds joins again after our own last
 * one, and nobody tells of its end. The kernel does: no thread of this process has its id.
 */
static void take_back_dead(struct gp_recorder *r)
{
	const uint64_t now = gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
	const uint32_t rings = atomic_load(&gp_control->rings);
	if (now - r->rings_swept_ns < SWEEP_NS)
		return;
	r->rings_swept_ns = now;
	for (uint32_t k = 1; k < rings; k++) {
		struct gp_ring *ring = r->views[k].ring;
		/* 0 from the end of its last thread until a new one has joined */
		const uint32_t tid = atomic_load(&ring->tid);
		if (tid == 0 || atomic_load(&ring->state) != GP_RING_ACTIVE ||
		    syscall(SYS_tgkill, gp_control->pid, tid, 0) == 0 || errno != ESRCH)
			continue;
		atomic_store(&ring->state, GP_RING_RETIRED);
	}
}

bool gp_rings_tend(struct gp_recorder *r)
{
	const uint32_t asked = atomic_exchange(&r->is_ring_asked, 0);
	/* partner: the add in take_ring, whose thread then waits for `progress` */
	const uint32_t wanted = atomic_load(&r->rings_wanted) + asked;
	if (gp_likely(wanted == 0))
		return false;
	take_back_dead(r);
	const uint64_t began = gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
	uint32_t there = count_free(r);
	bool is_late = false;
	while (there < wanted && !is_late && gp_ring_place_add(r)) {
		there++;
		is_late = gp_clock_raw_ns(CLOCK_MONOTONIC_RAW) - began >= BATCH_NS;
	}
	gp_futex_wake(&r->progress);
	return is_late && there < wanted;
}
