/*
 * Makes a thread of the job ready to record: at its first event, at the process's first event,
 * after each change of the level. On the job's threads; errno is kept. record.h has the fast half,
 * thread_ring.c the thread's ring.
 */
#include <errno.h>

#include "ranges/scope.h"
#include "recorder.h"

#define START_WAIT_NS 1000000000u /* a file system that hangs must not hang the job */
#define WORD_OFF (GP_WORD_CHANGE | (uint32_t)GP_LEVEL_OFF)

void (*gp_thread_entered)(void);

/* ---- a process starts ---- */

static bool is_started(void)
{
	/* partner: the store in gp_drain_main: control page and rings exist */
	return atomic_load(&gp_local->word) != 0;
}

/* Usually the drain thread sleeps since the job's first context. */
static void start_process(void)
{
	const uint64_t began = gp_now_ns();
	gp_recorder_prepare(); /* a forked child, or a context whose creation was not intercepted */
	if (!gp_drain_await_birth(START_WAIT_NS)) {
		atomic_store(&gp_recorder.state, GP_RECORDER_FAILED);
		gp_log_refusal("no thread for the recorder", NULL, 0);
		atomic_store(&gp_local->word, WORD_OFF);
		return;
	}
	gp_drain_call();
	gp_settings_warn();
	const uint64_t waited = gp_now_ns() - began;
	if (!gp_wait_for_turns(is_started, waited < START_WAIT_NS ? START_WAIT_NS - waited : 0)) {
		/* partner: the store in start of the drain thread */
		const char *name =
			atomic_load(&gp_recorder.is_named) ? gp_recorder.name : gp_settings.output;
		gp_log(true, "the recording cannot be opened in time, events are lost until it is:",
		       name);
		gp_list_add("late: ", name);
	}
}

static void start_once(void)
{
	uint32_t no = 0;
	if (!gp_recorder_is_requested())
		atomic_store(&gp_local->word, WORD_OFF);
	else if (gp_drain_is_being_born_here())
		return; /* the event is lost, and counted */
	else if (atomic_compare_exchange_strong(&gp_local->is_starting, &no, 1))
		start_process();
	else if (no == 1)
		gp_wait_for_turns(is_started, START_WAIT_NS);
	if (!is_started())
		atomic_store(&gp_local->is_starting, 2); /* has waited once: does not wait again */
}

static bool enter(struct gp_thread *t, enum gp_level least)
{
	if (!is_started())
		start_once();
	uint32_t word = atomic_load(&gp_local->word);
	gp_log_pending();
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
		t->poll.queries = 0;
		t->poll.is_long = false;
	}
	if (t->level <= GP_LEVEL_OFF)
		return true; /* the fast half decides by level */
	t->inside = gp_here();
	if (!t->ring)
		gp_thread_join(t, true);
	gp_thread_entered();
	t->inside = 0;
	return true;
}

bool gp_enter_slow(enum gp_level least)
{
	int kept = errno;
	bool is_on = gp_recorder_is_initialised && enter(&gp_thread, least);
	errno = kept;
	return is_on;
}
