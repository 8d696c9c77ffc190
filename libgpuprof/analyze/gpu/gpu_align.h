/*
 * Assigns operations of the GPU to launches, two sequences in the order of the calls. Assumes
 * neither that each launch has an operation nor that each operation has a launch.
 */
#ifndef GP_GPU_ALIGN_H
#define GP_GPU_ALIGN_H

#include "../../gpuprof.h"
#include "../../state/looks.h"

/* Operations with one correlation id: one of a kernel or copy, all of a graph launch. */
struct gp_gpu_group {
	const char *name;
	uint64_t shape;
	int64_t at_ns, end_ns; /* on the recording's clock; at_ns INT64_MIN: unknown */
	uint32_t first, count; /* operations */
	uint32_t stream;       /* index of CUPTI's stream */
	uint8_t by, device;
	bool is_shapeless;   /* of a kernel whose name alone was recorded: `name` is known */
	bool may_be_outside; /* a launch outside of the windows has its name and shape */
};

/*
 * Moments of two clocks are compared with this slack, beside the clock's uncertainty. A call takes
 * some microseconds to reach the GPU, so a smaller difference shows no order.
 */
#define GP_GPU_SLACK_NS 10000
/*
 * Calls of two threads may have reached the stream in either order if they begin within this time
 * and the earlier one is not known to have returned. On an H100 two racing threads swapped 18 of
 * 7,440 neighbours.
 */
#define GP_GPU_RACE_NS 100000

/* Operations begin within this time after the window of their launch: queues are shorter. */
#define GP_GPU_QUEUE_NS 1000000000

/* The same of a launch and its operation: a hash. */
static inline uint64_t gp_gpu_kernel_shape(uint64_t grid, uint64_t block)
{
	return gp_hash_pair(grid, block & 0xffffffffffffu); /* without LAUNCH's variant */
}
static inline uint64_t gp_gpu_copy_shape(uint64_t bytes, bool is_set)
{
	return gp_hash_pair(bytes, is_set);
}

struct gp_gpu_align {
	struct gp_gpu_launch *launch; /* all launches, groups: `of` and `group` choose */
	const struct gp_gpu_group *group;
	const uint32_t *of, *with; /* indices of launches and groups, each in order of the calls */
	size_t launches, groups;
	int64_t slack_ns;
	/*
	 * No operation was dropped or lost. The GPU does the work of a stream in order, so only the
	 * last operations can be missing: those that had not ended with the recording.
	 */
	bool is_whole;
	/*
	 * `groups` has operations of calls before and after the launches, too, and each launch that
	 * is not optional has one. `with` and `groups` become those of the launches alone, or of
	 * all places where these fit; `passed`: those of the first place. `with` NULL: not found.
	 */
	bool has_outside;
	size_t passed;
	struct gp_looks *looks;
	/* results, one for each of `groups`: index into `of`, or GP_GPU_NO_LAUNCH */
	uint32_t *match;
	uint8_t *is_sure;
	uint64_t swapped;
	/* its own */
	uint8_t *is_near_race; /* of launches */
	size_t required;       /* index behind the last launch that is not optional */
	size_t visited;	       /* launches that the last search for pairs went through */
	uint64_t pairs_swapped;
};

/* GP_E_MEMORY. */
enum gp_status gp_gpu_align(struct gp_gpu_align *a);

#endif
