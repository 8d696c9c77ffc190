/*
 * The recorder in a process of the job: its constructor, the end of a thread and of the process.
 * Runs on the job's threads; every entry keeps errno.
 */
#include "recorder.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ranges/range_mark.h"
#include "ranges/scope.h"
#include "stacks/stack_take.h"

#define END_WAIT_NS 2000000000u

void (*gp_recorder_started)(void);

/* Records the state of the calling thread: before its first event, and after a change. */
static void write_thread(void)
{
	if (gp_recorder_started && atomic_exchange(&gp_local->has_called_started, 1) == 0)
		gp_recorder_started();
	gp_range_resumed();
	const uint32_t starts_written =
		atomic_exchange(&gp_local->starts_written, GP_STARTS_WRITTEN);
	if (starts_written != GP_STARTS_WRITTEN)
		gp_range_starts_write(starts_written == GP_STARTS_STOPPED);
}

/* ---- threads and processes end ---- */

static void end_thread(void *thread)
{
	struct gp_thread *t = thread;
	gp_range_thread_end(t);
	/* a forked child inherits the key and the value, but not the ring */
	const bool has_ring = t->ring && t->generation == gp_recorder.generation &&
			      atomic_load(&gp_local->word) != 0;
	struct gp_ring *ring = has_ring ? t->ring : NULL;
	gp_thread_refuse_ring(t);
	t->inside = gp_here(); /* for signal handlers all of it happens at once */
	atomic_signal_fence(memory_order_seq_cst);
	t->head = t->limit = 0;
	/* an event of a later destructor or of a handler takes a ring again */
	t->word = GP_WORD_NEVER;
	t->ring = NULL;
	gp_leave();
	if (ring)
		/* partner: acquire load in flush_due, after which the head is final */
		atomic_store_explicit(&ring->state, GP_RING_RETIRED, memory_order_release);
	gp_stack_thread_close(t);
	gp_range_thread_close(t);
	/*
	 * other destructors of the job may still use the driver: the last round is the thread's end
	 */
	if (++t->ends >= PTHREAD_DESTRUCTOR_ITERATIONS)
		gp_last_thread_leave(gp_recorder_end);
	else
		gp_thread_end_is_reported();
}

static void wipe_in_child(void)
{
	atomic_store(&gp_local->word, 0);
	atomic_store(&gp_local->is_starting, 0);
	atomic_store(&gp_local->drain, GP_DRAIN_UNBORN);
	atomic_store(&gp_local->has_called_started, 0);
	atomic_store(&gp_local->starts_written, GP_STARTS_UNWRITTEN);
	atomic_store(&gp_local->are_facts_recorded, 0);
	atomic_store(&gp_local->has_control, 0);
	atomic_store(&gp_local->leaver, 0);
	atomic_store(&gp_local->job_end, GP_JOB_RUNS);
	atomic_store(&gp_local->has_gpu_time, 0);
	for (unsigned k = 0; k < GP_GPU_THREADS; k++)
		atomic_store(&gp_local->gpu_tid[k], 0);
	/* the child's own word may be equal: another thread may be its first to record */
	gp_thread.word = GP_WORD_NEVER;
}

bool gp_recorder_init(void)
{
	int kept = errno;
	gp_settings_read();
	if (!gp_settings.is_on)
		return false;
	gp_clock_init();
	gp_recorder.loaded_ticks = gp_clock_now();
	gp_recorder.loaded_pid = (uint32_t)getpid();
	gp_drain_init(gp_drain_main);
	gp_log_init();
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page != MAP_FAILED && gp_thread_key_create(end_thread)) {
		madvise(page, 4096, MADV_WIPEONFORK);
		pthread_atfork(NULL, NULL, wipe_in_child);
		gp_local = page;
		gp_thread_entered = write_thread;
		gp_recorder_is_initialised = true;
		gp_thread.is_end_reported = 1; /* calloc may be called here */
		gp_thread_end_is_reported();   /* the main thread's: last_thread.c */
	}
	errno = kept;
	return gp_recorder_is_initialised;
}

static bool is_ended(void)
{
	return atomic_load(&gp_recorder.state) == GP_RECORDER_ENDED;
}

/* A forked child has its parent's state until it records its first event. */
static bool is_start_over(void)
{
	return atomic_load(&gp_local->is_starting) == 0 ||
	       atomic_load(&gp_recorder.state) > GP_RECORDER_STARTING;
}

static void recorder_end(void)
{
	const uint64_t began = gp_now_ns();
	/* for a slow disk and a short job: the recording must have its losses by now */
	gp_wait_for_turns(is_start_over, END_WAIT_NS);
	uint32_t word = atomic_load(&gp_local->word);
	if (word == 0 || atomic_load(&gp_recorder.state) != GP_RECORDER_RUNNING)
		return;
	atomic_store(&gp_local->word, gp_word_next(word, GP_LEVEL_OFF, gp_word_is_outside(word)));
	atomic_store(&gp_recorder.is_ending, 1);
	const uint64_t waited = gp_now_ns() - began;
	gp_wait_for_turns(is_ended, waited < END_WAIT_NS ? END_WAIT_NS - waited : 0);
	gp_log_pending();
}

void gp_recorder_end(void)
{
	const int kept = errno;
	if (gp_recorder_is_initialised && gp_recorder_ending)
		gp_recorder_ending();
	if (gp_recorder_is_initialised)
		recorder_end();
	errno = kept;
}
