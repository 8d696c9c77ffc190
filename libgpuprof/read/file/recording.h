/*
 * Inside the reading library: a recording is a file, an index of its segments, a merge of one
 * segment's blocks, the meanings of handles and the live state. Not for tools/: their contract is
 * gpuprof.h.
 */
#ifndef GP_RECORDING_H
#define GP_RECORDING_H

#include <time.h>

#include "../../format/layout.h"
#include "../../gpuprof.h"
#include "../../state/live.h"
#include "../block_room.h"
#include "call_stacks.h"
#include "module_list.h"
#include "stack_frames.h"

/* ---- file_read.c: bytes and blocks of an open file ---- */

struct gp_file {
	int fd;
	uint64_t bytes; /* when it was opened, or its slots were indexed */
	struct gp_file_header header;
	bool is_header_damaged; /* its checksum is wrong, its fields may be */
};

/*
 * O_NOFOLLOW is not used: a reader may follow links. `why` may be NULL. On failure nothing stays
 * open.
 */
enum gp_status gp_file_open(const char *path, struct gp_file *out, struct gp_damage *why);
void gp_file_release(struct gp_file *file);
extern const char gp_damaged_header[]; /* what is wrong then */
/* Exactly `bytes` at `offset`: GP_E_TRUNCATED when the file ends before, GP_E_IO. */
enum gp_status gp_file_read(const struct gp_file *file, uint64_t offset, void *out, size_t bytes);
/* There are so many bytes at `offset`, GP_BLOCK_HEADER at most, and one of them is not 0. */
bool gp_file_is_written(const struct gp_file *file, uint64_t offset, size_t bytes);
/* All of it, at `offset`; GP_E_SPACE, GP_E_IO. */
enum gp_status gp_file_write(int fd, uint64_t offset, const void *bytes, size_t count);

/* False: the block is short (block.h), and the recorder of this file would have padded it. */
bool gp_file_allows_block(const struct gp_file *file, const struct gp_block_header *header);
/*
 * Reads the block that lies at `offset` into room->bytes, and decodes it to `out`, which may be
 * room->record. GP_E_DAMAGED as well where it is not allowed, or another one lies there by now.
 */
enum gp_status gp_file_decode(const struct gp_file *file, uint64_t offset,
			      const struct gp_block_header *header, struct gp_block_room *room,
			      struct gp_record *out, uint64_t *slots);

/* Blocks of one segment that follow each other. */
struct gp_part {
	uint64_t offset, end; /* of its blocks */
	uint32_t segment, part;
};

/* A region in which blocks follow each other: a slot, or all of a keep-all file. */
struct gp_block_walk {
	const struct gp_file *file;
	uint64_t at, end;
	/* only blocks of `segment` and `part` are its own; else segment numbers do not fall */
	bool is_slot;
	uint32_t segment, part;
	struct gp_block_header header; /* results of gp_block_walk_next */
	uint64_t offset;
	uint64_t skipped_at,
		skipped; /* bytes that are no blocks before this one: damage when > 0 */
};
struct gp_block_walk gp_part_walk(const struct gp_file *file, const struct gp_part *part);
/* The next valid block; false: no more (walk->at is where the first invalid byte lies). */
bool gp_block_walk_next(struct gp_block_walk *walk);

/* ---- file_index.c: segments, parts, damage ---- */

struct gp_segment {
	uint32_t number;
	bool has_begin;	     /* its part 0 is there, with its SEGMENT block */
	bool has_checkpoint; /* complete */
	bool has_end;
	bool is_damaged;
	uint64_t cut;
	uint64_t ticks; /* when it began */
	size_t part, parts;
};

struct gp_index {
	struct gp_part *part;
	size_t parts;
	struct gp_segment *segment;
	size_t segments;
	struct gp_damage *damage;
	size_t damages;
	uint64_t *repeated; /* sorted: offsets of blocks that say again what an earlier one said */
	size_t repeats;
	uint64_t blocks;
	struct gp_block_header last; /* the newest clock triple */
	uint64_t last_block;	     /* offset of the last block in reading order */
	uint64_t end; /* where an adopter goes on: behind the last block that is no END */
	bool is_sealed;
	/* damage: the highest order that may be missing, UINT64_MAX unknown, and where */
	uint64_t missing_to;
	uint32_t missing_segment;
};

/*
 * Looks again, some times, while the owner of a ring writes over slots that are being looked at.
 */
enum gp_status gp_index_build(struct gp_file *file, struct gp_index *out);
void gp_index_release(struct gp_index *index);
/* The owner wrote something newer over the part that has a block at `offset`. */
bool gp_part_is_overwritten(const struct gp_file *file, uint64_t offset, uint32_t segment,
			    uint32_t part);
/* The same of any part of segment index->segment[which]. */
bool gp_index_is_overwritten(const struct gp_file *file, const struct gp_index *index,
			     size_t which);
/* Notes a damaged place; at most GP_DAMAGES_KEPT are kept, all are counted. */
#define GP_DAMAGES_KEPT 64u
void gp_index_damage(struct gp_index *index, uint64_t offset, uint64_t block, const char *format,
		     ...) __attribute__((format(printf, 4, 5)));
bool gp_index_is_repeated(const struct gp_index *index, uint64_t offset);
/*
 * Where a replay starts: the oldest segment that can be begun with. index->segments: there is none.
 */
size_t gp_index_first(const struct gp_index *index);

/* ---- merge.c: the events of one segment in order ---- */

struct gp_merge;
struct gp_definitions_index;
/* `meanings` hear the names of ranges. */
struct gp_merge *gp_merge_open(const struct gp_file *file, struct gp_index *index,
			       struct gp_definitions_index *meanings);
void gp_merge_close(struct gp_merge *merge);
/* As gp_recording_watch; gp_merge_count_pass begins to count anew. */
void gp_merge_watch(struct gp_merge *merge,
		    void (*visit)(void *context, uint64_t done, uint64_t bytes, unsigned pass),
		    void *context);
void gp_merge_count_pass(struct gp_merge *merge);
/* Starts with segment index->segment[which]. */
enum gp_status gp_merge_begin(struct gp_merge *merge, size_t which);
/*
 * The next event of the segment; NULL at its end. Valid until the next call; extra slots follow the
 * record.
 */
const struct gp_record *gp_merge_next(struct gp_merge *merge, uint32_t *thread);
/*
 * Calls `visit` for each record of a segment's blocks of `type` (DEFINE, CHECKPOINT), in file
 * order. Ends a merge that was begun.
 */
enum gp_status gp_merge_visit(struct gp_merge *merge, size_t which, enum gp_block_type type,
			      enum gp_status (*visit)(void *context, const struct gp_record *),
			      void *context);
/* Blocks that did not decode since gp_merge_open, as often as they were met. */
uint64_t gp_merge_failures(const struct gp_merge *merge);
/*
 * The segment was overwritten by its owner while it was read: what begin and visit were asked for
 * is not whole, gp_merge_next ended early. Stays so until gp_merge_forget_overtaken.
 */
bool gp_merge_is_overtaken(const struct gp_merge *merge);
void gp_merge_forget_overtaken(struct gp_merge *merge);
/* gp_merge_next ended for want of memory. */
bool gp_merge_is_out_of_memory(const struct gp_merge *merge);

/* ---- definitions_index.c: what handles and ids mean at the current moment ---- */

struct gp_definitions_index *gp_defined_open(void);
const struct gp_call_stacks *gp_defined_stacks(const struct gp_definitions_index *meanings);
const struct gp_module_list *gp_defined_modules(const struct gp_definitions_index *meanings);
void gp_defined_close(struct gp_definitions_index *meanings);
/* Forgets what is known, keeps the strings that were handed out. */
void gp_defined_clear(struct gp_definitions_index *meanings);
/* Learns from a DEFINE record and its extra slots. GP_E_MEMORY. */
enum gp_status gp_defined_add(struct gp_definitions_index *meanings,
			      const struct gp_record *record);
/* At some moment there were more of a kind than are kept: later ones are unknown. */
bool gp_defined_has_left_out(const struct gp_definitions_index *meanings);
/* Text of (kind, key); NULL unknown. KERNEL: handle; FACT, THREAD: aux; GPU: device. */
const char *gp_defined_text(const struct gp_definitions_index *meanings, enum gp_kind kind,
			    uint64_t key);
/* The record itself, of GPU, FACT or ARENA by their number; NULL unknown. */
const struct gp_record *gp_defined_record(const struct gp_definitions_index *meanings,
					  enum gp_kind kind, uint64_t number);
struct gp_named {
	uint32_t value;	  /* THREAD: tid; RANGE_NAME: is_cut */
	const char *text; /* NULL: none */
};
/* Of THREAD or RANGE_NAME by number. False: unknown, and all of `out` is 0. */
bool gp_defined_get(const struct gp_definitions_index *meanings, enum gp_kind kind, uint64_t key,
		    struct gp_named *out);
/* Each THREAD or RANGE_NAME, in no order. */
void gp_defined_visit(const struct gp_definitions_index *meanings, enum gp_kind kind,
		      void (*visit)(void *context, const struct gp_named *), void *context);

/* ---- tick.c: ticks to nanoseconds since the start ---- */

struct gp_tick {
	uint64_t start_ticks;
	uint64_t scale; /* ns = ticks * scale / 2^32 */
};
void gp_tick_init(struct gp_tick *tick, const struct gp_file_header *header,
		  const struct gp_block_header *last);
/* 73 years: sums and differences of moments fit 64 bits, whatever times a recording holds. */
#define GP_TICK_NS_MOST (INT64_MAX / 4)
static inline int64_t gp_tick_ns(const struct gp_tick *tick, uint64_t ticks)
{
	bool is_before = ticks < tick->start_ticks;
	uint64_t passed = is_before ? tick->start_ticks - ticks : ticks - tick->start_ticks;
	unsigned __int128 exact = (unsigned __int128)passed * tick->scale >> 32;
	int64_t ns = exact < GP_TICK_NS_MOST ? (int64_t)exact : GP_TICK_NS_MOST;
	return is_before ? -ns : ns;
}

/* ---- uncertainty.c: from when to when the figures are not certain ---- */

/*
 * MEMORY events have numbers without a hole. Where damage or a missing end made one, and where the
 * recorder lost events, what follows is excused as after a LOST record, until a checkpoint puts the
 * state right.
 */
#define GP_SPANS_KEPT 32u
struct gp_doubt {
	bool is_open;
	uint64_t last; /* ticks of the last MEMORY event; 0 none */
	size_t spans;  /* the last one grows when no more are kept */
	struct gp_span span[GP_SPANS_KEPT];
};

struct gp_recording;
/* Before each event is applied. */
void gp_doubt_see(struct gp_recording *recording, const struct gp_record *record);
/* Something is not as it should be, without a number: from the last event on. */
void gp_doubt_open(struct gp_recording *recording);
/* The state left out a part of the event that was applied last, which asks for too much work. */
void gp_doubt_refused(struct gp_recording *recording);
/* A checkpoint was loaded that was taken at `at_ns`. */
void gp_doubt_settle(struct gp_recording *recording, int64_t at_ns);
/* At the end of a replay: what is missing may have come behind the last event. */
void gp_doubt_end(struct gp_recording *recording, int64_t end_ns);

/* ---- replay.c ---- */

struct gp_recording {
	char *path;
	struct gp_file file;
	struct gp_index index;
	struct gp_merge *merge;
	struct gp_definitions_index *meanings;
	struct gp_stack_naming naming;
	struct gp_live *live;
	struct gp_tick tick;
	size_t first, segment; /* where the replay starts, where it is */
	size_t unsought;       /* where it starts when nothing is sought; SIZE_MAX: nothing is */
	bool is_begun;	       /* segment `segment` is in the merge */
	bool is_running;       /* not sealed, and its owner lives: numbers may still come */
	uint64_t unwritten;    /* then: no lower number was in its rings; UINT64_MAX not known */
	bool is_ended_early;   /* a replay met the first of those that are still to come */
	uint64_t seen;	       /* events since the rewind */
	size_t loaded;	       /* the segment whose checkpoint was loaded last */
	unsigned overtakes;    /* times that a part was dropped since its owner wrote over it */
	struct gp_doubt doubt;
	bool has_info;
	struct gp_info info;
	struct gp_span uncertain[GP_SPANS_KEPT];
	int64_t *gap;
	struct gp_scope_list {
		uint64_t number; /* of the newest change */
		size_t spans;
		struct gp_scope_span *span;
	} scopes;
	char driver[16];
	struct gp_info_device *device;
	const char *step_name; /* the caller's: gp_steps_name; NULL: none */
};

/* Like gp_recording_next, without copying: NULL at the end or on failure (*status). */
const struct gp_record *gp_recording_step(struct gp_recording *recording, uint32_t *thread,
					  enum gp_status *status);
/* Its two halves, for those who need the state before the event. */
const struct gp_record *gp_recording_fetch(struct gp_recording *recording, uint32_t *thread,
					   enum gp_status *status);
enum gp_status gp_recording_apply(struct gp_recording *recording, const struct gp_record *record);
/* Like gp_recording_fetch, but NULL and GP_OK between two segments, and when it began anew. */
const struct gp_record *gp_recording_fetch_here(struct gp_recording *recording, uint32_t *thread,
						enum gp_status *status);
/* The number that the next MEMORY event has, unless some are missing. */
uint64_t gp_recording_next_order(const struct gp_recording *recording);

/* When it began. */
int64_t gp_segment_ns(const struct gp_recording *recording, size_t segment);

/* ---- seek.c: beginning near a moment ---- */

/*
 * The newest segment that can be begun with and that began, with its checkpoint, at that order or
 * before, or at that moment; else the first that is kept.
 */
size_t gp_segment_by_order(const struct gp_recording *recording, uint64_t order);
size_t gp_segment_by_time(const struct gp_recording *recording, int64_t at_ns);
/*
 * Rewinds to that segment, or to one before it whose checkpoint can be read, as if what lies before
 * were overwritten: until gp_recording_unseek, or until the owner of the recording writes over it.
 */
enum gp_status gp_recording_seek(struct gp_recording *recording, size_t segment);
/* Rewinds to the first segment that is kept. */
enum gp_status gp_recording_unseek(struct gp_recording *recording);

/* Events lost since the start, as far as the replay came: memory, launch, other, nested. */
uint64_t gp_recording_lost(const struct gp_recording *recording, unsigned which);

/* ---- stored_names.c, stack_frames.c, unnamed.c: names of native frames ---- */

/*
 * Reads the names that the recording stores, once. Damaged ones are dropped: naming.damage tells.
 * GP_E_MEMORY.
 */
enum gp_status gp_recording_load_names(struct gp_recording *recording);
/* With the stored names and all modules that were heard of. NULL: no memory. */
struct gp_symbolizer *gp_recording_symbolizer(struct gp_recording *recording);

/* ---- ring_file.c: rings of other processes ---- */

struct gp_ring_file {
	int fd;
	uint64_t bytes;
	uint32_t rings;
	uint16_t place[GP_RINGS_MAX]; /* where in the file each of the rings lies */
	struct gp_control *control;   /* the whole file, mapped */
	char path[512];
};

enum gp_owner {
	GP_OWNER_ALIVE,
	GP_OWNER_DEAD,
	GP_OWNER_INHERITED, /* dead, and another process adopts what it left right now */
	GP_OWNER_UNKNOWN,
};

/* Opens and maps a ring file of this user. GP_E_NOT_RECORDING: no (finished) ring file. */
enum gp_status gp_ring_file_open(const char *path, bool is_writable, struct gp_ring_file *out);
void gp_ring_file_close(struct gp_ring_file *file);
struct gp_ring *gp_ring_file_ring(const struct gp_ring_file *file, uint32_t index);
enum gp_owner gp_ring_file_owner(const struct gp_ring_file *file);
/* The process that writes this recording lives: as far as its ring file can be seen from here. */
bool gp_ring_file_is_written(const struct gp_file_header *header);
/* Its ring file is there and another user's, so that nothing more can be told. */
bool gp_ring_file_is_anothers(const struct gp_file_header *header);
/*
 * Returns when what its process wants in the recording at once, an out-of-memory and all before it,
 * is there; after a second at the latest.
 */
void gp_ring_file_await(const struct gp_file_header *header);
/*
 * Of such a recording: the lowest number of a MEMORY event that is not in it yet, in a ring or not
 * even begun. UINT64_MAX: not known. To be asked before the recording is looked at.
 */
uint64_t gp_ring_file_unwritten(const struct gp_file_header *header);
uint64_t gp_clock_read(clockid_t clock);
/* Field 22 of its /proc/PID/stat. False: it is gone, or a zombie. */
bool gp_process_start(unsigned pid, uint64_t *start);
/* In its pid namespace its pid and its paths mean what they mean here. */
bool gp_is_own_namespace(const struct gp_control *control);
/*
 * Calls `visit` with the path of each file that is named like a ring file, in every ring place and
 * in `also` (may be NULL).
 */
void gp_ring_file_visit(const char *also, void (*visit)(void *context, const char *path),
			void *context);

/* ---- adopt.c: what the dead left in one ring file ---- */

struct gp_adopted {
	uint64_t events;
	const char *recording; /* where they went, or could not go */
	int error;	       /* errno of its opening; 0 none */
	bool is_nowhere;       /* there is no such recording at its path */
};
/* The header names these rings, or none yet. */
bool gp_is_recording_of(const struct gp_file_header *header, const struct gp_ring_file *rings);
/*
 * Under the ring file's lock. `moved_to` (may be NULL): a recording of these rings, used when at
 * its old path there is none.
 */
enum gp_status gp_adopt_ring_file(struct gp_ring_file *rings, const char *moved_to,
				  struct gp_adopted *out);

#endif
