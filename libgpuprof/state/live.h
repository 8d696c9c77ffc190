/*
 * The state of memory, built from events in order: live set, three curves per device and one of the
 * host, peaks, self-check. The drain thread keeps one, for checkpoints and figures since the start.
 * The reader replays into one with the same code, so that both agree. Memory comes from mmap in
 * chunks, never from malloc. No I/O, no threads.
 */
#ifndef GP_LIVE_H
#define GP_LIVE_H

#include <stddef.h>

#include "../format/event.h"
#include "../format/status.h"

/*
 * A live allocation, mapping, block or handle, as the event that made it describes it. Some spaces
 * have no stream and store another value there. RESERVATION: the bytes mapped in it. PHYSICAL: the
 * number of its mappings. MAPPED: the order of the allocation of its physical memory, since handles
 * are reused while old memory is still mapped. BLOCK and SEGMENT: the number of their arena, 0
 * unknown. BLOCK stores BLOCK_ALLOC.spare as owner.
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
	0x8000u /* holds framework blocks: its bytes are reserved; see gp_live_is_filled */
#define GP_LIVE_RELEASED \
	0x4000u /* PHYSICAL: the handle is released, but its mappings keep the memory */
/* LIVE records only: not an entry, but a free whose allocation may still arrive late */
#define GP_LIVE_ORPHAN 0x2000u
#define GP_LIVE_PENDING \
	0x1000u /* BLOCK: freed, but other streams still use it: active, not allocated */
#define GP_LIVE_MAPPED 0x0800u /* SEGMENT: mapped into a reservation piece by piece */
#define GP_LIVE_REPORTED \
	0x1000u /* driver memory: its segments have SEGMENT entries, if it holds any */
#define GP_LIVE_FLAGS 0xf800u

/*
 * CURVE records: with this bit the record is not a curve, but the corrections of the recorded
 * totals; see gp_live_totals.
 */
#define GP_CURVE_CORRECTION 0x100u
/*
 * CURVE records: with these bits the record is the driver's last count. USED: now_bytes is free,
 * peak_bytes is total, peak_time, peak_order is driver_bytes. LIMIT: now_bytes is has_limit,
 * peak_bytes is the limit, peak_time is pool_bytes.
 */
#define GP_CURVE_USED 0x200u
#define GP_CURVE_LIMIT 0x400u
/* CURVE records: with this bit, now_bytes is a signed part (enum gp_used_part). */
#define GP_CURVE_PART 0x800u

struct gp_curve_state {
	uint64_t now_bytes;
	uint64_t peak_bytes;
	uint64_t peak_time; /* ticks */
	uint64_t peak_order;
};

/*
 * The last DEVICE_MEMORY event of a device, or the driver's count at a later refusal (the limit
 * and the parts stay). `driver_bytes`: gp_live_held at that event.
 */
struct gp_live_used {
	uint64_t time; /* ticks; 0: there was none */
	uint64_t free_bytes, total_bytes, limit_bytes, driver_bytes;
	uint64_t pool_bytes; /* that the device's default pool has reserved; 0: unknown */
	uint64_t rest; /* at the last DEVICE_MEMORY: used less driver_bytes, sum of the parts */
	int64_t part[GP_PARTS];
	uint32_t moves, odd_moves; /* of driver memory since then; not of whole pages */
	bool has_limit, is_unsure; /* is_unsure: events since then are missing */
	bool was_lazy;		   /* some memory was `lazy` since then */
};

struct gp_live_device {
	bool is_seen;
	struct gp_curve_state curve[GP_CURVES];
	/*
	 * of freed blocks that other streams still use; changes only with ALLOCATED or a completion
	 */
	uint64_t pending_bytes;
	/*
	 * of the RESERVED curve: of segments whose allocator returned the memory to the driver and
	 * kept the addresses, as servers do that sleep
	 */
	uint64_t unmapped_bytes;
	uint64_t async_bytes; /* of the DRIVER curve: stream-ordered allocations */
	uint64_t lazy;	      /* entries whose memory the driver takes later: managed, of graphs */
	struct gp_live_used used;
};
/* Of the RESERVED curve, what the driver maps. */
uint64_t gp_live_mapped(const struct gp_live_device *device);
/* Memory of the device that the job's allocations take: the DRIVER curve, and its unused pool. */
uint64_t gp_live_held(const struct gp_live_device *device);

/*
 * Page-locked memory of the host, which belongs to the process and not to a device. It is memory
 * that the driver allocated (HOST), and the job's own pages that it registered (HOST_REGISTER).
 */
struct gp_live_host {
	struct gp_curve_state pinned; /* both */
	uint64_t registered_bytes;    /* registered part now */
	uint64_t registered_at_peak;  /* and at the peak of `pinned` */
};

struct gp_live; /* opaque */

/* An empty state. NULL: mmap failed. */
struct gp_live *gp_live_open(void);
void gp_live_close(struct gp_live *live);

/*
 * Applies one event of any kind; unrelated kinds are only counted. Events come in order. A late
 * event, with a lower order than those applied, has the same effect as if it had come in time. A
 * checkpoint's LIVE, CURVE and COUNT records load the state. GP_E_MEMORY: the state is unchanged,
 * and the event counts as an anomaly.
 */
enum gp_status gp_live_apply(struct gp_live *live, const struct gp_record *record);

/* Only counts a MEMORY event, for readers that need no state of its kind. */
void gp_live_pass(struct gp_live *live, const struct gp_record *record);

/* Figures of one device, which may be GP_DEVICE_UNKNOWN; NULL: not a valid ordinal. */
const struct gp_live_device *gp_live_device(const struct gp_live *live, unsigned device);
const struct gp_live_host *gp_live_host(const struct gp_live *live);
/* COUNT values: kinds below 256 and enum gp_count. */
uint64_t gp_live_count(const struct gp_live *live, unsigned what);
void gp_live_count_set(struct gp_live *live, unsigned what, uint64_t number);
/* Devices (bits; none for GP_DEVICE_UNKNOWN) whose curves changed since the last call. */
uint64_t gp_live_take_moved(struct gp_live *live);
/* Whether the host's curve changed since then. */
bool gp_live_take_host_moved(struct gp_live *live);
/* Both at once. */
uint64_t gp_live_take_all_moved(struct gp_live *live, bool *has_host);
/* Live entries now, in all spaces. */
uint64_t gp_live_entries(const struct gp_live *live);
/*
 * The entry of `space` (DEVICE, MAPPED, ...) that contains `address`, or has it as handle. A BLOCK
 * is found only by its first address. NULL: none.
 */
const struct gp_live_entry *gp_live_find(const struct gp_live *live, unsigned space,
					 uint64_t address);

/* The driver memory or reservation that holds blocks at `address`. NULL: unknown. */
const struct gp_live_entry *gp_live_find_holder(const struct gp_live *live, uint64_t address);

/* The first MAPPED entry that begins at or after `address`; NULL: none. */
const struct gp_live_entry *gp_live_next_mapped(const struct gp_live *live, uint64_t address);

/*
 * True: one segment fills the reservation. The framework holds all of it, mapped or not; of other
 * reservations it holds the mapped bytes.
 */
bool gp_live_is_filled(const struct gp_live *live, const struct gp_live_entry *reservation);

/* True if the DRIVER curve counts it. */
bool gp_live_is_driver(const struct gp_live_entry *entry);
/* True if the host's curve counts it. */
bool gp_live_is_pinned(const struct gp_live_entry *entry);
/*
 * The entry that this FREE or BLOCK_FREE will end; call it before the event is applied. NULL: none,
 * or another kind.
 */
const struct gp_live_entry *gp_live_ended_by(const struct gp_live *live,
					     const struct gp_record *next);

/*
 * Addresses of the mappings that this UNMAP_FAILED will restore, and their number. Call it before
 * the event is applied. At most as many are kept of one UNMAP as `address` has room for.
 */
#define GP_LIVE_UNDONE_MOST 512u
size_t gp_live_undone_by(const struct gp_live *live, const struct gp_record *next,
			 uint64_t address[GP_LIVE_UNDONE_MOST]);

/*
 * A walk, in slices, over the live set as it was when the walk began. Events may be applied between
 * slices: an entry is visited before it is freed or changed. At most one walk at a time.
 */
typedef void gp_live_visit(void *context, const struct gp_live_entry *entry);
void gp_live_walk_begin(struct gp_live *live, gp_live_visit *visit, void *context);
/* Visits up to `entries` more; true when the walk is complete. */
bool gp_live_walk_more(struct gp_live *live, uint64_t entries);

/*
 * For readers that keep a row for each entry. Entries lie in slots, which never move. `see` gets
 * the slot of an entry before the entry changes or ends, and after it is added. It must not change
 * the state. True: this state was not watched before.
 */
typedef void gp_live_see(void *context, uint32_t slot);
bool gp_live_watch(struct gp_live *live, gp_live_see *see, void *context);
/* All slots in use are below it. */
uint32_t gp_live_slots(const struct gp_live *live);
/* NULL: no entry is there. */
const struct gp_live_entry *gp_live_slot(const struct gp_live *live, uint32_t slot);
/* The slot of the entry of `space` that begins at `address`; 0: none. */
uint32_t gp_live_slot_find(const struct gp_live *live, unsigned space, uint64_t address);

/*
 * The device of the memory that the last applied event ended, a FREE or UNMAP of driver memory. The
 * event itself may lack it. GP_DEVICE_UNKNOWN: it ended no known memory.
 */
unsigned gp_live_ended_device(const struct gp_live *live, const struct gp_record *last);

/* Converts an entry to a LIVE record, and back. */
void gp_live_to_record(const struct gp_live_entry *entry, struct gp_record *out);
/*
 * Calls `emit` for each CURVE and COUNT record that restores figures, and for LIVE records marked
 * ORPHAN. A checkpoint consists of these, taken at gp_live_walk_begin, and of the entries of that
 * walk, in any order.
 */
void gp_live_totals(const struct gp_live *live,
		    void (*emit)(void *context, const struct gp_record *), void *context);

/*
 * A copy of the state, smaller than it: figures, and 56 bytes an entry. For readers: unlike a
 * checkpoint it has ended entries, too, which a later event may undo. NULL: out of memory.
 */
struct gp_live_copy;
struct gp_live_copy *gp_live_copy(struct gp_live *live);
/* The state again, without a walk or a watcher. NULL: out of memory. */
struct gp_live *gp_live_of_copy(const struct gp_live_copy *copy);
uint64_t gp_live_copy_bytes(const struct gp_live_copy *copy);
void gp_live_copy_close(struct gp_live_copy *copy);

/*
 * Number of events that exceeded the work limit (looks.h). Their figures, and later ones, may be
 * wrong. Counts only this state's work; not in checkpoints.
 */
uint64_t gp_live_refused(const struct gp_live *live);

/* Bytes of memory that the state uses. */
uint64_t gp_live_memory(const struct gp_live *live);

#endif
