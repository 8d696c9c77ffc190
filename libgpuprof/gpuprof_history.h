/*
 * Part of gpuprof.h, which includes it: what happened to memory in a span, act by act, in the words
 * of PyTorch's allocator, whatever told it: the allocator itself, or only its reports and the
 * driver. Each act fits what the acts before left: nothing is freed that is not there, each block
 * lies in a segment, and behind the last act is what `memory` and `outside` say.
 */
#ifndef GPUPROF_HISTORY_H
#define GPUPROF_HISTORY_H

#include "gpuprof_memory.h"

enum gp_act_kind {
	GP_ACT_ALLOC,
	GP_ACT_FREE_REQUESTED, /* by the job */
	GP_ACT_FREE_COMPLETED, /* and no stream uses it any more */
	GP_ACT_SEGMENT_ALLOC,
	GP_ACT_SEGMENT_FREE,
	GP_ACT_SEGMENT_MAP, /* of an expandable one; adjacent ones are one segment */
	GP_ACT_SEGMENT_UNMAP,
	GP_ACT_SNAPSHOT, /* taken by the job: active bytes */
	GP_ACT_OOM,	 /* bytes asked for */
	GP_ACTS,
};

/*
 * Memory outside the framework is a segment with one block, in the space that the driver has it
 * in. What has no address but a handle is given one, from GP_ADDRESS_OF_HANDLES on.
 */
#define GP_ADDRESS_OF_HANDLES (1ull << 52)

struct gp_module_epochs;
struct gp_act {
	enum gp_act_kind kind;
	uint8_t device;
	uint8_t space; /* enum gp_space: outside the framework; GP_SPACE_NONE: its own */
	bool is_told;  /* by an event; false: it follows from others, and nobody saw it */
	int64_t at_ns;
	uint64_t address, bytes;
	uint64_t requested_bytes;     /* of a block; GP_BYTES_UNKNOWN: not told */
	uint64_t device_free_bytes;   /* OOM: told, or by the last count; GP_BYTES_UNKNOWN */
	const struct gp_arena *arena; /* the unknown one: all zeros */
	uint32_t stack;		      /* who did it */
	/* FREE_*, SEGMENT_FREE and SEGMENT_UNMAP: who had made what ends */
	uint32_t maker;
	int64_t made_at_ns;
};

struct gp_history {
	struct gp_recording *recording;
	struct gp_module_epochs *epochs;
	struct gp_memory memory; /* behind the last act */
	int64_t from_ns, to_ns;
	bool is_cut; /* events are missing before from_ns: the acts begin there, not as asked */
	/* gp_history_visit fills in: */
	size_t outsides; /* outside the framework, behind the last act */
	struct gp_memory_outside *outside;
	uint64_t acts, untold; /* of these: not is_told */
	uint64_t orphaned;     /* blocks in no segment that is known: not among the acts */
};

/*
 * [from_ns, to_ns] of a recording. It is begun later where events are missing and a checkpoint
 * tells how it goes on. Free with gp_history_close, also after a failure.
 */
enum gp_status gp_history_open(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
			       struct gp_history *out);
/*
 * One replay; calls `visit` for each act, in order, while the recording stands at it. Memory by the
 * live set. False from `visit` ends it, with GP_END.
 */
enum gp_status gp_history_visit(struct gp_history *history,
				bool (*visit)(void *context, const struct gp_act *), void *context);
/* Stacks with the same id mean the same at all moments with the same number. */
uint32_t gp_history_epoch(const struct gp_history *history, int64_t at_ns);
void gp_history_close(struct gp_history *history);

#endif
