/*
 * Part of gpuprof.h, which includes it: calls of NCCL by operation, communicator and size, with the
 * times of their kernels if GPU time was recorded. docs/ANALYSIS.md has the method and its limits.
 */
#ifndef GPUPROF_COLLECTIVES_H
#define GPUPROF_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpuprof_gpu.h"

/* "AllReduce"; NULL: a number that is not of enum gp_collective. */
const char *gp_collective_name(uint32_t operation);

struct gp_communicator {
	uint64_t id;	 /* its hash, the same on all ranks; 0: of NCCL before 2.25 */
	uint64_t parent; /* 0: none, or unknown */
	uint32_t ranks;	 /* 0: unknown */
	uint32_t rank;	 /* 1 + its rank; 0: unknown, or several in this process */
	uint8_t device;	 /* GP_DEVICE_UNKNOWN: likewise */
};

enum gp_collectives_by {
	GP_COLLECTIVES_BY_CALL,
	GP_COLLECTIVES_BY_STEP,	  /* of the first call of the group */
	GP_COLLECTIVES_BY_STREAM, /* of the first kernel of the group */
};

/* Calls of one operation, communicator and size, and of one step or stream. */
struct gp_collective_row {
	uint32_t operation;    /* enum gp_collective, or a newer number of NCCL's */
	uint32_t communicator; /* index */
	uint64_t bytes;	       /* of a call, as of COLLECTIVE */
	/* number of the step, from 1; or 1 + CUPTI's id of the stream; 0: none */
	uint64_t part;
	uint64_t count;
	uint64_t in_steps; /* of `count`: in the steps of gp_collectives.steps */
	/*
	 * An all-to-all that the job made of a send to and a receive from each of so many ranks, in
	 * one group; 0: a call of NCCL.
	 */
	uint32_t exchanged;
	/* in one group with calls of other rows: one kernel may do the work of all of them */
	bool is_shared;
	uint64_t timed; /* of `count`: in groups with kernels */
	/*
	 * Of groups, from the begin of their first kernel to the end of the last one; shared ones
	 * count in each of their rows.
	 */
	uint64_t total_ns, median_ns; /* median: 0 for shared rows */
	uint64_t kernel_ns;	      /* sum of the kernels' times */
	uint64_t overlapped_ns; /* of that, while a kernel that is not NCCL's ran on the device */
	uint32_t streams; /* on which they ran; of shared rows: on which their first kernel did */
	/* GB/s, 10^9 bytes a second, by the formulas of nccl-tests; -1: `without` is the reason */
	double algorithm_rate, bus_rate;
	const char *without; /* a static text; NULL: both are known */
};

struct gp_collectives {
	struct gp_gpu gpu;
	size_t rows;
	struct gp_collective_row *row; /* by step, most time first, then most bytes */
	size_t communicators;
	struct gp_communicator *communicator;
	uint64_t calls, bytes; /* of all rows */
	uint64_t unsized;      /* calls of NCCL without a payload: not in rows */
	uint64_t beyond;       /* calls beyond the rows of a report: not in rows */
	uint64_t kernels, kernel_ns, overlapped_ns; /* of NCCL */
	/* of these, no call was found for; of these, graphs launched them */
	uint64_t kernels_alone, alone_ns, kernels_in_graphs;
	size_t steps; /* after warm-up, within the interval */
	/* why NCCL reports no calls, a text; NULL: no reason was recorded */
	const char *why;
};

/*
 * Calls from `from_ns` to `to_ns`. Up to four replays. Free with gp_collectives_free, also after a
 * failure. As gp_gpu_build.
 */
enum gp_status gp_collectives_build(struct gp_recording *recording, enum gp_collectives_by by,
				    int64_t from_ns, int64_t to_ns, struct gp_collectives *out);
void gp_collectives_free(struct gp_collectives *collectives);

#endif
