/*
 * The state of memory: events in order -> live set, three curves a device and one of the host,
 * peaks, self-check. The drain thread keeps one (for checkpoints and figures since the start), the
 * reader replays into one: the same code, so that both agree. Memory comes from mmap in
 * chunks, never from malloc. No I/O, no threads.
 */
#ifndef GP_LIVE_H
#define GP_LIVE_H

#include <stddef.h>

#include "../format/event.h"
#include "../format/status.h"

/*
 * A live allocation, mapping, block or handle, as the event that made it has it. Some spaces have
 * no stream and keep something else there: RESERVATION the bytes mapped in it, PHYSICAL the number
 * of its mappings, MAPPED the order of the allocation that made its physical memory (handles are
 * reused while old memory is still mapped); BLOCK and SEGMENT the number of their arena, 0 unknown.
 * BLOCK keeps BLOCK_ALLOC.spare as owner.
 */
struct gp_live_entry {
	uint64_t address;
	uint64_t bytes;
	uint64_t owner;
	uint64_t stream;
	uint64_t time;
	uint64_t order;
	uint32_t stack;
	uint8_t space;
	uint8_t device;
	uint16_t flags; /* GP_LIVE_*; the other bits: ALLOC.flags */
};
#define GP_LIVE_SEGMENT \
	0x8000u /* framework blocks lie in it: its bytes (RESERVATION: mapped bytes) are reserved */
#define GP_LIVE_RELEASED \
	0x4000u /* PHYSICAL: the handle is released, the memory lives on in its mappings */
#define GP_LIVE_ORPHAN \
	0x2000u /* LIVE records only: no entry but a free whose allocation may still come late */
#define GP_LIVE_PENDING \
	0x1000u /* BLOCK: freed, but other streams still use it: active, no longer allocated */
#define GP_LIVE_MAPPED 0x0800u /* SEGMENT: mapped into a reservation, not allocated as a whole */
#define GP_LIVE_TOLD \
	0x1000u /* memory of the driver: its segments have SEGMENT entries as far as it holds any */
#define GP_LIVE_FLAGS 0xf800u

/*
 * CURVE records: this bit says that it is no curve but how far the carried totals are off; see
 * gp_live_totals.
 */
#define GP_CURVE_CORRECTION 0x100u
/*
 * CURVE records: these bits say that it is what the driver last counted. USED: now_bytes free,
 * peak_bytes in all, peak_time, peak_order the DRIVER curve; LIMIT: now_bytes has_limit, peak_bytes
 * the limit.
 */
#define GP_CURVE_USED 0x200u
#define GP_CURVE_LIMIT 0x400u

struct gp_curve_state {
	uint64_t now_bytes;
	uint64_t peak_bytes;
	uint64_t peak_time; /* ticks */
	uint64_t peak_order;
};

/*
 * The last DEVICE_MEMORY event of a device, or what the driver counted when it refused memory since
 * (the limit stays), and the DRIVER curve when it came.
 */
struct gp_live_used {
	uint64_t time; /* ticks; 0: there was none */
	uint64_t free_bytes, total_bytes, limit_bytes, driver_bytes;
	bool has_limit;
};

struct gp_live_device {
	bool is_seen;
	struct gp_curve_state curve[GP_CURVES];
	/* of blocks that were freed and are still used; no event changes it without ALLOCATED or a
	 * completion */
	uint64_t pending_bytes;
	struct gp_live_used used;
};

/*
 * Page-locked memory of the host, which belongs to the process and to no device: what the driver
 * allocated (HOST) and the job's own pages that it registered (HOST_REGISTER).
 */
struct gp_live_host {
	struct gp_curve_state pinned; /* both */
	uint64_t registered_bytes;    /* of these: now, */
	uint64_t registered_at_peak;  /* and at the peak of `pinned` */
};

struct gp_live; /* opaque */

/* An empty state. NULL when mmap fails. */
struct gp_live *gp_live_open(void);
void gp_live_close(struct gp_live *live);

/*
 * Applies one event (any kind; kinds without meaning here are counted only). Events come in order;
 * one that comes late (its order is lower than those already applied) is applied as if it had come
 * in time. A checkpoint's LIVE, CURVE and COUNT records load the state. GP_E_MEMORY: state
 * unchanged, the event is counted as an anomaly.
 */
enum gp_status gp_live_apply(struct gp_live *live, const struct gp_record *record);

/* Figures of one device, GP_DEVICE_UNKNOWN included; NULL: no such ordinal. */
const struct gp_live_device *gp_live_device(const struct gp_live *live, unsigned device);
const struct gp_live_host *gp_live_host(const struct gp_live *live);
/* COUNT values: kinds below 256 and enum gp_count. */
uint64_t gp_live_count(const struct gp_live *live, unsigned what);
void gp_live_count_set(struct gp_live *live, unsigned what, uint64_t number);
/* Devices (bits; GP_DEVICE_UNKNOWN has none) whose curves moved since the last call. */
uint64_t gp_live_take_moved(struct gp_live *live);
/* Likewise of the host's curve. */
bool gp_live_take_host_moved(struct gp_live *live);
/* Live entries now, in all spaces. */
uint64_t gp_live_entries(const struct gp_live *live);
/*
 * The entry of space `space` (DEVICE, MAPPED, ...) that contains `address`, or is it for handles; a
 * BLOCK is found by its first address alone. NULL: there is none.
 */
const struct gp_live_entry *gp_live_find(const struct gp_live *live, unsigned space,
					 uint64_t address);

/* The driver's memory, or the reservation, in which blocks at `address` lie. NULL: not known. */
const struct gp_live_entry *gp_live_find_holder(const struct gp_live *live, uint64_t address);

/* The first MAPPED entry that begins at `address` or behind it; NULL: none. */
const struct gp_live_entry *gp_live_next_mapped(const struct gp_live *live, uint64_t address);

/* Is it counted in the DRIVER curve? */
bool gp_live_is_driver(const struct gp_live_entry *entry);
/* Is it counted in the curve of the host? */
bool gp_live_is_pinned(const struct gp_live_entry *entry);
/*
 * The entry that this FREE or BLOCK_FREE, not applied yet, will end; NULL: none, or another kind.
 */
const struct gp_live_entry *gp_live_ended_by(const struct gp_live *live,
					     const struct gp_record *next);

/*
 * Addresses of the mappings that this UNMAP_FAILED, not applied yet, will bring back; how many. Of
 * one UNMAP no more are kept than `address` has room for.
 */
#define GP_LIVE_UNDONE_MOST 512u
size_t gp_live_undone_by(const struct gp_live *live, const struct gp_record *next,
			 uint64_t address[GP_LIVE_UNDONE_MOST]);

/*
 * A walk over the live set as it was when the walk began, in slices, while events go on being
 * applied: an entry that is about to be freed or changed is handed to `visit` first. At most one
 * walk at a time.
 */
typedef void gp_live_visit(void *context, const struct gp_live_entry *entry);
void gp_live_walk_begin(struct gp_live *live, gp_live_visit *visit, void *context);
/* Visits up to `entries` more; true when the walk is over. */
bool gp_live_walk_more(struct gp_live *live, uint64_t entries);

/*
 * The device of what the last applied event, a FREE or UNMAP of the driver's memory, ended: these
 * need not have it. GP_DEVICE_UNKNOWN: it ended nothing that was known.
 */
unsigned gp_live_ended_device(const struct gp_live *live, const struct gp_record *last);

/* Fills a LIVE record from an entry and back. */
void gp_live_to_record(const struct gp_live_entry *entry, struct gp_record *out);
/*
 * CURVE and COUNT records that restore figures, and LIVE records marked ORPHAN: calls `emit` for
 * each. A checkpoint is these, taken at the moment of gp_live_walk_begin, and the entries of that
 * walk, in any order.
 */
void gp_live_totals(const struct gp_live *live,
		    void (*emit)(void *context, const struct gp_record *), void *context);

/*
 * How many events needed more work than the limit (looks.h). Their figures, and those behind
 * them, may be wrong. Of this state alone, in no checkpoint.
 */
uint64_t gp_live_refused(const struct gp_live *live);

/* Bytes of memory that the state holds. */
uint64_t gp_live_memory(const struct gp_live *live);

#endif
