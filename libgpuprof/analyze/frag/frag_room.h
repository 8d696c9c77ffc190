/* What a device's pools can serve: from the cache, and once cached segments are released. */
#ifndef GP_FRAG_ROOM_H
#define GP_FRAG_ROOM_H

#include "frag_rule.h"

/* The pools of one device, of which one asks. */
struct gp_room {
	const struct gp_memory *memory;
	const struct gp_memory_device *device;
	const struct gp_allocator_settings *settings;
	uint64_t free_bytes;	 /* of the device now; GP_BYTES_UNKNOWN */
	uint64_t reserved_bytes; /* of its segments */
	/* blocks that are thought of as freed: one byte a block of the memory; NULL: none */
	const uint8_t *is_freed;
};

/* A block that is in use by the job, pending ones included. */
static inline bool gp_room_is_used(const struct gp_room *room, size_t block)
{
	return room->memory->block[block].state != GP_STATE_FREE &&
	       !(room->is_freed != NULL && room->is_freed[block] != 0);
}
/* One that stays when the allocator waits for its streams, too. */
static inline bool gp_room_is_held(const struct gp_room *room, size_t block)
{
	return room->memory->block[block].state == GP_STATE_ALLOCATED &&
	       !(room->is_freed != NULL && room->is_freed[block] != 0);
}

/* The next run of neighbours in a segment that are free, from *block on. */
struct gp_run {
	size_t first, end; /* blocks */
	uint64_t from, bytes;
};
/* `waits`: pending blocks are free. False: no more. */
bool gp_room_run(const struct gp_room *room, const struct gp_memory_segment *segment, bool waits,
		 size_t *block, struct gp_run *out);

/* Whether a block of so many bytes is served from the cache. */
bool gp_room_serves(const struct gp_room *room, size_t arena, uint64_t rounded);

/* The largest request that one pool of an arena serves from the cache; 0: none. */
enum gp_status gp_room_largest(const struct gp_room *room, size_t arena, bool is_small,
			       uint64_t *out);

/* What a release gives back to the driver of a segment. */
uint64_t gp_room_releasable(const struct gp_room *room, const struct gp_memory_segment *segment);
/*
 * The driver's room after a release: bytes it has free, what the limit leaves.
 */
struct gp_released {
	uint64_t bytes, free_bytes, limit_room;
};
struct gp_released gp_room_release(const struct gp_room *room);
/*
 * After a release, in one pool of an arena: the largest block that the driver's room serves, 0
 * none; and how many bytes more the driver would need for a block of `rounded`, 0 none.
 */
enum gp_status gp_room_largest_released(const struct gp_room *room, size_t arena, bool is_small,
					uint64_t *out);
enum gp_status gp_room_lacks(const struct gp_room *room, size_t arena, uint64_t rounded,
			     uint64_t *out);

#endif
