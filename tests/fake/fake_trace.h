/*
 * The interface between the fake caching allocator and the library of trackers beside it
 * (fake_c10_cuda.cc): the allocator's reports, and the library's queries.
 */
#ifndef FAKE_TRACE_H
#define FAKE_TRACE_H

#include <stdint.h>

#define FAKE_TRACE_DEVICES 2

enum fake_trace_action {
	FAKE_TRACE_ALLOC,
	FAKE_TRACE_FREE_REQUESTED,
	FAKE_TRACE_FREE_COMPLETED,
	FAKE_TRACE_SEGMENT_ALLOC,
	FAKE_TRACE_SEGMENT_FREE,
	FAKE_TRACE_SEGMENT_MAP,
	FAKE_TRACE_SEGMENT_UNMAP,
	FAKE_TRACE_SNAPSHOT,
	FAKE_TRACE_OOM,
};

struct fake_listed_block {
	uint64_t bytes, requested;
	int is_allocated, is_active;
};

/* A segment, or mapped range, of a device, and its blocks in order of address. */
typedef void fake_list_segment(void *context, uint64_t address, uint64_t bytes, uint64_t stream,
			       uint64_t pool, uint64_t user_pool, int is_expandable);
typedef void fake_list_block(void *context, const struct fake_listed_block *block);

struct fake_trace_host {
	void (*with_lock)(int device, void (*inside)(void *), void *argument);
	double (*fraction)(int device);
	/* With the device's lock held. */
	void (*list)(int device, fake_list_segment *segment, fake_list_block *block, void *context);
};

typedef void fake_trace_function(int device, int action, uint64_t address, uint64_t bytes,
				 uint64_t stream, uint64_t pool, uint64_t user_pool);
/* The library's only export. */
typedef fake_trace_function *fake_trace_open_function(const struct fake_trace_host *host);

#endif
