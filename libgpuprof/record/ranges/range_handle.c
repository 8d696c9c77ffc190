/* Blocks of handles in a list that only grows; a free block is reused before one is made. */
#include "range_handle.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "../process/thread_memory.h"

static _Atomic(struct gp_range_handles *) blocks;

static struct gp_range_handles *map_block(void)
{
	const int kept = errno;
	struct gp_range_handles *block = mmap(NULL, sizeof *block, PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = kept;
	if (block == MAP_FAILED)
		return NULL;
	gp_thread_memory_add(sizeof *block);
	atomic_store_explicit(&block->is_taken, 1, memory_order_relaxed);
	for (unsigned k = 0; k < GP_RANGES_DEEP; k++)
		block->of[k].block = block;
	block->deep.block = block;
	block->next = atomic_load_explicit(&blocks, memory_order_relaxed);
	/* partner: the acquire load in gp_range_handles_take: the block is filled */
	while (!atomic_compare_exchange_weak_explicit(&blocks, &block->next, block,
						      memory_order_release, memory_order_relaxed))
		;
	return block;
}

struct gp_range_handles *gp_range_handles_take(void)
{
	struct gp_range_handles *b = atomic_load_explicit(&blocks, memory_order_acquire);
	for (; b; b = b->next) {
		uint32_t is_taken = 0;
		/* partner: the release in gp_range_handles_drop: the keys are gone */
		if (atomic_compare_exchange_strong_explicit(
			    &b->is_taken, &is_taken, 1, memory_order_acquire, memory_order_relaxed))
			return b;
	}
	return map_block();
}

void gp_range_handles_drop(struct gp_range_handles *b)
{
	for (unsigned k = 0; k < GP_RANGES_DEEP; k++)
		atomic_store_explicit(&b->of[k].key, 0, memory_order_relaxed);
	atomic_store_explicit(&b->is_taken, 0, memory_order_release);
}

bool gp_range_handle_claim(struct gp_range_handle *h)
{
	uint64_t key = atomic_load(&h->key);
	while (!(key & GP_HANDLE_ENDED))
		if (atomic_compare_exchange_weak(&h->key, &key, 0))
			return true;
	return false;
}

bool gp_range_handle_end(struct gp_range_handle *h, uint64_t key, uint64_t *since, uint32_t *name,
			 uint64_t *span)
{
	/*
	 * As long as the key is unchanged, so are the other fields. Only the thread that ends the
	 * range removes the key, or the end of its owner, and no other range can get it before.
	 * Partner: the release in range_kept.c's keep_handle.
	 */
	if (atomic_load_explicit(&h->key, memory_order_acquire) != key)
		return false;
	*since = atomic_load_explicit(&h->since, memory_order_relaxed);
	*name = atomic_load_explicit(&h->name, memory_order_relaxed);
	*span = atomic_load_explicit(&h->span, memory_order_relaxed);
	/*
	 * seq_cst: the owner is read afterwards, and the owner sets itself before it reads the key:
	 * one of the two threads sees the other's store
	 */
	if (!atomic_compare_exchange_strong(&h->key, &key, key | GP_HANDLE_ENDED))
		return false;
	/* partner: the acquire load in gp_range_take_ended */
	atomic_fetch_add_explicit(&h->block->ended, 1, memory_order_release);
	return true;
}

void gp_range_handle_end_deep(struct gp_range_handle *h)
{
	/* partner: the loads in gp_range_take_ended, in the opposite order */
	atomic_fetch_add_explicit(&h->block->deep_ended, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->block->ended, 1, memory_order_release);
}
