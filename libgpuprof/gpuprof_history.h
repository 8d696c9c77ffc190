/*
 * Part of gpuprof.h, which includes it: the acts of memory in a span, in the terms of PyTorch's
 * allocator. The source is the allocator itself, or only its reports and the driver. The acts are
 * consistent: only live memory is freed, and each block lies in a segment. `memory` and `outside`
 * are the state after the last act.
 */
#ifndef GPUPROF_HISTORY_H
#define GPUPROF_HISTORY_H

#include "gpuprof_memory.h"

enum gp_act_kind {
	GP_ACT_ALLOC,
	GP_ACT_FREE_REQUESTED, /* by the job */
	GP_ACT_FREE_COMPLETED, /* complete: no stream uses it any more */
	GP_ACT_SEGMENT_ALLOC,
	GP_ACT_SEGMENT_FREE,
	GP_ACT_SEGMENT_MAP, /* of an expandable segment; adjacent ones form one segment */
	GP_ACT_SEGMENT_UNMAP,
	GP_ACT_SNAPSHOT, /* taken by the job; bytes: active */
	GP_ACT_OOM,	 /* bytes: of the request */
	GP_ACTS,
};

/*
 * Memory outside the framework is a segment with one block, in the driver's space. Memory with a
 * handle and without an address gets an address from GP_ADDRESS_OF_HANDLES on.
 */
#define GP_ADDRESS_OF_HANDLES (1ull << 52)

struct gp_module_epochs;
struct gp_act {
	enum gp_act_kind kind;
	uint8_t device;
	uint8_t space;	  /* enum gp_space: outside the framework; GP_SPACE_NONE: the framework's */
	bool is_reported; /* reported by an event; false: derived from other acts */
	int64_t at_ns;
	uint64_t address, bytes;
	uint64_t requested_bytes;     /* of a block; GP_BYTES_UNKNOWN: not recorded */
	uint64_t device_free_bytes;   /* OOM: reported, or from the last count; GP_BYTES_UNKNOWN */
	const struct gp_arena *arena; /* the unknown arena: all zeros */
	uint32_t stack;		      /* stack of the act */
	/* FREE_*, SEGMENT_FREE and SEGMENT_UNMAP: stack of the allocation that ends */
	uint32_t maker;
	int64_t made_at_ns;
};

struct gp_history {
	struct gp_recording *recording;
	struct gp_module_epochs *epochs;
	struct gp_memory memory; /* after the last act */
	int64_t from_ns, to_ns;
	bool is_cut; /* events are missing, so the acts begin at from_ns, later than requested */
	/* results of gp_history_visit: */
	size_t outsides; /* memory outside the framework after the last act */
	struct gp_memory_outside *outside;
	uint64_t acts, unreported; /* unreported: acts without is_reported */
	uint64_t orphaned;	   /* blocks outside of known segments; they have no acts */
};

/*
 * Opens [from_ns, to_ns] of a recording. If events are missing, it begins later, at a checkpoint
 * with the state. Free with gp_history_close, also after a failure.
 */
enum gp_status gp_history_open(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
			       struct gp_history *out);
/*
 * One replay. Calls `visit` for each act, in order, while the recording is at that act. Needs
 * memory for the live set. If `visit` returns false, the replay stops with GP_END.
 */
enum gp_status gp_history_visit(struct gp_history *history,
				bool (*visit)(void *context, const struct gp_act *), void *context);
/* Returns a number. At moments with equal numbers, an id means the same stack. */
uint32_t gp_history_epoch(const struct gp_history *history, int64_t at_ns);
void gp_history_close(struct gp_history *history);

/* ---- several intervals in one replay ---- */

/* The end of an interval. The next one begins with the next event for memory. */
struct gp_history_cut {
	uint64_t events;  /* before it, in a replay */
	int64_t to_ns;	  /* of the last act before it */
	bool has_outside; /* memory outside the framework is live there */
};
struct gp_history_cuts {
	size_t cuts;
	struct gp_history_cut *cut;
};

enum gp_history_fill {
	GP_HISTORY_IGNORES, /* the act does not count */
	GP_HISTORY_GOES_ON,
	GP_HISTORY_IS_FULL, /* the interval should end soon */
};
/* Decides where intervals end. */
struct gp_history_measure {
	void *context;
	/* `is_first`: the act is the first one of an interval, except the very first one */
	enum gp_history_fill (*see)(void *context, const struct gp_act *act, bool is_first);
};
/*
 * Cuts an interval, so that acts of one moment stay together. One replay. Free with
 * gp_history_cuts_free, also after a failure.
 */
enum gp_status gp_history_find_cuts(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				    const struct gp_history_measure *measure,
				    struct gp_history_cuts *out);
void gp_history_cuts_free(struct gp_history_cuts *cuts);

/* Each function returns false to end the replay, with GP_END. */
struct gp_history_sink {
	void *context;
	/* `has_outside`: memory outside the framework is live at the end of the interval */
	bool (*begin)(void *context, const struct gp_history *history, bool has_outside);
	bool (*act)(void *context, const struct gp_act *act);
	/* `history` as after gp_history_visit; caveats and captures only at the last end. */
	bool (*end)(void *context, const struct gp_history *history);
};
/* The acts of each interval, as gp_history_visit would give them for it alone. One replay. */
enum gp_status gp_history_visit_spans(struct gp_recording *recording, int64_t from_ns,
				      int64_t to_ns, const struct gp_history_cuts *cuts,
				      const struct gp_history_sink *sink);

#endif
