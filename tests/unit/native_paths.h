/*
 * Call chains to order: 64 functions that differ only in their addresses. A chain of random
 * functions has the same stack pointer at the same depth as any other chain.
 */
#ifndef NATIVE_PATHS_H
#define NATIVE_PATHS_H

#include <stddef.h>
#include <stdint.h>

#define PATH_FUNCTIONS 64u

struct path_call {
	const uint8_t *path; /* function of each frame, the outermost first */
	unsigned left;
	void (*leaf)(void *context);
	void *context;
};

typedef void path_function(struct path_call *call);
static path_function *const path_function_table[PATH_FUNCTIONS];

static inline __attribute__((always_inline)) void path_step(struct path_call *call)
{
	if (call->left-- == 0)
		call->leaf(call->context);
	else
		path_function_table[*call->path++ % PATH_FUNCTIONS](call);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

#define PATH_FUNCTION(n)                                                                \
	__attribute__((noinline)) static void path_function_##n(struct path_call *call) \
	{                                                                               \
		__asm__ volatile("" ::"i"(0x##n)); /* prevents folding */               \
		path_step(call);                                                        \
	}
#define PATH_ROW(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define PATH_ROWS(X)   \
	PATH_ROW(X, 0) \
	PATH_ROW(X, 1) \
	PATH_ROW(X, 2) PATH_ROW(X, 3) PATH_ROW(X, 4) PATH_ROW(X, 5) PATH_ROW(X, 6) PATH_ROW(X, 7)
PATH_ROWS(PATH_FUNCTION)
#define PATH_NAME(n) path_function_##n,
static path_function *const path_function_table[PATH_FUNCTIONS] = { PATH_ROWS(PATH_NAME) };

/* Calls `leaf` below `frames` of these functions. */
static inline void path_run(const uint8_t *path, unsigned frames, void (*leaf)(void *),
			    void *context)
{
	struct path_call call = { path, frames, leaf, context };
	path_step(&call);
}

/* xorshift: the same chains in every run. */
static inline uint64_t path_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
