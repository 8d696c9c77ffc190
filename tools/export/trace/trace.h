/*
 * A recording as a trace, in time order, for formats that show a timeline. One replay gives curves,
 * allocations, calls and marks. Ranges, steps and operations of the GPU are spans, which begin and
 * end between these events.
 */
#ifndef GP_TRACE_H
#define GP_TRACE_H

#include "../write/export.h"
#include "../write/pickle.h"

#define GP_TRACE_HOST GP_DEVICES /* in place of a device: page-locked memory of the host */
#define GP_TRACE_NONE UINT32_MAX

enum gp_trace_of {
	GP_TRACE_BLOCKS, /* of the framework */
	GP_TRACE_DRIVER,
	GP_TRACE_PINNED,
	GP_TRACE_OFS,
};

/* An allocation or a free. */
struct gp_trace_memory {
	const struct gp_event *event;
	enum gp_trace_of of;
	bool is_free;
	unsigned device; /* or GP_TRACE_HOST */
	/* of a block its size; else by how much the curve changed, which may be 0 */
	uint64_t bytes;
	const uint64_t *now_bytes; /* curves of the device after it, by enum gp_curve */
};

/* A call that starts work on the GPU or waits for it. */
struct gp_trace_call {
	const struct gp_event *event;
	int64_t begin_ns, end_ns;		  /* equal: of unknown duration */
	const struct gp_gpu_launch *launch;	  /* NULL: without GPU time */
	const struct gp_gpu_operation *operation; /* its first one; NULL: unknown */
};

enum gp_trace_span_of {
	GP_TRACE_RANGE,	    /* of a thread, nested */
	GP_TRACE_STARTED,   /* of a thread; it may end on another one */
	GP_TRACE_STEP,	    /* of the job */
	GP_TRACE_UNCERTAIN, /* events are missing */
	/* of a stream: from the first to the last operation that was launched in a nested range */
	GP_TRACE_ANNOTATION,
	GP_TRACE_OPERATION, /* of the GPU */
	GP_TRACE_SPAN_KINDS,
};

struct gp_trace_span {
	int64_t begin_ns, end_ns; /* clipped to the span of the export */
	uint32_t number;	  /* index into calls, steps, operations */
	uint32_t place;		  /* thread; of operations, annotations: index into stream */
	uint32_t lane;		  /* spans that overlap without nesting are in different lanes */
	uint8_t of;
};

struct gp_trace_stream {
	uint8_t device;
	uint16_t context;
	uint32_t stream; /* CUPTI's id */
};

enum gp_trace_mark {
	GP_TRACE_OOM,
	GP_TRACE_FAILED,  /* a driver call for memory */
	GP_TRACE_GAP,	  /* recording resumed */
	GP_TRACE_LOST,	  /* events */
	GP_TRACE_CAPTURE, /* of a graph: begin, end or error */
	GP_TRACE_MARK,	  /* of NVTX */
	GP_TRACE_SNAPSHOT,
	GP_TRACE_SCOPE, /* full recording begins or ends */
};

struct gp_trace;
struct gp_trace_sink {
	/* Writes the beginning of a file. Spans that are open are in gp_trace_open_spans. */
	void (*begin)(struct gp_trace *t);
	/* Writes the end of a file. */
	void (*end)(struct gp_trace *t);
	/* Bytes of the file so far. */
	uint64_t (*bytes)(struct gp_trace *t);
	/* `curve`: enum gp_curve; of the host enum gp_host_curve */
	void (*counter)(struct gp_trace *t, int64_t at_ns, unsigned device, unsigned curve,
			uint64_t bytes);
	void (*memory)(struct gp_trace *t, const struct gp_trace_memory *m);
	void (*call)(struct gp_trace *t, const struct gp_trace_call *call);
	void (*mark)(struct gp_trace *t, const struct gp_event *e, enum gp_trace_mark kind);
	void (*span_begin)(struct gp_trace *t, const struct gp_trace_span *span);
	void (*span_end)(struct gp_trace *t, const struct gp_trace_span *span);
	bool has_annotations; /* shows GP_TRACE_ANNOTATION */
};

struct gp_trace {
	struct gp_export *e;
	const struct gp_trace_sink *sink;
	void *own; /* of the sink */
	bool is_out_of_memory;
	struct gp_module_epochs *epochs;
	struct gp_gpu gpu;
	size_t calls;
	const struct gp_range_call *call; /* of ranges, from index 1 */
	struct gp_steps steps;
	size_t streams, stream_room;
	struct gp_trace_stream *stream;
	/* by their begin; those before `next` have begun, those in `open` have not ended */
	size_t spans, span_room, next, opens;
	struct gp_trace_span *span;
	uint32_t *open; /* a heap by end */
	/* launches by their event; the first operation of each launch */
	uint32_t *launch_at, *operation_of;
	size_t launch_next;
	uint64_t seen; /* events */
	bool is_begun;
	struct gp_trace_line {
		uint64_t now_bytes[GP_CURVES];
		int64_t at_ns; /* of the last value: threads take the clock after their order */
		bool is_seen;
	} line[GP_DEVICES + 1];
	struct gp_pickle_rows thread_rows; /* by thread; the memo is 1 + the index */
	size_t threads, thread_room;
	struct gp_trace_thread {
		uint32_t thread, tid; /* tid: 0 unknown */
		int64_t call_ns;      /* end of its last call */
		unsigned piece;	      /* of the sink */
	} * thread;
	uint32_t last_thread; /* index */
	unsigned pieces;
	int64_t now_ns; /* of the last event */
	/* results */
	uint64_t left_out;	     /* memory events of no known device */
	uint64_t without_clock;	     /* operations without a time on the recording's clock */
	uint64_t annotations_beyond; /* operations that some annotations do not include */
};

/* Prints what is missing, and adds to e->entries what `sink` was given. */
enum gp_status gp_trace_write(struct gp_trace *t, struct gp_export *e,
			      const struct gp_trace_sink *sink);
/* Indexes of open spans, outer ones first; free it. NULL: none, or out of memory. */
uint32_t *gp_trace_open_spans(struct gp_trace *t, size_t *count);

/* The index of a thread; 0 without memory. */
uint32_t gp_trace_thread(struct gp_trace *t, uint32_t thread);

/* The range of a span. */
const struct gp_range_path *gp_trace_range(const struct gp_trace *t,
					   const struct gp_trace_span *span);
/* Text of a range: "domain:name", or "name" in the default domain. */
void gp_trace_range_name(const struct gp_range_path *path, char *out, size_t room);
/* "out of memory", "capture begins"; of a mark of NVTX its name */
const char *gp_trace_mark_name(const struct gp_trace *t, const struct gp_event *e,
			       enum gp_trace_mark kind);
/* "kernel", "gpu_memcpy", "gpu_memset" */
const char *gp_trace_operation_category(const struct gp_gpu_operation *op);
/* The name of a kernel, or "Memcpy HtoD (Pinned -> Device)" as Kineto writes it. */
void gp_trace_operation_name(const struct gp_trace *t, const struct gp_gpu_operation *op, char *out,
			     size_t room);
/* "cudaLaunchKernel": the runtime's name of a call, as tools expect it. */
const char *gp_trace_call_name(const struct gp_record *r);

#endif
