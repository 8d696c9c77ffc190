/*
 * The vocabulary: defines an event, for the ring, decoded blocks and the reading API alike. Owns
 * struct gp_record and the tables that events.def expands to. No code paths, no I/O.
 */
#ifndef GP_EVENT_H
#define GP_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Meaning of a field. Affects the file only through the choice of a column's coding: see
 * docs/FORMAT.md.
 */
enum gp_defined {
	GP_UNUSED,
	GP_ADDRESS, /* device or host virtual address */
	GP_BYTES,
	GP_HANDLE, /* opaque value of the driver; 0 is none */
	GP_NUMBER,
	GP_TOTAL, /* running total in bytes, predicted from the event before */
	GP_GRID,  /* x | y << 32 | z << 48 */
	GP_BLOCK, /* x | y << 16 | z << 32 | variant << 48 */
	GP_CALL,  /* what a call did and how long it took: gp_call_pack */
	GP_TICKS, /* duration of a call in clock ticks; 0 unknown */
};

enum gp_class {
	GP_CLASS_DEFINE,
	GP_CLASS_MEMORY,
	GP_CLASS_LAUNCH,
	GP_CLASS_OTHER,
	GP_CLASS_CHECKPOINT,
	GP_CLASSES,
};

/* The kind of memory of ALLOC, FREE, MAP. On disk: never renumbered. */
enum gp_space {
	GP_SPACE_NONE = 0,
	GP_SPACE_DEVICE = 1, /* cuMemAlloc, cuMemAllocPitch */
	/* cuMemAllocAsync, cuMemAllocFromPoolAsync; owner: the pool, 0 the device's current one */
	GP_SPACE_ASYNC = 2,
	GP_SPACE_MANAGED = 3,	    /* cuMemAllocManaged */
	GP_SPACE_HOST = 4,	    /* pinned: cuMemAllocHost, cuMemHostAlloc */
	GP_SPACE_HOST_REGISTER = 5, /* the job's own pages, pinned */
	GP_SPACE_ARRAY = 6,	    /* address is the CUarray or CUmipmappedArray */
	/* VMM: address is the handle of cuMemCreate or an import (flags bit 0) */
	GP_SPACE_PHYSICAL = 7,
	GP_SPACE_RESERVATION = 8, /* VMM: virtual range only */
	GP_SPACE_MAPPED = 9,	  /* VMM: MAP and UNMAP; owner is the physical handle */
	GP_SPACE_IPC = 10,	  /* opened memory of another process */
	GP_SPACE_EXTERNAL = 11,	  /* imported external memory: address is the handle */
	GP_SPACE_GRAPH = 12,	  /* graph allocation node; owner is the graph or capture */
	GP_SPACE_MULTICAST = 13,  /* address is the multicast handle */
	GP_SPACE_BLOCK = 14,	  /* LIVE only: a block of the framework's allocator */
	GP_SPACE_SEGMENT = 15,	  /* LIVE only: a segment of the framework's allocator */
	GP_SPACE_RESOURCE = 16,	  /* LIVE only: address is the handle, flags enum gp_resource */
	GP_SPACES,
};

#define GP_DEVICE_UNKNOWN 255u
#define GP_DEVICES 64u /* ordinals 0..63 */

/*
 * Codes inside fields. On disk: never renumbered. docs/FORMAT.md shows them with their comments,
 * `make docs` writes it.
 */

/* FACT.key. Earlier recorders wrote key 11, so it stays unused. */
enum gp_fact {
	GP_FACT_PYTORCH = 1,	/* text: "2.11.0+cu130" */
	GP_FACT_DRIVER = 2,	/* value: 13000 */
	GP_FACT_RING_PLACE = 3, /* text: "shm /dev/shm", "disk DIR" or "private" */
	GP_FACT_ROUTES = 4,	/* value: look-ups of a known name that got the driver's pointer */
	GP_FACT_BLOCK_REPORTS = 5,  /* value: 1 the framework reports its blocks to us */
	GP_FACT_FRAMEWORK_LATE = 6, /* value: 1 the framework had blocks before the recording */
	GP_FACT_STACKS_CUT = 7,	    /* value: events whose stack did not fit */
	GP_FACT_STACK_LAUNCHES = 8, /* value: every n-th launch of a thread has a stack */
	GP_FACT_NO_PYTHON = 9,	    /* text: why requested Python frames are missing */
	GP_FACT_NO_NATIVE = 10,	    /* text: why requested native frames are missing */
	GP_FACT_NO_STACKS = 12,	    /* text: the option that switched stacks off */
	/* value: 1 allocator details are recorded, 0 they are not; text: why */
	GP_FACT_ALLOCATOR_DETAILS = 16,
	/* text: "NAME=value" of PYTORCH_CUDA_ALLOC_CONF, a blank, of PYTORCH_ALLOC_CONF */
	GP_FACT_ALLOC_CONF = 17,
	GP_FACT_RANGES_UNNAMED = 18, /* value: ranges and marks whose name did not fit */
	GP_FACT_NVTX = 19,	     /* text: why NVTX does not report to us */
	/* value: 1 uses of memory are recorded, 0 requested but not; text: why */
	GP_FACT_USES = 24,
	/* value: allocations whose uses are not recorded for lack of memory */
	GP_FACT_USES_BEYOND = 25,
	/* value: 1 the framework's own ranges are recorded, 0 they are not; text: why */
	GP_FACT_TORCH_RANGES = 28,
	GP_FACT_SCOPE = 32, /* text: the requested capture, as options */
	/* value: SCOPE.by of the end of the recording, if its process continued */
	GP_FACT_ENDED = 33,
	GP_FACT_NATIVE_FRAMES = 34, /* value: different native frames; beside stored names */
	/* value: 1 GPU time is recorded, 0 requested but not; text: why, or CUPTI's version */
	GP_FACT_GPU_TIME = 36,
	GP_FACT_NCCL_SILENT = 37, /* value: 1 NCCL_NVTX_DISABLE is set: NCCL reports no calls */
	/* value: 1 counters are recorded, 0 requested but not; text: why, or how */
	GP_FACT_COUNTERS = 38,
	/* value: bytes of a device that CUPTI takes in each context, from this moment on */
	GP_FACT_CUPTI_MEMORY = 40,
	/* value: stacks whose module of PyTorch was left out for lack of room or time */
	GP_FACT_MODULES_CUT = 44,
	/* text: "NAME=value" of the launcher's rank, a blank, of its number of ranks */
	GP_FACT_RANK = 45,
	/* value: 1 PyTorch's cudaMallocAsync calls are its blocks, 0 unknown; text: why some are */
	GP_FACT_ASYNC_BLOCKS = 56,
	/* this key and the 63 after it: text: the metric with that number, from 0 */
	GP_FACT_METRIC = 64,
	/* value: 1 stacks of autograd's nodes have modules, 0 requested but not; text: why */
	GP_FACT_NODE_MODULES = 128,
};

/* DEVICE_MEMORY.state, from bit 48 on: what may have changed the count since the one before. */
enum gp_memory_cause {
	GP_CAUSE_CONTEXT = 1,	  /* a context began or ended */
	GP_CAUSE_MODULE_LOAD = 2, /* or an unload */
	GP_CAUSE_KERNEL = 4,	  /* the first launch of a kernel, which may load its module */
	GP_CAUSE_LOCAL = 8,	  /* the same; it needs more local memory than any before */
	GP_CAUSE_HEAP = 16,	  /* the size of the heap or of the printf buffer was set */
	GP_CAUSE_GRAPH = 32,	  /* a graph was instantiated, or an instance ended */
};
/* DEVICE_MEMORY.state: the bits below are what the default pool has reserved; 0: unknown */
#define GP_CAUSES_SHIFT 48u
#define GP_POOL_BYTES ((UINT64_C(1) << GP_CAUSES_SHIFT) - 1)

/*
 * Used memory of a device that no allocation of the job explains, by its cause. CURVE records have
 * these numbers.
 */
enum gp_used_part {
	GP_PART_CONTEXT = 0, /* and all that was in use before the first count */
	GP_PART_MODULES = 1,
	GP_PART_LOCAL = 2,
	GP_PART_HEAP = 3,
	GP_PART_GRAPHS = 4,
	GP_PART_ROUNDING = 5,
	GP_PART_OTHERS = 6,
	GP_PART_UNKNOWN = 7, /* several causes between two counts, or events are missing */
	GP_PARTS,
};

/* RESOURCE.type */
enum gp_resource {
	GP_RESOURCE_STREAM = 1,
	GP_RESOURCE_EVENT = 2,
	GP_RESOURCE_GRAPH = 3,
	GP_RESOURCE_EXEC = 4, /* an instantiated graph */
	GP_RESOURCE_MODULE = 5,
	GP_RESOURCE_LIBRARY = 6,
	GP_RESOURCE_POOL = 7,
	GP_RESOURCES,
};

/* OWNER_GONE.how */
enum gp_how {
	GP_HOW_CONTEXT_DESTROY = 1,
	GP_HOW_PRIMARY_RESET = 2,   /* of the device's primary context */
	GP_HOW_PRIMARY_RELEASE = 3, /* the last release of the primary context */
	GP_HOW_EXEC_DESTROY = 4,    /* an instantiated graph */
	GP_HOW_GRAPH_DESTROY = 5,
};
/* GAP.why */
enum gp_why {
	GP_WHY_STOPPED = 1,    /* recording was stopped and resumed */
	GP_WHY_LATE_START = 2, /* no events were recorded before */
};

/* SCOPE.by: what opened or closed the scope */
enum gp_scope_by {
	GP_SCOPE_BY_START = 1,	  /* of the recording */
	GP_SCOPE_BY_DELAY = 2,	  /* the delay ended */
	GP_SCOPE_BY_DURATION = 3, /* the duration ended */
	GP_SCOPE_BY_PROFILER = 4, /* cudaProfilerStart, cudaProfilerStop */
	GP_SCOPE_BY_RANGE = 5,	  /* an NVTX range */
	GP_SCOPE_BY_STEP = 6,	  /* the requested steps */
	GP_SCOPE_BY_ORDER = 7,	  /* gpuprof ctl */
	GP_SCOPE_BY_MAIN = 8,	  /* the main thread's end, where /proc cannot be read */
	GP_SCOPE_BYS,
};

/* BLOCK_EXISTING.spare: the block is freed already, but other streams still use it */
#define GP_FOUND_PENDING 0x80000000u

/* ALLOC.flags: gpuprof's in the low half, the caller's flags for the driver in the high half. */
enum gp_alloc_flag {
	GP_ALLOC_IMPORT = 1,   /* memory of another process or API */
	GP_ALLOC_RETAIN = 2,   /* one more reference to a physical handle, with IMPORT */
	GP_ALLOC_CAPTURED = 4, /* made during a stream capture: a node of a graph */
};

/* LAUNCH.block's variant */
enum gp_launch {
	GP_LAUNCH_KERNEL = 0,	     /* cuLaunchKernel */
	GP_LAUNCH_EX = 1,	     /* cuLaunchKernelEx */
	GP_LAUNCH_COOPERATIVE = 2,   /* cuLaunchCooperativeKernel */
	GP_LAUNCH_OLD = 3,	     /* cuLaunch, cuLaunchGrid and cuLaunchGridAsync */
	GP_LAUNCH_CAPTURED = 0x8000, /* a bit beside these: captured, not run */
	/* another bit: its parameters were scanned; USE events with the results follow */
	GP_LAUNCH_SCANNED = 0x4000,
};
/*
 * How every count of launches counts an event: a kernel launch that runs; a captured kernel launch,
 * which does not run; a graph launch. A launch that the driver refused does not count.
 */
enum gp_launched {
	GP_LAUNCHED_NOT, /* another event */
	GP_LAUNCHED_KERNEL,
	GP_LAUNCHED_CAPTURED,
	GP_LAUNCHED_GRAPH,
};
struct gp_record;
enum gp_launched gp_launched_as(const struct gp_record *record);

/* MODULE_LOAD.flags and MODULE_UNLOAD.flags: bits */
enum gp_module_flag {
	GP_MODULE_PLAIN = 0,   /* cuModuleLoad* */
	GP_MODULE_LIBRARY = 1, /* cuLibraryLoad* */
	GP_MODULE_PTX = 2,     /* the image is PTX text, which the driver compiles; of loads only */
};

/* USE.what */
enum gp_use_what {
	GP_USE_LAUNCH = 0, /* parameters of the thread's last LAUNCH */
	GP_USE_COPY = 1,   /* first: destination, second: source; 0 if it is not in known memory */
	GP_USE_FILL = 2,   /* first: destination */
	GP_USE_CAPTURED = 0x8000, /* a bit beside these: during a capture */
};

/* COPY.call and WAIT.call, bits 29 to 31 */
enum gp_call {
	GP_COPY_UNIFIED = 0, /* cuMemcpy, cuMemcpyAsync, batches: the addresses decide */
	GP_COPY_TO_DEVICE = 1,
	GP_COPY_TO_HOST = 2,
	GP_COPY_ON_DEVICE = 3,
	GP_COPY_PEER = 4, /* between devices */
	GP_COPY_FILL = 5, /* cuMemset*: `from` is 0 */
	GP_COPY_ON_HOST = 6,
	GP_COPY_PREFETCH = 7, /* cuMemPrefetch*: pages of managed memory; `from` is 0 */
	GP_COPIES,
	GP_WAIT_STREAM = 0,  /* cuStreamSynchronize; handle: the stream */
	GP_WAIT_EVENT = 1,   /* cuEventSynchronize; handle: the event */
	GP_WAIT_CONTEXT = 2, /* cuCtxSynchronize; handle: the context, 0 the current one */
	GP_WAIT_FREE = 3,    /* cuMemFree; handle: the address */
	GP_WAIT_FREE_HOST = 4,
	GP_WAIT_UNREGISTER = 5,	  /* cuMemHostUnregister; handle: the address */
	GP_WAIT_EVENT_QUERY = 6,  /* a loop of cuEventQuery; handle: the event */
	GP_WAIT_STREAM_QUERY = 7, /* a loop of cuStreamQuery; handle: the stream */
	GP_WAITS,
};
/* WAIT.code of a loop of queries that ended without another answer: CUDA_ERROR_NOT_READY */
#define GP_CODE_NOT_READY 600u

/* COPY.call: bits beside the kind */
enum gp_call_flag {
	GP_CALL_ASYNC = 0x10000000,    /* the function's name has "Async" */
	GP_CALL_CAPTURED = 0x08000000, /* while a capture was under way: it may not have run */
};

/*
 * `took` in clock ticks as mantissa << exponent: exact below 2^bits, else to 1 in 2^(bits - 1). The
 * low `bits` are the mantissa, the 5 above them the exponent.
 */
static inline uint32_t gp_took_pack(uint64_t took, uint32_t bits)
{
	uint32_t exponent = 0;
	if (took >> bits != 0)
		exponent = 64u - bits - (uint32_t)__builtin_clzll(took);
	if (exponent > 31) { /* a month for 22 bits, half an hour for 11 */
		exponent = 31;
		took = UINT64_MAX >> (64u - bits - 31u);
	}
	return (uint32_t)(took >> exponent) | exponent << bits;
}
static inline uint64_t gp_took_unpack(uint32_t packed, uint32_t bits)
{
	return (uint64_t)(packed & ((1u << bits) - 1)) << (packed >> bits & 31);
}

/* COPY.call, WAIT.call: bits 0 to 26 are the duration, 27 and 28 flags, 29 to 31 the kind. */
#define GP_TOOK_BITS 22u
static inline uint32_t gp_call_pack(enum gp_call kind, uint32_t flags, uint64_t took)
{
	return gp_took_pack(took, GP_TOOK_BITS) | flags | (uint32_t)kind << 29;
}
static inline uint64_t gp_call_took(uint32_t call)
{
	return gp_took_unpack(call, GP_TOOK_BITS);
}
/* ALLOC.code, MAP.code: all 16 bits are the duration; 0 unknown. */
#define GP_ALLOC_TOOK_BITS 11u
static inline uint64_t gp_alloc_took(uint16_t code)
{
	return gp_took_unpack(code, GP_ALLOC_TOOK_BITS);
}
static inline enum gp_call gp_call_kind(uint32_t call)
{
	return (enum gp_call)(call >> 29);
}
/* Of a call: at least 1, since 0 is unknown. */
static inline uint64_t gp_took(uint64_t began, uint64_t ended)
{
	return ended > began ? ended - began : 1;
}
extern const char *const gp_copy_names[GP_COPIES];
extern const char *const gp_wait_names[GP_WAITS];

/* GPU_COPY.what: bits beside CUPTI's kinds */
enum gp_gpu_flag {
	GP_GPU_ASYNC = 0x01000000,
	GP_GPU_IN_GRAPH = 0x02000000,
};
#define GP_GPU_COPY_KIND(what) ((what)&0xffu)
#define GP_GPU_COPY_FROM(what) ((what) >> 8 & 0xffu)
#define GP_GPU_COPY_TO(what) ((what) >> 16 & 0xffu)
/* GPU_COPY.what, bits 0 to 7: CUpti_ActivityMemcpyKind; others are possible */
enum gp_gpu_copy {
	GP_GPU_SET = 0,
	GP_GPU_TO_DEVICE = 1,
	GP_GPU_TO_HOST = 2,
	GP_GPU_ON_DEVICE = 8,
	GP_GPU_ON_HOST = 9,
	GP_GPU_PEER = 10,
};
/* GPU_TIME.what */
enum gp_gpu_time {
	GP_GPU_TIME_ON = 1,  /* number: of the window; operations launched from here on follow */
	GP_GPU_TIME_OFF = 2, /* operations launched before it follow */
	GP_GPU_TIME_DROPPED = 3, /* number: operations that CUPTI dropped since the last report */
	GP_GPU_TIME_LOST = 4,	 /* number: operations that gpuprof lost since the last report */
	GP_GPU_TIME_TAKEN = 5,	 /* another tool took CUPTI: no operations from here on */
};
/* Correlation id and stream id of GPU_KERNEL.launch and GPU_COPY.launch. */
#define GP_GPU_CORRELATION(launch) ((uint32_t)(launch))
#define GP_GPU_STREAM(launch) ((uint32_t)((launch) >> 32))

/* MULTICAST.operation */
enum gp_multicast {
	GP_MULTICAST_ADD_DEVICE = 1,
	GP_MULTICAST_BIND_MEMORY = 2,  /* member: the handle of physical memory */
	GP_MULTICAST_BIND_ADDRESS = 3, /* member: an address */
	GP_MULTICAST_UNBIND = 4,
};
/* GRAPH_ADD_NODE.type: CUgraphNodeType */
enum gp_node {
	GP_NODE_KERNEL = 0, /* address: the kernel */
	GP_NODE_MEMCPY = 1,
	GP_NODE_MEMSET = 2,
	GP_NODE_HOST = 3,
	GP_NODE_CHILD = 4, /* a graph */
	GP_NODE_EMPTY = 5,
	GP_NODE_WAIT_EVENT = 6,
	GP_NODE_EVENT_RECORD = 7,
	GP_NODE_SIGNAL = 8, /* external semaphores */
	GP_NODE_WAIT = 9,   /* external semaphores */
	GP_NODE_MEM_ALLOC = 10,
	GP_NODE_MEM_FREE = 11,
	GP_NODE_BATCH_MEM_OP = 12,
	GP_NODE_CONDITIONAL = 13,
	GP_NODE_CLONE = 0x100, /* not a node: the graph is a copy of `address` */
};

/* RANGE_PUSH.source: the source of the range. Likewise of the other kinds of ranges and marks. */
enum gp_range_source {
	GP_RANGE_NVTX = 1,
	GP_RANGE_TORCH = 2,   /* PyTorch's own: optimizers, data loaders, record_function */
	GP_RANGE_ENGINE = 3,  /* PyTorch's engine of autograd runs for this thread */
	GP_RANGE_CONTROL = 4, /* gpuprof itself, on request */
	GP_RANGE_SOURCES,
};

/* RANGE_PUSH.code, also RANGE_START.code and MARK.code: type of `payload` */
enum gp_payload {
	GP_PAYLOAD_NONE = 0,
	GP_PAYLOAD_UINT64 = 1,
	GP_PAYLOAD_INT64 = 2,
	GP_PAYLOAD_DOUBLE = 3,
	GP_PAYLOAD_UINT32 = 4,
	GP_PAYLOAD_INT32 = 5,
	GP_PAYLOAD_FLOAT = 6,
};

/* COLLECTIVE.operation: the number that NCCL gives its kinds of calls. Others may come. */
enum gp_collective {
	GP_ALL_GATHER = 4,
	GP_ALL_REDUCE = 5,
	GP_BROADCAST = 6,
	GP_REDUCE_SCATTER = 7,
	GP_REDUCE = 8,
	GP_SEND = 9,
	GP_RECV = 10,
	GP_ALL_TO_ALL = 16,
	GP_GATHER = 17,
	GP_SCATTER = 18,
};

/* OBJECT_NAME.what: kind of the named object; `handle` is */
enum gp_object {
	GP_OBJECT_THREAD = 1,  /* its tid */
	GP_OBJECT_DEVICE = 2,  /* its ordinal */
	GP_OBJECT_CONTEXT = 3, /* CUcontext */
	GP_OBJECT_STREAM = 4,  /* CUstream */
	GP_OBJECT_EVENT = 5,   /* CUevent */
};

/* Key of a name: kind of object and handle. */
#define GP_OBJECT_KEY(what, handle) ((handle) ^ (uint64_t)(what) << 52)

/* CURVE.curve */
enum gp_curve {
	GP_CURVE_DRIVER = 0,	/* requested from the driver */
	GP_CURVE_RESERVED = 1,	/* held by the framework */
	GP_CURVE_ALLOCATED = 2, /* handed out by the framework */
	GP_CURVES,		/* number of curves of a device */
	/* of the process, device 255: host memory that the driver keeps page-locked */
	GP_CURVE_PINNED = 4,
	/* the part of PINNED that the job registered: now, and (peak_bytes) at PINNED's peak */
	GP_CURVE_REGISTERED = 5,
};

/* COUNT.what: below 128 the number of events of that kind since the start; from 256 on: */
enum gp_count {
	GP_COUNT_LOST_MEMORY = 256,
	GP_COUNT_LOST_LAUNCH = 257,
	GP_COUNT_LOST_OTHER = 258,
	GP_COUNT_NESTED = 259,		 /* calls made inside gpuprof's own work; now lost memory */
	GP_COUNT_FRAMEWORK_EVENTS = 260, /* block events compared with the framework's totals */
	GP_COUNT_MISMATCHES = 261,	 /* of these: those with a difference */
	GP_COUNT_ANOMALIES = 262,	 /* events that contradict earlier ones */
	GP_COUNT_THREADS = 263,
	GP_COUNT_GAP_ORDER = 264,    /* 1 + order of the last GAP; 0: none */
	GP_COUNT_NEWEST_ORDER = 265, /* the highest order so far */
	GP_COUNT_UNWRITTEN = 266,    /* MEMORY events of this checkpoint that no block holds */
	GP_COUNT_SCOPES = 267,	     /* opened scopes */
	GP_COUNT_SCOPE_SINCE = 268,  /* ticks when the open scope began; 0: none is open */
	GP_COUNT_SCOPE_TICKS = 269,  /* total ticks of closed scopes */
	GP_COUNT_SCOPE_NUMBER = 270, /* of the newest SCOPE */
	GP_COUNTS,
};

/*
 * One event, one cache line. `order` of a MEMORY event: its own place in the total order of the
 * process. For other classes: the place that the next memory event would take. `time` is in clock
 * ticks (file header: `clock`). `extra`: number of further 64-byte slots with `text_bytes` of text
 * (DEFINE only). Unused fields are 0: writers clear them, and the codec relies on it.
 */
struct gp_record {
	uint64_t time;
	uint64_t order;
	uint16_t kind;
	uint8_t extra;
	uint8_t device;
	uint8_t space;
	uint8_t zero;
	uint16_t code;
	uint32_t stack;
	uint32_t aux;
	union {
		uint64_t v[4];
#define F(field, meaning) uint64_t field;
#define U(n) uint64_t unused##n;
#define EVENT(id, NAME, name, CLASS, aux, v0, v1, v2, v3) \
	struct {                                          \
		v0 v1 v2 v3                               \
	} name;
#include "events.def"
#undef EVENT
#undef U
#undef F
	};
};
_Static_assert(sizeof(struct gp_record) == 64, "a record is one cache line");

/* CALL_STACK.why_python: the id of the module, above an enum gp_stack_why. */
#define GP_WHY_MODULE_SHIFT 16

/* Text of a DEFINE record: its extra slots begin with its length (8 bytes), then the text. */
#define GP_TEXT_MAX 1016u /* 16 extra slots; stored names have up to 255 */
/* Text of a record followed by its extra slots, not terminated; NULL: none. */
const char *gp_record_text(const struct gp_record *record, size_t *bytes);
/* gp_record.extra of a text of `bytes`. */
static inline uint8_t gp_text_slots(size_t bytes)
{
	return (uint8_t)(bytes != 0 ? (sizeof(uint64_t) + bytes + sizeof(struct gp_record) - 1) /
					      sizeof(struct gp_record) :
				      0);
}
/*
 * Writes a text into slot `at` and those that follow: its length, its bytes, then zeros to the end
 * of the last slot. Slot numbers are taken `& mask`: a ring; UINT64_MAX: an array.
 */
void gp_text_put(struct gp_record *slots, uint64_t mask, uint64_t at, const char *text,
		 size_t bytes);

/* Of a RANGE_NAME; longer names are truncated. */
#define GP_RANGE_NAME_MAX 504u
/* Maximal depth of open ranges on a thread; deeper ones are not recorded. */
#define GP_RANGES_DEEP 128u

enum gp_kind {
#define EVENT(id, NAME, name, CLASS, aux, v0, v1, v2, v3) GP_##NAME = (id),
#include "events.def"
#undef EVENT
};
#define GP_KINDS 128u

struct gp_field {
	const char *name; /* NULL when unused */
	enum gp_defined meaning;
};

struct gp_event_info {
	const char *name; /* NULL: no such kind */
	enum gp_class class;
	struct gp_field aux;
	struct gp_field v[4];
};

/*
 * Indexed by kind; kinds from GP_KINDS on are unknown to this version and are skipped by readers.
 */
extern const struct gp_event_info gp_event_infos[GP_KINDS];
/*
 * True for actions of the job. False for definitions and checkpoints, whose times may not match
 * their place, as of a module that took long to inspect.
 */
bool gp_is_happening(unsigned kind);
/*
 * True for actions in time order: a span begins and ends only at such events. Reports of the
 * recorder on itself, as LOST, have the time of the report and an earlier place.
 */
bool gp_has_moment(unsigned kind);
extern const char *const gp_space_names[GP_SPACES];
extern const char *const gp_resource_names[GP_RESOURCES];

#endif
