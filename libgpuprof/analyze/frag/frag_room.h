/*
 * The requests that a device's pools can serve: from the cache, and after cached segments are
 * released.
 */
#ifndef GP_FRAG_ROOM_H
#define GP_FRAG_ROOM_H

#include "frag_rule.h"

/* The pools of one device, for a request of one of them. */
struct gp_room {
	const struct gp_memory *memory;
	const struct gp_memory_device *device;
	const struct gp_allocator_settings *settings;
	uint64_t free_bytes;	 /* of the device at the moment; GP_BYTES_UNKNOWN */
	uint64_t reserved_bytes; /* of its segments */
	/* blocks assumed to be free: one byte for each block of the memory; NULL: none */
	const uint8_t *is_freed;
};

/* True: the job uses the block, or it is pending. */
static inline bool gp_room_is_used(const struct gp_room *room, size_t block)
{
	return room->memory->block[block].state != GP_STATE_FREE &&
	       !(room->is_freed != NULL && room->is_freed[block] != 0);
}
/* True: the block stays used even after the allocator waits for its streams. */
static inline bool gp_room_is_held(const struct gp_room *room, size_t block)
{
	return room->memory->block[block].state == GP_STATE_ALLOCATED &&
	       !(room->is_freed != NULL && room->is_freed[block] != 0);
}

/* A run of adjacent free blocks in a segment. */
struct gp_run {
	size_t first, end; /* blocks */
	uint64_t from, bytes;
};
/* Finds the next run from *block on. `waits`: pending blocks count as free. False: no more. */
bool gp_room_run(const struct gp_room *room, const struct gp_memory_segment *segment, bool waits,
		 size_t *block, struct gp_run *out);

/* True: the cache serves a block of `rounded` bytes. */
bool gp_room_serves(const struct gp_room *room, size_t arena, uint64_t rounded);

/* The largest request that the cache serves in one pool of an arena; 0: none. */
enum gp_status gp_room_largest(const struct gp_room *room, size_t arena, bool is_small,
			       uint64_t *out);

/* The bytes of a segment that a release returns to the driver. */
uint64_t gp_room_releasable(const struct gp_room *room, const struct gp_memory_segment *segment);
/*
 * The state after a release: the released bytes, the driver's free bytes, and the bytes that the
 * limit still allows.
 */
struct gp_released {
	uint64_t bytes, free_bytes, limit_room;
};
struct gp_released gp_room_release(const struct gp_room *room);
/*
 * After a release, for one pool of an arena: the largest block that the driver can serve, 0: none.
 * gp_room_lacks: how many more free bytes a block of `rounded` needs, 0: none.
 */
enum gp_status gp_room_largest_released(const struct gp_room *room, size_t arena, bool is_small,
					uint64_t *out);
enum gp_status gp_room_lacks(const struct gp_room *room, size_t arena, uint64_t rounded,
			     uint64_t *out);

#endif
