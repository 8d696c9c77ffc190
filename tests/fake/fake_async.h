/* The symbol `fake_async` of a library that calls cudaMallocAsync (fake_async.c). */
#ifndef FAKE_ASYNC_H
#define FAKE_ASYNC_H

#include <stddef.h>

struct fake_async_stats {
	size_t used, peak; /* bytes, as requested */
};

struct fake_async {
	void *(*malloc)(size_t bytes, void *stream);		/* NULL: refused */
	int (*free)(void *address, size_t bytes, void *stream); /* 0: done */
	const struct fake_async_stats *stats;
};

#endif
