/*
 * Keeps intervals up to a number. If there are more, it leaves out the shortest ones, and adds them
 * up by lane and part of time.
 */
#ifndef GP_LANE_STORE_H
#define GP_LANE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp_lane_row {
	int64_t begin_ns;
	uint64_t took_ns;
	uint32_t lane, group;
};

/* Short intervals of a lane in a part of time, or of a group. */
struct gp_lane_part {
	uint64_t ns, count;
};

/* Zeros, with `most`, from_ns and part_ns set, are an empty store. */
struct gp_lane_store {
	size_t most;
	int64_t from_ns;
	uint64_t part_ns;
	struct gp_lane_row *row;
	size_t rows, room;
	uint64_t shorter_than_ns;   /* such intervals are left out; 0: none are */
	struct gp_lane_part **part; /* by lane; GP_LANE_PARTS_MOST each; NULL: none */
	size_t lanes, lane_room;
	struct gp_lane_part *group; /* short intervals by group */
	size_t group_room;
	bool is_out_of_memory;
};

void gp_lane_store_add(struct gp_lane_store *store, const struct gp_lane_row *row);
/* Sorts the rows by lane, then by begin. */
void gp_lane_store_sort(struct gp_lane_store *store);
void gp_lane_store_release(struct gp_lane_store *store);

#define GP_LANE_COLUMNS 3u
/* Room for the bytes of so many rows. */
size_t gp_lane_room(size_t rows);
/* The bytes of a block (gpuprof_lanes.h). Returns the first of *count bytes in `room`. */
const unsigned char *gp_lane_encode(const uint64_t (*row)[GP_LANE_COLUMNS], size_t rows,
				    unsigned char *room, size_t *count);

#endif
