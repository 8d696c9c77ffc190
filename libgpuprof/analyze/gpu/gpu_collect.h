/*
 * One replay: the operations of the GPU, the calls that may have started them, the moments by which
 * their work had ended, and CUPTI's clock.
 */
#ifndef GP_GPU_COLLECT_H
#define GP_GPU_COLLECT_H

#include "../../read/tables/row_table.h"
#include "../settle.h"
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

/* False: the recording has no times of operations, so launches need not be kept. */
static inline bool gp_gpu_has_times(struct gp_recording *recording)
{
	return gp_recording_keeps(recording, GP_GPU_TIME) ||
	       gp_recording_keeps(recording, GP_GPU_KERNEL) ||
	       gp_recording_keeps(recording, GP_GPU_COPY);
}

/* A call belongs to it if it began between them: when CUPTI began to open and to close it. */
struct gp_gpu_window {
	int64_t open_ns, close_ns;
};

struct gp_gpu_collected {
	struct gp_gpu_clock clock;
	struct gp_gpu_window *window; /* in their order, without overlap; free it */
	size_t windows;		      /* 0: all of the recording */
	uint32_t streams;	      /* of the job: gp_gpu_launch.stream is less */
	struct gp_row_table outside;  /* kinds of launches outside of windows: gpu_groups.h */
};

/* The last window that opened by then; NULL: none. */
const struct gp_gpu_window *gp_gpu_window_by(const struct gp_gpu_collected *c, int64_t at_ns);
/* True: also if the recording has no windows. */
static inline bool gp_gpu_is_in_window(const struct gp_gpu_collected *c, int64_t at_ns)
{
	const struct gp_gpu_window *w = gp_gpu_window_by(c, at_ns);
	return c->windows == 0 || (w != NULL && at_ns <= w->close_ns);
}

/* Fills operations, launches, functions and counters of `out`; nothing is joined. */
enum gp_status gp_gpu_collect(struct gp_recording *recording, struct gp_gpu *out,
			      struct gp_gpu_collected *collected);

#endif
