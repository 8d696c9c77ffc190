/*
 * Part of gpuprof.h, which includes it: which memory was held without being used. Uses are those of
 * launches, copies and fills as a recording with --track-access has them; moments are those of the
 * calls, on the job's side. Sizes are bytes, moments count from start_unix_ns, -1 is none.
 */
#ifndef GPUPROF_IDLE_H
#define GPUPROF_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp_recording;

/* How memory stood to its uses. */
enum gp_idle_state {
	GP_IDLE_BUSY,	 /* used shortly before or after, or of short life */
	GP_IDLE_NEVER,	 /* not once in its life */
	GP_IDLE_EARLY,	 /* its first use was still to come */
	GP_IDLE_LATE,	 /* its last use was over */
	GP_IDLE_BETWEEN, /* it rested between two uses */
	GP_IDLE_UNKNOWN, /* older than the events that are kept, and not used since */
	GP_IDLE_STATES,
};

/* Whose memory is, which decides what can be done about it. */
enum gp_idle_owner {
	GP_IDLE_BLOCK,	   /* a block of the framework, of the program's */
	GP_IDLE_WORKSPACE, /* a block of the framework that it keeps for a library */
	GP_IDLE_PROGRAM,   /* memory of the driver that the program itself got */
	GP_IDLE_LIBRARY,   /* that a library got for itself */
	GP_IDLE_PROCESS,   /* that another process opened to this one */
	GP_IDLE_ANYBODY,   /* the driver's too; no native stack tells whose */
	GP_IDLE_OWNERS,
};
struct gp_idle_whose {
	enum gp_idle_owner owner;
	char library[GP_OWNER_MAX]; /* of a WORKSPACE or LIBRARY; else "" */
};

/* Memory of one stack, space, device and kind; the moments are those of its largest part. */
struct gp_idle_row {
	unsigned kind;	     /* at the peak: enum gp_idle_state; over the run: enum gp_waste */
	unsigned device;     /* GP_DEVICE_UNKNOWN: of no device */
	char *key;	     /* of its stack, as groups have it; or why it has none */
	uint32_t stack;	     /* 0: none */
	const char *without; /* NULL: there is a stack */
	uint8_t space;	     /* enum gp_space */
	size_t stacks;	     /* 1, more after gp_idle_fold */
	struct gp_idle_whose whose;
	uint64_t bytes, count;
	uint64_t largest_bytes;
	int64_t born_ns;
	/* at the peak alone: its first use, the last one before, the next one after, its end */
	int64_t first_ns, last_ns, next_ns, freed_ns;
	/* without a use, or of CHURN and PINNED its life: launches meanwhile, and how long */
	uint64_t idle_launches;
	int64_t idle_ns;
	double weight; /* bytes times launches; CHURN: how often; PINNED: bytes */
};

/* Buffers of one size, all live at the peak, whose uses do not overlap: `needed` would do. */
struct gp_idle_reuse {
	uint64_t each_bytes, count, needed;
	char *key, *other_key; /* of one that is used after the other's last use */
	uint32_t stack, other_stack;
	int64_t born_ns, other_born_ns;
};

struct gp_idle_sum {
	uint64_t bytes, count;
};

struct gp_idle_device {
	unsigned device;
	bool is_framework;   /* the peak is that of its blocks, else of the driver's memory */
	bool is_overwritten; /* the peak of the run lies before what is kept: the highest that is */
	int64_t peak_at_ns;
	/* what lived at that moment; of the framework its blocks alone, never its segments */
	struct gp_idle_sum sum[GP_IDLE_OWNERS][GP_IDLE_STATES];
	size_t rows;
	struct gp_idle_row *row; /* most weight first; not BUSY */
	size_t reuses;
	struct gp_idle_reuse *reuse; /* most bytes saved first */
};

/* Over the whole run, at whatever moment. */
enum gp_waste {
	GP_WASTE_EARLY,	  /* allocated long before its first use */
	GP_WASTE_LATE,	  /* freed, or kept to the end, long after its last use */
	GP_WASTE_NEVER,	  /* never used */
	GP_WASTE_BETWEEN, /* rested long between two uses */
	GP_WASTE_CHURN,	  /* of the driver, got and given back again and again */
	GP_WASTE_PINNED,  /* pinned memory of the host that grows */
	GP_WASTES,
};
struct gp_idle {
	bool has_uses;
	const char *no_uses; /* why not, though they were asked for; NULL */
	/* too few launches could be scanned to call anything unused: no devices, no waste */
	bool is_blind;
	uint64_t least_launches;
	/* as gp_launched_as counts them; resolved: at least one live allocation was found */
	uint64_t launches, captured_launches, scanned, resolved;
	uint64_t graph_launches, graph_resolved;
	uint64_t graph_unknown; /* launches of graphs of which not all is known that they use */
	uint64_t copies, copies_resolved; /* and fills, with an operand in known memory */
	uint64_t addresses, addresses_resolved;
	uint64_t lost;	  /* events that may have been uses, or launches */
	uint64_t beyond;  /* gp_info.uses_beyond */
	bool has_managed; /* memory that the host may use, too, which is not seen */
	size_t devices;
	struct gp_idle_device *device;
	size_t wastes;
	struct gp_idle_row *waste; /* by kind and device, then most weight first */
};
/*
 * Resolves each use to the block or driver memory that was live then. Unused: for at least
 * `least_launches` launches. Launches of graphs use what was captured into them, and count as many
 * launches. Where recording stood still or events were lost, and at launches that were not scanned
 * or are of graphs that are not known, all that lives counts as used. Two replays; memory by what
 * is live at once. Without uses `has_uses` is false and nothing else is said. Free with
 * gp_idle_free, also after a failure.
 */
enum gp_status gp_idle_build(struct gp_recording *recording, uint64_t least_launches,
			     struct gp_idle *out);
/*
 * The peak is that of such memory: of the framework's blocks where there are any, else of the
 * driver's, which does not count what other processes opened.
 */
static inline bool gp_idle_is_of_peak(const struct gp_idle_device *device, enum gp_idle_owner owner)
{
	bool is_block = owner == GP_IDLE_BLOCK || owner == GP_IDLE_WORKSPACE;
	return device->is_framework ? is_block : owner != GP_IDLE_PROCESS;
}
/* Adds up rows of one kind, space, owner and device whose stacks have the same key. */
void gp_idle_fold(struct gp_idle *idle);
void gp_idle_free(struct gp_idle *idle);

#endif
