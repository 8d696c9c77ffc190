/*
 * The allocator's answer to a request for a snapshot, as seen from C, and checks of its layout.
 * trace_layout.def lists the versions with this layout. Keeps no state and calls no function of
 * PyTorch.
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
	int8_t device; /* newer versions have another number after it, which we do not read */
	uint64_t address, bytes, requested, allocated, active;
	uint64_t stream;
	uint8_t is_large, is_expandable;
	uint64_t pool[2];
	struct gp_torch_vector blocks;
	struct gp_torch_shared context;
};

/* Written by the allocator; larger than in any version. */
struct gp_torch_snapshot {
	struct gp_torch_vector segments;
	struct gp_torch_vector traces; /* one vector for each device; empty: no history is kept */
	uint64_t others[122];
};

#define GP_TORCH_SEGMENTS_MAX (1u << 18)
#define GP_TORCH_BLOCKS_MAX (1u << 22)

/* Sums over the segments of one device. */
struct gp_torch_sums {
	uint64_t allocated, reserved, active;
	uint64_t items; /* segments and active blocks */
};

/*
 * Whether the snapshot is consistent. Each pointer and count is possible, blocks tile each segment,
 * totals are the sums, and flags do not contradict each other. Reading another layout could fault
 * before a check rejects it. So use it only for known versions.
 */
bool gp_torch_snapshot_is_sound(const struct gp_torch_snapshot *snapshot, unsigned devices);

/* Of a consistent snapshot. */
struct gp_torch_sums gp_torch_snapshot_sums(const struct gp_torch_snapshot *snapshot,
					    unsigned device);

/*
 * Frees the content of a consistent snapshot with the job's operator delete; NULL: leaks it. The
 * settings after the traces, a few hundred bytes, are always leaked.
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
