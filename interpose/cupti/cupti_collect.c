/* The collecting thread, windows, and the end (cupti_collect.h). */
#include "cupti_collect.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "cupti_buffers.h"
#include "cupti_clock.h"
#include "cupti_holder.h"
#include "cupti_job.h"
#include "cupti_kinds.h"
#include "cupti_process.h"
#include "cupti_records.h"

#define TURN_US 100000u /* 100 ms: bounds the error of a clock that drifts */
#define FLUSH_TURNS 10u
#define CAPTURE_NAP_US 1000u
#define END_MOST_MS 1000u
#define LAST_NAP_US 10000u
/* turns in which operations from before the end of a window may still finish */
#define AFTER_TURNS 600u

enum collect_phase { COLLECT_NONE, COLLECT_OPENING, COLLECT_READY, COLLECT_REFUSED, COLLECT_OVER };

static struct {
	_Atomic uint32_t phase, wake, is_done, settled;
	_Atomic bool is_registered, is_collecting, has_yielded, has_refused;
	_Atomic uint32_t window; /* the open one; 0: none */
	_Atomic uint32_t number; /* of the window that is collected */
	_Atomic uint32_t turn;
	_Atomic uint32_t calls; /* turns of the collecting thread and cuptiFinalize */
	_Atomic uint32_t after; /* turns since the last window */
	_Atomic bool is_ending;
} collect;

bool gp_cupti_is_collecting(void)
{
	return atomic_load(&collect.is_collecting);
}

bool gp_cupti_is_ending(void)
{
	return atomic_load(&collect.is_ending);
}

bool gp_cupti_has_yielded(void)
{
	return atomic_load(&collect.has_yielded);
}

static void collect_wake(void)
{
	atomic_fetch_add(&collect.wake, 1);
	gp_cupti_wake(&collect.wake);
}

/* ---- registration ---- */

#define PAGE_BYTES 2097152u /* the driver allocates device memory in such pages */

/* Registered callbacks give each context its buffers: 3 of 3,200,000 bytes by default. */
static void collect_report_memory(const struct gp_cupti *cupti)
{
	size_t each = 0, buffers = 0, bytes = sizeof each, total = 0;
	uint8_t is_on_host = 0;
	if (!cupti->cuptiActivityGetAttribute ||
	    cupti->cuptiActivityGetAttribute(GP_CUPTI_BUFFER_BYTES_OF_DEVICE, &bytes, &each) ||
	    cupti->cuptiActivityGetAttribute(GP_CUPTI_BUFFERS_OF_DEVICE, &bytes, &buffers))
		return;
	bytes = sizeof is_on_host;
	cupti->cuptiActivityGetAttribute(GP_CUPTI_BUFFERS_ON_HOST, &bytes, &is_on_host);
	if (is_on_host || each > SIZE_MAX - PAGE_BYTES ||
	    __builtin_mul_overflow((each + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES, buffers,
				   &total))
		return;
	gp_cupti_sink->memory(total);
}

uint32_t gp_cupti_register(const struct gp_cupti *cupti)
{
	if (atomic_load(&collect.is_registered))
		return GP_CUPTI_SUCCESS;
	const uint32_t result =
		cupti->cuptiActivityRegisterCallbacks(gp_cupti_on_request, gp_cupti_on_complete);
	if (result != GP_CUPTI_SUCCESS)
		return result;
	atomic_store(&collect.is_registered, true);
	collect_report_memory(cupti);
	return result;
}

uint32_t gp_cupti_finalize(const struct gp_cupti *cupti)
{
	const bool has_turn = gp_cupti_turn_enter(&collect.calls);
	const uint32_t result = cupti->cuptiFinalize();
	if (atomic_exchange(&collect.is_registered, false))
		gp_cupti_sink->memory(0);
	gp_cupti_turn_leave(&collect.calls, has_turn);
	return result;
}

/* ---- collecting ---- */

static const char *collect_refusal(uint32_t result, char *text, size_t bytes)
{
	const char *holder = gp_cupti_holder();
	switch (result) {
	case GP_CUPTI_MULTIPLE_SUBSCRIBERS:
		snprintf(text, bytes, "%s uses CUPTI, which serves one tool at a time",
			 holder ? holder : "another tool");
		return text;
	case GP_CUPTI_INSUFFICIENT_PRIVILEGES:
	case GP_CUPTI_VIRTUAL_PRIVILEGES:
		return "the driver allows profiling only to root";
	default:
		snprintf(text, bytes, "CUPTI returned error %u%s%s", result,
			 holder ? " beside " : "", holder ? holder : "");
		return text;
	}
}

/* NULL: CUPTI collects for us; else why not. `is_trial`: records are not for us yet. */
static const char *collect_enable(const struct gp_cupti *cupti, bool is_trial, char *text,
				  size_t bytes)
{
	gp_cupti_clock_prepare(cupti);
	uint32_t result = gp_cupti_register(cupti);
	if (result == GP_CUPTI_SUCCESS)
		result = gp_cupti_kinds_open(cupti, is_trial);
	return result == GP_CUPTI_SUCCESS ? NULL : collect_refusal(result, text, bytes);
}

static void collect_open(const struct gp_cupti *cupti, uint32_t number)
{
	char text[160];
	const uint64_t since = gp_cupti_sink->now();
	const char *why = collect_enable(cupti, false, text, sizeof text);
	if (why) { /* the next turn tries again, as long as the window is open */
		if (!atomic_exchange(&collect.has_refused, true))
			gp_cupti_sink->fact(false, why);
		return;
	}
	atomic_store(&collect.is_collecting, true);
	atomic_store(&collect.number, number);
	gp_cupti_sink->state(GP_GPU_TIME_ON, number, since);
}

static void collect_close(const struct gp_cupti *cupti)
{
	const uint64_t since = gp_cupti_sink->now();
	gp_cupti_kinds_close(cupti);
	atomic_store(&collect.is_collecting, false);
	atomic_store(&collect.after, 0);
	gp_cupti_sink->state(GP_GPU_TIME_OFF, atomic_load(&collect.number), since);
}

/* Does what the wish requires, on the thread of the job that changed it or on ours. */
static void collect_settle(const struct gp_cupti *cupti)
{
	/* a call of ours could end the capture; the collecting thread tries again */
	if (!gp_cupti_sink->may_switch())
		return;
	const bool has_turn = gp_cupti_turn_enter(&collect.turn);
	const bool is_wanted = !atomic_load(&collect.is_ending) && atomic_load(&collect.window) &&
			       gp_cupti_sink->is_recording();
	if (is_wanted && !gp_cupti_is_collecting())
		collect_open(cupti, atomic_load(&collect.window));
	else if (!is_wanted && gp_cupti_is_collecting())
		collect_close(cupti);
	gp_cupti_turn_leave(&collect.turn, has_turn);
	atomic_fetch_add(&collect.settled, 1);
	gp_cupti_wake(&collect.settled);
}

#define SWITCH_NAPS 10u
#define SWITCH_NAP_US 200u

/*
 * On a thread of the job: the collecting thread is to switch, which takes it 0.1 ms. Launches that
 * come earlier would not be in the window. The wait ends, since a callback of the job may need a
 * lock that this thread holds.
 */
static void collect_await_switch(bool is_open)
{
	if (!gp_cupti_sink->may_switch() || !gp_cupti_sink->is_recording())
		return;
	for (unsigned k = 0; k < SWITCH_NAPS; k++) {
		const uint32_t seen = atomic_load(&collect.settled);
		if (gp_cupti_is_collecting() == is_open)
			return;
		gp_cupti_wait(&collect.settled, seen, SWITCH_NAP_US);
	}
}

void gp_cupti_yield_to_job(void)
{
	const struct gp_cupti *cupti = gp_cupti_found();
	if (atomic_exchange(&collect.has_yielded, true))
		return;
	if (atomic_exchange(&collect.is_collecting, false)) {
		const uint64_t since = gp_cupti_sink->now();
		gp_cupti_kinds_close(cupti);
		gp_cupti_sink->state(GP_GPU_TIME_TAKEN, 0, since);
	}
	gp_cupti_records_end();
	atomic_store(&collect.phase, COLLECT_OVER);
	gp_cupti_prefer_job();
}

/* ---- the thread ---- */

/*
 * Finds CUPTI. NULL: done; else why not. If the recording begins with a window, CUPTI is opened and
 * kernels are enabled once, which shows whether it serves us. Else CUPTI is opened with the first
 * window: once callbacks are registered, each launch takes longer, and a part of the GPU's memory
 * is CUPTI's.
 */
static const char *collect_prepare(uint32_t *version, char *text, size_t bytes)
{
	const unsigned count = gp_cupti_count();
	if (count > 1)
		return "the process has two CUPTI libraries";
	if (!gp_cupti_load())
		return count ? "CUPTI's library cannot be read" : "libcupti was not found";
	const struct gp_cupti *cupti = gp_cupti_find();
	const char *missing = gp_cupti_missing(cupti);
	if (missing) {
		snprintf(text, bytes, "libcupti lacks %s", missing);
		return text;
	}
	if (cupti->cuptiGetVersion(version) != GP_CUPTI_SUCCESS ||
	    *version < GP_CUPTI_VERSION_LEAST)
		return "CUPTI is older than CUDA 11.1";
	if (atomic_load(&collect.is_ending)) /* CUPTI must not start while the driver ends */
		return "the recording ended before CUPTI was open";
	while (!gp_cupti_sink->may_switch() && !atomic_load(&collect.is_ending))
		gp_cupti_sleep(CAPTURE_NAP_US);
	if (!gp_cupti_sink->begins_open)
		return NULL;
	const char *why = collect_enable(cupti, true, text, bytes);
	if (!why)
		gp_cupti_kinds_close(cupti);
	return why;
}

/*
 * CUPTI has handlers of exit. Those that it registered before run after ours; those of a CUPTI that
 * a later window opened may run first, and then brought all records on an H100.
 */
static void collect_at_exit(void)
{
	if (gp_cupti_is_attached())
		gp_cupti_end();
}

static void collect_turn(const struct gp_cupti *cupti, uint32_t number)
{
	collect_settle(cupti); /* a window may have begun before CUPTI was open */
	const bool has_turn = gp_cupti_turn_enter(&collect.calls);
	/* a job may have finalized CUPTI, and a call would open it again */
	if (has_turn && atomic_load(&collect.is_registered)) {
		gp_cupti_tell_clock(cupti);
		if (number % FLUSH_TURNS == FLUSH_TURNS - 1)
			gp_cupti_flush_own(cupti, 0);
	}
	gp_cupti_turn_leave(&collect.calls, has_turn);
	if (!gp_cupti_is_collecting())
		atomic_fetch_add(&collect.after, 1);
}

static bool collect_is_idle(void)
{
	return !gp_cupti_is_collecting() && !atomic_load(&collect.window) &&
	       (atomic_load(&collect.after) >= AFTER_TURNS || gp_cupti_buffers_out() == 0);
}

static void collect_loop(const struct gp_cupti *cupti)
{
	for (uint32_t number = 0; !atomic_load(&collect.is_ending); number++) {
		const uint32_t wake = atomic_load(&collect.wake);
		if (atomic_load(&collect.has_yielded))
			return;
		if (!collect_is_idle())
			collect_turn(cupti, number);
		if (!atomic_load(&collect.is_ending))
			gp_cupti_wait(&collect.wake, wake,
				      collect_is_idle() ? UINT32_MAX : TURN_US);
	}
	collect_settle(cupti);
	if (!atomic_load(&collect.is_registered))
		return;
	gp_cupti_drain(cupti, LAST_NAP_US);
	gp_cupti_tell_clock(cupti);
}

static void *collect_main(void *unused)
{
	char text[160];
	uint32_t version = 0;
	(void)unused;
	gp_cupti_sink->thread();
	prctl(PR_SET_NAME, "gpuprof-cupti");
	gp_cupti_leave_processor();
	const char *why = collect_prepare(&version, text, sizeof text);
	if (why) {
		atomic_store(&collect.phase, COLLECT_REFUSED);
		gp_cupti_wake(&collect.phase);
		gp_cupti_sink->fact(false, why);
	} else {
		const struct gp_cupti *cupti = gp_cupti_find();
		snprintf(text, sizeof text, "CUPTI %u", version);
		gp_cupti_sink->fact(true, text);
		if (atomic_load(&collect.is_registered))
			gp_cupti_tell_clock(cupti);
		collect_settle(cupti);
		atexit(collect_at_exit);
		atomic_store(&collect.phase, COLLECT_READY);
		gp_cupti_wake(&collect.phase);
		collect_loop(cupti);
	}
	atomic_store(&collect.is_done, 1);
	gp_cupti_wake(&collect.is_done);
	return NULL;
}

/*
 * A thread in CUPTI may hold a lock of the job's allocator, which a child would find taken. So a
 * fork waits until CUPTI is loaded, and until no call of ours is in it.
 */
static _Thread_local bool has_settle_turn, has_call_turn;

static void collect_before_fork(void)
{
	const uint64_t until = gp_cupti_now_ms() + END_MOST_MS;
	if (!gp_cupti_is_attached())
		return;
	for (uint64_t now;
	     atomic_load(&collect.phase) == COLLECT_OPENING && (now = gp_cupti_now_ms()) < until;)
		gp_cupti_wait(&collect.phase, COLLECT_OPENING, (uint32_t)(until - now) * 1000);
	has_settle_turn = gp_cupti_turn_enter(&collect.turn);
	has_call_turn = gp_cupti_turn_enter(&collect.calls);
}

static void collect_after_fork(void)
{
	gp_cupti_turn_leave(&collect.calls, has_call_turn);
	gp_cupti_turn_leave(&collect.turn, has_settle_turn);
	has_settle_turn = has_call_turn = false;
}

/* ---- the source ---- */

void gp_cupti_start(void)
{
	uint32_t none = COLLECT_NONE;
	const int error = errno;
	/* in a forked child, nothing of CUPTI's state of its parent is known to be usable */
	if (!gp_cupti_is_attached() && (atomic_load(&collect.phase) != COLLECT_NONE ||
					gp_cupti_job_is_registered() || !gp_cupti_attach_child())) {
		gp_cupti_sink->fact(false, "the process was forked from one that used CUPTI");
		return;
	}
	if (!atomic_compare_exchange_strong(&collect.phase, &none, COLLECT_OPENING))
		return;
	if (gp_cupti_sink->begins_open)
		atomic_store(&collect.window, 1);
	pthread_atfork(collect_before_fork, collect_after_fork, collect_after_fork);
	if (!gp_cupti_thread_start(collect_main)) {
		atomic_store(&collect.phase, COLLECT_REFUSED);
		gp_cupti_sink->fact(false, "its thread could not be started");
	}
	errno = error;
}

void gp_cupti_window(bool is_open, uint32_t number)
{
	const int error = errno;
	if (!gp_cupti_is_attached())
		return;
	atomic_store(&collect.window, is_open ? number : 0);
	if (atomic_load(&collect.phase) == COLLECT_READY) {
		/*
		 * a callback of the job may need a lock that this thread holds, while CUPTI holds
		 * its own and the switch waits for that
		 */
		const bool is_shared = gp_cupti_job_is_registered();
		if (!is_shared)
			collect_settle(gp_cupti_found());
		collect_wake();
		if (is_shared && !gp_cupti_job_is_called())
			collect_await_switch(is_open);
	}
	errno = error;
}

void gp_cupti_end(void)
{
	const int error = errno;
	const uint64_t until = gp_cupti_now_ms() + END_MOST_MS;
	if (!gp_cupti_is_attached() || atomic_exchange(&collect.is_ending, true))
		return;
	const uint32_t phase = atomic_load(&collect.phase);
	if (phase == COLLECT_OPENING || phase == COLLECT_READY) {
		collect_wake();
		for (uint64_t now;
		     !atomic_load(&collect.is_done) && (now = gp_cupti_now_ms()) < until;)
			gp_cupti_wait(&collect.is_done, 0, (uint32_t)(until - now) * 1000);
	}
	gp_cupti_records_end();
	atomic_store(&collect.phase, COLLECT_OVER);
	errno = error;
}
