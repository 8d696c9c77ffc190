/*
 * What PyTorch's allocator answers to a request for a snapshot, as C sees it (trace_layout.def
 * lists the versions that are as here), and the judgement whether it is what it looks like. Keeps
 * no state, calls nothing of PyTorch's.
 */
#ifndef GP_TORCH_SNAPSHOT_H
#define GP_TORCH_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libstdc++'s std::vector and std::shared_ptr. */
struct gp_torch_vector {
	const void *begin, *end, *limit;
};
struct gp_torch_shared {
	const void *object;
	struct gp_torch_count *count;
};

struct gp_torch_block {
	uint64_t bytes, requested;
	int32_t age;
	uint8_t is_allocated;
	uint8_t is_active; /* allocated, or freed and still used by other streams */
	struct gp_torch_shared context;
};

struct gp_torch_segment {
	int8_t device; /* in newer versions a number that we do not read is behind it */
	uint64_t address, bytes, requested, allocated, active;
	uint64_t stream;
	uint8_t is_large, is_expandable;
	uint64_t pool[2];
	struct gp_torch_vector blocks;
	struct gp_torch_shared context;
};

/* Written by the allocator; larger than that of any version is. */
struct gp_torch_snapshot {
	struct gp_torch_vector segments;
	struct gp_torch_vector traces; /* a vector each device; empty: no history is kept */
	uint64_t others[122];
};

#define GP_TORCH_SEGMENTS_MAX (1u << 18)
#define GP_TORCH_BLOCKS_MAX (1u << 22)

/* What one device's segments add up to. */
struct gp_torch_sums {
	uint64_t allocated, reserved, active;
	uint64_t items; /* segments and active blocks */
};

/*
 * Whether it holds together: each pointer and count is possible, each segment is tiled by its
 * blocks, its totals are their sums, no flag contradicts another. Other memory may
 * be recognised too late, so only for versions that are known.
 */
bool gp_torch_snapshot_is_sound(const struct gp_torch_snapshot *snapshot, unsigned devices);

/* Of a sound one. */
struct gp_torch_sums gp_torch_snapshot_sums(const struct gp_torch_snapshot *snapshot,
					    unsigned device);

/*
 * Gives back what a sound one holds, with the job's operator delete; without one (NULL) it stays
 * where it is. The settings behind the traces, of some hundred bytes, always do.
 */
void gp_torch_snapshot_free(struct gp_torch_snapshot *snapshot, void (*give_back)(void *));

static inline size_t gp_torch_segments(const struct gp_torch_snapshot *snapshot,
				       const struct gp_torch_segment **first)
{
	*first = snapshot->segments.begin;
	return (size_t)((uintptr_t)snapshot->segments.end - (uintptr_t)snapshot->segments.begin) /
	       sizeof **first;
}

static inline size_t gp_torch_blocks(const struct gp_torch_segment *segment,
				     const struct gp_torch_block **first)
{
	*first = segment->blocks.begin;
	return (size_t)((uintptr_t)segment->blocks.end - (uintptr_t)segment->blocks.begin) /
	       sizeof **first;
}

#endif
