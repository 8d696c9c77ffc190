/*
 * One replay: the operations of the GPU, the calls that may have started them, the moments by which
 * their work had ended, and CUPTI's clock.
 */
#ifndef GP_GPU_COLLECT_H
#define GP_GPU_COLLECT_H

#include "gpu_clock.h"

/*
 * Operations, and as many launches, that are kept: with all that the join needs 250 bytes a pair.
 * A pair takes 14 bytes or more of a real recording (DESIGN 10).
 */
#define GP_GPU_ITEMS_FIRST 700000u
#define GP_GPU_ITEMS_A_KIB 72u

static inline size_t gp_gpu_items_most(const struct gp_recording *recording)
{
	const uint64_t most =
		GP_GPU_ITEMS_FIRST + recording->file.bytes / 1024 * GP_GPU_ITEMS_A_KIB;
	return most < UINT32_MAX / 2 ? (size_t)most : UINT32_MAX / 2;
}

struct gp_gpu_collected {
	struct gp_gpu_clock clock;
	uint32_t streams; /* of the job: gp_gpu_launch.stream is less */
};

/* Fills operations, launches, functions and counters of `out`; nothing is joined. */
enum gp_status gp_gpu_collect(struct gp_recording *recording, struct gp_gpu *out,
			      struct gp_gpu_collected *collected);

#endif
