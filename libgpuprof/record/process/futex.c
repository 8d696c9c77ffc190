/* Waiting without libpthread, and pages without malloc. */
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../state/live_table.h"
#include "../recorder.h"

void gp_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
	struct timespec timeout = { (time_t)(timeout_ns / 1000000000u),
				    (long)(timeout_ns % 1000000000u) };
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, &timeout, NULL, 0);
}

void gp_futex_wake_some(_Atomic uint32_t *word, uint32_t most)
{
	/* partner: the load of `seen` before each gp_futex_wait: earlier writes are visible */
	atomic_fetch_add_explicit(word, 1, memory_order_release);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, most, NULL, NULL, 0);
}

void gp_futex_wake(_Atomic uint32_t *word)
{
	gp_futex_wake_some(word, 0x7fffffff);
}

void gp_futex_notify(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 0x7fffffff, NULL, NULL, 0);
}

void gp_futex_set_shared(_Atomic uint32_t *word, uint32_t value)
{
	/* partner: the loads in gp_process_snapshot and gp_ring_file_await, of another process */
	atomic_store_explicit(word, value, memory_order_release);
	syscall(SYS_futex, word, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
}

void *gp_pages(size_t bytes)
{
	void *pages = gp_pages_map(bytes);
	if (!pages)
		return NULL;
	atomic_fetch_add(&gp_pages_mapped, bytes);
	madvise(pages, bytes, MADV_DONTFORK);
	return pages;
}

void *gp_pages_inherited(size_t bytes)
{
	return gp_pages_map(bytes);
}
