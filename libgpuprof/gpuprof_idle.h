/*
 * Part of gpuprof.h, which includes it: memory that was held without being used. Uses are those of
 * launches, copies and fills in a recording with --track-access. Moments are those of the calls by
 * the job, not of the execution. Sizes are bytes. Moments count from start_unix_ns; -1 is none.
 */
#ifndef GPUPROF_IDLE_H
#define GPUPROF_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp_recording;

/* Use of memory at a moment. */
enum gp_idle_state {
	GP_IDLE_BUSY,	 /* used shortly before or after, or short-lived */
	GP_IDLE_NEVER,	 /* never used in its life */
	GP_IDLE_EARLY,	 /* before its first use */
	GP_IDLE_LATE,	 /* after its last use */
	GP_IDLE_BETWEEN, /* between two distant uses */
	GP_IDLE_UNKNOWN, /* older than the kept events, and not used since */
	GP_IDLE_STATES,
};

/* The owner of memory, which decides how the user can reduce it. */
enum gp_idle_owner {
	GP_IDLE_BLOCK,	   /* a block of the framework for the program */
	GP_IDLE_WORKSPACE, /* a block that the framework keeps for a library */
	GP_IDLE_PROGRAM,   /* driver memory of the program itself */
	GP_IDLE_LIBRARY,   /* driver memory of a library */
	GP_IDLE_PROCESS,   /* memory that another process opened to this one */
	GP_IDLE_ANYBODY,   /* unknown, since there is no native stack; may be the driver's */
	GP_IDLE_OWNERS,
};
struct gp_idle_holder {
	enum gp_idle_owner owner;
	char library[GP_OWNER_MAX]; /* of a WORKSPACE or LIBRARY; else "" */
};

/* Memory of one stack, space, device and kind. The moments are those of its largest part. */
struct gp_idle_row {
	unsigned kind;	     /* at the peak: enum gp_idle_state; over the run: enum gp_waste */
	unsigned device;     /* GP_DEVICE_UNKNOWN: no device */
	char *key;	     /* of its stack, as in groups; or why it has none */
	uint32_t stack;	     /* 0: none */
	const char *without; /* NULL: there is a stack */
	uint8_t space;	     /* enum gp_space */
	size_t stacks;	     /* 1; more after gp_idle_fold */
	struct gp_idle_holder holder;
	uint64_t bytes, count;
	uint64_t largest_bytes;
	int64_t born_ns;
	/* only at the peak: first use, last use before it, next use after it, free */
	int64_t first_ns, last_ns, next_ns, freed_ns;
	/* launches and time without a use; of CHURN and PINNED: during its life */
	uint64_t idle_launches;
	int64_t idle_ns;
	double weight; /* bytes times launches; CHURN: number of times; PINNED: bytes */
};

/* Buffers of one size, live at the peak, whose uses do not overlap; `needed` of them are enough. */
struct gp_idle_reuse {
	uint64_t each_bytes, count, needed;
	/* other_key: of a buffer that is used only after the last use of the first one */
	char *key, *other_key;
	uint32_t stack, other_stack;
	int64_t born_ns, other_born_ns;
};

struct gp_idle_sum {
	uint64_t bytes, count;
};

struct gp_idle_device {
	unsigned device;
	bool is_framework; /* the peak of the framework's blocks; else of driver memory */
	/* the run's peak is older than the kept events; this is the highest kept moment */
	bool is_overwritten;
	int64_t peak_at_ns;
	/* live memory at that moment; of the framework only blocks, never segments */
	struct gp_idle_sum sum[GP_IDLE_OWNERS][GP_IDLE_STATES];
	size_t rows;
	struct gp_idle_row *row; /* most weight first; without BUSY */
	size_t reuses;
	struct gp_idle_reuse *reuse; /* most bytes saved first */
};

/* Kinds of waste over the whole run. */
enum gp_waste {
	GP_WASTE_EARLY,	  /* allocated long before its first use */
	GP_WASTE_LATE,	  /* freed, or kept to the end, long after its last use */
	GP_WASTE_NEVER,	  /* never used */
	GP_WASTE_BETWEEN, /* unused for long between two uses */
	GP_WASTE_CHURN,	  /* driver memory, allocated and freed repeatedly */
	GP_WASTE_PINNED,  /* growing pinned memory of the host */
	GP_WASTES,
};
struct gp_idle {
	bool has_uses;
	const char *no_uses; /* why uses are missing although requested; NULL */
	/* too few launches could be scanned to call memory unused: no devices, no waste */
	bool is_blind;
	uint64_t least_launches;
	/* as gp_launched_as counts them; resolved: at least one live allocation was found */
	uint64_t launches, captured_launches, scanned, resolved;
	uint64_t graph_launches, graph_resolved;
	uint64_t graph_unknown;		  /* launches of graphs whose uses are not all known */
	uint64_t copies, copies_resolved; /* copies and fills with an operand in known memory */
	uint64_t addresses, addresses_resolved;
	uint64_t lost;	  /* lost events that may have been uses or launches */
	uint64_t beyond;  /* gp_info.uses_beyond */
	bool has_managed; /* has memory that the host may also use; such uses are not visible */
	size_t devices;
	struct gp_idle_device *device;
	size_t wastes;
	struct gp_idle_row *waste; /* by kind and device, then most weight first */
};
/*
 * Resolves each use to the block or driver memory that was live at that time. Unused: for at least
 * `least_launches` launches. The launch of a graph uses the memory of its captured launches, and
 * counts as that many launches. All live memory counts as used at paused recording, lost events,
 * unscanned launches and unknown graphs. Two replays; needs memory for what is live at once.
 * Without uses, only `has_uses` (false) is valid. Free with gp_idle_free, also after a failure.
 */
enum gp_status gp_idle_build(struct gp_recording *recording, uint64_t least_launches,
			     struct gp_idle *out);
/*
 * True if the peak counts memory of this owner. The peak is of the framework's blocks if there are
 * any. Otherwise it is of driver memory, without the memory that other processes opened.
 */
static inline bool gp_idle_is_of_peak(const struct gp_idle_device *device, enum gp_idle_owner owner)
{
	bool is_block = owner == GP_IDLE_BLOCK || owner == GP_IDLE_WORKSPACE;
	return device->is_framework ? is_block : owner != GP_IDLE_PROCESS;
}
/* Adds up rows of one kind, space, owner and device whose stacks have equal keys. */
void gp_idle_fold(struct gp_idle *idle);
void gp_idle_free(struct gp_idle *idle);

#endif
