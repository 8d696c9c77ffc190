/*
 * Memory that threads have for themselves: memos of stacks, their ranges. Counted in bytes that
 * are mapped, as a part of the recorder's budget (budget.c). Any thread; no lock.
 */
#ifndef GP_THREAD_MEMORY_H
#define GP_THREAD_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memos are whole pages of this size, so that all that is mapped is counted. */
#define GP_THREAD_PAGE 4096u

/* Asks for memory of a cache. False: no room, and nothing is counted. */
bool gp_thread_memory_take(uint64_t more);
/* Counts memory that is needed. */
void gp_thread_memory_add(uint64_t more);
void gp_thread_memory_give(uint64_t less);

/*
 * Zeroed pages for what was counted: `grown` bytes instead of `bytes` at `pages` (NULL: 0). They
 * keep what they hold, and may move: hold signals until the new place is noted (held_signals.h).
 * NULL: the kernel has none, and the rest is no longer counted. Caches then get no more until the
 * drain thread has looked. Forked children keep the pages. Keeps errno.
 */
void *gp_thread_pages(void *pages, size_t bytes, size_t grown);
/* Unmaps them and counts them no longer. Keeps errno. */
void gp_thread_pages_close(void *pages, size_t bytes);

/* The drain thread's: bytes that are counted now, and how many may be. Until then all may. */
uint64_t gp_thread_memory(void);
void gp_thread_memory_bound(uint64_t most);
/* A forked child's recorder begins: what is there by now is its parent's memory. */
void gp_thread_memory_begin(void);

#endif
