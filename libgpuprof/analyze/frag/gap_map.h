/*
 * The free and the used parts of the framework's segments on one device, updated event by event:
 * total free bytes and the largest gap. As in the allocator, parts are linked with their neighbours
 * and found by their start address. Other look-ups (events are missing, segments come and go)
 * search from the beginning of the piece.
 */
#ifndef GP_GAP_MAP_H
#define GP_GAP_MAP_H

#include "../../format/status.h"
#include "../../read/tables/row_table.h"
#include "../../state/looks.h"

struct gp_gap_part {
	uint64_t address, bytes;
	uint32_t before, behind; /* in the same piece; 0: none. Unused: `behind` is the next one */
	uint32_t group;		 /* 0: never joined with another piece */
	bool is_used;
};

/* A part by its start or end address. */
struct gp_gap_slot {
	uint64_t key;
	uint32_t part;
};

struct gp_gap_map {
	struct gp_gap_part *part;  /* part[0] means none */
	uint32_t parts, unused;	   /* number of parts ever used; first of the unused ones */
	uint32_t room;		   /* a power of two */
	struct gp_row_table slots; /* of struct gp_gap_slot */
	uint64_t *piece;	   /* the start of each, ascending */
	size_t pieces, piece_room;
	/*
	 * A binary tree: [room + k] has the free bytes of part k, [k] the larger of its two
	 * children.
	 */
	uint64_t *most;
	uint64_t free_bytes, bytes;
	struct gp_looks
		*looks; /* limits the steps of searches and the pieces that move in memory; NULL:
			 * no limit */
};

void gp_gap_map_clear(struct gp_gap_map *map);
void gp_gap_map_release(struct gp_gap_map *map);

/*
 * Adds a free piece of memory. It is joined with adjacent pieces of the same `group`; 0: with none.
 * Parts that exist already are unchanged. When the looks are used up, this function and the next
 * two change nothing.
 */
enum gp_status gp_gap_map_add(struct gp_gap_map *map, uint64_t address, uint64_t bytes,
			      uint32_t group);
/* Removes the piece that begins at `address`, with its contents. False: there is none. */
bool gp_gap_map_drop(struct gp_gap_map *map, uint64_t address);
/* Removes these addresses. */
enum gp_status gp_gap_map_cut(struct gp_gap_map *map, uint64_t address, uint64_t bytes);

/* Marks a block as used. GP_END: no memory is known at its address. */
enum gp_status gp_gap_map_take(struct gp_gap_map *map, uint64_t address, uint64_t bytes);
/* Marks the block as free. False: the map lacks this block. */
bool gp_gap_map_give(struct gp_gap_map *map, uint64_t address);

static inline uint64_t gp_gap_map_largest(const struct gp_gap_map *map)
{
	return map->room != 0 ? map->most[1] : 0;
}

#endif
