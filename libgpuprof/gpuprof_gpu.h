/*
 * Part of gpuprof.h, which includes it: operations that the GPU has done (--gpu-time), each with
 * the launch, copy or set that the job called for it. CUPTI's correlation ids increase in the order
 * of the calls; LAUNCH events have none. docs/ANALYSIS.md has the method and its limits.
 */
#ifndef GPUPROF_GPU_H
#define GPUPROF_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/event.h"
#include "format/status.h"

struct gp_recording;
struct gp_range_path;
struct gp_steps;

enum gp_gpu_kind { GP_GPU_IS_KERNEL, GP_GPU_IS_COPY, GP_GPU_IS_SET };

/* The relation of an operation to the launches. */
enum gp_gpu_join {
	GP_GPU_JOINED, /* to the one launch that fits */
	/*
	 * Another launch of the same kernel and shape fits as well; or threads raced on one stream.
	 */
	GP_GPU_UNCERTAIN,
	GP_GPU_UNJOINED, /* no launch fits: its event was lost or is not kept */
	GP_GPU_JOINS,
};

#define GP_GPU_NO_LAUNCH UINT32_MAX

/* A kernel, copy or set that the GPU has done. */
struct gp_gpu_operation {
	uint64_t began_ns, took_ns; /* on CUPTI's clock, unchanged */
	/* of its begin on the recording's clock; INT64_MIN: no GPU_CLOCK */
	int64_t at_ns;
	uint64_t bytes;	   /* of a copy or set */
	uint32_t function; /* of a kernel: index into gp_gpu.function; else GPU_COPY.what */
	uint32_t launch;   /* index into gp_gpu.launch, or GP_GPU_NO_LAUNCH */
	uint32_t correlation;
	uint32_t stream; /* CUPTI's id */
	uint16_t context;
	uint8_t device;
	uint8_t kind; /* enum gp_gpu_kind */
	uint8_t join; /* enum gp_gpu_join */
	bool is_in_graph;
};

/*
 * Whether it began from `from_ns` to `to_ns`, on `device` (GP_DEVICE_UNKNOWN: all). Without a time
 * on the recording's clock it counts only in the whole recording.
 */
static inline bool gp_gpu_is_chosen(const struct gp_gpu_operation *op, int64_t from_ns,
				    int64_t to_ns, unsigned device)
{
	const bool is_all = from_ns == INT64_MIN && to_ns == INT64_MAX;
	return (is_all || (op->at_ns != INT64_MIN && op->at_ns >= from_ns && op->at_ns <= to_ns)) &&
	       (device == GP_DEVICE_UNKNOWN || op->device == device);
}

enum gp_gpu_launched { GP_GPU_BY_KERNEL, GP_GPU_BY_GRAPH, GP_GPU_BY_COPY };

/* A call of the job that starts work on the GPU, in a window of GPU time. */
struct gp_gpu_launch {
	int64_t at_ns;	     /* of the call's begin, on the recording's clock */
	int64_t before_ns;   /* not after its begin: a kernel's first launch is recorded late */
	int64_t returned_ns; /* it had returned by then; INT64_MAX: unknown */
	/* a synchronization had returned by then, so its work had ended; INT64_MAX: none */
	int64_t done_ns;
	uint64_t event;			   /* its number in the recording */
	const char *name;		   /* of the kernel, as in the binary; NULL unknown */
	uint64_t shape;			   /* a hash; of a copy: of its bytes */
	const struct gp_range_path *range; /* in force at the call; NULL: not requested */
	uint32_t stream;		   /* index: one for each stream of the job */
	uint32_t thread;
	uint32_t stack;	 /* 0: none */
	uint32_t call;	 /* the innermost call of a range that it is in; 0: none, or unknown */
	uint8_t by;	 /* enum gp_gpu_launched */
	uint8_t variant; /* of a kernel: enum gp_launch */
	uint8_t device;
	bool is_optional; /* it may have no operation: an edge of the window, a copy on the host */
	bool has_operation;
};

/* A kernel in one launch shape. Beyond the recorder's room for shapes it has its name alone. */
struct gp_gpu_function {
	const char *name;     /* as in the binary; NULL unknown */
	uint64_t grid, block; /* as of LAUNCH; both 0: all but the name is unknown */
	uint32_t static_shared, dynamic_shared; /* bytes a block */
	uint32_t registers, local_bytes;	/* a thread */
};
static inline bool gp_gpu_has_shape(const struct gp_gpu_function *function)
{
	return (function->grid | function->block) != 0;
}

struct gp_gpu;
/*
 * The name of an operation in reports: of a kernel demangled, without parameters; of a copy
 * "host_to_device"; of a set "fill".
 */
void gp_gpu_operation_text(const struct gp_gpu *gpu, const struct gp_gpu_operation *op, char *out,
			   size_t room);

struct gp_gpu {
	/* GPU time is recorded; else `why` has the reason, or is NULL: not requested */
	bool has_operations;
	const char *why;
	size_t operations, launches, functions;
	struct gp_gpu_operation *operation; /* by their begin on CUPTI's clock */
	struct gp_gpu_launch *launch;	    /* by their begin */
	struct gp_gpu_function *function;
	uint64_t joined[GP_GPU_JOINS]; /* operations by enum gp_gpu_join */
	uint64_t outside; /* further operations, not of the windows: of a profiler of the job */
	uint64_t launches_alone; /* launches without an operation, optional ones not counted */
	/* operations in another order than the events of racing threads */
	uint64_t swapped;
	uint64_t dropped, lost; /* operations, as CUPTI and the recorder count them */
	/* operations and launches beyond the memory that a file of its size may take */
	uint64_t beyond;
	uint64_t lost_launches;	       /* LAUNCH events that the recorder lost */
	uint64_t windows;	       /* 0: all of the recording */
	int64_t clock_within_ns;       /* largest uncertainty of the clock; -1: no GPU_CLOCK */
	struct gp_range_paths *ranges; /* NULL: not requested */
};

/*
 * Joins all operations of the recording to its launches. One replay. `has_ranges`: launches have
 * their range. Free with gp_gpu_free, also after a failure. GP_E_MEMORY, and what a replay returns.
 */
enum gp_status gp_gpu_build(struct gp_recording *recording, bool has_ranges, struct gp_gpu *out);
void gp_gpu_free(struct gp_gpu *gpu);

/* ---- occupancy ---- */

/*
 * Theoretical occupancy of a kernel: resident warps of a multiprocessor, of its largest number.
 * Only for a GPU whose name shows compute capability 9.0; `gpu_name` may be NULL. With the largest
 * carve-out of shared memory. -1: unknown.
 */
double gp_gpu_occupancy(const char *gpu_name, const struct gp_gpu_function *function);

/* ---- kernels ---- */

enum gp_kernels_by {
	GP_KERNELS_BY_NAME, /* demangled, without parameters */
	/* of the launch's stack, as in other reports */
	GP_KERNELS_BY_LIBRARY,
	GP_KERNELS_BY_OPERATOR,
	GP_KERNELS_BY_LINE,
	GP_KERNELS_BY_MODULE,
	/* of the ranges in force at the launch: all; gp_range_path_phase */
	GP_KERNELS_BY_RANGE,
	GP_KERNELS_BY_PHASE,
};

/* Kernels with one key. */
struct gp_kernel_row {
	char *key;
	const char *name; /* of `function`, as in the binary; NULL unknown */
	bool is_rest;	  /* the key is the reason for a missing one: no launch, no stack */
	uint64_t count, total_ns, longest_ns, median_ns, p99_ns;
	uint64_t joined, in_graphs; /* of `count`; joined: with GP_GPU_JOINED */
	/* median of the times from call to begin, of joined kernels without graphs; -1: none */
	int64_t delay_ns;
	uint32_t function; /* the launch shape with most time: index into gp_gpu.function */
	uint8_t device;	   /* of the longest kernel */
	double occupancy;  /* of `function`; -1 unknown */
	/*
	 * Median of the bytes of live allocations that the arguments point to, of joined kernels
	 * without graphs; UINT64_MAX: none
	 */
	uint64_t argument_bytes;
	/* the launches' stack with most time; 0: none, `without` is the reason */
	uint32_t stack;
	int64_t at_ns; /* of a launch with that stack */
	const char *without;
	char library[128]; /* of that stack; "": unknown */
	/* operation of median duration, joined and without a graph; SIZE_MAX: none */
	size_t typical;
};

struct gp_kernels {
	struct gp_gpu gpu;
	/* costliest first; then rows with is_rest */
	size_t rows;
	struct gp_kernel_row *row;
	/* kernels; copies; sets, by enum gp_gpu_kind */
	uint64_t count[3], total_ns[3];
	uint64_t busy_ns; /* of all devices: the time in which one operation at least ran */
	/* of them all, from the first begin to the last end, on CUPTI's clock */
	uint64_t envelope_ns;
	uint64_t launches_without_stack; /* launches of counted kernels */
	bool has_arguments;		 /* the recording has uses of launches */
};

/*
 * Adds up the kernels that began from `from_ns` to `to_ns`, on `device` (GP_DEVICE_UNKNOWN: all).
 * Kernels without a time on the recording's clock count only in the whole recording. Free with
 * gp_kernels_free, also after a failure. As gp_gpu_build.
 */
enum gp_status gp_kernels_build(struct gp_recording *recording, enum gp_kernels_by by,
				int64_t from_ns, int64_t to_ns, unsigned device,
				struct gp_kernels *out);
void gp_kernels_free(struct gp_kernels *kernels);
/*
 * How many launches of the kernel came before that of the row's typical one, in all of the
 * recording. One replay. UINT64_MAX: the row has no typical one.
 */
enum gp_status gp_kernels_skip(struct gp_recording *recording, const struct gp_kernels *kernels,
			       const struct gp_kernel_row *row, uint64_t *skip);

/* ---- calls of ranges, ranges and steps ---- */

/*
 * Operations that were launched in a range or a step. `envelope_ns`: from the first begin to the
 * last end, as nsys projects ranges; of a range the sum over its calls. `busy_ns`: of that the time
 * in which one operation at least ran. `sum_ns`: of the operations' times. All on CUPTI's clock.
 */
struct gp_gpu_sum {
	uint64_t operations, envelope_ns, busy_ns, sum_ns;
};

/*
 * A call of a range, with the operations that were launched in it and in calls inside it. Those of
 * a started range: launched by its thread meanwhile; if another thread ended it, by any thread.
 */
struct gp_gpu_call {
	const struct gp_range_call *call;
	const struct gp_range_path *path;
	uint32_t depth;		    /* 0: outermost */
	uint32_t children;	    /* calls directly inside it */
	struct gp_gpu_sum sum;	    /* envelope_ns: 0; of a started range also busy_ns */
	uint64_t first_ns, last_ns; /* the envelope, on CUPTI's clock */
	int64_t at_ns;		    /* of first_ns, on the recording's clock; as of an operation */
};
struct gp_gpu_calls {
	size_t calls;
	struct gp_gpu_call *call; /* by their begin, the first at index 1 */
	/* of operations in no range, and in an unclear one; their `call` is NULL */
	struct gp_gpu_call outside[2];
	uint64_t unjoined; /* operations without a launch: in no range */
	uint64_t unread;   /* launches not looked for in started ranges: too many were open */
};
/*
 * Operations that were launched from `from_ns` to `to_ns`, on `device` (GP_DEVICE_UNKNOWN: all), in
 * each call of a range. `gpu` has ranges and must outlive *out. Free with gp_gpu_calls_free, also
 * after a failure. GP_E_MEMORY.
 */
enum gp_status gp_gpu_calls_build(struct gp_gpu *gpu, int64_t from_ns, int64_t to_ns,
				  unsigned device, struct gp_gpu_calls *out);
void gp_gpu_calls_free(struct gp_gpu_calls *calls);

/* A range with all that is inside it. Its path lives until gp_gpu_ranges_free. */
struct gp_gpu_range {
	const struct gp_range_path
		*path;	/* known != GP_RANGE_IN: in no range, or unclear in which */
	uint64_t calls; /* with operations */
	struct gp_gpu_sum sum;
};
struct gp_gpu_ranges {
	struct gp_gpu gpu;
	size_t ranges;
	struct gp_gpu_range *range; /* with operations; in no certain order */
	uint64_t unjoined;	    /* operations without a launch: in no range */
};
/*
 * Operations that were launched from `from_ns` to `to_ns`, on `device` (GP_DEVICE_UNKNOWN: all).
 * Ranges are those of GP_WITH_RANGES. Two replays, or three. Free with gp_gpu_ranges_free,
 * also after a failure. As gp_gpu_build.
 */
enum gp_status gp_gpu_ranges_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				   unsigned device, struct gp_gpu_ranges *out);
void gp_gpu_ranges_free(struct gp_gpu_ranges *ranges);
/*
 * Sums of operations that were launched in each step, one for each of steps->step: the caller frees
 * the array. NULL: no GPU time was recorded. As gp_gpu_build.
 */
enum gp_status gp_gpu_steps_build(struct gp_recording *recording, const struct gp_steps *steps,
				  struct gp_gpu_sum **out);

#endif
