/*
 * Memory that threads have for themselves: memos of stacks, their ranges. Counted in bytes of what
 * they may touch, as a part of the recorder's budget (budget.c). Any thread; no lock, no call.
 */
#ifndef GP_THREAD_MEMORY_H
#define GP_THREAD_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* For what a thread can do without. False: no room, and nothing is counted. */
bool gp_thread_memory_take(uint64_t more);
/* For what it cannot. */
void gp_thread_memory_add(uint64_t more);
void gp_thread_memory_give(uint64_t less);

/* The drain thread's: bytes that are counted now, and how many may be. Until then all may. */
uint64_t gp_thread_memory(void);
void gp_thread_memory_bound(uint64_t most);
/* A forked child's recorder begins: what is there by now is its parent's memory. */
void gp_thread_memory_begin(void);

#endif
