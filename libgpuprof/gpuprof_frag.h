/*
 * Part of gpuprof.h, which includes it: analysis of one state of memory. Which requests would
 * succeed, why free bytes do not serve a request, which blocks prevent it. Computed from one struct
 * gp_memory by the rules of PyTorch's caching allocator.
 */
#ifndef GPUPROF_FRAG_H
#define GPUPROF_FRAG_H

#include "gpuprof_memory.h"

/* Settings of the allocator (PYTORCH_CUDA_ALLOC_CONF) that decide which requests fit; in bytes. */
#define GP_ROUNDUP_BUCKETS 16u
#define GP_SETTINGS_CAVEAT 192u
struct gp_allocator_settings {
	uint64_t max_split_bytes; /* UINT64_MAX: none */
	/* by how much an unsplittable block may exceed the request */
	uint64_t max_non_split_rounding;
	uint64_t large_segment_bytes; /* of segments for requests of 1 to 10 MiB; large pages */
	unsigned roundup_divisions[GP_ROUNDUP_BUCKETS]; /* of [2^i, 2^(i+1)) MiB; 0, 1: none */
	bool is_expandable;
	double memory_fraction; /* share of the device that the framework may reserve; 0: not set */
	/* text of settings that may matter and are ignored; "": none */
	char not_known[GP_SETTINGS_CAVEAT];
};
/*
 * `text`: gp_info.alloc_conf, or the value of one variable; NULL: none is set. Parses it as PyTorch
 * does: `key:value` separated by commas, blanks ignored.
 */
void gp_allocator_settings_read(const char *text, struct gp_allocator_settings *out);
/* Returns the part of such a text that PyTorch reads: the value that takes effect. */
const char *gp_allocator_settings_value(const char *text, size_t *bytes);
/* The size of the block that serves a request. */
uint64_t gp_allocator_rounded(const struct gp_allocator_settings *settings, uint64_t bytes);

/*
 * Why a byte is reserved and not allocated. Each byte has one cause: the first that holds in this
 * order. gpuprof-frag(1) defines them.
 */
enum gp_cause {
	GP_CAUSE_PENDING,	 /* freed, but another stream still uses it */
	GP_CAUSE_PRIVATE,	 /* in another private pool than the request's */
	GP_CAUSE_STREAM,	 /* of another stream than the request's */
	GP_CAUSE_SMALL,		 /* in the pool for requests of at most 1 MiB */
	GP_CAUSE_LEFTOVER,	 /* large pool: at most 1 MiB, smaller than any request there */
	GP_CAUSE_GRANULARITY,	 /* expandable: in a driver page that a block also touches */
	GP_CAUSE_FULLY_FREE,	 /* whole segments or pages, which the driver can get back */
	GP_CAUSE_INACTIVE_SPLIT, /* between blocks of a segment */
	GP_CAUSES,
};
extern const char *const gp_cause_names[GP_CAUSES]; /* "pending", "private_pool", ... */

/* The small or the large pool of one arena on one device. */
struct gp_frag_pool {
	size_t arena;
	bool is_small, has_expandable;
	size_t segments, gaps;
	uint64_t reserved_bytes, allocated_bytes, pending_bytes, free_bytes;
	uint64_t largest_gap_bytes;
	uint64_t largest_request_bytes; /* that the cache can serve; 0: none */
	uint64_t releasable_bytes;	/* returned to the driver when memory runs out */
	/* expandable: free behind the last block, where the segment grows */
	uint64_t tail_bytes;
};

struct gp_frag_pin {
	size_t segment, block;	/* indexes into gp_memory */
	uint64_t hostage_bytes; /* free bytes that freeing this block alone joins or releases */
};

/* Blocks to free for a request: indexes into gp_memory.block, ascending. */
struct gp_block_set {
	bool is_found;
	/* pending: number of them already freed, but waiting for a stream */
	size_t blocks, pending;
	size_t *block;
	size_t segments; /* number of segments in which they lie */
	uint64_t bytes;	 /* of the blocks that are not pending */
};
struct gp_frag_fit {
	uint64_t bytes, rounded_bytes; /* of the request; of the block that serves it */
	size_t arena;
	bool is_served;		 /* by the cache */
	bool is_served_released; /* after the release of cached segments; false: no, or unknown */
	/* either set alone is enough; both are empty if the request is served without them */
	struct gp_block_set in_place; /* neighbours in one segment: the smallest such set */
	/* frees whole segments or pages, which the driver gets back */
	struct gp_block_set by_emptying;
};

struct gp_frag_question {
	const struct gp_allocator_settings *settings; /* NULL: the allocator's defaults */
	uint64_t fit_bytes;			      /* 0: none */
	bool has_arena;
	/* of the request; else the default pool of the stream with most bytes in blocks */
	size_t arena;
};
struct gp_frag {
	const struct gp_memory *memory;
	const struct gp_memory_device *device;
	size_t home;				  /* arena of the request */
	uint64_t reserved_bytes, allocated_bytes; /* of the known segments and blocks */
	uint64_t requested_bytes, rounding_bytes; /* of allocated blocks; GP_BYTES_UNKNOWN */
	uint64_t unused_bytes;			  /* reserved - allocated */
	uint64_t largest_gap_bytes;		  /* the largest contiguous part of these */
	uint64_t cause_bytes[GP_CAUSES];	  /* the sum is unused_bytes */
	/* of the device at this moment; GP_BYTES_UNKNOWN */
	uint64_t driver_used_bytes, driver_free_bytes;
	uint64_t releasable_bytes; /* of all default pools */
	/* request sizes: that the cache of `home` can serve; that any arena can serve */
	uint64_t largest_request_bytes, largest_any_bytes;
	/*
	 * that `home` can serve after a release of cached segments; GP_BYTES_UNKNOWN if the free
	 * memory is not known
	 */
	uint64_t largest_released_bytes;
	/* the size is the driver's free memory, an upper bound: page tables take a part of it */
	bool is_released_bound;
	size_t pools;
	struct gp_frag_pool *pool; /* by arena, the large pool first */
	size_t pins;
	struct gp_frag_pin *pin; /* most hostage bytes first */
	struct gp_frag_fit fit;
};
/* Reads `memory`, which must outlive the result. GP_E_ARGUMENT: it has no such device. */
enum gp_status gp_frag_build(const struct gp_memory *memory, unsigned device,
			     const struct gp_frag_question *question, struct gp_frag *out);
void gp_frag_free(struct gp_frag *frag);

/* ---- over time ---- */

/* The gaps of one device after an event. */
struct gp_gaps {
	unsigned device;
	int64_t at_ns;
	uint64_t order;
	uint64_t free_bytes, largest_bytes; /* of all gaps; of the largest gap */
};
/* The share of free bytes outside of the largest gap, 0 to 1; 0 if no bytes are free. */
double gp_gap_ratio(uint64_t free_bytes, uint64_t largest_bytes);
typedef void gp_gap_visit(void *context, const struct gp_gaps *gaps);
/*
 * Calls `visit` after every kept event that may have changed the gaps of a device. Rewinds.
 * `has_late_gaps` (may be NULL): some events exceed the work limit, so gaps were reported late.
 */
enum gp_status gp_gaps_visit(struct gp_recording *recording, gp_gap_visit *visit, void *context,
			     bool *has_late_gaps);

/*
 * Finds since when memory has been as fragmented as at `memory`'s moment: the first event after
 * which it never recovered. With `fit_bytes`, it has recovered when a gap is that large. That test
 * needs such a gap earlier, none now, and at least `fit_bytes` free. Otherwise, or if `fit_bytes`
 * is 0, it has recovered when at most half as much is stranded. Stranded bytes are free and not in
 * the largest gap. One replay for all `devices`; each may be in `born` once.
 */
struct gp_frag_born {
	unsigned device; /* input: these two fields */
	uint64_t fit_bytes;
	bool is_known;	/* false: memory is not fragmented */
	bool is_by_fit; /* no gap had `fit_bytes` since then */
	int64_t at_ns;
	uint64_t order;
	uint64_t stranded_bytes; /* at the moment of `memory` */
	bool is_unsure;		 /* some events exceed the work limit */
};
enum gp_status gp_frag_find_born(struct gp_recording *recording, const struct gp_memory *memory,
				 struct gp_frag_born *born, size_t devices);

/* The first kept moment with most unused memory (reserved, not allocated) of a device. */
struct gp_unused_peak {
	uint64_t bytes, reserved_bytes; /* bytes is 0: no memory was unused */
	bool is_after_last; /* no block was allocated on the device later, as at the job's end */
	int64_t at_ns;
	uint64_t order; /* for GP_WHEN_ORDER: the state includes events with a lower order */
};
/* By device number. */
enum gp_status gp_unused_peak_find(struct gp_recording *recording,
				   struct gp_unused_peak out[GP_DEVICES]);
/* Of `device`; GP_DEVICE_UNKNOWN: of the device with most. NULL: no memory was unused. */
const struct gp_unused_peak *gp_unused_peak_highest(const struct gp_unused_peak peak[GP_DEVICES],
						    unsigned device);

/* ---- the whole device ---- */

#define GP_OWNER_MAX 128u
/* Memory that the job requested from the driver on one device, by requester. */
struct gp_memory_owner {
	char name[GP_OWNER_MAX]; /* "PyTorch": its segments; a library; "IPC imports", "VMM" */
	uint64_t bytes, count;
};
struct gp_owners {
	size_t owners;
	struct gp_memory_owner *owner; /* most bytes first */
	uint64_t known_bytes;	       /* sum of all owners */
};
/* Owner's name of memory whose stack has no library; static text. */
const char *gp_space_owner(uint8_t space);
/* Looks up symbols. Free with gp_owners_free. */
enum gp_status gp_owners_build(struct gp_recording *recording, const struct gp_frag *frag,
			       struct gp_owners *out);
void gp_owners_free(struct gp_owners *owners);

/* False: the default pool. Private pools have an id. */
bool gp_arena_is_private(const struct gp_arena *arena);

#endif
