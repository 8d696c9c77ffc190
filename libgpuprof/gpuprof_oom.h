/*
 * Part of gpuprof.h, which includes it: every time that memory ran out, why it did, by rules that
 * are proven with figures, who grew before, and what would have helped. Moments count from
 * start_unix_ns; sizes are bytes, GP_BYTES_UNKNOWN where nobody told.
 */
#ifndef GPUPROF_OOM_H
#define GPUPROF_OOM_H

#include "gpuprof_frag.h"

struct gp_use;

/*
 * An OOM: a request for memory that failed for good. The framework reported it, after the CUDA
 * calls that it tried; or a CUDA call failed for lack of memory and no framework had made it.
 */
struct gp_oom {
	uint64_t order;	 /* of its event */
	uint64_t number; /* for GP_WHEN_OOM */
	unsigned device;
	int64_t at_ns;
	uint64_t bytes;	       /* as the framework rounds it; else as the driver was asked */
	uint64_t refusals;     /* of the driver, before the framework gave up */
	uint64_t driver_bytes; /* that the driver was asked for last; 0: it was not asked */
	uint32_t stack;
	bool is_framework;
	uint8_t space;	       /* enum gp_space: what kind the driver refused */
	struct gp_arena arena; /* that asked; not known: is_known is false */
	/* curves just before it */
	uint64_t allocated_bytes, reserved_bytes, used_by_job_bytes;
	uint64_t free_bytes, total_bytes; /* of the device then */
	uint64_t limit_bytes;		  /* what the framework may reserve; total: no limit */
	/* of the device and not of this job, then and at the peak of what was allocated before */
	uint64_t other_bytes, other_before_bytes;
	/* of this job and not of the framework: likewise */
	uint64_t outside_bytes, outside_before_bytes;
	int64_t before_at_ns; /* of that peak, the last time; and what was allocated then */
	uint64_t before_allocated_bytes;
	size_t like; /* the first with the same stack, size and device: itself, or before */
};
struct gp_ooms {
	size_t ooms;
	struct gp_oom *oom; /* by order */
	/* CUDA calls that failed for lack of memory: of these OOMs, and all others */
	uint64_t failed_calls;
	uint64_t retries; /* of them, those after which the framework was served: no OOM */
};
/*
 * One replay of what is kept. The only place that counts OOMs. `settings` NULL: the recording's
 * own. Free with gp_ooms_free.
 */
enum gp_status gp_ooms_build(struct gp_recording *recording,
			     const struct gp_allocator_settings *settings, struct gp_ooms *out);
void gp_ooms_free(struct gp_ooms *ooms);

/*
 * The state just before it: gp_memory_build's, with what was told of its device at that very
 * moment. `*asks`: the arena that asked, with segments or without; 0: who asked is not known. Free
 * with gp_memory_free.
 */
enum gp_status gp_oom_memory_build(struct gp_recording *recording, const struct gp_oom *oom,
				   struct gp_memory *out, size_t *asks);

/* ---- the verdict ---- */

enum gp_verdict {
	GP_VERDICT_UNKNOWN,
	GP_VERDICT_STREAM,	  /* what is free is of another stream or a private pool */
	GP_VERDICT_FRAGMENTATION, /* enough is free or cached, at no single place */
	GP_VERDICT_CACHE,	  /* the driver lacks what the framework could have given back */
	GP_VERDICT_LIMIT,	  /* the framework's own; the device had room */
	GP_VERDICT_OTHER,	  /* another process took what is missing */
	GP_VERDICT_OUTSIDE,	  /* this job did, outside the framework */
	GP_VERDICT_CAPACITY,	  /* it does not fit, all cached bytes counted */
	GP_VERDICT_RESERVE,	  /* the driver keeps some of what it counts as free */
	GP_VERDICTS,
};
extern const char *const gp_verdict_names[GP_VERDICTS]; /* "not known", "stream or pool", ... */

/* An out-of-memory in figures: all that a verdict rests on. */
struct gp_oom_facts {
	bool is_framework, is_uncertain; /* events are missing before it */
	bool is_of_device;		 /* false: host memory, addresses */
	bool has_arena;			 /* which stream and pool asked is known */
	bool was_refused;		 /* by the driver, which it asked before it gave up */
	bool is_limit_told;		 /* there is one, or there is none */
	uint64_t bytes;			 /* of the request */
	uint64_t driver_bytes;		 /* what a new place for it takes of the driver */
	uint64_t limited_bytes;		 /* what the framework's limit counts of that: no pages */
	uint64_t free_bytes;		 /* of the device */
	uint64_t limit_bytes;		 /* of the framework; GP_BYTES_UNKNOWN: none is known */
	uint64_t reserved_bytes, allocated_bytes; /* of the framework */
	uint64_t
		elsewhere_bytes; /* cached for other streams and private pools, kept at a release */
	uint64_t releasable_bytes;
	/*
	 * largest request that the cache serves, of small ones or of large ones as this one is: to
	 * who asked, to any stream and pool
	 */
	uint64_t largest_bytes, largest_any_bytes;
	uint64_t other_grown_bytes, outside_grown_bytes; /* since the last peak */
};
/* Growth that is taken for a cause: less is what contexts and modules do by themselves. */
#define GP_OTHER_LEAST (64ull << 20)
#define GP_OUTSIDE_LEAST (2ull << 20)

struct gp_oom_finding {
	enum gp_verdict verdict;
	uint64_t cached_bytes; /* reserved - allocated */
	uint64_t room_bytes;   /* of the driver, within the limit */
	uint64_t usable_bytes; /* both: if every byte could be used */
	/* that the request lacks even then; 0: none; GP_BYTES_UNKNOWN */
	uint64_t short_bytes;
	/*
	 * What must become available so that the request succeeds: a new place for it, less what
	 * the driver has free and the limit leaves. With kept_bytes, in units of 2 MiB; never 0;
	 * GP_BYTES_UNKNOWN
	 */
	uint64_t missing_bytes;
	uint64_t kept_bytes;   /* that the driver may keep: GP_KEPT_BY_DRIVER where it refused */
	bool is_limit_tighter; /* the limit, not the driver, lacks what is missing */
	const char *not_known; /* what is missing for a verdict, a text that holds for ever */
};
/* Of what it counts as free: 2 MiB of whole segments, up to 16 MiB of pages (driver 580). */
#define GP_KEPT_BY_DRIVER (32ull << 20)
/* The first rule that holds. */
void gp_oom_judge(const struct gp_oom_facts *facts, struct gp_oom_finding *out);

/* ---- what would have helped ---- */

enum gp_help {
	GP_HELP_FREE_NEIGHBOURS, /* freeing `count` blocks of `bytes`, side by side */
	GP_HELP_FREE_SEGMENTS,	 /* the same: their segments go back to the driver */
	GP_HELP_EMPTY_CACHE,	 /* gives `bytes` back to the driver */
	GP_HELP_EXPANDABLE,	 /* at most `bytes` would be in one range */
	GP_HELP_MAX_SPLIT,	 /* `bytes` are free in `count` segments that would be whole */
	GP_HELP_ROUND_SIZES,   /* `bytes` short of the largest place; `count` divisions hide that */
	GP_HELP_LESS_ROUNDING, /* `bytes` of live blocks and request that divisions add */
	GP_HELP_STREAMS,       /* `bytes` are cached for other streams and pools; see `other` */
	GP_HELP_LIMIT,	       /* a limit of `bytes` */
	GP_HELP_OUTSIDE,       /* `bytes` that came outside the framework since the last peak */
	GP_HELP_OTHER,	       /* `bytes` that came outside the job since */
	GP_HELP_SMALLER,       /* a request of at most `bytes` is served */
	GP_HELP_LESS,	       /* `bytes` less in use and requested at that moment */
	GP_HELPS,
};
extern const char *const gp_help_names[GP_HELPS]; /* "free_neighbours", ... */
struct gp_oom_help {
	enum gp_help help;
	bool is_enough; /* the request is served then, by the figures */
	bool is_bound;	/* they are the most that it can bring: it may be less */
	uint64_t bytes, count;
};

/* ---- one of them, looked at closely ---- */

struct gp_oom_case {
	struct gp_memory memory; /* just before it */
	struct gp_frag frag;
	struct gp_owners owners;
	struct gp_oom_facts facts;
	struct gp_oom_finding finding;
	struct gp_oom_help help[GP_HELPS];
	size_t helps;
	/*
	 * Of frag's pools that of another stream, of the request's pool and of its size, whose
	 * cache serves the largest request; NULL: there is none, or who asked is not known.
	 */
	const struct gp_frag_pool *other;
	/*
	 * Who held memory: `bytes` now, `live_bytes` at from_ns. What ended since stands with bytes
	 * 0. A moment before all that is kept is the first that is.
	 */
	int64_t from_ns;
	size_t uses;
	struct gp_use *use;
};
/*
 * `window_ns`: who grew since then, -1: 10 s, or since the one before on that device. Rewinds. Free
 * with gp_oom_case_free, also after a failure. GP_E_ARGUMENT: of no device that is known.
 */
enum gp_status gp_oom_look(struct gp_recording *recording, const struct gp_ooms *ooms, size_t k,
			   const struct gp_allocator_settings *settings, int64_t window_ns,
			   struct gp_oom_case *out);
void gp_oom_case_free(struct gp_oom_case *oom);
/* What would have helped, from the verdict and the state: fills help, helps. */
void gp_oom_help_list(const struct gp_oom *oom, const struct gp_allocator_settings *settings,
		      struct gp_oom_case *out);

#endif
