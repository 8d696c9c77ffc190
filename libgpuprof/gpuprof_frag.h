/*
 * Part of gpuprof.h, which includes it: what a state of memory is worth. Which request would
 * succeed, why free bytes do not help one, which blocks are in the way. All of it is computed from
 * one struct gp_memory by the rules of PyTorch's caching allocator.
 */
#ifndef GPUPROF_FRAG_H
#define GPUPROF_FRAG_H

#include "gpuprof_memory.h"

/*
 * How the allocator was set up, as far as it decides what fits: PYTORCH_CUDA_ALLOC_CONF. Sizes in
 * bytes.
 */
#define GP_ROUNDUP_BUCKETS 16u
#define GP_SETTINGS_DOUBT 192u
struct gp_allocator_settings {
	uint64_t max_split_bytes;	 /* UINT64_MAX: none */
	uint64_t max_non_split_rounding; /* what an unsplittable block may be larger than asked */
	uint64_t large_segment_bytes;	 /* segments for requests of 1 to 10 MiB; large pages */
	unsigned roundup_divisions[GP_ROUNDUP_BUCKETS]; /* of [2^i, 2^(i+1)) MiB; 0, 1: none */
	bool is_expandable;
	double memory_fraction; /* of the device, that the framework may reserve; 0: not set */
	/* a text: what may matter and is not taken into account; "": nothing */
	char not_known[GP_SETTINGS_DOUBT];
};
/*
 * `text`: gp_info.alloc_conf, or the value of one variable; NULL: none is set. As PyTorch's parser
 * reads it: `key:value` with commas between, blanks count for nothing.
 */
void gp_allocator_settings_read(const char *text, struct gp_allocator_settings *out);
/* Of such a text the part that PyTorch reads: the value of the variable that counts. */
const char *gp_allocator_settings_value(const char *text, size_t *bytes);
/* The size of the block that a request gets. */
uint64_t gp_allocator_rounded(const struct gp_allocator_settings *settings, uint64_t bytes);

/*
 * Why a byte is reserved and not allocated. Each has one cause, the first that holds in this order;
 * gpuprof-frag(1) defines them.
 */
enum gp_cause {
	GP_CAUSE_PENDING,     /* freed, another stream still uses it */
	GP_CAUSE_PRIVATE,     /* in a private pool, not the one that is asked */
	GP_CAUSE_STREAM,      /* of another stream than the one that asks */
	GP_CAUSE_SMALL,	      /* in the pool for requests of at most 1 MiB */
	GP_CAUSE_LEFTOVER,    /* large pool: at most 1 MiB, less than any of its requests */
	GP_CAUSE_GRANULARITY, /* expandable: in a page of the driver that a block also touches */
	GP_CAUSE_SOFT,	      /* whole segments or pages: to be given back to the driver */
	GP_CAUSE_HARD,	      /* between blocks of a segment */
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
	uint64_t largest_request_bytes; /* that is served from what is cached; 0: none */
	uint64_t releasable_bytes;	/* goes back to the driver when it must */
	/* expandable: free behind the last block of all, where it grows */
	uint64_t tail_bytes;
};

struct gp_frag_pin {
	size_t segment, block;	/* of gp_memory */
	uint64_t hostage_bytes; /* free bytes that freeing it alone joins, or releases */
};

/* Blocks in the way: indexes into gp_memory.block, ascending. */
struct gp_block_set {
	bool is_found;
	size_t blocks, pending; /* of the blocks: that are freed already and wait for a stream */
	size_t *block;
	size_t segments; /* in which they lie */
	uint64_t bytes;	 /* of the blocks that are not pending */
};
struct gp_frag_fit {
	uint64_t bytes, rounded_bytes; /* asked for, and the block that takes */
	size_t arena;
	bool is_served;		 /* from what is cached */
	bool is_served_released; /* once cached segments are released; false: or not known */
	/* one of the two sets is enough; both empty where it is served without */
	struct gp_block_set in_place;	 /* neighbours of one segment: the smallest such set */
	struct gp_block_set by_emptying; /* whose segments or pages the driver then gets back */
};

struct gp_frag_question {
	const struct gp_allocator_settings *settings; /* NULL: the allocator's defaults */
	uint64_t fit_bytes;			      /* 0: none */
	bool has_arena;
	size_t arena; /* that asks; else the default pool of the stream with most in blocks */
};
struct gp_frag {
	const struct gp_memory *memory;
	const struct gp_memory_device *device;
	size_t home;				  /* arena that asks */
	uint64_t reserved_bytes, allocated_bytes; /* of the segments and blocks that are known */
	uint64_t requested_bytes, rounding_bytes; /* of allocated blocks; GP_BYTES_UNKNOWN */
	uint64_t unused_bytes;			  /* reserved - allocated */
	uint64_t largest_gap_bytes;		  /* of these, at one piece */
	uint64_t cause_bytes[GP_CAUSES];	  /* add up to the unused ones */
	uint64_t driver_used_bytes, driver_free_bytes; /* of the device now; GP_BYTES_UNKNOWN */
	uint64_t releasable_bytes;		       /* of all default pools */
	/* in bytes asked for: from what `home` has cached; from any arena */
	uint64_t largest_request_bytes, largest_any_bytes;
	/* of `home`, once cached segments are released; GP_BYTES_UNKNOWN: what is free is not known
	 */
	uint64_t largest_released_bytes;
	/* as much as the driver counts as free, of which it cannot give the last: page tables */
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

/* The gaps of one device behind an event. */
struct gp_gaps {
	unsigned device;
	int64_t at_ns;
	uint64_t order;
	uint64_t free_bytes, largest_bytes; /* of all gaps; of the largest one */
};
/* What of the free bytes is not in the largest gap, 0 to 1; 0 where nothing is free. */
double gp_gap_ratio(uint64_t free_bytes, uint64_t largest_bytes);
typedef void gp_gap_visit(void *context, const struct gp_gaps *gaps);
/*
 * Behind every kept event that may have changed the gaps of a device. Rewinds. `has_late_gaps` (may
 * be NULL): some events need more work than the limit, so gaps were reported late.
 */
enum gp_status gp_gaps_visit(struct gp_recording *recording, gp_gap_visit *visit, void *context,
			     bool *has_late_gaps);

/*
 * Since when memory has been as fragmented as at `memory`'s moment: the first event behind which it
 * never recovered. Recovered: a gap of `fit_bytes`; where there never was one, or one is there, or
 * less is free than that, or with 0: at most half as much stranded (free, and not in the largest
 * gap). One replay for all `devices`, each of which is in `born` once.
 */
struct gp_frag_born {
	unsigned device; /* these two are asked for */
	uint64_t fit_bytes;
	bool is_known;	/* false: it is not fragmented */
	bool is_by_fit; /* no gap had `fit_bytes` since */
	int64_t at_ns;
	uint64_t order;
	uint64_t stranded_bytes; /* at the moment */
	bool is_unsure;		 /* some events need more work than the limit */
};
enum gp_status gp_frag_find_born(struct gp_recording *recording, const struct gp_memory *memory,
				 struct gp_frag_born *born, size_t devices);

/* Of one device the first moment with most unused memory (reserved, not allocated) that is kept. */
struct gp_unused_peak {
	uint64_t bytes, reserved_bytes; /* bytes 0: none was unused */
	int64_t at_ns;
	uint64_t order; /* for GP_WHEN_ORDER: events with a lower one are in it */
};
/* Of each device, by its number. One replay. */
enum gp_status gp_unused_peak_find(struct gp_recording *recording,
				   struct gp_unused_peak out[GP_DEVICES]);
/* Of `device`; GP_DEVICE_UNKNOWN: of the one with most. NULL: none was unused. */
const struct gp_unused_peak *gp_unused_peak_highest(const struct gp_unused_peak peak[GP_DEVICES],
						    unsigned device);

/* ---- the whole device ---- */

#define GP_OWNER_MAX 128u
/* Memory that the job asked of the driver on one device, by who asked. */
struct gp_memory_owner {
	char name[GP_OWNER_MAX]; /* "PyTorch": its segments; a library; "IPC imports", "VMM" */
	uint64_t bytes, count;
};
struct gp_owners {
	size_t owners;
	struct gp_memory_owner *owner; /* most bytes first */
	uint64_t known_bytes;	       /* of all of them */
};
/* What memory is called whose stack names no library; a text that holds for ever. */
const char *gp_space_owner(uint8_t space);
/* Symbols are looked up. Free with gp_owners_free. */
enum gp_status gp_owners_build(struct gp_recording *recording, const struct gp_frag *frag,
			       struct gp_owners *out);
void gp_owners_free(struct gp_owners *owners);

/* The default pool: private ones are known by their id. */
bool gp_arena_is_private(const struct gp_arena *arena);

#endif
