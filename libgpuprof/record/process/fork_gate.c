/*
 * The gate: the number of threads inside and the number of forks in progress, in a page that forks
 * wipe.
 */
#include "fork_gate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "../recorder.h"
#include "held_signals.h"

#define PAGE_BYTES 4096
#define WAIT_NS 50000000u

/*
 * Alone in its page, which every child finds wiped, also one of a raw clone. The child then has no
 * thread inside, and is_open is 0. Static, because walks begin before the gate is registered with
 * fork.
 */
static struct {
	_Alignas(PAGE_BYTES) _Atomic uint32_t is_open;
	_Atomic uint32_t inside;
	_Atomic uint32_t forks; /* closed while > 0 */
	_Atomic uint32_t left;	/* futex: incremented when the last thread leaves a closed gate */
} gate;
_Static_assert(sizeof gate == PAGE_BYTES, "the wipe takes nothing else with it");

static bool is_registered;
static _Atomic uint32_t overdue;
/* From the forking thread to its child: written before the fork, read in the child's copy. */
static _Atomic uint32_t is_child_safe;
/* > 0: this thread is inside, or it is the one that forks, whose own walks end before that */
static _Thread_local uint32_t depth __attribute__((tls_model("initial-exec")));

static void close_gate(void)
{
	depth++;
	/* partner: the add and the load in take: one of the two threads sees the other's */
	atomic_fetch_add(&gate.forks, 1);
	const uint64_t deadline = gp_now_ns() + WAIT_NS;
	bool is_empty;
	for (;;) {
		const uint32_t seen = atomic_load(&gate.left);
		is_empty = atomic_load(&gate.inside) == 0;
		const uint64_t now = gp_now_ns();
		if (is_empty || now >= deadline)
			break;
		gp_futex_wait(&gate.left, seen, deadline - now);
	}
	atomic_store(&is_child_safe, is_empty && atomic_load(&gate.is_open));
	if (!is_empty)
		atomic_fetch_add(&overdue, 1);
}

static void open_gate(void)
{
	depth--;
	atomic_fetch_sub(&gate.forks, 1);
	gp_futex_notify(&gate.forks);
}

/* The only thread here is the one that forked. */
static void open_in_child(void)
{
	depth = 0;
	/* for kernels that do not wipe */
	atomic_store(&gate.inside, 0);
	atomic_store(&gate.forks, 0);
	atomic_store(&gate.is_open, atomic_load(&is_child_safe));
}

bool gp_fork_gate_open(void)
{
	if (is_registered)
		return true;
	/* kernels before 4.14 do not wipe: a raw clone's child is then not detected */
	madvise(&gate, sizeof gate, MADV_WIPEONFORK);
	if (pthread_atfork(close_gate, open_gate, open_in_child) != 0)
		return false;
	is_registered = true;
	atomic_store(&gate.is_open, 1);
	return true;
}

static bool take(uint64_t *signals)
{
	gp_signals_hold(signals);
	/* partner: the add and the load in close_gate */
	atomic_fetch_add(&gate.inside, 1);
	if (atomic_load(&gate.forks) == 0)
		return true;
	gp_fork_gate_leave(signals);
	return false;
}

bool gp_fork_gate_enter(uint64_t *signals)
{
	return atomic_load(&gate.is_open) && take(signals);
}

void gp_fork_gate_leave(const uint64_t *signals)
{
	if (atomic_fetch_sub(&gate.inside, 1) == 1 && atomic_load(&gate.forks))
		gp_futex_wake(&gate.left);
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
		const uint32_t seen = atomic_load(&gate.forks);
		deadline = deadline ? deadline : now + WAIT_NS;
		if (now >= deadline)
			return false;
		if (seen)
			gp_futex_wait(&gate.forks, seen, deadline - now);
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
