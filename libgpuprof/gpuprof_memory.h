/*
 * Part of gpuprof.h, which includes it: where memory is at one moment. Segments of the framework's
 * allocator with their blocks and what is free between them, memory outside the framework, what the
 * driver counted. Sizes are bytes, moments count from start_unix_ns.
 */
#ifndef GPUPROF_MEMORY_H
#define GPUPROF_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/event.h"
#include "format/status.h"

struct gp_recording;

#define GP_BYTES_UNKNOWN UINT64_MAX

enum gp_when {
	GP_WHEN_END,	/* after the last event */
	GP_WHEN_TIME,	/* after the last event not later than `at_ns` */
	GP_WHEN_PEAK,	/* the highest moment of the curve `of` of `device` */
	GP_WHEN_UNUSED, /* the moment of most unused memory of `device` */
	GP_WHEN_OOM,	/* just before the `number`-th (from 0) out-of-memory event, DRIVER's too */
	GP_WHEN_SNAPSHOT, /* the `number`-th (from 0) snapshot that the job itself took */
	GP_WHEN_ORDER,	  /* just before the event with the order `number` */
};
struct gp_moment_of {
	enum gp_when when;
	int64_t at_ns;
	uint64_t number;
	/* PEAK, UNUSED: of this one; GP_DEVICE_UNKNOWN: of the one with the highest */
	unsigned device;
	enum gp_curve of; /* PEAK: DRIVER, RESERVED or ALLOCATED */
};

/* A stream and a pool of the framework: a free block is only handed out again in its own arena. */
struct gp_arena {
	bool is_known; /* false: the allocator was not asked, or not yet */
	bool has_pool; /* false: PyTorch up to 2.7 does not say */
	uint64_t stream;
	uint64_t pool, user_pool; /* the two halves of the pool's id; both 0: the default pool */
	/* of the capture that made this private pool: its graph, and the moment; 0, -1: unknown */
	uint64_t graph;
	int64_t captured_at_ns;
};

enum gp_block_state {
	GP_STATE_FREE,	    /* a gap: cached, or left over */
	GP_STATE_ALLOCATED, /* handed out */
	GP_STATE_PENDING,   /* freed by the job, other streams still use it */
};

/* A block or a gap: together they tile their segment, by address. */
struct gp_memory_block {
	uint64_t address, bytes;
	uint64_t requested_bytes; /* GP_BYTES_UNKNOWN: not told; a gap: 0 */
	int64_t at_ns;		  /* handed out; a gap: -1 */
	uint32_t stack;		  /* of the allocation; 0 none */
	enum gp_block_state state;
};

/* A piece of memory that the framework asked the driver for, or a contiguous mapped range. */
struct gp_memory_segment {
	uint64_t address, bytes;
	unsigned device;
	size_t arena;	    /* index */
	bool is_small;	    /* of the pool for requests of at most 1 MiB; else of the large one */
	bool is_expandable; /* mapped into a reservation, grows and shrinks */
	int64_t at_ns;	    /* allocated, or its oldest part mapped */
	uint32_t stack;	    /* of that; 0 none */
	uint64_t allocated_bytes, active_bytes; /* active: and pending */
	uint64_t
		requested_bytes; /* of the active blocks; GP_BYTES_UNKNOWN: of one it is not told */
	size_t first, blocks;	 /* in gp_memory.block, gaps included */
};

/* Memory of the driver in which no framework's blocks lie. */
struct gp_memory_outside {
	uint64_t address, bytes;
	unsigned device;
	uint8_t space; /* enum gp_space */
	int64_t at_ns;
	uint32_t stack;
};

struct gp_memory_device {
	unsigned device;
	const char *name;     /* NULL unknown */
	uint64_t total_bytes; /* 0 unknown */
	/* what the framework may reserve at most: set_per_process_memory_fraction; UNKNOWN, or */
	uint64_t limit_bytes; /* total_bytes where there is no limit */
	uint64_t used_bytes;  /* of the whole device, as the driver last counted; or UNKNOWN */
	int64_t used_at_ns;   /* when it did */
	uint64_t used_driver_bytes; /* the DRIVER curve at that moment */
	uint64_t driver_bytes, reserved_bytes, allocated_bytes; /* curves at this moment */
	uint64_t active_bytes;					/* allocated and pending */
	/* of other processes, opened here (IPC): the driver counts it as theirs, no curve has it */
	uint64_t imported_bytes;
	uint64_t
		requested_bytes; /* of the active blocks; GP_BYTES_UNKNOWN: of one it is not told */
	size_t first_segment, segments; /* by address */
	size_t first_outside, outsides; /* by bytes, most first */
};

struct gp_memory {
	int64_t at_ns;
	uint64_t order;		    /* events with a lower order are in it */
	bool has_allocator_details; /* streams, pools, requested sizes: known by then */
	bool is_uncertain;	    /* events are missing before: what is said may be gone */
	char *doubt;		    /* what is not known, a text of one line; NULL: all is known */
	size_t devices;
	struct gp_memory_device *device; /* by ordinal */
	size_t arenas;
	struct gp_arena *arena; /* [0] is the unknown one */
	size_t segments;
	struct gp_memory_segment *segment; /* by device, then address */
	size_t blocks;
	struct gp_memory_block *block; /* by segment */
	size_t outsides;
	struct gp_memory_outside *outside;
};

/*
 * The state at a moment. Begins at the newest checkpoint that lies before it, so any moment of a
 * long recording is near. GP_END: there is no such moment (no peak, no such event). Rewinds. Free
 * with gp_memory_free.
 */
enum gp_status gp_memory_build(struct gp_recording *recording, const struct gp_moment_of *moment,
			       struct gp_memory *out);
void gp_memory_free(struct gp_memory *memory);

#endif
