/*
 * Part of gpuprof.h, which includes it: sums of GPU time with the figures of Nsight Systems'
 * reports. docs/ANALYSIS.md, section 14, has their definitions.
 */
#ifndef GPUPROF_STATS_H
#define GPUPROF_STATS_H

#include "gpuprof_gpu.h"

/* Of a kernel, in source form with parameters. */
void gp_gpu_function_name(const struct gp_gpu_function *function, char *out, size_t room);

/* Figures of a set of values. */
struct gp_spread {
	uint64_t count, total, least, most;
	double mean, median; /* the median of an even number is the mean of the middle two */
	double deviation;    /* of a sample: divided by count - 1; 0 of one value */
};

enum gp_sums_of {
	GP_SUMS_OF_KERNELS,  /* by kernel */
	GP_SUMS_OF_COPIES,   /* copies and sets by GPU_COPY.what's kind */
	GP_SUMS_OF_LAUNCHES, /* kernels with a launch, by thread, device, function and kernel */
	GP_SUMS_OF_RANGES,   /* calls of ranges with operations, by name */
	/* kernels by each pushed range that they were launched in, its thread, and kernel */
	GP_SUMS_OF_RANGE_KERNELS,
};

struct gp_sum_row {
	const char *name;  /* of the kernel, with parameters; NULL: not by kernel */
	const char *range; /* "domain:name"; NULL: not by range */
	uint32_t thread;   /* of the launches, or that opened the range */
	uint8_t device;
	uint8_t copy;	       /* GP_GPU_COPY_KIND */
	uint8_t api;	       /* of the launches: enum gp_launch, or GP_SUM_BY_GRAPH */
	bool is_started;       /* started ranges, not pushed ones */
	uint64_t calls;	       /* of ranges */
	struct gp_spread time; /* in ns: of the operations; of ranges of their envelopes */
	/*
	 * Of copies their bytes. Of launches the time in ns from the call to the end of the
	 * operation, where the call's begin is known exactly.
	 */
	struct gp_spread other;
	/* of calls of ranges, sums */
	uint64_t range_ns, operations, depth, children;
};
#define GP_SUM_BY_GRAPH UINT8_MAX

struct gp_sums {
	enum gp_sums_of of;
	size_t rows;
	struct gp_sum_row *row; /* most time first; of range kernels by range and thread first */
	uint64_t total_ns;	/* of `time` of all rows */
	uint64_t beyond;	/* kernels in ranges beyond the memory that the sums may take */
	char **text;
	size_t texts;
};

/*
 * Operations that began from `from_ns` to `to_ns`; in ranges, those of `calls`. On `device`
 * (GP_DEVICE_UNKNOWN: all). `calls` is NULL if the sums are not of ranges. Free with gp_sums_free,
 * also after a failure. GP_E_MEMORY.
 */
enum gp_status gp_sums_build(const struct gp_gpu *gpu, const struct gp_gpu_calls *calls,
			     enum gp_sums_of of, int64_t from_ns, int64_t to_ns, unsigned device,
			     struct gp_sums *out);
void gp_sums_free(struct gp_sums *sums);

#endif
