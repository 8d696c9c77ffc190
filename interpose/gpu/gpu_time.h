/*
 * GPU time: the interface between libgpuprof-cupti.so, which collects what CUPTI reports, and
 * libgpuprof.so, which records it. Both come from one build; `bytes` detects two builds. The former
 * is preloaded behind the latter, only with --gpu-time. Neither passes CUPTI's records on: these
 * structs are independent of its version.
 */
#ifndef GP_GPU_TIME_H
#define GP_GPU_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "../../libgpuprof/format/event.h"

/* A kernel that has run. Times are CUPTI's, in nanoseconds. */
struct gp_gpu_kernel {
	const char *name; /* as in the binary; NULL unknown */
	uint64_t began_ns, ended_ns;
	uint64_t node; /* graph node; 0: launched without a graph */
	uint32_t correlation, stream, context, device;
	uint32_t grid[3], block[3];
	uint32_t static_shared, dynamic_shared; /* bytes a block */
	uint32_t registers, local_bytes;	/* a thread */
};

/* A copy or a set that has run. `what` is that of GP_GPU_COPY. */
struct gp_gpu_copied {
	uint64_t began_ns, ended_ns, bytes;
	uint32_t correlation, stream, context, device;
	uint32_t what;
};

/* Of libgpuprof-cupti.so. Members may be called by any thread of the job. */
struct gp_gpu_source {
	uint32_t bytes;
	/*
	 * The driver has just made the process's first context, so the caller holds no lock that an
	 * allocator needs. Starts the collecting thread. Once a process; not in a forked child of a
	 * process that has started.
	 */
	void (*start)(void);
	/*
	 * A window begins or ends now, on a thread of the job, in a hook. Later launches of that
	 * thread are collected, or not. If the collecting thread is not ready yet, it opens the
	 * window itself. `number` counts windows from 1; the one that is open at the start is 1.
	 */
	void (*window)(bool is_open, uint32_t number);
	/* For dlsym that found `real`: the function that stands before it, else `real`. */
	void *(*route)(void *real);
	/*
	 * The recording ends: hands over what the GPU has done so far, waits at most 1 s for it,
	 * and collects no more.
	 */
	void (*end)(void);
};

/* Of libgpuprof.so. */
struct gp_gpu_sink {
	uint32_t bytes;
	bool begins_open; /* collect from the start on */
	/*
	 * Calls `hand`, in which this thread records operations and makes no CUDA call. False:
	 * nothing is recorded now, and `hand` was not called. Never nests.
	 */
	bool (*record)(void (*hand)(void *context), void *context);
	/* Inside of record(). They wait for room in the rings, then they count a loss. */
	void (*kernel)(const struct gp_gpu_kernel *kernel);
	void (*copy)(const struct gp_gpu_copied *copy);
	/* CUPTI's clock was `gpu_ns` between `before` and `after`, both from now(). */
	void (*clock)(uint64_t gpu_ns, uint64_t before, uint64_t after);
	/* gpuprof's clock, in ticks. */
	uint64_t (*now)(void);
	/* Operations that record() refused. */
	void (*lost)(uint64_t count);
	/*
	 * GPU_TIME: an edge of a window, whose switch began at `since`, from now(); or operations
	 * that CUPTI dropped, with `since` 0.
	 */
	void (*state)(enum gp_gpu_time what, uint64_t number, uint64_t since);
	/*
	 * FACT GPU_TIME. `why`: CUPTI's version, or the reason for no GPU time. At most one of each
	 * in a process: CUPTI may be there, and refuse a window.
	 */
	void (*fact)(bool is_recorded, const char *why);
	/* FACT CUPTI_MEMORY: bytes of a device that CUPTI takes in each context. */
	void (*memory)(uint64_t bytes);
	/* The recording goes on: neither stopped nor ended. */
	bool (*is_recording)(void);
	/* CUPTI may be switched: no capture of a stream is in progress. */
	bool (*may_switch)(void);
	/* The calling thread collects. It ends soon after the source's end(). */
	void (*thread)(void);
};

/*
 * Exported by libgpuprof.so. For the constructor of libgpuprof-cupti.so, once. `source` must stay.
 * NULL: GPU time was not requested, this process is not recorded, or the two files differ.
 */
const struct gp_gpu_sink *gpuprof_gpu_time_attach(const struct gp_gpu_source *source);

#endif
