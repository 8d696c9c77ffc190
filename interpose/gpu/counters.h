/*
 * Hardware counters (--metrics): the interface between libgpuprof-cupti.so and libgpuprof.so. The
 * former measures launches with CUPTI's range profiler, or samples GPUs with its PM sampling. The
 * latter records the values. Both come from one build; `bytes` detects two builds.
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
	/* A context ends now. `may_call`: CUPTI may be called. */
	void (*context_end)(void *context, bool may_call);
	/* The end of the recording or process, also of GPU time. Waits at most 1 s for each. */
	void (*give_up)(bool may_call);
};

/* Of libgpuprof.so. */
struct gp_counters_sink {
	uint32_t bytes;
	uint32_t count;		      /* measurements of each kernel */
	const char *metrics, *kernel; /* values of options; no kernel: GPUs are sampled */
	uint64_t interval_ns;	      /* of samples */
	/*
	 * FACT COUNTERS, in a hook or outside of hooks. `why`: CUPTI's version and the passes, or
	 * the reason for no counters.
	 */
	void (*fact)(bool is_recorded, const char *why);
	/* A metric's name, in a hook or outside of hooks. */
	void (*metric)(uint32_t number, const char *name);
	/* GPUs on which the process has made a context: bits. */
	uint64_t (*devices)(void);
	/* A sample, with the values of the metrics from 0 on. Times are the GPU's. */
	void (*sample)(unsigned device, uint64_t began_ns, uint64_t took_ns, const double *values,
		       size_t count);
	/* Samples that are missing before the next one. */
	void (*samples_lost)(unsigned device, uint64_t count);
	/* In end(): a value. `function` is that of GPU_FUNCTION; 0: no room */
	uint32_t (*function)(const struct gp_gpu_kernel *kernel);
	void (*value)(uint32_t function, uint32_t metric, uint64_t number, double value,
		      uint64_t passes);
	/* No launch is measured from here on: launches of the job need not call us. */
	void (*refused)(void);
	/* The calling thread uses CUPTI. It ends soon after give_up(). */
	void (*thread)(void);
	/* A call of CUPTI or of the driver would be outside of captures. */
	bool (*may_call)(void);
	/* In begin(): the calling thread's context and its device. False: it has none. */
	bool (*context)(void **context, int *device);
	/*
	 * Waits at most 100 ms until the context's known streams and that of the launch are idle,
	 * and no other thread is in a launch. False: they are not. Never blocks in the driver,
	 * since work may wait for a lock of the caller, or for its next launch.
	 */
	bool (*await_idle)(void *context);
	const char *(*name)(uint64_t function); /* as in the binary; "": unknown */
};

/*
 * Exported by libgpuprof.so. For the constructor of libgpuprof-cupti.so, once. `source` must stay.
 * NULL: counters were not requested, this process is not recorded, or the two files differ.
 */
const struct gp_counters_sink *gpuprof_counters_attach(const struct gp_counters_source *source);

#endif
