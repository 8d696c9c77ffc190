/*
 * Shared by the files of gp_memory_build: the live entries of one moment, by kind. Other code must
 * use gpuprof_memory.h.
 */
#ifndef GP_MEMORY_VIEW_H
#define GP_MEMORY_VIEW_H

#include "../../read/file/recording.h"

/* Sorted by address. */
struct gp_entries {
	struct gp_live_entry *entry;
	size_t count, room;
};

/* Reasons why memory is unknown. */
enum gp_memory_caveat {
	GP_CAVEAT_MISSING = 1,	  /* events are missing */
	GP_CAVEAT_LATE = 2,	  /* recording began at some moment of the job */
	GP_CAVEAT_UNRECORDED = 4, /* no allocator details */
	GP_CAVEAT_PARTLY = 8,	  /* details, but segments without a report */
	GP_CAVEAT_HOMELESS = 16,  /* blocks outside of all known memory */
	GP_CAVEAT_WORK = 32,	  /* events need more work than the limit (looks.h) */
	GP_CAVEATS = 64,
};

struct gp_memory_view {
	struct gp_recording *recording;
	struct gp_memory *out;
	struct gp_entries reported;    /* SEGMENT */
	struct gp_entries whole;       /* the driver's: in the DRIVER curve, or with blocks in it */
	struct gp_entries reservation; /* all, with blocks or segments in them or without */
	struct gp_entries mapped;
	struct gp_entries block;
	bool is_of_one; /* lists only the memory of `device` */
	unsigned device;
	size_t room;	  /* room of out->block */
	unsigned caveats; /* enum gp_memory_caveat */
};

/* memory_moment.c: replays to the moment. GP_END: there is no such moment. */
enum gp_status gp_memory_reach(struct gp_memory_view *view, const struct gp_moment_of *moment);

/* memory_mark.c: the places of moments */
struct gp_memory_mark {
	size_t segment;	 /* the segment to begin at */
	uint64_t events; /* number of events from there; UINT64_MAX: all */
	uint64_t order;	 /* stop at events with this order or a higher one; UINT64_MAX: never */
};
/* GP_END: there is no such moment. */
enum gp_status gp_memory_mark(struct gp_recording *recording, const struct gp_moment_of *moment,
			      struct gp_memory_mark *out);

/* As gp_memory_mark for a time, from that segment on. */
enum gp_status gp_memory_mark_time(struct gp_recording *recording, int64_t at_ns, size_t segment,
				   struct gp_memory_mark *out);

/*
 * memory_capture.c: finds the captures of the arenas' private pools. Reads the events from the
 * first of these pools on.
 */
enum gp_status gp_memory_find_captures(struct gp_memory_view *view);

/* memory_entries.c */
enum gp_status gp_memory_list(struct gp_memory_view *view);
void gp_memory_view_release(struct gp_memory_view *view);
/* The last entry that begins at or before `address`; NULL: none. */
const struct gp_live_entry *gp_entries_before(const struct gp_entries *entries, uint64_t address);
/* The entry that contains `address`; NULL: none. */
const struct gp_live_entry *gp_entries_find(const struct gp_entries *entries, uint64_t address);
/* True: an entry overlaps the range. */
bool gp_entries_overlap(const struct gp_entries *entries, uint64_t address, uint64_t bytes);

/* memory_segment.c: segments and arenas, by device, then address; without blocks */
enum gp_status gp_memory_list_segments(struct gp_memory_view *view);
/* The stream and pool with that number; zeros if unknown. */
struct gp_arena gp_memory_arena(const struct gp_recording *recording, uint64_t number);
/*
 * True: the segment of the SEGMENT_ALLOC or SEGMENT_MAP event `order` at `address` is not reserved
 * yet. PyTorch reports a new segment just before the block that needs it. The driver's memory
 * counts as reserved from that block on, here as in the curves. Else it would be unused in between.
 */
bool gp_memory_waits_for_block(const struct gp_live *live, uint64_t address, uint64_t order);
/* memory_tile.c: blocks and gaps, and the sums of their segments */
enum gp_status gp_memory_tile(struct gp_memory_view *view);
/* memory_device.c: memory outside of segments, and figures by device */
enum gp_status gp_memory_list_outside(struct gp_memory_view *view);
enum gp_status gp_memory_list_devices(struct gp_memory_view *view);

/*
 * For a replay that has reached a moment: the memory of one device, without captures and caveats.
 * GP_DEVICE_UNKNOWN: of all. Free it with gp_memory_free.
 */
enum gp_status gp_memory_list_now(struct gp_recording *recording, unsigned device,
				  struct gp_memory *out);
/* Only the device's figures, without segments. */
struct gp_memory_device gp_memory_device_now(const struct gp_recording *recording, unsigned device);

#endif
