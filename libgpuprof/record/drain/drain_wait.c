/*
 * How long the job's threads wait for the drain thread: for a ring, for a larger one, for room, for
 * a flush. One budget for the process. Simultaneous waits of several threads count once, so a lock
 * of the job that one of them holds makes no difference.
 */
#include "../recorder.h"

#define HUNG_NS 1000000000ll /* no turn in this time: the disk hangs, or no CPU is free */
/* limit for the whole process at once, and a tenth of its time */
#define WAIT_MOST_NS 10000000000ll
#define WAIT_SHARE 10
#define WAIT_LEAST_NS 10000000ll /* a timer may be late by 50 us: at most 1% of a wait */

/*
 * The time for which threads that begin to wait at `at` may wait. A hanging turn costs the job
 * this once.
 */
static int64_t wait_most_ns(int64_t at)
{
	const int64_t paid = atomic_load_explicit(&gp_recorder.waits_paid_ns, memory_order_relaxed);
	const int64_t credit = paid > at ? WAIT_MOST_NS - (paid - at) / WAIT_SHARE : WAIT_MOST_NS;
	return credit < HUNG_NS ? credit : HUNG_NS;
}

bool gp_wait_for_drain(_Atomic uint32_t *word, uint32_t seen)
{
	struct gp_recorder *r = &gp_recorder;
	const int64_t now = (int64_t)gp_now_ns();
	int64_t since = atomic_load(&r->waited_since_ns);
	if (since == 0)
		since = now;
	const int64_t left = since + wait_most_ns(since) - now;
	if (left < WAIT_LEAST_NS || atomic_load(&r->state) != GP_RECORDER_RUNNING)
		return false;
	/*
	 * partner: the exchange in gp_wait_end; this is the first thread that waits for this turn
	 */
	int64_t none = 0;
	atomic_compare_exchange_strong(&r->waited_since_ns, &none, since);
	gp_futex_wake(&r->wake);
	gp_futex_wait(word, seen, (uint64_t)left);
	return true;
}

bool gp_wait_apart(_Atomic uint32_t *word, uint32_t seen)
{
	static _Atomic int64_t refused_until_ns;
	struct gp_recorder *r = &gp_recorder;
	const int64_t now = (int64_t)gp_now_ns();
	if (now < atomic_load_explicit(&refused_until_ns, memory_order_relaxed) ||
	    atomic_load(&r->state) != GP_RECORDER_RUNNING)
		return false;
	gp_futex_wake(&r->wake);
	gp_futex_wait(word, seen, HUNG_NS);
	if (atomic_load(word) != seen)
		return true;
	atomic_store_explicit(&refused_until_ns, now + WAIT_MOST_NS, memory_order_relaxed);
	return false;
}

void gp_wait_end(struct gp_recorder *r)
{
	/* partner: the store in gp_wait_for_drain: later threads wait for the next turn */
	const int64_t since = atomic_exchange(&r->waited_since_ns, 0);
	if (since != 0) {
		/* a process that was stopped meanwhile (SIGSTOP, a debugger) did not wait longer */
		const int64_t took = (int64_t)gp_now_ns() - since, most = wait_most_ns(since);
		const int64_t paid = atomic_load(&r->waits_paid_ns);
		atomic_store_explicit(&r->waits_paid_ns,
				      (paid > since ? paid : since) +
					      WAIT_SHARE * (took < most ? took : most),
				      memory_order_relaxed);
	}
	gp_futex_wake(&r->progress);
}

/* Waits until `is_done` or the deadline, and checks after each turn of the drain thread. */
bool gp_wait_for_turns(bool (*is_done)(void), uint64_t timeout_ns)
{
	uint64_t deadline = gp_now_ns() + timeout_ns;
	for (;;) {
		uint32_t seen = atomic_load(&gp_recorder.progress);
		if (is_done())
			return true;
		uint64_t now = gp_now_ns();
		if (now >= deadline)
			return false;
		gp_futex_wake(&gp_recorder.wake);
		gp_futex_wait(&gp_recorder.progress, seen, deadline - now);
	}
}
