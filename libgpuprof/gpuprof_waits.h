/*
 * Part of gpuprof.h, which includes it: calls in which the host waits for the GPU, and the time for
 * which the GPU is idle after them. From COPY and WAIT events; no GPU times are needed.
 */
#ifndef GPUPROF_WAITS_H
#define GPUPROF_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/status.h"

struct gp_recording;
struct gp_record;

enum gp_wait_reason {
	GP_WAIT_ON_SYNCHRONIZE, /* a stream, event or context is waited for */
	GP_WAIT_ON_ITEM,	/* at most GP_WAIT_ITEM_BYTES are read back: .item(), print */
	GP_WAIT_ON_PAGEABLE,	/* a copy from or to memory that is not pinned, or synchronous */
	GP_WAIT_ON_FREE,	/* cuMemFree, cuMemFreeHost, cuMemHostUnregister */
	GP_WAIT_ON_DATA,	/* the host was in a data loader */
	GP_WAIT_ON_RECOMPILE, /* cuModuleLoad*, cuLibraryLoad*, after warm-up if there are steps */
	GP_WAIT_ON_OTHER,     /* a synchronous copy of pinned or device memory, or a fill */
	GP_WAIT_ON_EVENT_QUERY, /* a loop of cuEventQuery, cuStreamQuery */
	GP_WAIT_ON_STREAM_QUERY,
	/*
	 * An allocation of driver memory, which does not wait for the GPU. One of memory that was
	 * freed just before has no such row: it is in the row of that free.
	 */
	GP_WAIT_ON_ALLOC,
	/*
	 * With GPU time: the host was late to launch, and nothing else is recorded of it. The line
	 * is of the launch, if it has a stack.
	 */
	GP_WAIT_ON_HOST,
	GP_WAIT_REASONS,
};
/* "synchronize", "item", ..., "allocation", "late_launch" */
extern const char *const gp_wait_reason_names[GP_WAIT_REASONS];
/* Coarser: "other" for allocations, late launches and synchronous copies */
extern const char *const gp_wait_kind_names[GP_WAIT_REASONS];
#define GP_WAIT_ITEM_BYTES 16u /* complex128 is the largest dtype of PyTorch */

#define GP_WAIT_REPEATED 3u /* once or twice: before a loop, between a loop and its evaluation */

/* Allocations of memory that the calls of a row have freed: it was needed again. */
struct gp_wait_again {
	uint64_t count, bytes;
	int64_t blocked_ns, longest_ns;
	uint32_t stack; /* of the longest; 0: none */
	int64_t at_ns;	/* of its return */
	char *key;	/* its line; NULL: count is 0 */
};

/* Waits of one reason at one line of code. */
struct gp_wait_row {
	enum gp_wait_reason reason;
	char *key;	     /* the line, a text for people */
	const char *file;    /* of the line, of Python or the program; NULL: unknown */
	uint32_t line;	     /* 0: unknown */
	const char *without; /* the reason for a missing line, a static text; NULL: not missing */
	uint32_t stack;	     /* of the call that cost most; 0: none */
	int64_t at_ns;	     /* of that call's return */
	uint64_t count, bytes;
	bool is_repeated;		/* GP_WAIT_REPEATED times or more: less is set-up */
	int64_t blocked_ns, longest_ns; /* of the calling thread; sum with `again`, maximum */
	struct gp_wait_again again;	/* of GP_WAIT_ON_FREE */
	/*
	 * The GPU had no work of this process. With GPU time: its gaps that are due to these calls,
	 * also where these lie before the interval.
	 * Else from the return of a call that left nothing queued until the next launch, copy or
	 * fill began. A lower bound of its idle time.
	 */
	int64_t lost_ns;
};

struct gp_waits {
	bool has_calls; /* of an older recording, or with --launches off: false */
	size_t rows;
	/* the repeated first; of these most lost time first, then most blocked */
	struct gp_wait_row *row;
	/*
	 * The interval that is reported on. Not given: the steps after warm-up; without steps, from
	 * the first to the last launch, copy or wait.
	 */
	int64_t from_ns, to_ns;
	size_t steps; /* in it; 0: rows have no count per step */
	int64_t blocked_ns, lost_ns;
	int64_t repeated_lost_ns; /* of repeated rows */
	/*
	 * With GPU time: all gaps between operations of one GPU, summed over the GPUs; `lost_ns` is
	 * a part of it. `pending_ns`: the other part, in which work was launched but had not
	 * begun, for latency or a dependency. Gaps around launches without an operation are in
	 * neither.
	 */
	bool has_gpu_time;
	int64_t idle_ns, pending_ns;
	uint64_t lost_operations; /* by CUPTI or the recorder: gaps are not exact */
	uint64_t launches_alone;  /* launches without an operation: gaps are not exact */
	/* copies by direction, enum gp_call */
	struct gp_wait_copies {
		uint64_t count, bytes, pageable_count, pageable_bytes;
		int64_t took_ns; /* of the calls, not of the transfers */
	} copies[8];
};

/* Duration of a call of `ticks` that ended with the event; -1: unknown, 0 ticks. */
int64_t gp_took_ns(const struct gp_recording *recording, const struct gp_record *record,
		   uint64_t ticks);
/* Duration of a COPY or a WAIT. */
int64_t gp_call_took_ns(const struct gp_recording *recording, const struct gp_record *record);
/* Duration of an ALLOC or a MAP; -1: unknown. */
int64_t gp_alloc_took_ns(const struct gp_recording *recording, const struct gp_record *record);

/*
 * From `from_ns` to `to_ns`; INT64_MIN and INT64_MAX: not given. Two replays. Free with
 * gp_waits_free. GP_E_MEMORY, and what a replay returns.
 */
enum gp_status gp_waits_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
			      struct gp_waits *out);
void gp_waits_free(struct gp_waits *waits);

/* Results of cudaEventElapsedTime that the job read at one line: its own timer. */
struct gp_timer {
	char *key;	     /* as gp_wait_row */
	const char *file;    /* as gp_wait_row */
	uint32_t line;	     /* as gp_wait_row */
	const char *without; /* as gp_wait_row */
	uint32_t stack;	     /* of one of its calls; 0: none */
	int64_t at_ns;	     /* of that call */
	uint64_t count;
	uint64_t total_ns, least_ns, most_ns; /* of the results; intervals may overlap */
};
struct gp_timers {
	size_t rows;
	struct gp_timer *row; /* the greatest sum first */
};

/* Of results that were read from `from_ns` to `to_ns`. One replay. Errors as gp_waits_build. */
enum gp_status gp_timers_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
			       struct gp_timers *out);
void gp_timers_free(struct gp_timers *timers);

#endif
