/*
 * The recorder's own state, shared by the files of record/: by the producers' slow halves and the
 * drain thread. One per process; a forked child starts from zero. Not for interpose/.
 */
#ifndef GP_RECORDER_H
#define GP_RECORDER_H

#include "../state/live.h"
#include "../state/open_ranges.h"
#include "../state/stack_define.h"
#include "drain/file_write.h"
#include "process/settings.h"
#include "record.h"

/* The drain thread's state of a ring. */
struct gp_ring_view {
	struct gp_ring *ring;
	struct gp_record *slots[GP_RING_REGIONS]; /* NULL: does not exist yet */
	_Atomic uint32_t regions;		  /* number of existing regions */
	_Atomic uint32_t is_growth_requested;	  /* set by its thread */
	_Atomic uint32_t is_growth_refused;	  /* for one second */
	bool is_shared;
	uint64_t seen; /* slots [tail, seen) are applied, not yet written */
	uint64_t head; /* as last loaded */
	/* order of the first MEMORY record at or after seen; UINT64_MAX: none yet */
	uint64_t next_order;
	/* MONOTONIC_RAW when the oldest unwritten slot was seen; 0: nothing pending */
	uint64_t pending_ns;
	bool has_late; /* some of [tail, seen) came after the cut of its segment */
};

/* The slots of one region, for loops: slots[position & mask], up to `end`. */
struct gp_run {
	struct gp_record *slots;
	uint64_t mask, end;
};

/* `position` must be before a head that was loaded earlier. */
static inline struct gp_run gp_view_run(const struct gp_ring_view *view, uint64_t position)
{
	const unsigned region = gp_ring_region(view->ring, position);
	return (struct gp_run){ .slots = view->slots[region],
				.mask = GP_REGION_SLOTS(region) - 1,
				.end = gp_region_end(view->ring, region) };
}

static inline struct gp_record *gp_view_slot(const struct gp_ring_view *view, uint64_t position)
{
	const unsigned region = gp_ring_region(view->ring, position);
	return &view->slots[region][position & (GP_REGION_SLOTS(region) - 1)];
}

/* Number of slots that are written at once: a block's worth, or half of the region. */
static inline uint32_t gp_region_much(unsigned region)
{
	const uint32_t half = GP_REGION_SLOTS(region) / 2;
	return half < GP_BLOCK_RECORDS ? half : GP_BLOCK_RECORDS;
}

struct gp_definition;
struct gp_definitions {
	unsigned char *arena;
	uint64_t used, room;
	uint32_t *index; /* open addressing, offset / 64 + 1 */
	uint64_t count;
	bool is_full;
};
#define GP_DEFINITIONS_BYTES \
	(8u << 20) /* the documented limit of definitions; pages are provided as they are used */
#define GP_DEFINITIONS_FIRST (256u << 10)
#define GP_DEFINITIONS_INDEX 65536u

/* Records to be written in a block of the recorder's own. */
struct gp_outgoing {
	struct gp_record *record; /* GP_BLOCK_RECORDS */
	uint64_t used;
	enum gp_block_type type;
};

struct gp_recorder {
	struct gp_file_writer writer;
	struct gp_live *live;
	struct gp_open_ranges *ranges;
	uint64_t ranges_unnamed, unnamed_written_ns; /* as recorded last, and when */
	struct gp_definitions definitions;
	struct gp_block_scratch *scratch;
	unsigned char *block; /* one encoded block */
	size_t block_capacity;
	struct gp_outgoing checkpoint, definition;
	struct gp_stack_define define; /* entry is NULL: stacks are off */
	uint64_t stacks_tended_ns, cut_written_ns;
	/* when a chunk of the table of stacks was refused; 0: none was */
	uint64_t chunk_refused_ns;
	uint64_t stacks_cut, modules_cut;	   /* as recorded last */
	const char *why_no_python, *why_no_native; /* as recorded last; NULL: there are frames */
	struct gp_module_watcher *modules;	   /* NULL: native frames are off */
	uint64_t expected;			   /* the next order number to apply */
	/* records with this number or a later one are left out; 0: none are */
	_Atomic uint64_t ends_before;
	uint64_t written_to; /* in ring 0: the position after the newest LOST */
	/* 1 + lowest order of events that no file has and no LOST counts; 0: none */
	uint64_t unwritten;
	uint64_t missing_since_ns; /* 0: not waiting for a number in flight */
	uint64_t segment_events;
	uint64_t sequence;	    /* of blocks with GP_THREAD_NONE */
	uint32_t snapshots_taken;   /* requests when the current snapshot began */
	uint64_t snapshot_until;    /* the order that it waits for */
	uint64_t snapshot_since_ns; /* 0: none is in progress */
	bool has_snapshot_mark;
	uint64_t flushes_taken; /* requests when the current or last flush began */
	uint64_t flush_until;	/* the order that it waits for */
	bool has_segment;
	bool has_news;		/* the last turn found new records */
	bool is_torn;		/* the running checkpoint lacks a block */
	uint64_t failed_before; /* control->failed_blocks when the segment began */
	/* when the header's losses were checked; when a segment was last retried */
	uint64_t header_ns, retried_ns;
	bool is_walking;       /* a checkpoint is being written in slices */
	uint32_t first_word;   /* the initial gp_local->word */
	bool is_scope_written; /* a SCOPE of this recording has its state */
	uint64_t scope_since;  /* ticks: the open span has no SCOPE yet */
	char name[1024];       /* expanded GPUPROF_OUTPUT, once is_named */
	_Atomic bool is_named;
	struct gp_clock_triple start;
	uint32_t generation; /* number of processes of this line of forks that recorded */
	char ring_path[256];
	int ring_fd, ring_dir_fd; /* -1: private, or closed */
	struct gp_file_id ring_id, ring_dir_id;
	/* the ring place is full: further rings are private memory */
	_Atomic bool is_full;
	/* the job's message queues are in this thread's table and must stay open */
	bool has_queues;
	bool is_private; /* rings in private memory: they do not survive a SIGKILL */
	_Atomic uint32_t threads;
	_Atomic uint32_t wake;	    /* futex: incremented to wake the drain thread */
	_Atomic uint32_t is_asleep; /* the drain thread waits for `wake` */
	_Atomic uint32_t progress;  /* futex: incremented after each turn */
	/* drain_wait.c's: since when threads wait for this turn; 0: none waits */
	_Atomic int64_t waited_since_ns;
	_Atomic int64_t waits_paid_ns;	      /* when they may wait for the full budget again */
	_Atomic uint32_t is_growth_requested; /* by a ring's thread */
	uint64_t budget;		      /* budget.c's, in bytes; headroom at the last check */
	uint64_t headroom, headroom_ns;
	uint64_t mappings,
		mapped_before; /* mappings that the limits left, and gp_pages_mapped at that time */
	uint64_t threads_bytes;		    /* gp_thread_memory() at the last check */
	uint64_t growth_refused_ns;	    /* the last refusal in force; 0: none */
	uint64_t ring_bytes;		    /* bytes of the rings' parts */
	_Atomic uint32_t rings_requested;   /* threads that wait for a ring now */
	_Atomic uint32_t rings_made;	    /* futex: increases when some of these get one */
	_Atomic uint32_t is_ring_requested; /* by a thread that does not wait */
	_Atomic uint32_t rings_from;	    /* a hint: where to search for a free one */
	uint64_t rings_swept_ns;	    /* time of the last search for dead threads */
	_Atomic uint32_t state;		    /* enum gp_recorder_state */
	_Atomic uint32_t is_ending;
	_Atomic bool is_out_of_rings;	/* the last requested ring could not be made */
	_Atomic uint64_t lost_early[3]; /* memory, launch, other: before the control page existed */
	/* last, and not wiped in a forked child: its size is that of many rings */
	struct gp_ring_view views[GP_RINGS_MAX];
	/* neither is this: by the constructor, in the process that ran it */
	uint64_t loaded_ticks;
	uint32_t loaded_pid;
};

enum gp_recorder_state {
	GP_RECORDER_NEW,
	GP_RECORDER_STARTING,
	GP_RECORDER_RUNNING,
	GP_RECORDER_FAILED,
	GP_RECORDER_ENDED
};

extern struct gp_recorder gp_recorder __attribute__((visibility("hidden")));

/* The constructor has run, and the settings select this process for recording. */
extern bool gp_recorder_is_initialised __attribute__((visibility("hidden")));

/* enter.c: called inside when a thread may begin to record; set by the constructor. */
extern void (*gp_thread_entered)(void) __attribute__((visibility("hidden")));

/* thread_key.c: `end` runs with a thread's state when that thread ends. False: no key is left. */
bool gp_thread_key_create(void (*end)(void *thread));

/* budget.c: how much memory the recorder may take. On the drain thread. */
void gp_budget_open(struct gp_recorder *recorder);
/* True if the tables mapped since then leave the job half of its limits' rest. */
bool gp_budget_leaves_half(const struct gp_recorder *recorder);
/*
 * For one more thread's ring, without which its memory events are lost. May exceed the budget as
 * long as the job's limits leave as much as the recorder has.
 */
bool gp_budget_may_begin(struct gp_recorder *recorder, uint64_t more);
/* For the growth of existing memory. Counted against the limits' rest when true. */
bool gp_budget_may_grow(struct gp_recorder *recorder, uint64_t more);
/* Once a turn, when stacks are on: sets how much threads may take from now on. */
void gp_budget_tend(struct gp_recorder *recorder);

/* ring_place.c: the shared file. On the drain thread. */
/* `first_word`: the initial gp_local->word, read before others can request another one. */
bool gp_ring_place_open(struct gp_recorder *recorder, uint32_t (*first_word)(struct gp_recorder *));
/* Adds one ring, free for a thread to take; false: no room. */
bool gp_ring_place_add(struct gp_recorder *recorder);
/* Adds the next region of a ring, for its producer to continue in; false: no room. */
bool gp_ring_place_grow(struct gp_recorder *recorder, struct gp_ring_view *view);
/* Adds one chunk for the table of stacks, in a ring's place. */
bool gp_ring_place_add_stacks(struct gp_recorder *recorder);
/*
 * Removes the file. If that fails (the job changed its user), only its first page stays. The next
 * recorder or reading command of the first user removes it.
 */
void gp_ring_place_close(struct gp_recorder *recorder);
/* Frees the rings' memory, and the file's if it is sealed; threads may still write there. */
void gp_ring_place_empty(struct gp_recorder *recorder);

/* ring_left.c: removes rings of other processes. `turn`: the drain thread's turn meanwhile. */
void gp_ring_left_clear(struct gp_recorder *recorder, bool (*turn)(struct gp_recorder *));

/*
 * ring_supply.c: once a turn. Makes as many rings as threads wait for, from dead threads' first.
 * Makes larger ones for threads that need them. True: some are still to be made.
 */
bool gp_rings_tend(struct gp_recorder *recorder);
/*
 * At a turn's end: wakes as many waiting threads as there are rings, or all if none can be made.
 */
void gp_rings_hand_out(struct gp_recorder *recorder);

/*
 * drain_wait.c: wakes the drain thread. Waits until `word` is not `seen`, or as long as the job's
 * threads may. False: they may not wait now; no system call was made.
 */
bool gp_wait_for_drain(_Atomic uint32_t *word, uint32_t seen);
/*
 * The same for one turn, without a share in that time. After a turn that does not come in a second,
 * no thread waits so for ten.
 */
bool gp_wait_apart(_Atomic uint32_t *word, uint32_t seen);
/* Waits until `is_done` or for `timeout_ns`; checks after each turn. Wakes the drain thread. */
bool gp_wait_for_turns(bool (*is_done)(void), uint64_t timeout_ns);
/* At a turn's end: wakes the threads that wait for it, and counts their time. */
void gp_wait_end(struct gp_recorder *recorder);

/*
 * thread_ring.c: a ring for thread `t`. Without a ring its events are lost and counted; it tries
 * again from time to time.
 */
void gp_thread_join(struct gp_thread *t, bool may_wait);
/* Call it if a jump, or the thread's end, may have interrupted gp_thread_join. */
void gp_thread_refuse_ring(struct gp_thread *t);

/* stack_housekeeping.c: once a turn, for stacks: room, modules, a message on missing frames. */
void gp_stacks_open(struct gp_recorder *recorder);
void gp_stacks_maintain(struct gp_recorder *recorder);

/* drain_start.c */
/* Constructor. `main` is what the drain thread runs. */
void gp_drain_init(void *(*main)(void *recorder));
/* This thread creates it and enters the recorder: the job's allocator called the driver. */
bool gp_drain_is_being_born_here(void);
/* Another thread may be creating it. False: there is none and never will be. */
bool gp_drain_await_birth(uint64_t timeout_ns);
/* is_starting was set: the first event has come. */
void gp_drain_call(void);
/* On the drain thread: all work before the first event. False: none will come. */
bool gp_drain_await_call(struct gp_recorder *recorder);

/* last_thread.c */
/*
 * The calling thread's last act, in the last round of destructors. Calls `end` if the recording
 * ends with the thread. Keeps errno.
 */
void gp_last_thread_leave(void (*end)(void));
/* On the drain thread. True: it must end, because no thread of the job will record. */
bool gp_job_is_over(void);
/* Its last act: if it is the last thread of all, exit runs on it. */
void gp_job_end_here(void);
/* Sleeps until gp_local->calls is not `seen`, or until gp_job_is_over must be called again. */
void gp_job_await_call(uint32_t seen);

/* own_descriptors.c: on the drain thread. */
void gp_own_descriptors(struct gp_recorder *recorder);
/*
 * The thread's last act. Does not return if the thread's end would close a descriptor that the job
 * needs.
 */
void gp_own_descriptors_keep(const struct gp_recorder *recorder);

/* drain.c */
void *gp_drain_main(void *recorder);
/*
 * drain_block.c: writes the slots [tail, seen) of ring `view`, or counts them as lost; frees the
 * slots.
 */
void gp_drain_flush(struct gp_recorder *recorder, struct gp_ring_view *view);
/* The same for all rings. */
void gp_drain_flush_all(struct gp_recorder *recorder);
/* drain_report.c: publishes a record of the recorder's own (ring 0). */
void gp_drain_write(struct gp_recorder *recorder, struct gp_record *record, const char *text);
/* The same for a FACT of the process. */
void gp_drain_write_fact(struct gp_recorder *recorder, enum gp_fact key, uint64_t value,
			 const char *text);

/*
 * snapshot.c: serves `gpuprof snapshot`. Call after each merge. True: another turn is due at once.
 */
bool gp_snapshot_tend(struct gp_recorder *recorder);

/*
 * flush.c: answers gp_flush_soon. Call before the heads are loaded. True: a flush is in progress.
 */
bool gp_flush_begin(struct gp_recorder *recorder);
/*
 * All events below `flush_until` are applied, and all applied ones are written. True: another turn
 * is due at once.
 */
bool gp_flush_end(const struct gp_recorder *recorder);

/* losses.c */
/* A loss before threads have rings: 0 memory, 1 launch, 2 other. Any thread. */
void gp_losses_early(unsigned which);
/* The control page exists now: losses so far and later ones survive a kill. */
void gp_losses_begin(struct gp_recorder *recorder);
/* 0 memory, 1 launch, 2 other */
static inline unsigned gp_loss_of(enum gp_kind kind)
{
	enum gp_class class = gp_event_infos[kind % GP_KINDS].class;
	return class == GP_CLASS_MEMORY ? 0 : class == GP_CLASS_LAUNCH ? 1 : 2;
}
/* `slots` slots from `tail` on were applied but could not be written. */
void gp_losses_unwritten(struct gp_recorder *recorder, const struct gp_ring_view *view,
			 uint64_t tail, uint64_t slots);
void gp_losses_write(struct gp_recorder *recorder);
/* Updates the recording's header, from time to time or if `is_end`. False: it cannot be written. */
bool gp_losses_keep(struct gp_recorder *recorder, bool is_end);
/* True if it is time to try a new segment after a failure. */
bool gp_losses_retry(struct gp_recorder *recorder);

/* segment.c: checkpoints and segment turns. */
/* Appends recorder->block to the segment. */
bool gp_segment_put(struct gp_recorder *recorder, size_t bytes);
bool gp_segment_open(struct gp_recorder *recorder); /* memory; false: none is left */
void gp_segment_close(struct gp_recorder *recorder);
bool gp_segment_begin(struct gp_recorder *recorder);
bool gp_segment_is_due(const struct gp_recorder *recorder);
bool gp_segment_turn(struct gp_recorder *recorder);
/* A slice of the running checkpoint. */
void gp_segment_slice(struct gp_recorder *recorder);
bool gp_segment_seal(struct gp_recorder *recorder);
/* Writes the definitions of stacks that these slots name and the segment lacks. */
void gp_segment_define(struct gp_recorder *recorder, const struct gp_ring_view *view, uint64_t from,
		       uint64_t slots);

/* definitions.c: meanings of handles and ids, kept to be repeated in each segment. */
bool gp_definitions_open(struct gp_definitions *definitions);
void gp_definitions_close(struct gp_definitions *definitions);
void gp_definitions_add(struct gp_definitions *definitions, const struct gp_record *record,
			const unsigned char *text);
void gp_definitions_visit(const struct gp_definitions *definitions,
			  void (*visit)(void *context, const struct gp_record *slots),
			  void *context);

/* futex.c */
void gp_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns);
#define GP_FUTEX_FOREVER (UINT64_MAX / 2)
void gp_futex_wake(_Atomic uint32_t *word);
/* Wakes threads that wait for a word that was already changed. */
void gp_futex_notify(_Atomic uint32_t *word);
void gp_futex_wake_some(_Atomic uint32_t *word, uint32_t most);
/* Sets a word of a shared page and wakes other processes that wait for it. */
void gp_futex_set_shared(_Atomic uint32_t *word, uint32_t value);

/*
 * print_message.c: the drain thread has no stderr of its own; its lines wait for the job's next
 * slow path.
 */
/* Constructor: notes which file stderr is. */
void gp_log_init(void);
/* True if the original stderr of the process is the file at `path`. */
bool gp_log_goes_to(const char *path);
void gp_log_errno(const char *text, const char *subject, int error);
/* The hint for the line that was just printed. */
void gp_log_hint(const char *hint);
void gp_log_pending(void);
/*
 * Prints why nothing is recorded; also for `gpuprof run`. `subject` may be NULL; error 0: no errno.
 */
void gp_log_refusal(const char *why, const char *subject, int error);

/*
 * second_name.c: reports the recording's name to `gpuprof run`, and on stderr if the requested name
 * was taken.
 */
void gp_name_write(const struct gp_file_writer *w);
/* When this process began, in kernel ticks since boot; 0: /proc does not show it. */
uint64_t gp_own_process_start(void);
/*
 * print_message.c: a line in the file that GPUPROF_LIST names, if `gpuprof run` started this
 * process. `what`: "" for the path of a recording, "failed: " if none could be made, "late: " if
 * one was not opened in time.
 */
void gp_list_add(const char *what, const char *text);

/*
 * As gp_pages_inherited, but not for children. Always a mapping, never malloc: any thread of the
 * recorder may call it at any time.
 */
void *gp_pages(size_t bytes);

#endif
