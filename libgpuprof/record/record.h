/*
 * What hooks may use: enter, reserve, fill, commit, leave. Inline fast halves; slow halves in
 * recorder.c. Lives in the target: see DESIGN 3 for the rules that every line here obeys. Must not
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
 * Bursts (ranges, the uses of one launch) outrun fewer: on an H200's host a push or pop of NVTX
 * took 42 ns at 4, 37 at 16, 34 at 32 (means of 7, 7 and 3 runs, each between 31 and 48).
 * There a launch-bound step slowed by 0.88% without a prefetch, by 0.53% with the fourth ahead.
 */
#define GP_SLOTS_AHEAD 16u

/*
 * A thread's own state: initial-exec TLS, at most 512 bytes in all. The first line is what a
 * recorded event needs.
 */
struct gp_thread {
	_Alignas(64) uint64_t inside; /* which frame of ours records: gp_here(); 0: none */
	struct gp_ring *ring;	      /* NULL: none yet, or not recording */
	uint64_t head;		      /* own copy of ring->head */
	uint64_t limit;	 /* reserve is fast while head < limit; behind it thread_ring.c looks */
	uint32_t word;	 /* gp_local->word that this state was made for */
	uint16_t level;	 /* enum gp_level in force for this thread */
	uint16_t stacks; /* enum gp_stack_on: which events have one */
	uint32_t device_epoch;	/* interpose's: see context.h */
	uint32_t stream_device; /* interpose's: of the last stream looked up */
	uint64_t stream, stream_epoch;

	struct gp_record *slots; /* of the region of the ring that is in use */
	uint32_t mask;		 /* how many these are, less one */
	uint16_t ring_index;
	uint8_t region;
	uint64_t context; /* interpose's: current CUcontext, 0 unknown */
	/* order of this thread's last FREE, UNMAP: what free_failed undoes */
	uint64_t last_free_order;
	uint32_t generation;	    /* gp_recorder.generation that `ring` belongs to */
	bool is_drain;		    /* the recorder's own thread */
	bool has_lost_ranges;	    /* there was no memory for `ranges` when one began */
	uint16_t is_ring_wanted;    /* counted in gp_recorder.rings_wanted */
	uint16_t ends;		    /* rounds of destructors that have called us */
	uint16_t is_end_told;	    /* recorder.c's: glibc has room for our key's value */
	uint32_t launches_bare;	    /* how many launches are next without a stack: stack_take.h */
	uint64_t retry_ns;	    /* no ring: when to ask for one again */
	struct gp_stack_memo *memo; /* stack_take.c's */
	struct gp_thread_pieces pieces; /* of its memos of stacks */
	struct gp_range_thread *ranges; /* range_mark.c's; a forked child keeps it */
	struct gp_native_bounds bounds; /* left_behind.c's: of the thread's own stack */
};
extern _Thread_local struct gp_thread gp_thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/*
 * gp_local->word: enum gp_level in its lowest bits, whether that is outside of what is captured,
 * and a number that every change raises.
 */
#define GP_WORD_OUTSIDE 4u
#define GP_WORD_NEVER 0xffffffffu /* of no process: the thread looks again */
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
 * A page of its own with MADV_WIPEONFORK: word is 0 in a fresh child, else changes with every
 * change of level.
 */
#define GP_LEAVERS 64u
struct gp_local {
	_Atomic uint32_t word;
	_Atomic uint32_t is_starting; /* a thread starts, or has started, this process's recorder */
	_Atomic uint32_t drain;	      /* enum gp_drain_state */
	_Atomic uint32_t creator;     /* tid of who creates the drain thread */
	_Atomic uint32_t is_told;     /* gp_recorder_started has been called */
	_Atomic uint32_t starts_told; /* enum gp_starts_told: of ranges that are open */
	_Atomic uint32_t
		is_tier_said;	      /* interpose's: the framework's reports have been announced */
	_Atomic uint32_t has_control; /* gp_control is there: losses.c */
	_Atomic uint32_t calls;	      /* futex: bumped to wake a drain thread that does not run */
	_Atomic uint32_t drain_tid;
	_Atomic uint32_t leaver;	      /* tid of the thread that left last: last_thread.c */
	_Atomic uint32_t left;		      /* how many have */
	_Atomic uint32_t leavers[GP_LEAVERS]; /* the latest */
	_Atomic uint32_t job_end;	      /* enum gp_job_end */
};
/* The main thread ended alone. Then the last thread is about to end, or has ended unseen. */
enum gp_job_end { GP_JOB_RUNS, GP_JOB_MAIN_ENDED, GP_JOB_LAST_ENDS, GP_JOB_ENDED };
enum gp_drain_state { GP_DRAIN_UNBORN, GP_DRAIN_BEING_BORN, GP_DRAIN_BORN, GP_DRAIN_STILLBORN };
enum gp_starts_told { GP_STARTS_UNTOLD, GP_STARTS_TOLD, GP_STARTS_STOPPED };
extern struct gp_local *gp_local GP_HOT_DATA __attribute__((visibility("hidden")));
extern struct gp_control *gp_control GP_HOT_DATA __attribute__((visibility("hidden")));
/* 1: launches are scanned, copies and fills recorded; the drain thread's to change */
extern _Atomic uint32_t gp_uses_wanted GP_HOT_DATA __attribute__((visibility("hidden")));

/* Slow halves. errno is kept by all of them. */
GP_COLD bool gp_enter_slow(enum gp_level least);
GP_COLD struct gp_record *gp_reserve_slow(enum gp_kind kind, unsigned slots);
/*
 * left_behind.c: the thread is inside a wrapper already. True: no longer, a jump left it; its event
 * is counted as lost, and the new entry is the outermost. False: the new call is a part of the
 * outer one, or it comes from a signal handler and is counted as lost. `here`: of the new entry.
 */
GP_COLD bool gp_was_left_behind(uint64_t here);

/*
 * What this thread committed is in the file within one turn of the drain thread, which is woken:
 * for events after which a job may end. Readers wait for it. Costs a system call; where the rings
 * do not survive the process it waits itself, within the bounds of drain_wait.c.
 */
GP_COLD void gp_flush_soon(void);

/*
 * The frame of the function that this is inlined into, as one word that is stored at once: where
 * its return address lies (48 bits), and the lowest 16 bits of that address. As long as the frame
 * lives, the address stands there. Never 0.
 */
#define GP_HERE_BITS 48u
GP_HOT uint64_t gp_here(void)
{
	const uint64_t at = (uintptr_t)__builtin_dwarf_cfa() - 8;
	return at | (uint64_t)(uintptr_t)__builtin_return_address(0) << GP_HERE_BITS;
}

/*
 * True: outermost, recording at least at `least`, and the caller must gp_leave(). False: do nothing
 * more.
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

/* Also while it is being set: who goes on read a word that was stored behind it. */
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
 * For everything but launches. Most of it takes an order number, and a locked instruction begins to
 * fetch its line only when all before it is done: the line is prefetched here. (NULL before the
 * first event: a prefetch never faults.)
 */
GP_HOT bool gp_enter(void)
{
	gp_expect_order();
	return gp_enter_level(GP_LEVEL_MEMORY);
}

/* For launches, which `ctl stop` and GPUPROF_LAUNCHES=off leave out. */
GP_HOT bool gp_enter_launch(void)
{
	return gp_enter_level(GP_LEVEL_ALL);
}

/* For what is recorded only as a use of memory. */
GP_HOT bool gp_enter_uses(void)
{
	return gp_unlikely(atomic_load_explicit(&gp_uses_wanted, memory_order_relaxed) != 0) &&
	       gp_enter_level(GP_LEVEL_ALL);
}

GP_HOT void gp_leave(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	gp_thread.inside = 0;
}

/* Folds to a constant where the kind is one. */
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
 * the stores before it. Relaxed, as it orders nothing but itself: what is published is published by
 * the head.
 */
GP_HOT uint64_t gp_take_order(enum gp_kind kind)
{
	return gp_takes_order(kind) ?
		       atomic_fetch_add_explicit(&gp_control->next_order, 1, memory_order_relaxed) :
		       0;
}

/*
 * One slot, zeroed, with time and kind filled in; NULL when the ring is full and the wait was in
 * vain (counted as lost). Nothing is visible to the drain thread until it is committed; a
 * reservation of a MEMORY kind has its order number and must be committed, an abandoned one of any
 * other costs nothing. `time` was taken by the caller and is not before that of the
 * thread's last record.
 */
GP_HOT struct gp_record *gp_reserve_at(enum gp_kind kind, uint64_t time)
{
	struct gp_thread *t = &gp_thread;
	if (gp_unlikely(t->head >= t->limit))
		return gp_reserve_slow(kind, 1);
	struct gp_record *r = &t->slots[t->head & t->mask];
	/*
	 * The drain read this line a round ago, so another core holds it: prefetched a few events
	 * ahead, it is ours by then, and neither the store nor the atomic behind it waits.
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
	/* where it would lie among the memory events: as of now, no thread waits for it */
	r->order = atomic_load_explicit(&gp_control->next_order, memory_order_relaxed);
	t->head += 1u + r->extra;
	/* partner: acquire load in load_heads */
	atomic_store_explicit(&t->ring->head, t->head, memory_order_release);
}

/*
 * An event whole: reserved, copied and committed. `event` has its kind, which should be a constant,
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
 * A DEFINE record with text (cut at GP_TEXT_MAX), reserved, copied and committed. `record` gives
 * kind and fields. False: no room, and counted as lost. Slow half only.
 */
bool gp_define(const struct gp_record *record, const char *text, size_t text_bytes);
/* A FACT of the process, of no device. `text`: NULL, or closed by a NUL. As gp_define. */
bool gp_define_fact(enum gp_fact key, uint64_t value, const char *text);

/* One event that found no room anywhere. Inside. */
GP_COLD void gp_count_lost(enum gp_kind kind);
/*
 * Has this thread's end call what gives its memory back? False also where to ask for that might
 * call the job's calloc. Slow half only.
 */
bool gp_thread_end_is_told(void);

/*
 * Zeroed memory that forked children keep; NULL: there is none. Its pages appear as they are
 * touched, also where the job locks its memory: they are not locked.
 */
void *gp_pages_inherited(size_t bytes);

/* ---- what interpose/ reports to the recorder ---- */

/*
 * Constructor: reads the environment, no thread, no file. `is_on` false: GPUPROF=off or another
 * program's name.
 */
bool gp_recorder_init(void);
/*
 * The driver has just made a context, so the caller holds no lock that the job's allocator needs:
 * creates the drain thread where the process has none. Keeps errno.
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
 * Called once, before the first event of a process (also of a forked child) is committed, on its
 * thread, which is inside.
 */
extern void (*gp_recorder_started)(void);
/*
 * Prints a line on stderr at most once (GPUPROF_VERBOSE, or is_important). Signal-safe, keeps
 * errno.
 */
void gp_say(bool is_important, const char *text, const char *subject);

#endif
