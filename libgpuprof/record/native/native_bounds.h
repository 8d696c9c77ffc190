/*
 * The bounds of the calling thread's stack: memory that may be read without a test. Found once per
 * thread, without malloc and without /proc. The main thread's stack ends below the bytes that
 * AT_RANDOM points at, another thread's below its thread descriptor. A read-only system call proves
 * that every page up to there is readable. Other stacks (coroutines, sigaltstack) are read page by
 * page.
 */
#ifndef GP_NATIVE_BOUNDS_H
#define GP_NATIVE_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "../hot.h"

struct gp_native_bounds {
	uintptr_t low, high; /* proven bounds of the thread's own stack; 0, 0: unknown */
	uintptr_t foreign_low, foreign_high; /* proven not to be a part of it */
};

/*
 * True if the program began with the calling thread. A forked child's thread counts as its
 * parent's.
 */
bool gp_native_is_first_thread(void);

/* True if the page of `at` can be read. A system call; keeps errno. */
bool gp_native_is_readable(uintptr_t at);

/*
 * True if `stack_pointer` is on the thread's own stack. Then all of [stack_pointer, high) may be
 * read while the thread lives. Slow when it is deeper than ever before.
 */
bool gp_native_bounds_find(struct gp_native_bounds *bounds, uintptr_t stack_pointer);

/* A word of a stack, which a sanitizer must not take for a variable. */
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
/* Not volatile: compilers then emit one instruction instead of three. */
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

/* Memory that a walk may read: [low, high) directly, other pages after a test. */
struct gp_native_reach {
	struct gp_native_bounds *bounds;
	uintptr_t low, high;
	bool has_left; /* a later read of the same page may fail */
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

/* An address in words from `low`; an address that is not a multiple of 8 counts as too far. */
GP_HOT uintptr_t gp_native_place(uintptr_t at, uintptr_t low)
{
	const uintptr_t bytes = at - low;
	return bytes >> 3 | bytes << 61;
}

#endif
