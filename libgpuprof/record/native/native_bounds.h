/*
 * Which memory is the calling thread's stack: what may be read without looking first. Found once a
 * thread, without malloc and without /proc: the main thread's stack ends below the bytes that
 * AT_RANDOM points at, another thread's below its thread descriptor; every page up to there is
 * proven readable by a system call that only looks. Other stacks (coroutines, sigaltstack) are
 * read page by page.
 */
#ifndef GP_NATIVE_BOUNDS_H
#define GP_NATIVE_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "../hot.h"

struct gp_native_bounds {
	uintptr_t low, high;		     /* of the thread's own stack, proven; 0, 0: not yet */
	uintptr_t foreign_low, foreign_high; /* proven to be no part of it */
};

/* Whether the program began with the calling thread. A forked child's thread is its parent's. */
bool gp_native_is_first_thread(void);

/* Whether the page of `at` can be read. A system call; keeps errno. */
bool gp_native_is_readable(uintptr_t at);

/*
 * Whether `stack_pointer` lies on the thread's own stack; then all of [stack_pointer, high) may be
 * read as long as the thread lives. Slow when it is deeper than ever before.
 */
bool gp_native_bounds_find(struct gp_native_bounds *bounds, uintptr_t stack_pointer);

/* A word of a stack, which a sanitizer of ours must not take for a variable. */
#if defined(__SANITIZE_ADDRESS__)
uint64_t gp_native_word(uintptr_t at);
static inline uint64_t gp_native_word_above(uintptr_t at, unsigned words)
{
	return gp_native_word(at + 8u * words);
}
#else
static inline __attribute__((always_inline)) uint64_t gp_native_word(uintptr_t at)
{
	return *(const volatile uint64_t *)at;
}
/* Not volatile: compilers then spend an instruction instead of three. */
static inline __attribute__((always_inline)) uint64_t gp_native_word_above(uintptr_t at,
									   unsigned words)
{
	return ((const __attribute__((may_alias)) uint64_t *)at)[words];
}
#endif

static inline bool gp_native_bounds_hold(const struct gp_native_bounds *b, uintptr_t sp)
{
	return sp - b->low < b->high - b->low;
}

/* What a walk may read: [low, high) at once, other pages after a look. */
struct gp_native_reach {
	struct gp_native_bounds *bounds;
	uintptr_t low, high;
	bool has_left; /* what was read next need not be readable the next time */
};

bool gp_native_look(struct gp_native_reach *reach, uintptr_t at);

/* False: it cannot be read. */
GP_HOT bool gp_native_read(struct gp_native_reach *r, uintptr_t at, uint64_t *value)
{
	if (gp_unlikely(at - r->low >= r->high - r->low || at % 8) && !gp_native_look(r, at))
		return false;
	*value = gp_native_word(at);
	return true;
}

/* A place in words from `low`; one that is not a multiple of 8 lies too far. */
GP_HOT uintptr_t gp_native_place(uintptr_t at, uintptr_t low)
{
	const uintptr_t bytes = at - low;
	return bytes >> 3 | bytes << 61;
}

#endif
