/* The gate: a count of those inside and a count of forks under way. */
#include "fork_gate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "../recorder.h"
#include "held_signals.h"

#define WAIT_NS 50000000u

static _Atomic uint32_t inside;
static _Atomic uint32_t forks; /* closed while > 0 */
static _Atomic uint32_t left;  /* futex: bumped when the last one leaves a closed gate */
static _Atomic uint32_t overdue;
/* In a page that every child finds wiped, also one of a raw clone; NULL: not registered. */
static _Atomic uint32_t *is_open;
/* From the forking thread to its child: written before the fork, read in the child's copy. */
static _Atomic uint32_t is_child_safe;
/* > 0: this thread is inside, or it is the one that forks: its own walks end before that */
static _Thread_local uint32_t depth __attribute__((tls_model("initial-exec")));

static void close_gate(void)
{
	depth++;
	if (!atomic_load(
		    is_open)) /* a child of a raw clone: those inside are its parent's threads */
		atomic_store(&inside, 0);
	/* partner: the add and the load in take: one of the two sees the other */
	atomic_fetch_add(&forks, 1);
	const uint64_t deadline = gp_now_ns() + WAIT_NS;
	for (uint64_t now = gp_now_ns(); now < deadline; now = gp_now_ns()) {
		const uint32_t seen = atomic_load(&left);
		if (atomic_load(&inside) == 0)
			break;
		gp_futex_wait(&left, seen, deadline - now);
	}
	const bool is_safe = atomic_load(&inside) == 0 && atomic_load(is_open);
	atomic_store(&is_child_safe, is_safe);
	if (!is_safe)
		atomic_fetch_add(&overdue, 1);
}

static void open_gate(void)
{
	depth--;
	atomic_fetch_sub(&forks, 1);
	gp_futex_notify(&forks);
}

/* The only thread here is the one that forked. */
static void open_in_child(void)
{
	depth = 0;
	atomic_store(&inside, 0);
	atomic_store(&forks, 0);
	atomic_store(is_open, atomic_load(&is_child_safe));
}

bool gp_fork_gate_open(void)
{
	if (is_open)
		return true;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return false;
	/* kernels before 4.14 have no wipe: a raw clone's child then is not detected */
	madvise(page, 4096, MADV_WIPEONFORK);
	is_open = page;
	if (pthread_atfork(close_gate, open_gate, open_in_child) != 0) {
		munmap(page, 4096);
		is_open = NULL;
		return false;
	}
	atomic_store(is_open, 1);
	return true;
}

static bool take(uint64_t *signals)
{
	gp_signals_hold(signals);
	/* partner: the add and the load in close_gate */
	atomic_fetch_add(&inside, 1);
	if (atomic_load(&forks) == 0)
		return true;
	gp_fork_gate_leave(signals);
	return false;
}

bool gp_fork_gate_enter(uint64_t *signals)
{
	return is_open && atomic_load(is_open) && take(signals);
}

void gp_fork_gate_leave(const uint64_t *signals)
{
	if (atomic_fetch_sub(&inside, 1) == 1 && atomic_load(&forks))
		gp_futex_wake(&left);
	gp_signals_release(signals);
}

bool gp_walks_begin(uint64_t *signals)
{
	if (depth > 0) {
		depth++;
		return true;
	}
	for (uint64_t deadline = 0; !take(signals);) {
		const uint64_t now = gp_now_ns();
		const uint32_t seen = atomic_load(&forks);
		deadline = deadline ? deadline : now + WAIT_NS;
		if (now >= deadline)
			return false;
		if (seen)
			gp_futex_wait(&forks, seen, deadline - now);
	}
	depth = 1;
	return true;
}

void gp_walks_end(const uint64_t *signals)
{
	if (--depth == 0)
		gp_fork_gate_leave(signals);
}

uint32_t gp_fork_gate_overdue(void)
{
	return atomic_load(&overdue);
}
