/*
 * Part of gpuprof.h, which includes it: GPU time, ranges and marks as intervals in lanes, as blocks
 * of bytes for a program that draws them (`gpuprof report`). Operations are those of
 * gp_kernels_build, waits and gaps those of gp_waits_build over the whole recording. Moments are
 * those of the recording.
 *
 * Both kinds of block have 5 numbers (LEB128, unsigned): rows n, the bytes of 3 columns, 0. Then
 * the columns of n numbers each. A block of intervals:
 *   1 begin, less the begin before (the first: less 0), zigzag
 *   2 duration
 *   3 index of the group
 * A block of short intervals, which are added up by parts of time of part_ns each:
 *   1 number of the part, from part 0 at from_ns; less the number before (the first: absolute)
 *   2 duration in the part
 *   3 intervals that begin in it
 */
#ifndef GPUPROF_LANES_H
#define GPUPROF_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/status.h"
#include "gpuprof_lives.h"

struct gp_recording;

#define GP_LANES_MOST 128u		/* lanes; further streams and threads share one a device */
#define GP_LANE_INTERVALS_MOST 1048576u /* 8 MB of blocks, which a browser draws at once */
#define GP_LANE_PARTS_MOST 8192u
#define GP_LANE_GROUPS_MOST 32768u /* further ones have no stack and no range */

enum gp_lane_of {
	GP_LANE_OF_STREAM, /* operations of a stream */
	GP_LANE_OF_WAITS,  /* a thread of the host was blocked */
	GP_LANE_OF_GAPS,   /* the GPU had no operation, between its first and its last one */
	/* calls of a thread's ranges of one level; those of started ranges may overlap */
	GP_LANE_OF_RANGES,
	GP_LANE_OF_MARKS, /* marks of a thread; their duration is 0 */
	GP_LANE_KINDS,
};
extern const char *const gp_lane_names[GP_LANE_KINDS]; /* "stream", "waits", "gaps", ... */

enum gp_interval_of {
	GP_INTERVAL_KERNEL,
	GP_INTERVAL_COPY,
	GP_INTERVAL_SET,
	GP_INTERVAL_WAIT,
	GP_INTERVAL_GAP,
	GP_INTERVAL_RANGE,
	GP_INTERVAL_MARK,
	GP_INTERVAL_KINDS,
};
extern const char *const gp_interval_names[GP_INTERVAL_KINDS]; /* "kernel", "copy", ... */

/* Texts as `kernels --by KEY` and `waits` write them; 0, "": it has none. */
struct gp_lane_group {
	uint8_t of; /* enum gp_interval_of */
	/*
	 * of the kernel; "host_to_device"; of a wait the reason; of a gap the reason that most of
	 * it is due to: of a wait, "late_launch", "pending" or "unknown"; of a range or mark its
	 * domain and name
	 */
	uint32_t name;
	uint32_t operator, line, phase;
	/* all of them, and those that are in no block of intervals */
	uint64_t count, total_ns, short_count, short_ns;
};

struct gp_lane {
	uint8_t of;	  /* enum gp_lane_of */
	bool is_rest;	  /* of several streams or threads */
	unsigned device;  /* of streams and gaps; GP_DEVICE_UNKNOWN: none */
	uint32_t context; /* of ranges the level: 0 outermost; GP_RANGES_DEEP: started ranges */
	uint32_t id;	  /* of the stream, as CUPTI numbers it; of the thread */
	uint64_t count;	  /* intervals in blocks */
	size_t blocks;
	size_t *block; /* numbers of the blocks of intervals, by their begin */
	size_t parts;  /* number of the block of short intervals; SIZE_MAX: none */
};

struct gp_lanes {
	/* there are operations with a time; else `why` has the reason */
	bool has_operations;
	const char *why;
	int64_t from_ns, to_ns; /* of parts */
	uint64_t part_ns;
	uint64_t shorter_than_ns; /* such intervals are in no block of intervals; 0: all are */
	int64_t clock_within_ns;  /* largest uncertainty of moments on the GPU */
	uint64_t lost;		  /* operations that were lost, or have no time */
	size_t texts, groups, lanes;
	const char **text; /* [0] is "" */
	struct gp_lane_group *group;
	struct gp_lane *lane; /* in the order of their first intervals */
	struct gp_lives_texts *owner;
};

/*
 * Without GPU time, ranges and marks it costs no replay. Ranges take one. GPU time needs memory as
 * gp_waits_build. An interval takes 24 bytes. The blocks come after all replays. Free with
 * gp_lanes_free, also after a failure. GP_E_MEMORY, and what a replay or the sink returns.
 */
enum gp_status gp_lanes_build(struct gp_recording *recording, const struct gp_lives_sink *sink,
			      struct gp_lanes *out);
void gp_lanes_free(struct gp_lanes *lanes);

#endif
