/*
 * Memory that threads have for themselves: memos of stacks, their ranges. Counted in bytes that
 * are mapped, as a part of the recorder's budget (budget.c). Any thread; no lock.
 */
#ifndef GP_THREAD_MEMORY_H
#define GP_THREAD_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests memory of a cache. False: no room, and nothing is counted. */
bool gp_thread_memory_take(uint64_t more);
/* Counts memory that is needed. */
void gp_thread_memory_add(uint64_t more);
void gp_thread_memory_give(uint64_t less);

/*
 * A thread's mappings: none moves, and all are unmapped together, so what still points into one
 * does no harm. All zero: none.
 */
struct gp_thread_pieces {
	struct gp_thread_piece *last;
	uint32_t count;
};

/*
 * Zeroed memory, aligned for a cache line; what is mapped for it is counted. NULL: a cache is
 * refused (then nothing is counted), or the kernel has none; then pieces of this size or more are
 * refused until the drain thread has looked. Forked children keep it. Keeps errno.
 */
void *gp_thread_piece(struct gp_thread_pieces *pieces, size_t bytes, bool is_cache);
/* With signals held: unmaps them all and counts them no longer. Keeps errno. */
void gp_thread_pieces_close(struct gp_thread_pieces *pieces);

/*
 * The drain thread's: bytes that are counted now, and how many may be. Until then all may. What the
 * kernel refused may be requested again.
 */
uint64_t gp_thread_memory(void);
void gp_thread_memory_bound(uint64_t most);
/* A forked child's recorder begins: what is there by now is its parent's memory. */
void gp_thread_memory_begin(void);

#endif
