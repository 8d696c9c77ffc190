/*
 * Part of gpuprof.h, which includes it: the state of memory at one moment. It has the framework's
 * segments with their blocks and gaps, memory outside the framework, and the driver's counts. Sizes
 * are bytes, moments count from start_unix_ns.
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
	/* just before the `number`-th (from 0) out-of-memory event; counts the driver's, too */
	GP_WHEN_OOM,
	GP_WHEN_SNAPSHOT, /* the `number`-th (from 0) snapshot that the job itself took */
	GP_WHEN_ORDER,	  /* just before the event with the order `number` */
};
struct gp_moment_of {
	enum gp_when when;
	int64_t at_ns;
	uint64_t number;
	/* PEAK, UNUSED: of this device; GP_DEVICE_UNKNOWN: of the device with the highest value */
	unsigned device;
	enum gp_curve of; /* PEAK: DRIVER, RESERVED or ALLOCATED */
};

/* A stream and a pool of the framework. A free block serves only requests of its own arena. */
struct gp_arena {
	bool is_known; /* false: allocator details are missing, or did not begin yet */
	bool has_pool; /* false: PyTorch up to 2.7 does not report pools */
	uint64_t stream;
	uint64_t pool, user_pool; /* the two halves of the pool's id; both 0: the default pool */
	/* graph and begin of the first capture that allocated in this private pool; 0, -1: none */
	uint64_t graph;
	int64_t captured_at_ns;
};

enum gp_block_state {
	GP_STATE_FREE,	    /* a gap: cached, or the rest of a split block */
	GP_STATE_ALLOCATED, /* handed out to the job */
	GP_STATE_PENDING,   /* freed by the job; other streams still use it */
};

/* A block or a gap. Together they cover their segment without overlap, by address. */
struct gp_memory_block {
	uint64_t address, bytes;
	uint64_t requested_bytes; /* GP_BYTES_UNKNOWN: not recorded; a gap: 0 */
	int64_t at_ns;		  /* when it was handed out; a gap: -1 */
	uint64_t order;		  /* of the allocation; a gap: 0 */
	uint32_t stack;		  /* of the allocation; 0 none */
	enum gp_block_state state;
	uint8_t rule; /* gp_memory_find_roles: 1 + number of the rule for its role; else 0 */
};

/* Memory that the framework requested from the driver, or a contiguous mapped range. */
struct gp_memory_segment {
	uint64_t address, bytes;
	unsigned device;
	size_t arena;	    /* index */
	bool is_small;	    /* small pool, for requests of at most 1 MiB; else large pool */
	bool is_expandable; /* mapped into a reservation; can grow and shrink */
	int64_t at_ns;	    /* when it was allocated, or its oldest part was mapped */
	uint32_t stack;	    /* of that allocation or mapping; 0 none */
	uint64_t allocated_bytes, active_bytes; /* active: allocated or pending */
	/* of the active blocks; GP_BYTES_UNKNOWN: one of them is unknown */
	uint64_t requested_bytes;
	size_t first, blocks; /* in gp_memory.block, gaps included */
};

/* Driver memory that holds no blocks of a framework. */
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
	/*
	 * What the framework may reserve at most (set_per_process_memory_fraction); total_bytes if
	 * there is no limit; or UNKNOWN.
	 */
	uint64_t limit_bytes;
	uint64_t used_bytes; /* of the whole device, by the driver's last count; or UNKNOWN */
	int64_t used_at_ns;  /* moment of that count */
	uint64_t used_driver_bytes; /* that the job held then: the DRIVER curve and unused pools */
	uint64_t pool_unused_bytes; /* of the default pool, at this moment */
	/* of the memory in use at that moment: what no allocation explains, by cause */
	int64_t part_bytes[GP_PARTS];
	uint64_t driver_bytes, reserved_bytes, allocated_bytes; /* curves at this moment */
	uint64_t unmapped_bytes; /* of the reserved ones: their memory is the driver's again */
	uint64_t active_bytes;	 /* allocated and pending */
	/*
	 * memory of other processes, opened here (IPC): in no curve, because the driver counts it
	 * as theirs
	 */
	uint64_t imported_bytes;
	/* of the active blocks; GP_BYTES_UNKNOWN: one of them is unknown */
	uint64_t requested_bytes;
	size_t first_segment, segments; /* by address */
	size_t first_outside, outsides; /* most bytes first */
};

struct gp_memory {
	int64_t at_ns;
	uint64_t order; /* the state includes events with a lower order */
	/* streams, pools and requested sizes are known at this moment */
	bool has_allocator_details;
	bool is_uncertain; /* earlier events are missing: listed memory may be freed already */
	char *caveat;	   /* which parts are unknown, one line of text; NULL: none */
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
 * Builds the state at a moment. Begins at the newest checkpoint before it, so the cost does not
 * grow with the recording. GP_END: the moment does not exist (no peak, no such event). Rewinds.
 * Free with gp_memory_free.
 */
enum gp_status gp_memory_build(struct gp_recording *recording, const struct gp_moment_of *moment,
			       struct gp_memory *out);
/* Sets the rule of each block that is not a gap. Two or three replays; rewinds. GP_E_MEMORY. */
enum gp_status gp_memory_find_roles(struct gp_recording *recording, struct gp_memory *memory);
void gp_memory_free(struct gp_memory *memory);

#endif
