/*
 * Memory of threads: memos of stacks, their ranges. Counted in mapped bytes, as a part of the
 * recorder's budget (budget.c). Any thread; no lock.
 */
#ifndef GP_THREAD_MEMORY_H
#define GP_THREAD_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests memory for a cache. False: no room; not counted. */
bool gp_thread_memory_take(uint64_t more);
/* Counts memory that is needed in any case. */
void gp_thread_memory_add(uint64_t more);
void gp_thread_memory_give(uint64_t less);

/*
 * A thread's mappings. None moves, and all are unmapped together, so remaining pointers into them
 * are harmless. All zero: none.
 */
struct gp_thread_pieces {
	struct gp_thread_piece *last;
	uint32_t count;
};

/*
 * Zeroed memory, aligned to a cache line; its mapping is counted. NULL: a cache is refused (not
 * counted), or the kernel has no memory. In the latter case, pieces of this size or more are
 * refused until the drain thread has checked. Forked children keep it. Keeps errno.
 */
void *gp_thread_piece(struct gp_thread_pieces *pieces, size_t bytes, bool is_cache);
/* With signals blocked: unmaps them all and subtracts them. Keeps errno. */
void gp_thread_pieces_close(struct gp_thread_pieces *pieces);

/*
 * For the drain thread: returns the bytes counted now, and sets their limit. No limit before the
 * first call. Sizes that the kernel refused may be requested again.
 */
uint64_t gp_thread_memory(void);
void gp_thread_memory_bound(uint64_t most);
/* A forked child's recorder begins: existing memory belongs to its parent. */
void gp_thread_memory_begin(void);

#endif
