/*
 * The reported things that still exist: blocks by address, memory outside of the framework by its
 * order, segments as ranges. Tables only: history.c decides what follows from an event.
 */
#ifndef GP_ACT_TABLE_H
#define GP_ACT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../read/tables/row_table.h"

/* A block, or memory outside of the framework. */
struct gp_known_block {
	uint64_t key; /* UINT64_MAX means none: such a thing is not reported */
	uint64_t address, bytes, requested_bytes;
	uint64_t order;
	int64_t at_ns;
	uint32_t stack, arena;
	uint8_t device, space;
	bool is_pending, is_met; /* is_met: a comparison has found it */
};

/* The row with this key; rows move when others are added or removed. NULL: not found. */
static inline struct gp_known_block *gp_known_find(const struct gp_row_table *table, uint64_t key)
{
	return gp_row_of_key(table, sizeof(struct gp_known_block), key);
}

/* A segment of the framework, or a mapped range. */
struct gp_known_segment {
	uint64_t address, bytes;
	uint64_t order;
	int64_t at_ns;
	uint32_t stack, arena;
	uint32_t blocks; /* at least 1 if any block lies in it */
	uint8_t device;
	bool is_mapped, is_met;
};

/*
 * False for a range without bytes, or one that exceeds the last address. Recordings may contain
 * them.
 */
static inline bool gp_known_is_range(const struct gp_known_segment *segment)
{
	return segment->bytes != 0 && segment->bytes <= UINT64_MAX - segment->address;
}

/* Sorted by address, without overlaps; each is a valid range. */
struct gp_known_segments {
	struct gp_known_segment *segment;
	size_t count, room, last; /* last: index of the last one found */
};
/* The segment that contains `address`; NULL: none. */
struct gp_known_segment *gp_known_segment_at(struct gp_known_segments *segments, uint64_t address);
/* The first segment that overlaps [from, to); NULL: none. */
struct gp_known_segment *gp_known_segment_in(struct gp_known_segments *segments, uint64_t from,
					     uint64_t to);
/* The number of segments that begin behind `address`. */
size_t gp_known_segments_behind(const struct gp_known_segments *segments, uint64_t address);
/* Adds a segment in free addresses. False: out of memory. */
bool gp_known_segment_add(struct gp_known_segments *segments, const struct gp_known_segment *known);
/*
 * Removes [from, to), a part of the segment; the parts before and behind stay. False: out of
 * memory, and the segment is unchanged.
 */
bool gp_known_segment_cut(struct gp_known_segments *segments, struct gp_known_segment *known,
			  uint64_t from, uint64_t to);
void gp_known_segments_release(struct gp_known_segments *segments);

#endif
