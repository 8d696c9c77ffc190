/*
 * Part of gpuprof.h, which includes it: hardware counters of kernels (--metrics), by kernel and
 * launch shape, and what limits each kernel.
 */
#ifndef GPUPROF_COUNTERS_H
#define GPUPROF_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/status.h"

struct gp_recording;

#define GP_COUNTER_METRICS 64u

/* The limit of a kernel, as Nsight Compute judges it: a unit at 60% of its peak or more. */
enum gp_bound {
	GP_BOUND_UNKNOWN, /* a throughput is missing */
	GP_BOUND_MEMORY,
	GP_BOUND_COMPUTE,
	GP_BOUND_L2,
	GP_BOUND_NEITHER, /* all three are below that */
};
extern const char *const gp_bound_names[];

/* A kernel in one launch shape. Values that were not measured are NAN. */
struct gp_counter_row {
	char *key;			  /* demangled, without parameters */
	const char *name;		  /* as in the binary; NULL unknown */
	uint64_t grid, block;		  /* as of LAUNCH */
	uint32_t shared_bytes;		  /* dynamic */
	uint64_t count, passes;		  /* measurements; launches that one took */
	double value[GP_COUNTER_METRICS]; /* medians of the measurements */
	/* of the usual metrics (--metrics roofline) */
	double time_ns;
	double compute, memory, l2, active_warps; /* 0 to 1 of the peak */
	double bytes, operations;		  /* of DRAM; floating point, an FMA is two */
	double intensity;			  /* operations a byte */
	double roof;				  /* the largest of compute, memory and l2 */
	enum gp_bound bound;
};

struct gp_counters {
	bool has_values;
	bool is_accepted; /* by CUPTI; without values, no kernel was launched often enough */
	/* accepted: CUPTI's version and the launches of a measurement; else the reason, or NULL */
	const char *why;
	size_t metrics;
	const char *metric[GP_COUNTER_METRICS]; /* NULL: unknown */
	size_t rows;
	struct gp_counter_row *row; /* longest first, else by name */
	uint64_t beyond;	    /* values beyond the memory for a report */
};

/*
 * One replay. Free with gp_counters_free, also after a failure. GP_E_MEMORY, and what a replay
 * returns.
 */
enum gp_status gp_counters_build(struct gp_recording *recording, struct gp_counters *out);
void gp_counters_free(struct gp_counters *counters);

#endif
