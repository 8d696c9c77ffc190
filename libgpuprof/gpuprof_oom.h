/*
 * Part of gpuprof.h, which includes it: lists each OOM, proves its cause by rules with figures, and
 * shows prior growth and possible remedies. Moments count from start_unix_ns. Sizes are bytes,
 * GP_BYTES_UNKNOWN if not recorded.
 */
#ifndef GPUPROF_OOM_H
#define GPUPROF_OOM_H

#include "gpuprof_frag.h"

struct gp_use;

/*
 * An OOM: a request for memory that failed for good. The framework reported it after the CUDA calls
 * that it tried. Or a CUDA call that no framework made failed for lack of memory.
 */
struct gp_oom {
	uint64_t order;	 /* of its event */
	uint64_t number; /* for GP_WHEN_OOM */
	unsigned device;
	int64_t at_ns;
	uint64_t bytes;	       /* as the framework rounds it; else as requested from the driver */
	uint64_t refusals;     /* failures of the driver before the framework gave up */
	uint64_t driver_bytes; /* of the last request to the driver; 0: none was made */
	uint32_t stack;
	bool is_framework;
	uint8_t space;	       /* enum gp_space: kind of memory that the driver refused */
	struct gp_arena arena; /* of the request; if unknown, is_known is false */
	/* curves just before the OOM */
	uint64_t allocated_bytes, reserved_bytes, used_by_job_bytes;
	uint64_t free_bytes, total_bytes; /* of the device at this moment */
	uint64_t limit_bytes; /* what the framework may reserve; total_bytes: no limit */
	/* of the device outside of this job: at the OOM; at the allocated peak before it */
	uint64_t other_bytes, other_before_bytes;
	/* of this job outside of the framework: likewise */
	uint64_t outside_bytes, outside_before_bytes;
	int64_t before_at_ns; /* last moment of that peak, and the allocated bytes there */
	uint64_t before_allocated_bytes;
	size_t like; /* index of the first OOM with this stack, size and device; may be its own */
};
struct gp_ooms {
	size_t ooms;
	struct gp_oom *oom; /* by order */
	/* CUDA calls that failed for lack of memory, inside and outside of these OOMs */
	uint64_t failed_calls;
	/* of the failed calls, those that the framework retried with success: not OOMs */
	uint64_t retries;
};
/*
 * One replay of the kept events. Only this function counts OOMs. `settings` NULL: those of the
 * recording. Free with gp_ooms_free.
 */
enum gp_status gp_ooms_build(struct gp_recording *recording,
			     const struct gp_allocator_settings *settings, struct gp_ooms *out);
void gp_ooms_free(struct gp_ooms *ooms);

/*
 * Builds the state just before an OOM, as gp_memory_build does, with its device's figures at that
 * very moment. `*arena` is the arena of the request, which may have no segments; 0: unknown. Free
 * with gp_memory_free.
 */
enum gp_status gp_oom_memory_build(struct gp_recording *recording, const struct gp_oom *oom,
				   struct gp_memory *out, size_t *arena);

/* ---- the verdict ---- */

enum gp_verdict {
	GP_VERDICT_UNKNOWN,
	GP_VERDICT_STREAM,	  /* the free memory is of another stream or a private pool */
	GP_VERDICT_FRAGMENTATION, /* enough is free or cached, but not contiguous */
	GP_VERDICT_CACHE,    /* the driver lacks memory that the framework could have returned */
	GP_VERDICT_LIMIT,    /* the framework's own limit; the device had room */
	GP_VERDICT_OTHER,    /* another process holds the missing memory */
	GP_VERDICT_OUTSIDE,  /* this job holds it, outside the framework */
	GP_VERDICT_CAPACITY, /* the request does not fit, even with all cached bytes */
	GP_VERDICT_RESERVE,  /* the driver keeps some of the memory that it counts as free */
	GP_VERDICTS,
};
extern const char *const gp_verdict_names[GP_VERDICTS]; /* "not known", "stream or pool", ... */

/* The figures of an OOM from which the verdict follows. */
struct gp_oom_facts {
	bool is_framework, is_uncertain; /* events are missing before it */
	bool is_of_device;		 /* false: host memory or address space */
	bool has_arena;			 /* stream and pool of the request are known */
	bool was_refused;		 /* the driver refused the framework's request first */
	bool is_limit_reported;		 /* it is known whether there is a limit */
	uint64_t bytes;			 /* of the request */
	uint64_t driver_bytes;	/* what the driver must provide for a new segment or pages */
	uint64_t limited_bytes; /* the part that the framework's limit counts; without pages */
	uint64_t free_bytes;	/* of the device */
	uint64_t limit_bytes;	/* of the framework; GP_BYTES_UNKNOWN: no limit is known */
	uint64_t reserved_bytes, allocated_bytes; /* of the framework */
	/* cached for other streams and private pools, not released when memory runs out */
	uint64_t elsewhere_bytes;
	uint64_t releasable_bytes;
	/*
	 * Largest request of the same pool size (small or large) that the cache serves: to the
	 * requesting arena; to any arena.
	 */
	uint64_t largest_bytes, largest_any_bytes;
	uint64_t other_grown_bytes, outside_grown_bytes; /* since the last peak */
};
/* Growth that counts as a cause. Contexts and modules alone cause smaller growth. */
#define GP_OTHER_LEAST (64ull << 20)
#define GP_OUTSIDE_LEAST (2ull << 20)

struct gp_oom_finding {
	enum gp_verdict verdict;
	uint64_t cached_bytes; /* reserved - allocated */
	uint64_t room_bytes;   /* free in the driver, within the limit */
	uint64_t usable_bytes; /* sum of both: the best case, with every byte usable */
	/* what the request lacks even in that case; 0: none; GP_BYTES_UNKNOWN */
	uint64_t short_bytes;
	/*
	 * What must become available so that the request succeeds: a new segment or pages, minus
	 * the driver's free memory within the limit. Includes kept_bytes. In units of 2 MiB, never
	 * 0; or GP_BYTES_UNKNOWN.
	 */
	uint64_t missing_bytes;
	/* what the driver may keep: GP_KEPT_BY_DRIVER if it refused the request */
	uint64_t kept_bytes;
	bool is_limit_tighter; /* the limit lacks the missing bytes, not the driver */
	const char *not_known; /* what a verdict would need to know, static text */
};
/*
 * How much free memory the driver keeps: 2 MiB for segments, up to 16 MiB for pages (driver 580).
 */
#define GP_KEPT_BY_DRIVER (32ull << 20)
/* Applies the first rule that holds. */
void gp_oom_judge(const struct gp_oom_facts *facts, struct gp_oom_finding *out);

/* ---- what would have helped ---- */

enum gp_help {
	GP_HELP_FREE_NEIGHBOURS, /* free `count` adjacent blocks of `bytes` */
	GP_HELP_FREE_SEGMENTS,	 /* the same; the driver gets their segments back */
	GP_HELP_EMPTY_CACHE,	 /* returns `bytes` to the driver */
	GP_HELP_EXPANDABLE,	 /* at most `bytes` would be contiguous */
	GP_HELP_MAX_SPLIT,	 /* `bytes` are free in `count` segments that would not be split */
	/* the largest gap lacks `bytes`; rounding to `count` divisions avoids that */
	GP_HELP_ROUND_SIZES,
	GP_HELP_LESS_ROUNDING, /* rounding adds `bytes` to live blocks and the request */
	GP_HELP_STREAMS,       /* `bytes` are cached for other streams and pools; see `other` */
	GP_HELP_LIMIT,	       /* a limit of `bytes` */
	GP_HELP_OUTSIDE, /* the job allocated `bytes` outside the framework since the last peak */
	GP_HELP_OTHER,	 /* other processes allocated `bytes` since the last peak */
	GP_HELP_SMALLER, /* a request of at most `bytes` succeeds */
	GP_HELP_LESS,	 /* use and request `bytes` less at that moment */
	GP_HELPS,
};
extern const char *const gp_help_names[GP_HELPS]; /* "free_neighbours", ... */
struct gp_oom_help {
	enum gp_help help;
	bool is_enough; /* by the figures, the request then succeeds */
	bool is_bound;	/* `bytes` is an upper bound of the effect */
	uint64_t bytes, count;
};

/* ---- details of one OOM ---- */

struct gp_oom_case {
	struct gp_memory memory; /* just before the OOM */
	struct gp_frag frag;
	struct gp_owners owners;
	struct gp_oom_facts facts;
	struct gp_oom_finding finding;
	struct gp_oom_help help[GP_HELPS];
	size_t helps;
	/*
	 * Another stream's pool in frag, of the request's pool and size, whose cache serves the
	 * largest request. NULL: there is none, or the requester is unknown.
	 */
	const struct gp_frag_pool *other;
	/*
	 * Stacks that held memory: `bytes` now, `live_bytes` at from_ns. Stacks without memory now
	 * have bytes 0. from_ns is not before the first kept moment.
	 */
	int64_t from_ns;
	size_t uses;
	struct gp_use *use;
};
/*
 * `window_ns`: how far back growth is measured; -1: 10 s, or since the previous OOM of that device.
 * Rewinds. Free with gp_oom_case_free, also after a failure. GP_E_ARGUMENT: its device is unknown.
 */
enum gp_status gp_oom_look(struct gp_recording *recording, const struct gp_ooms *ooms, size_t k,
			   const struct gp_allocator_settings *settings, int64_t window_ns,
			   struct gp_oom_case *out);
void gp_oom_case_free(struct gp_oom_case *oom);
/* Lists possible remedies from the verdict and the state: fills `help` and `helps`. */
void gp_oom_help_list(const struct gp_oom *oom, const struct gp_allocator_settings *settings,
		      struct gp_oom_case *out);

#endif
