/*
 * PyTorch's native CUDA allocator as seen from C: found in the mapped objects by exported names,
 * called through its virtual functions. Holds no lock, keeps no state, never enters the loader. A
 * build with another C++ library is not attached to, because the name of the tracker's function
 * contains the type std::function.
 */
#ifndef GP_TORCH_ALLOCATOR_H
#define GP_TORCH_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

/* The start of TraceEntry, as far as we read it; `pool` lies at gp_torch_allocator.pool_offset. */
struct gp_trace_entry {
	int32_t action; /* enum gp_trace_action */
	int8_t device;
	uint64_t address; /* OOM: bytes free on the device; SNAPSHOT: 0 */
	uint64_t context[2];
	uint64_t stream;
	uint64_t bytes; /* of a block: as requested; SNAPSHOT: of all active blocks */
};

enum gp_trace_action {
	GP_TRACE_ALLOC = 0,
	GP_TRACE_FREE_REQUESTED = 1,
	GP_TRACE_FREE_COMPLETED = 2,
	GP_TRACE_SEGMENT_ALLOC = 3,
	GP_TRACE_SEGMENT_FREE = 4,
	GP_TRACE_SEGMENT_MAP = 5,
	GP_TRACE_SEGMENT_UNMAP = 6,
	GP_TRACE_SNAPSHOT = 7,
	GP_TRACE_OOM = 8,
};

/* libstdc++'s std::function<void(const TraceEntry &)>. */
struct gp_trace_function {
	void *storage[2];
	bool (*manage)(void *to, const void *from, int operation);
	void (*invoke)(const void *storage, const struct gp_trace_entry *entry);
};

struct gp_torch_snapshot;
struct gp_torch_pool_id {
	uint64_t pool, user_pool;
};

struct gp_torch_allocator {
	void *object;
	uint32_t pool_offset; /* 0: entries have no pool */
	void (*attach)(void *object, struct gp_trace_function *tracker);
	double (*fraction)(void *object, int8_t device); /* NULL: cannot be called */
	/*
	 * Older versions take only some of the arguments; the others are in registers and harmless.
	 * NULL: there is none, or its result has an unknown layout in this version.
	 */
	void (*snapshot)(struct gp_torch_snapshot *out, void *object, struct gp_torch_pool_id of,
			 bool with_traces);
};

/*
 * NULL: found, native, and of a version with known entries. Else the reason, a string constant, and
 * `out` is invalid. `version` is PyTorch's, "" if unknown. Reads the allocator's name, so call it
 * outside its locks.
 */
const char *gp_torch_allocator_find(const char *version, bool is_tried_only,
				    struct gp_torch_allocator *out);

/*
 * Adds `invoke` to the trackers of every device's allocator. It cannot be removed. Waits for the
 * allocators' locks, one device after the other.
 */
void gp_torch_allocator_attach(const struct gp_torch_allocator *allocator,
			       void (*invoke)(const void *, const struct gp_trace_entry *));

#endif
