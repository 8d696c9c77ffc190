/*
 * Internal to the reading library. A recording consists of a file, an index of its segments, a
 * merge of one segment's blocks, the definitions and the live state. Not for tools/: their contract
 * is gpuprof.h.
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
	uint64_t bytes; /* size when it was opened, or when its slots were indexed */
	struct gp_file_header header;
	bool is_header_damaged; /* the checksum does not match; fields may be wrong */
};

/*
 * A reader may follow links, so O_NOFOLLOW is not used. `why` may be NULL. On failure the file is
 * closed.
 */
enum gp_status gp_file_open(const char *path, struct gp_file *out, struct gp_damage *why);
void gp_file_release(struct gp_file *file);
extern const char gp_damaged_header[]; /* the message for is_header_damaged */
/* Exactly `bytes` at `offset`: GP_E_TRUNCATED when the file ends before, GP_E_IO. */
enum gp_status gp_file_read(const struct gp_file *file, uint64_t offset, void *out, size_t bytes);
/* True: `bytes` bytes exist at `offset`, at most GP_BLOCK_HEADER, and one of them is not 0. */
bool gp_file_is_written(const struct gp_file *file, uint64_t offset, size_t bytes);
/* Writes all `count` bytes at `offset`; GP_E_SPACE, GP_E_IO. */
enum gp_status gp_file_write(int fd, uint64_t offset, const void *bytes, size_t count);

/* False: the block is short (block.h), and this file's recorder would have padded it. */
bool gp_file_allows_block(const struct gp_file *file, const struct gp_block_header *header);
/*
 * Reads the block at `offset` into room->bytes and decodes it to `out`, which may be room->record.
 * GP_E_DAMAGED also if the file does not allow the block, or if another block is there now.
 */
enum gp_status gp_file_decode(const struct gp_file *file, uint64_t offset,
			      const struct gp_block_header *header, struct gp_block_room *room,
			      struct gp_record *out, uint64_t *slots);

/* Blocks of one segment that follow each other. */
struct gp_part {
	uint64_t offset, end; /* the bytes of its blocks */
	uint32_t segment, part;
};

/* A region in which blocks follow each other: a slot, or all of a keep-all file. */
struct gp_block_walk {
	const struct gp_file *file;
	uint64_t at, end;
	/*
	 * For a slot, only blocks of `segment` and `part` are valid. Else segment numbers must not
	 * decrease.
	 */
	bool is_slot;
	uint32_t segment, part;
	struct gp_block_header header; /* results of gp_block_walk_next */
	uint64_t offset;
	uint64_t skipped_at,
		skipped; /* number of bytes before this block that are not a block; > 0 is damage */
};
struct gp_block_walk gp_part_walk(const struct gp_file *file, const struct gp_part *part);
/* Finds the next valid block. False: there are no more, and walk->at is the first invalid byte. */
bool gp_block_walk_next(struct gp_block_walk *walk);

/* ---- file_index.c: segments, parts, damage ---- */

struct gp_segment {
	uint32_t number;
	bool has_begin;	     /* part 0 exists and has its SEGMENT block */
	bool has_checkpoint; /* and it is complete */
	bool has_end;
	bool is_damaged;
	uint64_t cut;
	uint64_t ticks; /* time of its beginning */
	size_t part, parts;
};

struct gp_index {
	struct gp_part *part;
	size_t parts;
	struct gp_segment *segment;
	size_t segments;
	struct gp_damage *damage;
	size_t damages;
	uint64_t *repeated; /* sorted offsets of blocks that repeat an earlier block */
	size_t repeats;
	uint64_t blocks;
	struct gp_block_header last; /* has the newest clock triple */
	uint64_t last_block;	     /* offset of the last block in reading order */
	uint64_t end; /* where an adopter appends: behind the last block except END */
	bool is_sealed;
	/* The highest order that damage may have removed, UINT64_MAX: unknown; and its segment. */
	uint64_t missing_to;
	uint32_t missing_segment;
};

/* Repeats the pass a bounded number of times while the owner of a ring overwrites slots. */
enum gp_status gp_index_build(struct gp_file *file, struct gp_index *out);
/*
 * For a running job: adds what it wrote since, up to the offset `written` of its position. False:
 * it overwrote the newest known part.
 */
bool gp_index_extend(const struct gp_file *file, uint64_t written, struct gp_index *index);
void gp_index_release(struct gp_index *index);
/* True: the owner overwrote the part that had a block at `offset`. */
bool gp_part_is_overwritten(const struct gp_file *file, uint64_t offset, uint32_t segment,
			    uint32_t part);
/* True for any part of segment index->segment[which]. */
bool gp_index_is_overwritten(const struct gp_file *file, const struct gp_index *index,
			     size_t which);
/* Adds a damaged place. Keeps at most GP_DAMAGES_KEPT of them and counts all. */
#define GP_DAMAGES_KEPT 64u
void gp_index_damage(struct gp_index *index, uint64_t offset, uint64_t block, const char *format,
		     ...) __attribute__((format(printf, 4, 5)));
bool gp_index_is_repeated(const struct gp_index *index, uint64_t offset);
/* Index of the oldest segment at which a replay can start. index->segments: there is none. */
size_t gp_index_first(const struct gp_index *index);

/* ---- merge.c: the events of one segment in order ---- */

struct gp_merge;
struct gp_definitions_index;
/* Adds the names of ranges to `definitions`. */
struct gp_merge *gp_merge_open(const struct gp_file *file, struct gp_index *index,
			       struct gp_definitions_index *definitions);
void gp_merge_close(struct gp_merge *merge);
/* As gp_recording_watch; gp_merge_count_pass restarts the count. */
void gp_merge_watch(struct gp_merge *merge,
		    void (*visit)(void *context, uint64_t done, uint64_t bytes, unsigned pass),
		    void *context);
void gp_merge_count_pass(struct gp_merge *merge);
/* A place in a segment: where each thread is read on. A thread at its end has none. */
struct gp_merge_at {
	uint64_t offset; /* of the block */
	uint64_t slot;	 /* of its records */
	uint32_t thread;
};
/* Behind the last returned event. Returns the number of threads, which may exceed `room`. */
size_t gp_merge_at(const struct gp_merge *merge, struct gp_merge_at *out, size_t room);
/*
 * Starts with segment index->segment[which] at a place; `at` is in the order of threads. NULL: at
 * its beginning.
 */
enum gp_status gp_merge_begin_at(struct gp_merge *merge, size_t which, const struct gp_merge_at *at,
				 size_t count);
static inline enum gp_status gp_merge_begin(struct gp_merge *merge, size_t which)
{
	return gp_merge_begin_at(merge, which, NULL, 0);
}
/*
 * Adds blocks and definitions that gp_index_extend found in the segment that was begun. The
 * record that gp_merge_next returned last comes again, unless it returned NULL. GP_E_MEMORY.
 */
enum gp_status gp_merge_extend(struct gp_merge *merge);
/*
 * The next event of the segment; NULL at its end. Valid until the next call. Extra slots follow the
 * record.
 */
const struct gp_record *gp_merge_next(struct gp_merge *merge, uint32_t *thread);
/*
 * Calls `visit` for each record of a segment's blocks of `type` (DEFINE, CHECKPOINT), in file
 * order. Ends the merge that was begun.
 */
enum gp_status gp_merge_visit(struct gp_merge *merge, size_t which, enum gp_block_type type,
			      enum gp_status (*visit)(void *context, const struct gp_record *),
			      void *context);
/* Failed decodes since gp_merge_open. A block counts each time it is decoded. */
uint64_t gp_merge_failures(const struct gp_merge *merge);
/*
 * The owner overwrote the segment during the read. The data of begin and visit is incomplete, and
 * gp_merge_next ended early. Stays true until gp_merge_forget_overtaken.
 */
bool gp_merge_is_overtaken(const struct gp_merge *merge);
void gp_merge_forget_overtaken(struct gp_merge *merge);
/* gp_merge_next ended because memory was short. */
bool gp_merge_is_out_of_memory(const struct gp_merge *merge);

/* ---- definitions_index.c: the definitions at the current moment ---- */

struct gp_definitions_index *gp_defined_open(void);
struct gp_call_stacks *gp_defined_stacks(const struct gp_definitions_index *definitions);
const struct gp_module_list *gp_defined_modules(const struct gp_definitions_index *definitions);
void gp_defined_close(struct gp_definitions_index *definitions);
/* Forgets the definitions, keeps the strings that it returned. */
void gp_defined_clear(struct gp_definitions_index *definitions);
/* Adds a DEFINE record and its extra slots. GP_E_MEMORY. */
enum gp_status gp_defined_add(struct gp_definitions_index *definitions,
			      const struct gp_record *record);
/* True: at some moment one kind had more definitions than its bound. Later ones were dropped. */
bool gp_defined_has_left_out(const struct gp_definitions_index *definitions);
/*
 * Text of (kind, key); NULL: not defined. KERNEL: handle; FACT, THREAD, GPU_FUNCTION: aux; GPU:
 * device.
 */
const char *gp_defined_text(const struct gp_definitions_index *definitions, enum gp_kind kind,
			    uint64_t key);
/* The GPU, FACT, ARENA or GPU_FUNCTION record with this number; NULL: not defined. */
const struct gp_record *gp_defined_record(const struct gp_definitions_index *definitions,
					  enum gp_kind kind, uint64_t number);
struct gp_named {
	uint32_t value;	  /* THREAD: tid; RANGE_NAME: is_cut */
	const char *text; /* NULL: none */
};
/* A THREAD or RANGE_NAME by number. False: not defined, and `out` is zeros. */
bool gp_defined_get(const struct gp_definitions_index *definitions, enum gp_kind kind, uint64_t key,
		    struct gp_named *out);
/* Visits each THREAD or RANGE_NAME, in undefined order. */
void gp_defined_visit(const struct gp_definitions_index *definitions, enum gp_kind kind,
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

/* ---- uncertainty.c: the intervals of uncertain figures ---- */

/*
 * MEMORY events have numbers without holes. A hole comes from damage, a missing end or lost events.
 * The events after it are excused as after a LOST record, until a checkpoint corrects the state.
 */
#define GP_SPANS_KEPT 32u
struct gp_caveat {
	bool is_open;
	uint64_t last; /* ticks of the last MEMORY event; 0: none */
	size_t spans;  /* at the bound, the last interval grows instead */
	struct gp_span span[GP_SPANS_KEPT];
};

struct gp_recording;
/* Call it before each event is applied. */
void gp_caveat_see(struct gp_recording *recording, const struct gp_record *record);
/* Opens an interval at the last event, when no order number is known for the cause. */
void gp_caveat_open(struct gp_recording *recording);
/* The live state skipped a part of the last event, because it needs too much work. */
void gp_caveat_refused(struct gp_recording *recording);
/* A checkpoint that was taken at `at_ns` was loaded. */
void gp_caveat_settle(struct gp_recording *recording, int64_t at_ns);
/* At the end of a replay: missing events may follow the last event. */
void gp_caveat_end(struct gp_recording *recording, int64_t end_ns);

/* ---- tops.c: the highest kept moments, found by gp_recording_info ---- */

/* The first moment of the highest value of a curve. */
struct gp_curve_top {
	uint64_t bytes;
	uint64_t event; /* events replayed until then */
	uint64_t order; /* the state has the events with a lower order */
	int64_t at_ns;
	uint64_t ever_bytes; /* since the start, moments included that are not kept */
	int64_t ever_at_ns;
};
struct gp_tops {
	struct gp_curve_top curve[GP_DEVICES][GP_CURVES], host;
	struct gp_unused_peak unused[GP_DEVICES];
	uint64_t *before; /* by segment: events replayed before it */
	size_t segments, room;
	uint64_t events;		/* of the whole replay */
	uint64_t allocated[GP_DEVICES]; /* at the last look; UINT64_MAX: never */
	const struct gp_live *live;
};
struct gp_recording;
/* Right after a rewind. */
enum gp_status gp_tops_begin(struct gp_recording *recording);
/* After each event. */
void gp_tops_see(struct gp_recording *recording, const struct gp_record *record);
/* At the replay's end, once the info is filled. */
void gp_tops_end(struct gp_recording *recording);

/* ---- replay.c ---- */

struct gp_recording {
	char *path;
	struct gp_file file;
	struct gp_index index;
	struct gp_merge *merge;
	struct gp_definitions_index *definitions;
	struct gp_stack_naming naming;
	struct gp_live *live;
	struct gp_tick tick;
	size_t first, segment; /* the first segment of the replay, and the current one */
	size_t unsought;       /* the first segment before a seek; SIZE_MAX: no seek */
	bool is_begun;	       /* the merge has begun segment `segment` */
	bool is_running;       /* not sealed, and its owner lives: more numbers may follow */
	uint64_t unwritten;    /* if running: its rings had no lower number; UINT64_MAX: unknown */
	bool is_ended_early;   /* a replay ended where events are not yet in the file */
	uint64_t seen;	       /* events since the rewind */
	unsigned rewinds;
	size_t loaded;	    /* the segment of the last loaded checkpoint */
	size_t left;	    /* the segment in which the replay ended */
	bool is_followed;   /* gp_follow_begin was called */
	unsigned overtakes; /* how often parts were dropped because the owner overwrote them */
	struct gp_caveat caveat;
	bool has_info;
	struct gp_info info;
	struct gp_tops tops; /* valid with has_info, except in a followed recording */
	struct gp_span uncertain[GP_SPANS_KEPT];
	int64_t *gap;
	struct gp_scope_list {
		uint64_t number; /* of the newest change */
		size_t spans;
		struct gp_scope_span *span;
	} scopes;
	char driver[16];
	struct gp_info_device device[GP_DEVICES];
	const char *step_name;	  /* owned by the caller: gp_steps_name; NULL: none */
	struct gp_places *places; /* replay_places.h; NULL: none */
	void (*close_places)(struct gp_places *places);
	struct gp_kept *kept; /* analyze/kept.h; NULL: nothing */
	void (*close_kept)(struct gp_kept *kept);
};

/* Like gp_recording_next, without copying: NULL at the end or on failure (*status). */
const struct gp_record *gp_recording_step(struct gp_recording *recording, uint32_t *thread,
					  enum gp_status *status);
/* Fills in what gp_recording_next returns for a record that was just applied. */
void gp_recording_event(const struct gp_recording *recording, uint32_t thread,
			const struct gp_record *record, struct gp_event *out);
/* The two halves of gp_recording_step, for callers that need the state before the event. */
const struct gp_record *gp_recording_fetch(struct gp_recording *recording, uint32_t *thread,
					   enum gp_status *status);
enum gp_status gp_recording_apply(struct gp_recording *recording, const struct gp_record *record);
/* As gp_recording_fetch, but NULL and GP_OK between two segments and after a restart. */
const struct gp_record *gp_recording_fetch_here(struct gp_recording *recording, uint32_t *thread,
						enum gp_status *status);
/* The number of the next MEMORY event, if none is missing. */
uint64_t gp_recording_next_order(const struct gp_recording *recording);

/*
 * Events may be that much out of order: a thread may lose the processor between taking its number
 * and reading the clock.
 */
#define GP_UNEVEN_NS 100000000
/* The time at which the segment began. */
int64_t gp_segment_ns(const struct gp_recording *recording, size_t segment);

/* ---- seek.c: starting near a moment ---- */

/*
 * The newest segment at which a replay can start, and which, with its checkpoint, began at or
 * before this order or moment. Else the first kept segment.
 */
size_t gp_segment_by_order(const struct gp_recording *recording, uint64_t order);
size_t gp_segment_by_time(const struct gp_recording *recording, int64_t at_ns);
/* The same for a number of events of a whole replay. Call gp_recording_info before. */
size_t gp_segment_by_event(const struct gp_recording *recording, uint64_t events);
/*
 * Rewinds to that segment, or to an earlier one whose checkpoint can be read. Earlier events are
 * treated as overwritten until gp_recording_unseek, or until the recording's owner overwrites the
 * segment.
 */
enum gp_status gp_recording_seek(struct gp_recording *recording, size_t segment);
/* Rewinds to the first kept segment. */
enum gp_status gp_recording_unseek(struct gp_recording *recording);
/* Keeps the state and the definitions. The next rewind starts at the first kept segment. */
void gp_recording_stop(struct gp_recording *recording);
/* Reads the last segment only, and stops. All definitions are known, as after a whole replay. */
enum gp_status gp_recording_end(struct gp_recording *recording);

/* Events lost from the start to the current event: memory, launch, other, nested. */
uint64_t gp_recording_lost(const struct gp_recording *recording, unsigned which);

/* ---- follow.c: reading on in a recording that is being written ---- */

/* Rewinds to the newest checkpoint. */
enum gp_status gp_follow_begin(struct gp_recording *recording);
/*
 * After the end of a replay: makes gp_recording_step return what was written since. Returns to the
 * newest checkpoint if the job overwrote the place of the replay. Sets is_running.
 */
enum gp_status gp_follow_more(struct gp_recording *recording);

/* ---- info.c ---- */

/*
 * Sets the info to the state of the replay, in place, without figures of the kept events. From now
 * on gp_recording_info returns it as it is.
 */
void gp_info_set_now(struct gp_recording *recording);

/* ---- stored_names.c, stack_frames.c, unnamed.c: names of native frames ---- */

/*
 * Reads the stored names of the recording, once. Damaged names are dropped, and naming.damage
 * describes the damage. GP_E_MEMORY.
 */
enum gp_status gp_recording_load_names(struct gp_recording *recording);
/* With the stored names and all modules that were read so far. NULL: out of memory. */
struct gp_symbolizer *gp_recording_symbolizer(struct gp_recording *recording);

/* ---- ring_file.c: rings of other processes ---- */

struct gp_ring_file {
	int fd;
	uint64_t bytes;
	uint32_t rings;
	uint16_t place[GP_RINGS_MAX]; /* the place in the file of each ring */
	struct gp_control *control;   /* the whole file, mapped */
	char path[512];
};

enum gp_owner {
	GP_OWNER_ALIVE,
	GP_OWNER_DEAD,
	GP_OWNER_INHERITED, /* dead, and another process is adopting its events */
	GP_OWNER_UNKNOWN,
};

/* Opens and maps a ring file of this user. GP_E_NOT_RECORDING: it is not a complete ring file. */
enum gp_status gp_ring_file_open(const char *path, bool is_writable, struct gp_ring_file *out);
void gp_ring_file_close(struct gp_ring_file *file);
struct gp_ring *gp_ring_file_ring(const struct gp_ring_file *file, uint32_t index);
enum gp_owner gp_ring_file_owner(const struct gp_ring_file *file);
/* True: the process that writes this recording lives, as far as its ring file shows it. */
bool gp_ring_file_is_written(const struct gp_file_header *header);
/* True: its ring file belongs to another user, so its state is unknown. */
bool gp_ring_file_is_anothers(const struct gp_file_header *header);
/*
 * Waits, at most one second, until the recording has an out-of-memory event that its process is to
 * write at once, and all events before it.
 */
void gp_ring_file_await(const struct gp_file_header *header);
/*
 * For such a recording: the lowest number of a MEMORY event that it does not have yet. The event
 * may be in a ring or not begun. UINT64_MAX: unknown. Call it before reading the file.
 */
uint64_t gp_ring_file_unwritten(const struct gp_file_header *header);
/* The same, and where its process writes next. False: it does not live. */
bool gp_ring_file_position(const struct gp_file_header *header, uint64_t *unwritten,
			   uint64_t *written);
uint64_t gp_clock_read(clockid_t clock);
/* Field 22 of its /proc/PID/stat. False: it ended or is a zombie. */
bool gp_process_start(unsigned pid, uint64_t *start);
/* True: the process shares our pid namespace, so its pid and paths are valid here. */
bool gp_is_own_namespace(const struct gp_control *control);
/*
 * Calls `visit` with the path of each file named like a ring file, in every ring place and in
 * `also` (may be NULL).
 */
void gp_ring_file_visit(const char *also, void (*visit)(void *context, const char *path),
			void *context);

/* ---- adopt.c: the events that a dead process left in one ring file ---- */

struct gp_adopted {
	uint64_t events;
	const char *recording; /* the recording that got or should get the events */
	int error;	       /* errno of open(2); 0: none */
	bool is_nowhere;       /* there is no such recording at its path */
};
/* True: the header refers to these rings, or to none yet. */
bool gp_is_recording_of(const struct gp_file_header *header, const struct gp_ring_file *rings);
/*
 * The caller holds the ring file's lock. `moved_to` (may be NULL): a recording of these rings. It
 * is used if its old path has none.
 */
enum gp_status gp_adopt_ring_file(struct gp_ring_file *rings, const char *moved_to,
				  struct gp_adopted *out);

#endif
