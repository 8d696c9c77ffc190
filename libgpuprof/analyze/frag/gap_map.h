/*
 * The free and the used parts of the framework's segments on one device, kept up to date event by
 * event: how much is free, and how much at one piece. Parts are linked with their neighbours and
 * found by the address at which they begin, as the allocator does it; what does not go that way
 * (events are missing, segments come and go) is sought from the beginning of its piece.
 */
#ifndef GP_GAP_MAP_H
#define GP_GAP_MAP_H

#include "../../format/status.h"
#include "../../read/tables/row_table.h"
#include "../../state/looks.h"

struct gp_gap_part {
	uint64_t address, bytes;
	uint32_t before, behind; /* neighbours of the same piece; 0: none. Unused parts: the next */
	uint32_t group;		 /* 0: a piece of its own */
	bool is_used;
};

/* A part by the address of its start or its end. */
struct gp_gap_slot {
	uint64_t key;
	uint32_t part;
};

struct gp_gap_map {
	struct gp_gap_part *part;  /* [0] is none */
	uint32_t parts, unused;	   /* ever in use; first of those that are not now */
	uint32_t room;		   /* a power of two */
	struct gp_row_table slots; /* of struct gp_gap_slot */
	uint64_t *piece;	   /* where each begins, ascending */
	size_t pieces, piece_room;
	/* a binary tree: [room + k] has the free bytes of part k, [k] the most of [2k], [2k + 1] */
	uint64_t *most;
	uint64_t free_bytes, bytes;
	struct gp_looks
		*looks; /* for what is sought step by step, or moved; NULL: without a limit */
};

void gp_gap_map_clear(struct gp_gap_map *map);
void gp_gap_map_release(struct gp_gap_map *map);

/*
 * A free piece of memory. It is one with those that it touches and that are of the same `group`,
 * 0: with none. What of it is there already stays as it is. Without looks nothing changes here and
 * in the next two.
 */
enum gp_status gp_gap_map_add(struct gp_gap_map *map, uint64_t address, uint64_t bytes,
			      uint32_t group);
/* The piece that begins at `address` is gone, whatever was in it. False: there is none. */
bool gp_gap_map_drop(struct gp_gap_map *map, uint64_t address);
/* These addresses are gone. */
enum gp_status gp_gap_map_cut(struct gp_gap_map *map, uint64_t address, uint64_t bytes);

/* A block is handed out. GP_END: there is no memory at its address. */
enum gp_status gp_gap_map_take(struct gp_gap_map *map, uint64_t address, uint64_t bytes);
/* It is free again. False: there is no such block. */
bool gp_gap_map_give(struct gp_gap_map *map, uint64_t address);

static inline uint64_t gp_gap_map_largest(const struct gp_gap_map *map)
{
	return map->room != 0 ? map->most[1] : 0;
}

#endif
