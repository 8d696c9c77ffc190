/*
 * What a history has told of so far and is still there: blocks by address, memory outside the
 * framework by its order, segments as ranges. Tables only: what follows from an event is
 * history.c's.
 */
#ifndef GP_ACT_TABLE_H
#define GP_ACT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../read/tables/row_table.h"

/* A block, or memory outside the framework. */
struct gp_known_block {
	uint64_t key; /* UINT64_MAX is none: such a thing is not told */
	uint64_t address, bytes, requested_bytes;
	uint64_t order;
	int64_t at_ns;
	uint32_t stack, arena;
	uint8_t device, space;
	bool is_pending, is_met; /* is_met: by a comparison */
};

/* Those of a table, by key; they move when others come or go. NULL: it is not there. */
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
	uint32_t blocks; /* at least 1 if any lies in it */
	uint8_t device;
	bool is_mapped, is_met;
};

/* A recording may name a range of no bytes, or one that goes on behind the last address. */
static inline bool gp_known_is_range(const struct gp_known_segment *segment)
{
	return segment->bytes != 0 && segment->bytes <= UINT64_MAX - segment->address;
}

/* By address, without overlaps; each a range. */
struct gp_known_segments {
	struct gp_known_segment *segment;
	size_t count, room, last; /* last: where the last one was found */
};
/* The one that holds `address`; NULL: none does. */
struct gp_known_segment *gp_known_segment_at(struct gp_known_segments *segments, uint64_t address);
/* The first one that reaches into [from, to); NULL. */
struct gp_known_segment *gp_known_segment_in(struct gp_known_segments *segments, uint64_t from,
					     uint64_t to);
/* How many begin behind `address`. */
size_t gp_known_segments_behind(const struct gp_known_segments *segments, uint64_t address);
/* Where nothing lies. False: no memory. */
bool gp_known_segment_add(struct gp_known_segments *segments, const struct gp_known_segment *told);
/*
 * Takes [from, to), a part of it, out of a segment; what is left before and behind stays. False: no
 * memory, it is as it was.
 */
bool gp_known_segment_cut(struct gp_known_segments *segments, struct gp_known_segment *told,
			  uint64_t from, uint64_t to);
void gp_known_segments_release(struct gp_known_segments *segments);

#endif
