/*
 * A stand-in for libgpuprof.so's side of GPU time: counts what libgpuprof-cupti.so hands over, and
 * ends the process if a rule of gpu_time.h is broken. GPU_SINK=always or window; else nothing
 * attaches.
 */
#include "gpu_sink.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IDS (1u << 22)

static _Atomic uint8_t seen[IDS];
static _Atomic unsigned long operations, clocks, states[8];
static char fact[200];
static _Atomic bool has_fact;
static _Thread_local bool is_between;

static void sink_must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "sink: %s\n", what);
	abort();
}

static bool sink_record(void (*hand)(void *context), void *context)
{
	sink_must(!is_between, "record() nests");
	is_between = true;
	hand(context);
	is_between = false;
	return true;
}

static void sink_count(uint32_t correlation)
{
	sink_must(is_between, "an operation outside of record()");
	sink_must(correlation < IDS, "a correlation id that the fake does not give");
	atomic_fetch_add(&seen[correlation], 1);
	atomic_fetch_add(&operations, 1);
}

/* whatever clock the job has registered with CUPTI */
static bool sink_is_now(uint64_t ns)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	const uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return now_ns - ns < 60000000000u;
}

static void sink_kernel(const struct gp_gpu_kernel *k)
{
	sink_must(k->name && strstr(k->name, "kernel"), "a kernel without its name");
	sink_must(sink_is_now(k->began_ns) && k->began_ns < k->ended_ns, "a kernel without times");
	sink_must(k->grid[0] && k->block[0] && k->registers == 32, "a kernel without a shape");
	sink_must(k->stream && k->context, "a kernel without a stream");
	sink_count(k->correlation);
}

static void sink_copy(const struct gp_gpu_copied *c)
{
	sink_must(sink_is_now(c->began_ns) && c->began_ns < c->ended_ns, "a copy without times");
	sink_must(c->bytes == 4096, "a copy without its bytes");
	sink_count(c->correlation);
}

static uint64_t sink_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sink_clock(uint64_t gpu_ns, uint64_t before, uint64_t after)
{
	sink_must(!is_between, "clock() inside of record()");
	sink_must(sink_is_now(gpu_ns) && before <= after, "a clock pair that goes backwards");
	atomic_fetch_add(&clocks, 1);
}

static void sink_lost(uint64_t count)
{
	atomic_fetch_add(&states[GP_GPU_TIME_LOST], count);
}

static void sink_state(enum gp_gpu_time what, uint64_t number, uint64_t since)
{
	sink_must((since != 0) == (what != GP_GPU_TIME_DROPPED), "a switch without its begin");
	const bool is_count = what == GP_GPU_TIME_DROPPED || what == GP_GPU_TIME_LOST;
	sink_must(!is_between, "state() inside of record()");
	atomic_fetch_add(&states[what], is_count ? number : 1);
}

static void sink_fact(bool is_recorded, const char *why)
{
	/* CUPTI was found, and refuses the first window */
	sink_must(!atomic_load(&has_fact) || (fact[0] == 'y' && !is_recorded), "fact() twice");
	snprintf(fact, sizeof fact, "%s %s", is_recorded ? "yes" : "no", why);
	atomic_store(&has_fact, true);
}

static void sink_memory(uint64_t bytes)
{
	/* 0: CUPTI was finalized */
	sink_must(bytes == 12 << 20 || bytes == 0, "memory that is not CUPTI's default");
}

static bool sink_yes(void)
{
	return true;
}

static void sink_thread(void)
{
}

static struct gp_gpu_sink sink = {
	.bytes = sizeof sink,
	.record = sink_record,
	.kernel = sink_kernel,
	.copy = sink_copy,
	.clock = sink_clock,
	.now = sink_now,
	.lost = sink_lost,
	.state = sink_state,
	.fact = sink_fact,
	.memory = sink_memory,
	.is_recording = sink_yes,
	.may_switch = sink_yes,
	.thread = sink_thread,
};

/* ---- for the test ---- */

static unsigned sink_seen(uint32_t correlation)
{
	return atomic_load(&seen[correlation]);
}

static unsigned long sink_operations(void)
{
	return atomic_load(&operations);
}

static unsigned long sink_states(enum gp_gpu_time what)
{
	return atomic_load(&states[what]);
}

static unsigned long sink_clocks(void)
{
	return atomic_load(&clocks);
}

static const char *sink_fact_text(void)
{
	return atomic_load(&has_fact) ? fact : "";
}

struct gpu_sink gpu_sink = {
	.seen = sink_seen,
	.operations = sink_operations,
	.states = sink_states,
	.clocks = sink_clocks,
	.fact = sink_fact_text,
};

const struct gp_gpu_sink *gpuprof_gpu_time_attach(const struct gp_gpu_source *source)
{
	const char *mode = getenv("GPU_SINK");
	if (!mode || source->bytes != sizeof *source)
		return NULL;
	gpu_sink.source = source;
	sink.begins_open = strcmp(mode, "always") == 0;
	return &sink;
}
