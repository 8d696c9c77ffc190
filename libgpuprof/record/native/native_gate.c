/* The gate: a count of those inside and a count of forks under way, in words that forks wipe. */
#include "native_gate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../process/held_signals.h"
#include "../recorder.h"

#define WAIT_NS 50000000u

/* Wiped in every child, also in one of a raw clone, where is_open then is 0. */
struct gate {
	_Atomic uint32_t is_open;
	_Atomic uint32_t inside;
	_Atomic uint32_t forks; /* closed while > 0 */
	_Atomic uint32_t left;	/* futex: bumped when the last one leaves a closed gate */
};
static struct gate *gate;
static _Atomic uint32_t overdue;
/* From the forking thread to its child: written before the fork, read in the child's copy. */
static _Atomic uint32_t is_child_safe;

static uint64_t native_gate_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void close_gate(void)
{
	/* partner: the add and the load in enter: one of the two sees the other */
	atomic_fetch_add(&gate->forks, 1);
	const uint64_t deadline = native_gate_now_ns() + WAIT_NS;
	for (;;) {
		uint32_t seen = atomic_load(&gate->left);
		if (atomic_load(&gate->inside) == 0)
			break;
		uint64_t now = native_gate_now_ns();
		if (now >= deadline)
			break;
		gp_futex_wait(&gate->left, seen, deadline - now);
	}
	bool is_safe = atomic_load(&gate->inside) == 0 && atomic_load(&gate->is_open);
	atomic_store(&is_child_safe, is_safe);
	if (!is_safe)
		atomic_fetch_add(&overdue, 1);
}

static void open_gate(void)
{
	atomic_fetch_sub(&gate->forks, 1);
}

static void open_in_child(void)
{
	atomic_store(&gate->is_open, atomic_load(&is_child_safe));
}

bool gp_native_gate_open(void)
{
	if (gate)
		return true;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *pages = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return false;
	/* kernels before 4.14 have no wipe: a raw clone's child then is not detected */
	madvise(pages, page, MADV_WIPEONFORK);
	gate = pages;
	if (pthread_atfork(close_gate, open_gate, open_in_child) != 0) {
		munmap(pages, page);
		gate = NULL;
		return false;
	}
	atomic_store(&gate->is_open, 1);
	return true;
}

bool gp_native_gate_enter(uint64_t *signals)
{
	if (!gate)
		return false;
	gp_signals_hold(signals);
	atomic_fetch_add(&gate->inside, 1);
	if (atomic_load(&gate->forks) == 0 && atomic_load(&gate->is_open))
		return true;
	gp_native_gate_leave(signals);
	return false;
}

void gp_native_gate_leave(const uint64_t *signals)
{
	if (atomic_fetch_sub(&gate->inside, 1) == 1 && atomic_load(&gate->forks))
		gp_futex_wake(&gate->left);
	gp_signals_release(signals);
}

uint32_t gp_native_gate_overdue(void)
{
	return atomic_load(&overdue);
}
