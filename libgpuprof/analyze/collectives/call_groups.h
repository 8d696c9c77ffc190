/*
 * Calls of NCCL whose kernels are launched together: one call, or all between the outermost
 * ncclGroupStart and ncclGroupEnd of a thread.
 */
#ifndef GP_CALL_GROUPS_H
#define GP_CALL_GROUPS_H

#include "../../gpuprof.h"
#include "../../read/tables/row_table.h"

struct gp_nccl_call {
	uint64_t communicator, bytes;
	int64_t at_ns;
	uint32_t operation, peer; /* as of COLLECTIVE */
};

/*
 * Its kernels are launched by `thread` from `from_ns` to `to_ns`. Time has ticks: of NCCL's kernels
 * with just these times, the first `before` come before the group, and `within` by its end.
 */
struct gp_nccl_group {
	const struct gp_nccl_call *call;
	size_t calls;
	int64_t from_ns, to_ns;
	uint32_t thread, before, within;
	bool is_whole; /* else it has further calls, which are counted as beyond */
};

struct gp_nccl_groups {
	struct gp_recording *recording;
	/* a group has ended; its calls are valid during the call */
	void (*visit)(void *context, const struct gp_nccl_group *group);
	void *context;
	uint64_t unsized, beyond; /* as of gp_collectives */
	/* its own */
	struct gp_row_table threads;
	size_t pending; /* calls in groups that have not ended */
	bool is_out_of_memory;
};

void gp_nccl_groups_see(struct gp_nccl_groups *groups, const struct gp_event *event);
/* After the last event: groups that have not ended end now. */
void gp_nccl_groups_end(struct gp_nccl_groups *groups);
void gp_nccl_groups_release(struct gp_nccl_groups *groups);

#endif
