/*
 * The state of memory: events in order -> live set, three curves a device, peaks, self-check.
 * The drain thread keeps one (for checkpoints and figures since the start), the reader replays into one: the
 * same code, so that both say the same. Memory comes from mmap in chunks, never from malloc. No I/O, no threads.
 */
#ifndef GP_LIVE_H
#define GP_LIVE_H

#include "../format/event.h"
#include "../format/status.h"

/* A live allocation, mapping, block or handle. `origin` fields are those of the event that made it. */
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
	uint16_t flags; /* bit 15: framework segment (its bytes count as reserved); low bits: ALLOC.flags */
};
#define GP_LIVE_SEGMENT 0x8000u

struct gp_curve_state {
	uint64_t now_bytes;
	uint64_t peak_bytes;
	uint64_t peak_time; /* ticks */
	uint64_t peak_order;
};

struct gp_live_device {
	bool is_seen;
	struct gp_curve_state curve[GP_CURVES];
};

struct gp_live; /* opaque */

/* An empty state. NULL when mmap fails. */
struct gp_live *gp_live_open(void);
void gp_live_close(struct gp_live *live);

/*
 * Applies one event (any kind; kinds without meaning here are counted only). Events come in order; one that
 * comes late (its order is lower than those already applied) is applied as if it had come in time.
 * A checkpoint's LIVE, CURVE and COUNT records load the state. GP_E_MEMORY: state unchanged, the event is
 * counted as an anomaly.
 */
enum gp_status gp_live_apply(struct gp_live *live, const struct gp_record *record);

const struct gp_live_device *gp_live_device(const struct gp_live *live, unsigned device);
/* COUNT values: kinds below 256 and enum gp_count. */
uint64_t gp_live_count(const struct gp_live *live, unsigned what);
void gp_live_count_set(struct gp_live *live, unsigned what, uint64_t number);
/* Live entries now, in all spaces. */
uint64_t gp_live_entries(const struct gp_live *live);
/* The entry of space `space` (BLOCK, MAPPED, ...) that contains `address`; NULL when there is none. */
const struct gp_live_entry *gp_live_find(const struct gp_live *live, unsigned space, uint64_t address);

/*
 * A walk over the live set as it was when the walk began, in slices, while events go on being applied: an
 * entry that is about to be freed or changed is handed to `visit` first. At most one walk at a time.
 */
typedef void gp_live_visit(void *context, const struct gp_live_entry *entry);
void gp_live_walk_begin(struct gp_live *live, gp_live_visit *visit, void *context);
/* Visits up to `entries` more; true when the walk is over. */
bool gp_live_walk_more(struct gp_live *live, uint64_t entries);

/* Fills a LIVE record from an entry and back. */
void gp_live_to_record(const struct gp_live_entry *entry, struct gp_record *out);
/* CURVE and COUNT records that restore figures: calls `emit` for each. */
void gp_live_totals(const struct gp_live *live, void (*emit)(void *context, const struct gp_record *), void *context);

/* Bytes of memory that the state holds. */
uint64_t gp_live_memory(const struct gp_live *live);

#endif
