/*
 * The interface for hooks: enter, reserve, fill, commit, leave. Inline fast halves; slow halves in
 * recorder.c. Runs in the target: DESIGN 3 has the rules that every line here obeys. Must not
 * include interpose/.
 *
 *	if (!gp_enter())			// nested, off or not recording
 *		return real(...);
 *	result = real(...);
 *	struct gp_record *r = gp_reserve(GP_ALLOC);
 *	if (r) {				// NULL: lost, and counted
 *		r->alloc.address = ...;
 *		gp_commit_memory(r);
 *	}
 *	gp_leave();
 */
#ifndef GP_RECORD_H
#define GP_RECORD_H

#include <stddef.h>

#include "../format/layout.h"
#include "../format/stack_events.h"
#include "hot.h"
#include "native/native_bounds.h"
#include "process/clock.h"
#include "process/thread_memory.h"

/*
 * Bursts (ranges, the uses of one launch) outrun a smaller distance. On an H200's host a push or
 * pop of NVTX took 42 ns at 4, 37 at 16, 34 at 32. These are means of 7, 7 and 3 runs, each between
 * 31 and 48. There a launch-bound step slowed by 0.88% without a prefetch, by 0.53% with a distance
 * of four.
 */
#define GP_SLOTS_AHEAD 16u

/* Queries of one object that follow each other and were all answered "not ready". */
struct gp_poll {
	uint64_t handle;
	uint64_t began, last; /* moments of the first and the last answer */
	uint64_t head;	      /* the thread's: another event came in between if it differs */
	uint64_t closed;      /* the thread's head after the WAIT of the last loop; 0: none */
	uint32_t queries;     /* 0: no loop */
	uint32_t quick;	      /* of these, made at once after the one before */
	uint32_t stack;
	uint8_t kind, device; /* enum gp_call */
	bool is_long;	      /* will be recorded; stack and device are set */
};

/*
 * A thread's own state: initial-exec TLS, at most 512 bytes in all. The first line has all that a
 * recorded event needs.
 */
struct gp_thread {
	_Alignas(64) uint64_t inside; /* gp_here() of the wrapper's frame that records; 0: none */
	struct gp_ring *ring;	      /* NULL: none yet, or not recording */
	uint64_t head;		      /* own copy of ring->head */
	uint64_t limit; /* reserve is fast while head < limit; at the limit thread_ring.c decides */
	uint32_t word;	/* gp_local->word of this state */
	uint16_t level; /* enum gp_level in force for this thread */
	uint16_t stacks;	/* enum gp_stack_on: which events have a stack */
	uint32_t device_epoch;	/* interpose's: see context.h */
	uint32_t stream_device; /* interpose's: of the last stream looked up */
	uint64_t stream, stream_epoch;

	struct gp_record *slots; /* of the region of the ring that is in use */
	uint32_t mask;		 /* number of these slots, less one */
	uint16_t ring_index;
	uint8_t region;
	uint64_t context; /* interpose's: current CUcontext, 0 unknown */
	/* order of this thread's last FREE or UNMAP, which free_failed undoes */
	uint64_t last_free_order;
	uint32_t generation;	    /* gp_recorder.generation that `ring` belongs to */
	bool is_drain;		    /* the recorder's own thread */
	bool has_lost_ranges;	    /* there was no memory for `ranges` when a range began */
	uint16_t is_ring_requested; /* counted in gp_recorder.rings_requested */
	uint16_t ends;		    /* rounds of destructors that called the recorder */
	uint16_t is_end_reported;   /* recorder.c's: glibc has room for the value of our key */
	uint32_t launches_bare;	    /* how many of the next launches get no stack: stack_take.h */
	uint64_t retry_ns;	    /* without a ring: when to request one again */
	struct gp_stack_memo *memo; /* stack_take.c's */
	struct gp_thread_pieces pieces; /* for its memos of stacks */
	struct gp_range_thread *ranges; /* range_mark.c's; a forked child keeps it */
	struct gp_native_bounds bounds; /* left_behind.c's: bounds of the thread's own stack */
	struct gp_poll poll;		/* poll_loop.h's */
};
extern _Thread_local struct gp_thread gp_thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/*
 * gp_local->word: enum gp_level in its lowest bits, whether it is outside of the captured spans,
 * and a number that every change increases.
 */
#define GP_WORD_OUTSIDE 4u
#define GP_WORD_NEVER 0xffffffffu /* of no process: makes the thread check again */
#define GP_WORD_CHANGE 8u
GP_HOT uint32_t gp_word_level(uint32_t word)
{
	return word & 3;
}
GP_HOT bool gp_word_is_outside(uint32_t word)
{
	return (word & GP_WORD_OUTSIDE) != 0;
}
GP_HOT uint32_t gp_word_changes(uint32_t word)
{
	return word / GP_WORD_CHANGE;
}
GP_HOT uint32_t gp_word_next(uint32_t word, uint32_t level, bool is_outside)
{
	return (gp_word_changes(word) + 1) * GP_WORD_CHANGE | (is_outside ? GP_WORD_OUTSIDE : 0) |
	       level;
}

/*
 * A page of its own with MADV_WIPEONFORK: word is 0 in a new child, and changes with every change
 * of level.
 */
#define GP_LEAVERS 64u
/* gp_local.gpu_tid */
enum gp_gpu_thread { GP_THREAD_GPU_TIME, GP_THREAD_COUNTERS, GP_GPU_THREADS };
struct gp_local {
	_Atomic uint32_t word;
	_Atomic uint32_t is_starting; /* a thread starts, or has started, this process's recorder */
	_Atomic uint32_t drain;	      /* enum gp_drain_state */
	_Atomic uint32_t creator;     /* tid of the thread that creates the drain thread */
	_Atomic uint32_t has_called_started; /* gp_recorder_started has been called */
	_Atomic uint32_t
		starts_written; /* enum gp_starts_written: state of the list of open ranges */
	_Atomic uint32_t are_facts_recorded; /* interpose's: facts about the framework */
	_Atomic uint32_t has_control;	     /* gp_control exists: losses.c */
	/* futex: incremented to wake a drain thread that does not run yet */
	_Atomic uint32_t calls;
	_Atomic uint32_t drain_tid;
	_Atomic uint32_t leaver;	      /* tid of the thread that left last: last_thread.c */
	_Atomic uint32_t left;		      /* number of threads that left */
	_Atomic uint32_t leavers[GP_LEAVERS]; /* the latest of them */
	_Atomic uint32_t job_end;	      /* enum gp_job_end */
	_Atomic uint32_t has_gpu_time;	      /* interpose's: this process collects GPU time */
	/* threads that collect GPU time and counters; 0: none */
	_Atomic uint32_t gpu_tid[GP_GPU_THREADS];
};
/* The main thread ended alone. Then the last thread is about to end, or has ended unseen. */
enum gp_job_end { GP_JOB_RUNS, GP_JOB_MAIN_ENDED, GP_JOB_LAST_ENDS, GP_JOB_ENDED };
enum gp_drain_state { GP_DRAIN_UNBORN, GP_DRAIN_BEING_BORN, GP_DRAIN_BORN, GP_DRAIN_STILLBORN };
enum gp_starts_written { GP_STARTS_UNWRITTEN, GP_STARTS_WRITTEN, GP_STARTS_STOPPED };
extern struct gp_local *gp_local GP_HOT_DATA __attribute__((visibility("hidden")));
extern struct gp_control *gp_control GP_HOT_DATA __attribute__((visibility("hidden")));
/* 1: launches are scanned, copies and fills recorded; changed by the drain thread only */
extern _Atomic uint32_t gp_uses_requested GP_HOT_DATA __attribute__((visibility("hidden")));

/* Slow halves. All of them keep errno. */
GP_COLD bool gp_enter_slow(enum gp_level least);
GP_COLD struct gp_record *gp_reserve_slow(enum gp_kind kind, unsigned slots);
/* One slot for a kind without an order number: it keeps `time`, however long it had to wait. */
GP_COLD struct gp_record *gp_reserve_slow_at(enum gp_kind kind, uint64_t time);
/*
 * left_behind.c: decides about a thread that is inside a wrapper already. True: a jump left that
 * wrapper. Its event counts as lost, and the new entry is the outermost. False: the new call is a
 * part of the outer one, or it comes from a signal handler and counts as lost. `here`: of the new
 * entry.
 */
GP_COLD bool gp_was_left_behind(uint64_t here);

/*
 * Gets all that this thread committed into the file within one turn of the drain thread, which is
 * woken. For events after which a job may end, and for which readers wait. Costs a system call. If
 * the rings do not survive the process, the thread itself waits, within the limits of drain_wait.c.
 */
GP_COLD void gp_flush_soon(void);

/*
 * The frame of the function that this is inlined into, as one word that is stored at once. It has
 * the address of the return address (48 bits), and the lowest 16 bits of the return address. While
 * the frame lives, the return address is there. Never 0.
 */
#define GP_HERE_BITS 48u
GP_HOT uint64_t gp_here(void)
{
	const uint64_t at = (uintptr_t)__builtin_dwarf_cfa() - 8;
	return at | (uint64_t)(uintptr_t)__builtin_return_address(0) << GP_HERE_BITS;
}

/*
 * True: outermost call, recording at level `least` or higher; the caller must call gp_leave().
 * False: do not record.
 */
GP_HOT bool gp_enter_level(enum gp_level least)
{
	struct gp_thread *t = &gp_thread;
	if (gp_unlikely(t->inside != 0) && !gp_was_left_behind(gp_here()))
		return false;
	if (gp_unlikely(t->word != atomic_load_explicit(&gp_local->word, memory_order_relaxed)) &&
	    !gp_enter_slow(least))
		return false;
	if (gp_unlikely(t->level < (uint32_t)least))
		return false;
	t->inside = gp_here();
	/* a signal handler of the job that calls the driver from here on must find it set */
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

/* Also while it is being set: a thread that continues reads a word that was stored after it. */
GP_HOT void gp_expect_order(void)
{
	uintptr_t at = (uintptr_t)__atomic_load_n(&gp_control, __ATOMIC_RELAXED) +
		       offsetof(struct gp_control, next_order);
	__builtin_prefetch((const void *)at, 1);
}

/* An event of this thread follows soon: prefetches the lines that it writes. */
GP_HOT void gp_expect(void)
{
	const struct gp_thread *t = &gp_thread;
	gp_expect_order();
	__builtin_prefetch(&t->slots[t->head & t->mask], 1);
	__builtin_prefetch(t->memo);
}

/*
 * For everything but launches. Most such events take an order number. A locked instruction begins
 * to fetch its line only when all earlier ones are done, so the line is prefetched here. (NULL
 * before the first event: a prefetch never faults.)
 */
GP_HOT bool gp_enter(void)
{
	gp_expect_order();
	return gp_enter_level(GP_LEVEL_MEMORY);
}

/* For launches, which `ctl stop` and GPUPROF_LAUNCHES=off switch off. */
GP_HOT bool gp_enter_launch(void)
{
	return gp_enter_level(GP_LEVEL_ALL);
}

GP_HOT void gp_leave(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	gp_thread.inside = 0;
}

/* Folds to a constant if the kind is constant. */
GP_HOT bool gp_takes_order(enum gp_kind kind)
{
	switch (kind) {
#define EVENT(id, NAME, name, CLASS, aux, v0, v1, v2, v3) \
	case GP_##NAME:                                   \
		return GP_CLASS_##CLASS == GP_CLASS_MEMORY;
#include "../format/events.def"
#undef EVENT
	}
	return false;
}

/*
 * The one atomic of the path. Taken before the record is written: a locked instruction waits for
 * the stores before it. Relaxed, because it orders only itself; the head publishes the record.
 */
GP_HOT uint64_t gp_take_order(enum gp_kind kind)
{
	return gp_takes_order(kind) ?
		       atomic_fetch_add_explicit(&gp_control->next_order, 1, memory_order_relaxed) :
		       0;
}

/*
 * One zeroed slot with time and kind set. NULL: the ring is full and the wait was in vain (counted
 * as lost). The drain thread does not see it before its commit. A reservation of a MEMORY kind has
 * its order number and must be committed; others may be abandoned at no cost. The caller took
 * `time`, which is not before that of the thread's last record.
 */
GP_HOT struct gp_record *gp_reserve_at(enum gp_kind kind, uint64_t time)
{
	struct gp_thread *t = &gp_thread;
	if (gp_unlikely(t->head >= t->limit))
		return gp_takes_order(kind) ? gp_reserve_slow(kind, 1) :
					      gp_reserve_slow_at(kind, time);
	struct gp_record *r = &t->slots[t->head & t->mask];
	/*
	 * The drain read this line a turn ago, so another core holds it. It is prefetched a few
	 * events ahead and is ours by then. Neither the store nor the following atomic waits.
	 */
	__builtin_prefetch(&t->slots[(t->head + GP_SLOTS_AHEAD) & t->mask], 1);
	uint64_t order = gp_take_order(kind);
	*r = (struct gp_record){ .time = time, .order = order, .kind = (uint16_t)kind };
	return r;
}

GP_HOT struct gp_record *gp_reserve(enum gp_kind kind)
{
	return gp_reserve_at(kind, gp_clock_now());
}

/* Publishes a MEMORY record. Returns its order. */
GP_HOT uint64_t gp_commit_memory(struct gp_record *r)
{
	struct gp_thread *t = &gp_thread;
	uint64_t order = r->order;
	t->head++;
	/* partner: acquire load in load_heads */
	atomic_store_explicit(&t->ring->head, t->head, memory_order_release);
	return order;
}

/* Publishes a record of any other class. */
GP_HOT void gp_commit(struct gp_record *r)
{
	struct gp_thread *t = &gp_thread;
	/* its place among the memory events: as of now, no thread waits for it */
	r->order = atomic_load_explicit(&gp_control->next_order, memory_order_relaxed);
	t->head += 1u + r->extra;
	/* partner: acquire load in load_heads */
	atomic_store_explicit(&t->ring->head, t->head, memory_order_release);
}

/*
 * A whole event: reserved, copied and committed. `event` has its kind, which should be a constant,
 * and its fields. False: lost, and counted.
 */
GP_HOT bool gp_put(struct gp_record event)
{
	struct gp_record *r = gp_reserve((enum gp_kind)event.kind);
	if (gp_unlikely(!r))
		return false;
	event.time = r->time;
	event.order = r->order;
	*r = event;
	if (gp_takes_order((enum gp_kind)event.kind))
		gp_commit_memory(r);
	else
		gp_commit(r);
	return true;
}

/*
 * A DEFINE record with text (truncated at GP_TEXT_MAX): reserved, copied and committed. `record`
 * has kind and fields. False: no room; counted as lost. Slow half only.
 */
bool gp_define(const struct gp_record *record, const char *text, size_t text_bytes);
/*
 * A FACT of the process, without a device. `text`: NULL, or with a final NUL. Otherwise as
 * gp_define.
 */
bool gp_define_fact(enum gp_fact key, uint64_t value, const char *text);

/* Counts one event that found no room anywhere. Call inside. */
GP_COLD void gp_count_lost(enum gp_kind kind);
/*
 * True if this thread's end calls the function that frees its memory. False also if finding out
 * might call the job's calloc. Slow half only.
 */
bool gp_thread_end_is_reported(void);

/*
 * Zeroed memory that forked children keep; NULL: none. Its pages are provided when touched, even if
 * the job locks its memory: they stay unlocked.
 */
void *gp_pages_inherited(size_t bytes);

/* ---- what interpose/ reports to the recorder ---- */

/*
 * For the constructor: reads the environment; starts no thread, opens no file. False: GPUPROF=off,
 * another program's name, or out of memory.
 */
bool gp_recorder_init(void);
/*
 * The driver has just made a context, so the caller holds no lock that the job's allocator needs.
 * Creates the drain thread if the process has none. Keeps errno.
 */
GP_COLD void gp_recorder_prepare_slow(void);
GP_HOT void gp_recorder_prepare(void)
{
	if (gp_unlikely(atomic_load_explicit(&gp_local->drain, memory_order_relaxed) ==
			GP_DRAIN_UNBORN))
		gp_recorder_prepare_slow();
}
/* Destructor: final drain, bounded wait. */
void gp_recorder_end(void);
/*
 * Called once, before the first event of a process (or forked child) is committed, on its thread,
 * which is inside.
 */
extern void (*gp_recorder_started)(void);
/*
 * Called before the recorder ends, by the destructor, or by the last thread of the job or the drain
 * thread if no other thread lives. Ends the threads `gp_local->gpu_tid`. NULL: nothing collects.
 */
extern void (*gp_recorder_ending)(void);
/*
 * Prints a line on stderr at most once (GPUPROF_VERBOSE, or is_important). Signal-safe, keeps
 * errno.
 */
void gp_log(bool is_important, const char *text, const char *subject);

#endif
