/*
 * The number of rings: one for each thread that waits, made together. First takes rings back from
 * threads that ended without notice. On the drain thread.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../recorder.h"

/* maximal time for which records in the rings wait while more rings are made */
#define BATCH_NS 10000000u
#define REFUSED_NS 1000000000u /* duration of a refusal to grow */
#define GROWTH_NS 1000000u
#define SWEEP_NS 10000000u

/*
 * With `has_retired`, also counts rings that will be free when this turn has written their
 * records.
 */
static uint32_t count_free(const struct gp_recorder *r, bool has_retired)
{
	const uint32_t rings = atomic_load(&gp_control->rings);
	uint32_t count = 0;
	for (uint32_t k = 1; k < rings; k++) {
		const uint32_t state = atomic_load(&r->views[k].ring->state);
		count += state == GP_RING_FREE || (has_retired && state == GP_RING_RETIRED);
	}
	return count;
}

/*
 * A thread with key destructors that use the driver in all four rounds takes a ring again after our
 * own last destructor. Its end is not reported. The kernel shows it: no thread of this process has
 * its id.
 */
static void take_back_dead(struct gp_recorder *r)
{
	const uint64_t now = gp_now_ns();
	const uint32_t rings = atomic_load(&gp_control->rings);
	if (now - r->rings_swept_ns < SWEEP_NS)
		return;
	r->rings_swept_ns = now;
	for (uint32_t k = 1; k < rings; k++) {
		struct gp_ring *ring = r->views[k].ring;
		/* 0 from the end of its last thread until a new one takes it */
		const uint32_t tid = atomic_load(&ring->tid);
		if (tid == 0 || atomic_load(&ring->state) != GP_RING_ACTIVE ||
		    syscall(SYS_tgkill, gp_control->pid, tid, 0) == 0 || errno != ESRCH)
			continue;
		atomic_store(&ring->state, GP_RING_RETIRED);
	}
}

/* Room may appear later: a thread may live for weeks. */
static void forget_refusals(struct gp_recorder *r)
{
	if (gp_likely(r->growth_refused_ns == 0) || gp_now_ns() - r->growth_refused_ns < REFUSED_NS)
		return;
	const uint32_t rings = atomic_load(&gp_control->rings);
	r->growth_refused_ns = 0;
	for (uint32_t k = 1; k < rings; k++)
		atomic_store(&r->views[k].is_growth_refused, 0);
}

/* Threads that wait for room get what is freed meanwhile: not all at once. */
static bool ring_supply_grow(struct gp_recorder *r)
{
	/* partner: the store in request_growth */
	if (gp_likely(atomic_load_explicit(&r->is_growth_requested, memory_order_relaxed) == 0))
		return false;
	const uint64_t began = gp_now_ns();
	const uint32_t rings = atomic_load(&gp_control->rings);
	atomic_store(&r->is_growth_requested, 0);
	for (uint32_t k = 1; k < rings; k++) {
		struct gp_ring_view *view = &r->views[k];
		if (atomic_load(&view->is_growth_requested) == 0)
			continue;
		if (gp_now_ns() - began >= GROWTH_NS) {
			atomic_store(&r->is_growth_requested, 1);
			break;
		}
		if (!gp_ring_place_grow(r, view)) {
			atomic_store(&view->is_growth_refused, 1);
			r->growth_refused_ns = began;
		}
		atomic_store(&view->is_growth_requested, 0);
	}
	gp_futex_wake(&r->progress);
	return atomic_load(&r->is_growth_requested) != 0;
}

static bool make_rings(struct gp_recorder *r)
{
	const uint32_t requested = atomic_exchange(&r->is_ring_requested, 0);
	/* partner: the add in request_ring, whose thread then waits for `rings_made` */
	const uint32_t needed = atomic_load(&r->rings_requested) + requested;
	if (gp_likely(needed == 0))
		return false;
	take_back_dead(r);
	const uint64_t began = gp_now_ns();
	uint32_t there = count_free(r, true);
	bool is_late = false;
	while (there < needed && !is_late && gp_ring_place_add(r)) {
		there++;
		is_late = gp_now_ns() - began >= BATCH_NS;
	}
	return is_late && there < needed;
}

bool gp_rings_tend(struct gp_recorder *r)
{
	const bool has_missing = make_rings(r);
	forget_refusals(r);
	return ring_supply_grow(r) || has_missing;
}

void gp_rings_hand_out(struct gp_recorder *r)
{
	if (gp_likely(atomic_load(&r->rings_requested) == 0))
		return;
	const bool is_vain = atomic_load(&r->is_out_of_rings) || atomic_load(&r->is_ending);
	const uint32_t there = is_vain ? 0x7fffffff : count_free(r, false);
	/* a thread woken in vain only takes the processor from those with a ring */
	if (there)
		gp_futex_wake_some(&r->rings_made, there);
}
