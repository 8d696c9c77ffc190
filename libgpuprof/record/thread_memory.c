/* Bytes that threads have, and how many they may have. Relaxed: neither publishes other memory. */
#include "thread_memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "../state/live_table.h"
#include "hot.h"

static _Atomic uint64_t counted, counted_most = UINT64_MAX;

GP_COLD bool gp_thread_memory_take(uint64_t more)
{
	const uint64_t most = atomic_load_explicit(&counted_most, memory_order_relaxed);
	uint64_t now = atomic_load_explicit(&counted, memory_order_relaxed);
	do {
		if (most < now || most - now < more)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&counted, &now, now + more, memory_order_relaxed, memory_order_relaxed));
	return true;
}

void gp_thread_memory_add(uint64_t more)
{
	atomic_fetch_add_explicit(&counted, more, memory_order_relaxed);
}

/* Never below zero: a forked child may give back what its parent counted. */
void gp_thread_memory_give(uint64_t less)
{
	uint64_t now = atomic_load_explicit(&counted, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&counted, &now,
						      now - (less < now ? less : now),
						      memory_order_relaxed, memory_order_relaxed))
		;
}

uint64_t gp_thread_memory(void)
{
	return atomic_load_explicit(&counted, memory_order_relaxed);
}

void gp_thread_memory_bound(uint64_t most)
{
	atomic_store_explicit(&counted_most, most, memory_order_relaxed);
}

void gp_thread_memory_begin(void)
{
	atomic_store_explicit(&counted, 0, memory_order_relaxed);
}

GP_COLD void *gp_thread_pages(void *pages, size_t bytes, size_t grown)
{
	const int error = errno;
	void *now = pages ? gp_pages_grow(pages, bytes, grown) : gp_pages_map(grown);
	if (!now) {
		gp_thread_memory_give(grown - bytes);
		gp_thread_memory_bound(0); /* else each new stack would ask the kernel again */
	}
	errno = error;
	return now;
}

GP_COLD void gp_thread_pages_close(void *pages, size_t bytes)
{
	const int error = errno;
	if (!pages)
		return;
	munmap(pages, bytes);
	gp_thread_memory_give(bytes);
	errno = error;
}
