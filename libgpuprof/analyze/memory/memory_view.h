/*
 * Between the files behind gp_memory_build: the live entries of one moment, by what they are. Not
 * for anybody else: the contract is gpuprof_memory.h.
 */
#ifndef GP_MEMORY_VIEW_H
#define GP_MEMORY_VIEW_H

#include "../../read/file/recording.h"

/* By address. */
struct gp_entries {
	struct gp_live_entry *entry;
	size_t count, room;
};

/* What is not known. */
enum gp_memory_doubt {
	GP_DOUBT_MISSING = 1,	/* events are missing */
	GP_DOUBT_LATE = 2,	/* recorded since some moment of the job */
	GP_DOUBT_UNTOLD = 4,	/* no allocator details */
	GP_DOUBT_PARTLY = 8,	/* details, and segments that it did not tell */
	GP_DOUBT_HOMELESS = 16, /* blocks in no known memory */
	GP_DOUBT_WORK = 32,	/* events need more work than the limit (looks.h) */
	GP_DOUBTS = 64,
};

struct gp_memory_view {
	struct gp_recording *recording;
	struct gp_memory *out;
	struct gp_entries told;	 /* SEGMENT */
	struct gp_entries whole; /* of the driver: in the DRIVER curve, or with blocks in it */
	struct gp_entries reservation; /* with blocks or segments in them, or not */
	struct gp_entries mapped;
	struct gp_entries block;
	bool is_of_one; /* only `device`'s memory is listed */
	unsigned device;
	size_t room;	 /* of out->block */
	unsigned doubts; /* enum gp_memory_doubt */
};

/* memory_moment.c: replays to the moment. GP_END: there is none. */
enum gp_status gp_memory_reach(struct gp_memory_view *view, const struct gp_moment_of *moment);

/* memory_mark.c: moments that must be found first */
struct gp_memory_mark {
	size_t segment;	 /* where to begin */
	uint64_t events; /* from there; UINT64_MAX: all */
	uint64_t order;	 /* events with this one or a higher are not in it; UINT64_MAX: all are */
};
/* GP_END: there is no such moment. */
enum gp_status gp_memory_mark(struct gp_recording *recording, const struct gp_moment_of *moment,
			      struct gp_memory_mark *out);

/* unused_peak.c: as gp_unused_peak_find, of a curve; GP_CURVES: of unused memory. */
enum gp_status gp_kept_peak_find(struct gp_recording *recording, enum gp_curve of,
				 struct gp_unused_peak out[GP_DEVICES]);

/* The same for a moment, from that segment on. */
enum gp_status gp_memory_mark_time(struct gp_recording *recording, int64_t at_ns, size_t segment,
				   struct gp_memory_mark *out);

/*
 * memory_capture.c: says of the arenas' private pools where they are from. Looks at the events from
 * the first of them on.
 */
enum gp_status gp_memory_find_captures(struct gp_memory_view *view);

/* memory_entries.c */
enum gp_status gp_memory_list(struct gp_memory_view *view);
void gp_memory_view_release(struct gp_memory_view *view);
/* The last entry that begins at `address` or before; NULL: none. */
const struct gp_live_entry *gp_entries_before(const struct gp_entries *entries, uint64_t address);
/* The entry that contains `address`; NULL: none. */
const struct gp_live_entry *gp_entries_find(const struct gp_entries *entries, uint64_t address);
/* Does any of them have a part of the range? */
bool gp_entries_overlap(const struct gp_entries *entries, uint64_t address, uint64_t bytes);

/* memory_segment.c: segments and arenas, by device, then address; no blocks yet */
enum gp_status gp_memory_list_segments(struct gp_memory_view *view);
/* The stream and pool with that number; not known: the zeros. */
struct gp_arena gp_memory_arena(const struct gp_recording *recording, uint64_t number);
/*
 * Is the segment of the SEGMENT_ALLOC or SEGMENT_MAP event `order` at `address` not reserved yet?
 * PyTorch reports a new segment just before the block that it needs it for. The driver's memory
 * counts as reserved from that block on, here as in the curves: else it would be unused in between.
 */
bool gp_memory_waits_for_block(const struct gp_live *live, uint64_t address, uint64_t order);
/* memory_tile.c: blocks and gaps, and the sums of their segments */
enum gp_status gp_memory_tile(struct gp_memory_view *view);
/* memory_device.c: what lies outside of segments, and figures by device */
enum gp_status gp_memory_list_outside(struct gp_memory_view *view);
enum gp_status gp_memory_list_devices(struct gp_memory_view *view);

/*
 * For a replay that stands at a moment already: one device's memory, without captures and doubts.
 * Free with gp_memory_free.
 */
enum gp_status gp_memory_list_now(struct gp_recording *recording, unsigned device,
				  struct gp_memory *out);
/* Its figures alone, without segments. */
struct gp_memory_device gp_memory_device_now(const struct gp_recording *recording, unsigned device);

#endif
