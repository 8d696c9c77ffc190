/*
 * The producers' slow halves: the first event of a process, the end of a thread and of the process.
 * Runs on the job's threads; every entry keeps errno. What is fast is in record.h, what concerns a
 * thread's ring in thread_ring.c.
 */
#include "recorder.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "range_mark.h"
#include "scope.h"
#include "stack_take.h"

#define START_WAIT_NS 1000000000u /* a file system that hangs must not hang the job */
#define END_WAIT_NS 2000000000u
#define WORD_OFF (GP_WORD_CHANGE | (uint32_t)GP_LEVEL_OFF)
#define WORD_NEVER 0xffffffffu
/*
 * glibc keeps the values of further keys in memory from calloc, whose lock our caller may hold.
 * With such a key only the constructor's thread uses it: other threads record no stacks, and their
 * ranges are lost and counted, since no end would unmap what they need.
 */
#define KEYS_IN_THREAD 32u

struct gp_recorder gp_recorder;
struct gp_control *gp_control GP_HOT_DATA;
_Atomic uint32_t gp_uses_wanted GP_HOT_DATA;
void (*gp_recorder_started)(void);
_Thread_local struct gp_thread gp_thread = { .word = WORD_NEVER };

static struct gp_local before_constructor; /* nothing is recorded before the constructor ran */
struct gp_local *gp_local GP_HOT_DATA = &before_constructor;
static pthread_key_t thread_end;
static bool is_initialised;

static uint64_t now_ns(void)
{
	return gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
}

/* Waits until `is_done` or the deadline; each turn of the drain thread is a chance. */
static bool wait_for(bool (*is_done)(void), uint64_t timeout_ns)
{
	uint64_t deadline = now_ns() + timeout_ns;
	for (;;) {
		uint32_t seen = atomic_load(&gp_recorder.progress);
		if (is_done())
			return true;
		uint64_t now = now_ns();
		if (now >= deadline)
			return false;
		gp_futex_wake(&gp_recorder.wake);
		gp_futex_wait(&gp_recorder.progress, seen, deadline - now);
	}
}

/* ---- a process starts ---- */

static bool is_started(void)
{
	/* partner: the store in gp_drain_main: control page and rings are there */
	return atomic_load(&gp_local->word) != 0;
}

bool gp_recorder_is_wanted(void)
{
	return is_initialised && gp_settings.is_on && !gp_scope_is_over();
}

/* As a rule the drain thread sleeps since the job's first context. */
static void start_process(void)
{
	const uint64_t began = now_ns();
	gp_recorder_prepare(); /* a forked child, or a context that was made past us */
	if (!gp_drain_await_birth(START_WAIT_NS)) {
		atomic_store(&gp_recorder.state, GP_RECORDER_FAILED);
		gp_say_refusal("no thread for the recorder", NULL, 0);
		atomic_store(&gp_local->word, WORD_OFF);
		return;
	}
	gp_drain_call();
	gp_settings_warn();
	const uint64_t waited = now_ns() - began;
	if (!wait_for(is_started, waited < START_WAIT_NS ? START_WAIT_NS - waited : 0)) {
		/* partner: the store in start of the drain thread */
		const char *name =
			atomic_load(&gp_recorder.is_named) ? gp_recorder.name : gp_settings.output;
		gp_say(true, "the recording cannot be opened in time, events are lost until it is:",
		       name);
		gp_list_add("late: ", name);
	}
}

static void start_once(void)
{
	uint32_t no = 0;
	if (!gp_recorder_is_wanted())
		atomic_store(&gp_local->word, WORD_OFF);
	else if (gp_drain_is_being_born_here())
		return; /* the event is lost, and counted */
	else if (atomic_compare_exchange_strong(&gp_local->is_starting, &no, 1))
		start_process();
	else if (no == 1)
		wait_for(is_started, START_WAIT_NS);
	if (!is_started())
		atomic_store(&gp_local->is_starting, 2); /* waited once: not again */
}

static bool enter(struct gp_thread *t, enum gp_level least)
{
	if (!is_started())
		start_once();
	uint32_t word = atomic_load(&gp_local->word);
	gp_say_pending();
	if (word == 0) {
		gp_losses_early(least == GP_LEVEL_ALL ? 1 : 0);
		return false;
	}
	t->word = word;
	t->level = (uint16_t)gp_word_level(word);
	t->stacks = (uint16_t)(gp_word_is_outside(word) ? gp_settings.stacks_outside :
							  gp_settings.stacks);
	if (t->generation != gp_recorder.generation) {
		t->generation = gp_recorder.generation;
		t->ring = NULL;
		t->head = t->limit = 0;
		t->launches_bare = 0;
	}
	if (t->level <= GP_LEVEL_OFF)
		return true; /* the fast half decides by level */
	t->inside = gp_here();
	if (!t->ring)
		gp_thread_join(t, true);
	if (gp_recorder_started && atomic_exchange(&gp_local->is_told, 1) == 0)
		gp_recorder_started();
	gp_range_again();
	const uint32_t starts_told = atomic_exchange(&gp_local->starts_told, GP_STARTS_TOLD);
	if (starts_told != GP_STARTS_TOLD)
		gp_range_starts_tell(starts_told == GP_STARTS_STOPPED);
	t->inside = 0;
	return true;
}

bool gp_enter_slow(enum gp_level least)
{
	int kept = errno;
	bool is_on = is_initialised && enter(&gp_thread, least);
	errno = kept;
	return is_on;
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
	gp_thread_wants_no_ring(t);
	t->inside = gp_here(); /* to signals' handlers all of it happens at once */
	atomic_signal_fence(memory_order_seq_cst);
	t->head = t->limit = 0;
	t->word = WORD_NEVER; /* a later destructor's event, or a handler's, joins again */
	t->ring = NULL;
	gp_leave();
	if (ring)
		/* partner: acquire load in flush_due: the head that it then sees is the last */
		atomic_store_explicit(&ring->state, GP_RING_RETIRED, memory_order_release);
	gp_stack_thread_close(t);
	gp_range_thread_close(t);
	/* what other destructors of the job do is still its work: the last round is its end */
	if (++t->ends >= PTHREAD_DESTRUCTOR_ITERATIONS)
		gp_last_thread_leave();
	else
		gp_thread_end_is_told();
}

bool gp_thread_end_is_told(void)
{
	struct gp_thread *t = &gp_thread;
	if (is_initialised && (t->is_end_told || thread_end < KEYS_IN_THREAD))
		t->is_end_told = pthread_setspecific(thread_end, t) == 0;
	return t->is_end_told;
}

static void wipe_in_child(void)
{
	atomic_store(&gp_local->word, 0);
	atomic_store(&gp_local->is_starting, 0);
	atomic_store(&gp_local->drain, GP_DRAIN_UNBORN);
	atomic_store(&gp_local->is_told, 0);
	atomic_store(&gp_local->starts_told, GP_STARTS_UNTOLD);
	atomic_store(&gp_local->is_tier_said, 0);
	atomic_store(&gp_local->has_control, 0);
	atomic_store(&gp_local->leaver, 0);
	atomic_store(&gp_local->job_end, GP_JOB_RUNS);
	/* the child's own word may be the same: another thread may be its first to record */
	gp_thread.word = WORD_NEVER;
}

bool gp_recorder_init(void)
{
	int kept = errno;
	gp_settings_read();
	if (!gp_settings.is_on)
		return false;
	gp_clock_init();
	gp_drain_init();
	gp_say_init();
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page != MAP_FAILED && pthread_key_create(&thread_end, end_thread) == 0) {
		madvise(page, 4096, MADV_WIPEONFORK);
		pthread_atfork(NULL, NULL, wipe_in_child);
		gp_local = page;
		is_initialised = true;
		gp_thread.is_end_told = 1; /* calloc may be called here */
		gp_thread_end_is_told();   /* the main thread's: last_thread.c */
	}
	errno = kept;
	return is_initialised;
}

static bool is_ended(void)
{
	return atomic_load(&gp_recorder.state) == GP_RECORDER_ENDED;
}

/* A forked child has its parent's state, as long as nothing was recorded in it. */
static bool is_start_over(void)
{
	return atomic_load(&gp_local->is_starting) == 0 ||
	       atomic_load(&gp_recorder.state) > GP_RECORDER_STARTING;
}

static void end(void)
{
	const uint64_t began = now_ns();
	/* a slow disk, and a short job: what it lost by then is to be in its recording */
	wait_for(is_start_over, END_WAIT_NS);
	uint32_t word = atomic_load(&gp_local->word);
	if (word == 0 || atomic_load(&gp_recorder.state) != GP_RECORDER_RUNNING)
		return;
	atomic_store(&gp_local->word, gp_word_next(word, GP_LEVEL_OFF, gp_word_is_outside(word)));
	atomic_store(&gp_recorder.is_ending, 1);
	const uint64_t waited = now_ns() - began;
	wait_for(is_ended, waited < END_WAIT_NS ? END_WAIT_NS - waited : 0);
	gp_say_pending();
}

void gp_recorder_end(void)
{
	const int kept = errno;
	if (is_initialised)
		end();
	errno = kept;
}
