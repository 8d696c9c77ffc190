/*
 * What a job may end of is in the file soon: a thread requests it (gp_flush_soon, and waits where a
 * kill would take the rings along), the drain thread does it. Keeps errno on the job's threads.
 * Some events have no number of their own, so the request takes a number for them.
 */
#include <errno.h>

#include "../recorder.h"

/* ---- the job's threads ---- */

/*
 * Of rings that are private memory, all or late ones, a kill leaves nothing: then the job waits for
 * the file, as long as it may wait for the drain thread (drain_wait.c). A framework that is refused
 * tries again within a millisecond and gives up: each of these is waited for.
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
	/* partner: the load in gp_flush_begin: what was committed before is in the heads then */
	uint64_t mine = atomic_fetch_add(&gp_control->flushes_wanted, 1) + 1;
	gp_futex_wake(&gp_recorder.wake);
	if (gp_recorder.is_private || atomic_load(&gp_recorder.is_full))
		wait_flushed(mine);
	errno = kept;
}

/* ---- the drain thread ---- */

/*
 * What was committed before the request is in the heads that are loaded next, and waits for
 * numbers below `flush_until` alone. One flush at a time: those that are requested meanwhile wait
 * for more numbers, so where some are always in flight it would never end.
 */
bool gp_flush_begin(struct gp_recorder *r)
{
	if (r->flushes_taken == atomic_load(&gp_control->flushes_done)) {
		/* partner: the add in gp_flush_soon */
		r->flushes_taken = atomic_load(&gp_control->flushes_wanted);
		r->flush_until = atomic_load(&gp_control->next_order);
	}
	return r->flushes_taken != atomic_load(&gp_control->flushes_done);
}

bool gp_flush_end(const struct gp_recorder *r)
{
	/* partner: the loads in wait_flushed, and in gp_ring_file_await of another process */
	atomic_store_explicit(&gp_control->flushes_done, r->flushes_taken, memory_order_release);
	gp_futex_set_shared(&gp_control->flushes, atomic_load(&gp_control->flushes) + 1);
	return atomic_load(&gp_control->flushes_wanted) != r->flushes_taken;
}
