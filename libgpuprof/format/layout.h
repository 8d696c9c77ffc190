/*
 * The layout of a recording and of the shared ring file. Owns the bytes of both headers; no I/O.
 *
 * Recording:   header (GP_FILE_HEADER bytes) | slot 0 | slot 1 | ...
 *   keep-all:  one unlimited slot with all segments in sequence.
 *   ring:      `slots` slots of `slot_bytes`, written round robin. A segment starts in a fresh
 *              slot (part 0). It continues in the next one (part 1, ...) only when its checkpoint
 *              or last block needs it.
 *   names:     DEFINE blocks after the end of a finished recording. In a ring with unused slots
 *              they take the place of these: the first GP_SLOT_GUARD bytes of each stay 0.
 *   Each part starts with a SEGMENT block, each finished segment ends with an END block. Readers
 *   ignore the bytes after the last valid block of a part: they are from an older segment.
 *
 * Ring file: control page (struct gp_control) | place 0 | place 1 | ... each GP_RING_BYTES, with
 * holes for unused parts. A ring's place: header (struct gp_ring) | region 0 | 1 | 2.
 */
#ifndef GP_LAYOUT_H
#define GP_LAYOUT_H

#include <stdatomic.h>

#include "block.h"
#include "stack_entry.h"

#define GP_FILE_MAGIC "GPUPROF"
#define GP_FILE_HEADER 4096u
#define GP_FORMAT_MAJOR 1u
#define GP_FORMAT_MINOR 17u
/*
 * The minor version of each change. In order: the file header has losses; the file has names;
 * no block is short; checkpoints have the peak of pinned memory; names are definition records; the
 * end of a capture has the number of nodes.
 */
#define GP_FORMAT_LOSSES 1u
#define GP_FORMAT_NAMES 3u
#define GP_FORMAT_PADDED 7u
#define GP_FORMAT_PINNED 8u
#define GP_FORMAT_NAME_RECORDS 9u
#define GP_FORMAT_NODES 16u
#define GP_FILE_SLOTS 16u
#define GP_FILE_SLOTS_MAX 4096u
#define GP_SLOT_GUARD GP_BLOCK_HEADER

enum gp_clock { GP_CLOCK_TSC = 1, GP_CLOCK_MONOTONIC_RAW = 2 };

struct gp_file_header {
	uint16_t major, minor;
	uint32_t clock; /* enum gp_clock */
	uint32_t pid;
	uint32_t slots;	      /* 0: keep all */
	uint64_t slot_bytes;  /* 0: keep all */
	uint64_t start_ticks; /* the clock triple at the start */
	uint64_t start_mono_ns;
	uint64_t start_unix_ns;
	uint64_t ticks_per_second; /* as calibrated at the start; later triples refine it */
	char boot_id[40];
	char hostname[64];
	char ring_path[256]; /* "": the rings were in private memory */
	char command[1024];  /* NUL-terminated, arguments separated by blanks, truncated */
	/* from minor 1 on, rewritten in place while the process runs; see docs/FORMAT.md */
	uint32_t flags;		/* GP_FILE_HAS_HOLE */
	uint64_t lost[4];	/* since the start: memory, launch, other, nested */
	uint64_t failed_blocks; /* blocks that could not be written since the start */
	/*
	 * from minor 3 on: names of native frames, after the end of a finished recording; bytes 0:
	 * none
	 */
	uint64_t names_offset, names_bytes;
	/* from minor 11 on: when the loader had loaded the recorder; 0 unknown, a forked child */
	uint64_t loaded_ticks;
};
/* Blocks could not be written, and no complete checkpoint followed: figures are too low. */
#define GP_FILE_HAS_HOLE 1u

void gp_file_header_encode(const struct gp_file_header *header, unsigned char out[GP_FILE_HEADER]);
/*
 * GP_E_NOT_RECORDING, GP_E_VERSION (other major), GP_E_DAMAGED (checksum). A newer minor is
 * readable.
 */
enum gp_status gp_file_header_decode(const unsigned char in[GP_FILE_HEADER],
				     struct gp_file_header *out);
/*
 * True if a reader can search for blocks with the `out` that GP_E_DAMAGED left. The damage may be
 * in an unimportant bit.
 */
bool gp_file_header_is_usable(const struct gp_file_header *header);

/* ---- the shared ring file ---- */

#define GP_CONTROL_MAGIC 0x474e495246504700ull
#define GP_CONTROL_VERSION 2u /* 2: rings grow */
#define GP_CONTROL_BYTES 65536u
#define GP_CONTROL_USED 4096u
#define GP_RING_HEADER 4096u
#define GP_RING_REGIONS 3u
#define GP_REGION_SLOTS(region) (512u << 3 * (region)) /* 32 KiB, 256 KiB, 2 MiB of records */
#define GP_RING_SLOTS GP_REGION_SLOTS(2u)	       /* of the largest region */
#define GP_RING_PENDING (GP_REGION_SLOTS(0u) + GP_REGION_SLOTS(1u) + GP_REGION_SLOTS(2u))
/* Byte offset of a region in its ring's place. */
#define GP_REGION_OFFSET(region) \
	(GP_RING_HEADER + (GP_REGION_SLOTS(region) - GP_REGION_SLOTS(0u)) / 7u * 64u)
#define GP_RING_BYTES (GP_RING_HEADER + GP_RING_PENDING * 64u)
#define GP_RINGS_MAX 4096u
#define GP_RING_KEEP_S (7 * 24 * 3600) /* for rings of dead processes whose recording was moved */

enum gp_ring_state {
	GP_RING_FREE = 0,    /* never used, or drained after its thread ended */
	GP_RING_ACTIVE = 1,  /* a thread writes to it */
	GP_RING_RETIRED = 2, /* its thread ended; records may remain */
	/*
	 * not a ring: chunk number `thread` of the table of stacks, at the place of the last region
	 */
	GP_RING_STACKS = 3,
};

/*
 * One thread's ring. The producer owns the first line, the drain thread the second. head and tail
 * count slots and never wrap. Partners: the producer stores head with release, and the drain loads
 * it with acquire; tail the other way round. A tail moves only after the block with its slots is
 * written.
 *
 * A ring begins with region 0. Once the drain thread has mapped the next region, the producer
 * continues there. Records from position grown_at[g] to grown_at[g + 1] lie in region g. A record
 * lies at its position modulo the slots of its region. A record and its text lie in one region.
 */
struct gp_ring {
	_Atomic uint64_t head;
	_Atomic uint64_t lost_memory, lost_launch, lost_other, nested;
	_Atomic uint32_t state; /* enum gp_ring_state */
	_Atomic uint32_t tid;
	uint64_t pad0[1];
	_Alignas(64) _Atomic uint64_t tail;
	_Atomic uint64_t sequence; /* of the next block */
	/* counts of lost_memory, lost_launch, lost_other, nested that LOST records have reported */
	uint64_t reported[4];
	/*
	 * the `thread` of its blocks: unique for each thread of the run, although rings are reused
	 */
	uint32_t thread;
	/* the newest region in use; the producer stores it before the head that needs it */
	_Atomic uint32_t region;
	_Atomic uint64_t grown_at[GP_RING_REGIONS]; /* [0] is 0 */
};
_Static_assert(sizeof(struct gp_ring) <= GP_RING_HEADER, "a ring's header fits its place");
_Static_assert(GP_STACK_CHUNK * sizeof(struct gp_stack_entry) == GP_RING_SLOTS * 64u,
	       "a chunk of the table of stacks fits the last region");

/* The region of the record at `position`, which must be before the head. */
static inline unsigned gp_ring_region(const struct gp_ring *ring, uint64_t position)
{
	/*
	 * partner: the release store in go_on_in_next_region, which publishes where the region
	 * begins
	 */
	unsigned g = atomic_load_explicit(&ring->region, memory_order_acquire);
	g = g < GP_RING_REGIONS ? g : GP_RING_REGIONS - 1;
	while (g > 0 && position < atomic_load_explicit(&ring->grown_at[g], memory_order_relaxed))
		g--;
	return g;
}

/* The first position after `region`. */
static inline uint64_t gp_region_end(const struct gp_ring *ring, unsigned region)
{
	return region < atomic_load_explicit(&ring->region, memory_order_acquire) &&
			       region + 1 < GP_RING_REGIONS ?
		       atomic_load_explicit(&ring->grown_at[region + 1], memory_order_relaxed) :
		       UINT64_MAX;
}

/* For readers, which map whole places: the records of a region; one record. */
static inline struct gp_record *gp_region_slots(const struct gp_ring *ring, unsigned region)
{
	return (struct gp_record *)((char *)ring + GP_REGION_OFFSET(region));
}
static inline struct gp_record *gp_ring_slot(const struct gp_ring *ring, uint64_t position)
{
	const unsigned region = gp_ring_region(ring, position);
	return &gp_region_slots(ring, region)[position & (GP_REGION_SLOTS(region) - 1)];
}

/*
 * True if a ring can hold [tail, head): each region at most its slots. Readers call it first,
 * because a ring may be damaged.
 */
bool gp_ring_is_possible(const struct gp_ring *ring, uint64_t tail, uint64_t head);

enum gp_level { GP_LEVEL_OFF = 1, GP_LEVEL_MEMORY = 2, GP_LEVEL_ALL = 3 };

/*
 * First page of the ring file. Other processes may read it at any time, and may write
 * `requested_level`, `requested_uses`, `snapshots_requested` only.
 */
struct gp_control {
	_Atomic uint64_t magic;
	uint32_t version, pid;
	uint64_t pid_namespace; /* inode of /proc/self/ns/pid */
	uint64_t process_start; /* field 22 of /proc/self/stat */
	char boot_id[40];
	char output[1024]; /* absolute path of the recording */
	uint32_t clock;
	_Atomic uint32_t rings; /* number of rings in the file; ring 0 is the drain thread's own */
	/* 1: the owner cannot lose its lock on byte 0, so an unlocked byte means that it is dead */
	uint32_t is_lock_sure;
	uint32_t slots; /* as in the header of the recording */
	uint64_t slot_bytes;
	_Alignas(64) _Atomic uint64_t next_order;      /* the one contended word of the hot path */
	_Alignas(64) _Atomic uint32_t requested_level; /* set by `gpuprof ctl`; 0: done */
	_Atomic uint32_t level;			       /* in force */
	_Atomic uint64_t heartbeat_ns; /* CLOCK_MONOTONIC_RAW of the drain's last turn */
	/* 1: scan for uses, beside `level`; requested by another process; in force */
	_Atomic uint32_t requested_uses, uses;
	/* the writer's position: the current part is complete before `write_offset` */
	_Alignas(64) _Atomic uint64_t write_offset;
	_Atomic uint64_t segment, part, cut;
	_Atomic uint64_t slot;	    /* index of the slot being written; 0 in keep-all files */
	_Atomic uint32_t is_sealed; /* the recording is complete without these rings */
	_Atomic uint64_t drained;   /* events that left the rings */
	/*
	 * Memory, launch and other events lost by threads without a ring, or because the file could
	 * not be written. `reported`: those that LOST records have counted.
	 */
	_Atomic uint64_t lost[3];
	uint64_t reported[3];
	_Atomic uint64_t failed_blocks; /* as in the file header */
	_Atomic uint32_t has_hole;
	/*
	 * Snapshots: a requester adds 1 to `snapshots_requested` and waits on the futex
	 * `snapshots_done` until it is as high. Then the file has all events before the order
	 * `snapshot_order`.
	 */
	_Alignas(64) _Atomic uint32_t snapshots_requested;
	_Atomic uint32_t snapshots_done;
	_Atomic uint64_t snapshot_order;
	/*
	 * Flushes: a thread adds 1 when its next action may end the job. Once `flushes_done` is as
	 * high, the file has all events that the thread had committed. It also has all events with
	 * a lower order number, except those in flight for too long. `flushes`, a futex, changes
	 * with `flushes_done`.
	 */
	_Alignas(64) _Atomic uint64_t flushes_requested;
	_Atomic uint64_t flushes_done;
	_Atomic uint32_t flushes;
};
_Static_assert(sizeof(struct gp_control) <= GP_CONTROL_USED, "the control page holds it");

/* Byte offset in the ring file of ring `index`. */
static inline uint64_t gp_ring_offset(uint32_t index)
{
	return GP_CONTROL_BYTES + (uint64_t)index * GP_RING_BYTES;
}

/* Byte offset of slot `slot` in a recording. */
static inline uint64_t gp_slot_offset(const struct gp_file_header *header, uint64_t slot)
{
	return GP_FILE_HEADER + slot * header->slot_bytes;
}

#endif
