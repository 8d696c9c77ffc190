/*
 * Gets events into the file before the job may end. A thread requests it (gp_flush_soon), and waits
 * if a kill would destroy the rings. The drain thread does it. Keeps errno on the job's threads.
 * Some events lack a number of their own, so the request takes a number for them.
 */
#include <errno.h>

#include "../recorder.h"

/* ---- the job's threads ---- */

/*
 * A kill destroys rings in private memory, all of them or late ones. The job then waits for the
 * file, as long as it may wait for the drain thread (drain_wait.c). A framework whose request
 * failed tries again within a millisecond and gives up: each failure is waited for.
 */
static void wait_flushed(uint64_t mine)
{
	for (;;) {
		const uint32_t seen = atomic_load(&gp_recorder.progress);
		/* partner: the release store in gp_flush_end */
		if (atomic_load_explicit(&gp_control->flushes_done, memory_order_acquire) >= mine ||
		    !gp_wait_for_drain(&gp_recorder.progress, seen))
			return;
	}
}

void gp_flush_soon(void)
{
	int kept = errno;
	/* partner: the load in gp_flush_begin: earlier commits are in the heads by then */
	uint64_t mine = atomic_fetch_add(&gp_control->flushes_requested, 1) + 1;
	gp_futex_wake(&gp_recorder.wake);
	if (gp_recorder.is_private || atomic_load(&gp_recorder.is_full))
		wait_flushed(mine);
	errno = kept;
}

/* ---- the drain thread ---- */

/*
 * Earlier commits are in the heads that are loaded next, and wait only for numbers below
 * `flush_until`. One flush at a time: later requests wait for more numbers. With numbers always in
 * flight, a flush that included them would never end.
 */
bool gp_flush_begin(struct gp_recorder *r)
{
	if (r->flushes_taken == atomic_load(&gp_control->flushes_done)) {
		/* partner: the add in gp_flush_soon */
		r->flushes_taken = atomic_load(&gp_control->flushes_requested);
		r->flush_until = atomic_load(&gp_control->next_order);
	}
	return r->flushes_taken != atomic_load(&gp_control->flushes_done);
}

bool gp_flush_end(const struct gp_recorder *r)
{
	/* partner: the loads in wait_flushed, and in gp_ring_file_await of another process */
	atomic_store_explicit(&gp_control->flushes_done, r->flushes_taken, memory_order_release);
	gp_futex_set_shared(&gp_control->flushes, atomic_load(&gp_control->flushes) + 1);
	return atomic_load(&gp_control->flushes_requested) != r->flushes_taken;
}
