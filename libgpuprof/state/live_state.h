/*
 * Shared by live.c, live_driver.c, live_block.c, live_segment.c and live_walk.c: the state itself,
 * adding and removing entries, changing curves. Other files must use live.h.
 */
#ifndef GP_LIVE_STATE_H
#define GP_LIVE_STATE_H

#include "live_past.h"
#include "looks.h"
#include "page_map.h"
#include "range_order.h"

#define GP_CACHE_LINES 64u

struct gp_device_state {
	struct gp_live_device figures;
	/*
	 * recorded total minus ours, kept so that one wrong report or dropped event is one mismatch
	 */
	uint64_t correction[GP_CURVES];
	uint64_t active_correction; /* of SNAPSHOT's, likewise */
	uint64_t mismatch_order;    /* of the last mismatch */
	bool is_rebasing;	    /* take the next block event's totals over without comparison */
};

struct gp_live_walk {
	gp_live_visit *visit; /* NULL: no walk */
	void *context;
	uint32_t number, next, end; /* slots */
};

/* The range with a page's last block: valid while no range is added or removed. */
struct gp_segment_cache {
	uint64_t page;
	uint64_t epoch;
	uint32_t slot;
};

struct gp_live {
	struct gp_live_table table;
	struct gp_page_map pages;
	struct gp_range_order mapped, segments; /* by address */
	struct gp_looks looks;			/* for long searches */
	uint64_t graphs;			/* entries of GRAPH */
	uint64_t newest;			/* highest order so far */
	uint64_t gap; /* entries with a lower order are uncertain: end of the last GAP or LOST */
	uint64_t entries;
	uint64_t moved; /* devices, as bits */
	bool has_host_moved;
	bool is_loaded; /* from a checkpoint: earlier events are unknown */
	struct gp_live_walk walk;
	struct {
		gp_live_see *see; /* NULL: not watched */
		void *context;
	} watch;
	struct gp_segment_cache cache[GP_CACHE_LINES];
	uint64_t epoch;
	uint64_t count[GP_COUNTS];
	struct gp_device_state device[GP_DEVICES + 1]; /* the last one: unknown device */
	struct gp_live_host host;
	struct gp_live_past past;
};

#define GP_SPACE_BIT(space) (1u << (space))
/* Spaces with ranges of addresses that are searched by containment. */
#define GP_SPACES_RANGE                                                              \
	(GP_SPACE_BIT(GP_SPACE_DEVICE) | GP_SPACE_BIT(GP_SPACE_ASYNC) |              \
	 GP_SPACE_BIT(GP_SPACE_MANAGED) | GP_SPACE_BIT(GP_SPACE_HOST) |              \
	 GP_SPACE_BIT(GP_SPACE_HOST_REGISTER) | GP_SPACE_BIT(GP_SPACE_RESERVATION) | \
	 GP_SPACE_BIT(GP_SPACE_MAPPED) | GP_SPACE_BIT(GP_SPACE_IPC) |                \
	 GP_SPACE_BIT(GP_SPACE_GRAPH) | GP_SPACE_BIT(GP_SPACE_SEGMENT))
/* Driver spaces that may hold the framework's blocks. */
#define GP_SPACES_SEGMENT                                                \
	(GP_SPACE_BIT(GP_SPACE_DEVICE) | GP_SPACE_BIT(GP_SPACE_ASYNC) |  \
	 GP_SPACE_BIT(GP_SPACE_MANAGED) | GP_SPACE_BIT(GP_SPACE_GRAPH) | \
	 GP_SPACE_BIT(GP_SPACE_IPC) | GP_SPACE_BIT(GP_SPACE_RESERVATION))
#define GP_SLOTS_A_LOOK 4u /* slots per look in a sequential scan */

static inline struct gp_live_entry *gp_live_at(struct gp_live *live, uint32_t slot)
{
	return &gp_table_slot(&live->table, slot)->entry;
}

static inline struct gp_device_state *gp_live_device_of(struct gp_live *live, unsigned device)
{
	return &live->device[device < GP_DEVICES ? device : GP_DEVICES];
}

static inline bool gp_live_is_late(const struct gp_live *live, const struct gp_record *r)
{
	return r->order < live->newest;
}

/* An entry from before the last gap, which may have been freed unseen. */
static inline bool gp_live_is_stale(const struct gp_live *live, const struct gp_live_entry *entry)
{
	return entry->order < live->gap;
}

/* live.c */
/* 0: out of memory. */
uint32_t gp_live_add(struct gp_live *live, const struct gp_live_entry *entry);
void gp_live_drop(struct gp_live *live, uint32_t slot);
/* Call before any change of an entry: a walk under way and a watcher see its old state. */
void gp_live_touch(struct gp_live *live, uint32_t slot);
void gp_curve_add(struct gp_live *live, unsigned device, enum gp_curve curve, uint64_t bytes,
		  const struct gp_record *r);
void gp_curve_sub(struct gp_live *live, unsigned device, enum gp_curve curve, uint64_t bytes);
/* Call when an entry that gp_live_is_pinned counts is added or removed by the event `r`. */
void gp_host_add(struct gp_live *live, const struct gp_live_entry *entry,
		 const struct gp_record *r);
void gp_host_sub(struct gp_live *live, const struct gp_live_entry *entry);
void gp_live_anomaly(struct gp_live *live);

/* live_driver.c */
enum gp_status gp_driver_alloc(struct gp_live *live, const struct gp_record *r);
void gp_driver_free(struct gp_live *live, const struct gp_record *r);
void gp_driver_free_failed(struct gp_live *live, const struct gp_record *r);
enum gp_status gp_driver_map(struct gp_live *live, const struct gp_record *r);
void gp_driver_unmap(struct gp_live *live, const struct gp_record *r);
void gp_driver_unmap_failed(struct gp_live *live, const struct gp_record *r);
void gp_driver_owner_gone(struct gp_live *live, const struct gp_record *r);

/* live_used.c */
/* Driver memory of the job begins or ends. */
void gp_used_moved(struct gp_live *live, const struct gp_live_entry *entry, bool is_gone);
/* A stream, an event or another object, for which the driver may take a page. */
void gp_used_resource(struct gp_live *live, const struct gp_record *r);
void gp_used_count(struct gp_live *live, const struct gp_record *r);
void gp_used_refused(struct gp_live *live, const struct gp_record *r);

/* live_late.c: events without their counterpart, also shared by driver and blocks */
/*
 * Call before an allocation is added at its key, where `slot` (0: none) lives. True: it has ended
 * already, or is older than the live entry; do not add it. False: the caller removes `slot` as
 * replaced and adds the entry. `ended` (may be NULL): the free that ended it; its kind is
 * GP_ORPHAN_NONE if unknown.
 */
bool gp_late_alloc(struct gp_live *live, enum gp_family family, const struct gp_record *r,
		   uint64_t address, uint32_t slot, struct gp_past_orphan *ended);
/* A free without an entry, or with a younger one. */
void gp_late_free(struct gp_live *live, enum gp_family family, unsigned space,
		  const struct gp_record *r, uint64_t address, uint64_t bytes);
/* `first` was alive when `second` (orders) took its place. */
struct gp_past_orphan *gp_late_replaced(struct gp_live *live, enum gp_family family,
					uint64_t address, uint64_t first, uint64_t second);
/* A late event explains the anomaly. */
void gp_late_explain(struct gp_live *live, const struct gp_past_orphan *orphan);
/* A completion without a pending block. */
void gp_late_completed(struct gp_live *live, const struct gp_record *r);
/* A free that came late. True: its completion, or the entry that replaced it, came before it. */
bool gp_late_is_completed(struct gp_live *live, uint64_t address, uint64_t order, uint64_t before);

/* live_block.c */
enum gp_status gp_framework_alloc(struct gp_live *live, const struct gp_record *r);
void gp_framework_free(struct gp_live *live, const struct gp_record *r);
enum gp_status gp_framework_found(struct gp_live *live, const struct gp_record *r);
void gp_framework_completed(struct gp_live *live, const struct gp_record *r);
void gp_framework_snapshot(struct gp_live *live, const struct gp_record *r);
void gp_framework_gap(struct gp_live *live, uint64_t until);

/* live_segment.c */
/* Bytes of an entry with GP_LIVE_SEGMENT; of other entries, zeros. */
struct gp_held {
	uint64_t bytes;	   /* reserved */
	uint64_t unmapped; /* of these */
};
struct gp_held gp_segment_held(const struct gp_live *live, const struct gp_live_entry *entry);
/* Moves the figures of the device. `r` may be NULL if no more bytes are reserved. */
void gp_segment_moved(struct gp_live *live, unsigned device, struct gp_held before,
		      struct gp_held after, const struct gp_record *r);
/* Of a checkpoint, whose curves are there: adds what the entry shows to be unmapped. */
void gp_segment_loaded(struct gp_live *live, const struct gp_live_entry *entry);
/*
 * Driver memory in `slot` is a segment: its bytes count as reserved from `r` on. A segment from
 * before the details is marked when it is found. A new one is marked by its first block, since
 * PyTorch counts both under one lock.
 */
void gp_segment_mark(struct gp_live *live, uint32_t slot, const struct gp_record *r);
enum gp_status gp_segment_alloc(struct gp_live *live, const struct gp_record *r);
void gp_segment_free(struct gp_live *live, const struct gp_record *r);
enum gp_status gp_segment_map(struct gp_live *live, const struct gp_record *r);
enum gp_status gp_segment_unmap(struct gp_live *live, const struct gp_record *r);
/*
 * A block or a found segment in `slot`, driver memory, of which no segment was reported: adds
 * entries of segments that are older than the allocator details, or without them. Call it where the
 * arena is known, or where the reservation is mapped completely.
 */
void gp_segment_report(struct gp_live *live, uint32_t slot, const struct gp_record *r);
/* Driver memory at that address ends with the event `order`: ends a segment there, too. */
void gp_segment_end(struct gp_live *live, uint64_t address, uint64_t order);

/* live_resource.c */
enum gp_status gp_resource_made(struct gp_live *live, const struct gp_record *r);
void gp_resource_gone(struct gp_live *live, const struct gp_record *r);

/* live_walk.c */
enum gp_status gp_live_load(struct gp_live *live, const struct gp_record *r);

#endif
