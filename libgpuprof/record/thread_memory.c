/* Two totals, which order nothing. */
#include "thread_memory.h"

#include <stdatomic.h>

#include "hot.h"

static _Atomic uint64_t bytes, bytes_most = UINT64_MAX;

GP_COLD bool gp_thread_memory_take(uint64_t more)
{
	const uint64_t most = atomic_load_explicit(&bytes_most, memory_order_relaxed);
	uint64_t now = atomic_load_explicit(&bytes, memory_order_relaxed);
	do {
		if (most < now || most - now < more)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&bytes, &now, now + more, memory_order_relaxed, memory_order_relaxed));
	return true;
}

void gp_thread_memory_add(uint64_t more)
{
	atomic_fetch_add_explicit(&bytes, more, memory_order_relaxed);
}

/* Never below zero: a forked child may give back what its parent counted. */
void gp_thread_memory_give(uint64_t less)
{
	uint64_t now = atomic_load_explicit(&bytes, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&bytes, &now, now - (less < now ? less : now),
						      memory_order_relaxed, memory_order_relaxed))
		;
}

uint64_t gp_thread_memory(void)
{
	return atomic_load_explicit(&bytes, memory_order_relaxed);
}

void gp_thread_memory_bound(uint64_t most)
{
	atomic_store_explicit(&bytes_most, most, memory_order_relaxed);
}

void gp_thread_memory_begin(void)
{
	atomic_store_explicit(&bytes, 0, memory_order_relaxed);
}
