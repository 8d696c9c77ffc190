/*
 * Hardware counters of kernels (--metrics): the interface between libgpuprof-cupti.so, which
 * measures launches with CUPTI's range profiler, and libgpuprof.so, which records the values. Both
 * come from one build; `bytes` detects two builds.
 */
#ifndef GP_COUNTERS_H
#define GP_COUNTERS_H

#include "gpu_time.h"

/* Of libgpuprof-cupti.so. They run on threads of the job, in hooks. */
struct gp_counters_source {
	uint32_t bytes;
	/*
	 * Starts the thread that loads CUPTI, once a process. The driver has just made the first
	 * context, so the caller holds no lock that an allocator needs.
	 */
	void (*start)(void);
	/* Waits for that thread, at most 2 s. False: launches are not measured. */
	bool (*await)(void);
	/*
	 * Before a launch, outside of captures: `kernel` has no name. `generation` changes when
	 * functions were unloaded. True: the launch is measured, and end() must follow it.
	 */
	bool (*begin)(uint64_t function, uint32_t generation, const struct gp_gpu_kernel *kernel);
	void (*end)(bool is_accepted);
	/* A context ends now, or has ended: its profiler with it. */
	void (*context_end)(void *context, bool has_ended);
};

/* Of libgpuprof.so. */
struct gp_counters_sink {
	uint32_t bytes;
	uint32_t count;		      /* measurements of each kernel */
	const char *metrics, *kernel; /* the values of --metrics and --kernel */
	/* Around facts of a thread that is not in a hook. False: nothing is recorded now. */
	bool (*enter)(void);
	void (*leave)(void);
	/* FACT COUNTERS. `why`: CUPTI's version and the passes, or the reason for no counters. */
	void (*fact)(bool is_recorded, const char *why);
	/* In end(): a metric's name, and a value. `function` is that of GPU_FUNCTION; 0: no room */
	void (*metric)(uint32_t number, const char *name);
	uint32_t (*function)(const struct gp_gpu_kernel *kernel);
	void (*value)(uint32_t function, uint32_t metric, uint64_t number, double value,
		      uint64_t passes);
	/* In begin(): calls of the driver. False: it refused, or there is no context. */
	bool (*context)(void **context, int *device);
	bool (*synchronize)(void);
	const char *(*name)(uint64_t function); /* as in the binary; "": unknown */
};

/*
 * Exported by libgpuprof.so. For the constructor of libgpuprof-cupti.so, once. `source` must stay.
 * NULL: counters were not requested, this process is not recorded, or the two files differ.
 */
const struct gp_counters_sink *gpuprof_counters_attach(const struct gp_counters_source *source);

#endif
