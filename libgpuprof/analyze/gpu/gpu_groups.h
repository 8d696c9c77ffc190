/* Groups of operations with one correlation id, and CUPTI's streams. */
#ifndef GP_GPU_GROUPS_H
#define GP_GPU_GROUPS_H

#include "../../read/tables/row_table.h"
#include "gpu_align.h"
#include "gpu_clock.h"

/* A stream of CUPTI's. */
struct gp_gpu_stream {
	uint64_t key;
	uint32_t number, stream; /* of the job; GP_GPU_NO_LAUNCH: unknown */
	uint64_t votes, best;
	bool is_settled; /* by an earlier vote */
};

/* False: it was recorded while CUPTI had no clock. It has its place in the order. */
static inline bool gp_gpu_has_time(const struct gp_gpu_operation *op)
{
	return op->took_ns != 0 || op->at_ns >= 0 || op->at_ns == INT64_MIN;
}

/* Orders operations as CUPTI numbers their calls. */
int gp_gpu_by_call(const void *left, const void *right);

/*
 * Sorts operations and gives them their time on the recording's clock. `streams` gets rows of
 * struct gp_gpu_stream. Free *group, also after a failure. GP_E_MEMORY.
 */
enum gp_status gp_gpu_groups_find(struct gp_gpu *gpu, const struct gp_gpu_clock *clock,
				  struct gp_row_table *streams, struct gp_gpu_group **group,
				  size_t *groups);

/* Launches by name and shape. False: out of memory. */
bool gp_gpu_kinds_add(struct gp_row_table *kinds, const struct gp_gpu_launch *launch);
/* One of the launches may have started the group. */
bool gp_gpu_kinds_have(const struct gp_row_table *kinds, const struct gp_gpu_group *group);

#endif
