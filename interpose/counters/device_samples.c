/* The sampling thread (device_samples.h). */
#include "device_samples.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../cupti/cupti_collect.h"
#include "../cupti/cupti_process.h"
#include "pm_sampler.h"

#define TURN_US 100000u
#define END_MOST_MS 1000u

static const char *const usual[] = {
#define METRIC(label, text) text,
#include "../../libgpuprof/format/sampled_metrics.def"
#undef METRIC
};

enum phase { PHASE_NONE, PHASE_OPENING, PHASE_OPEN, PHASE_OVER };

static const struct gp_counters_sink *sink;
static struct {
	_Atomic uint32_t phase, wake;
	_Atomic bool is_ending;
	pid_t owner;
	/* the rest is of the thread */
	const struct gp_cupti *cupti;
	uint32_t version;
	char names[GP_METRICS_BYTES];
	struct gp_metrics metrics; /* from the first open GPU on those that it has */
	uint64_t devices;	   /* that were opened or refused */
	struct gp_pm_sampler sampler[GP_DEVICES];
	bool is_open;
} samples;

static void samples_phase(enum phase phase)
{
	atomic_store(&samples.phase, phase);
	gp_cupti_wake(&samples.phase);
}

/* NULL: done, else why not. */
static const char *samples_prepare(char *why)
{
	static const struct gp_metric_set set = { "utilization", usual,
						  sizeof usual / sizeof *usual };
	gp_metrics_parse(&samples.metrics, sink->metrics, &set, samples.names);
	if (samples.metrics.count == 0)
		return "no metric is named";
	const char *refusal =
		gp_profiler_load(&samples.cupti, GP_CUPTI_API_SAMPLES, &samples.version, why);
	if (refusal)
		return refusal;
	if (atomic_load(&samples.is_ending)) /* CUPTI must not start while the driver ends */
		return "the recording ended before CUPTI was open";
	return gp_profiler_init(samples.cupti, why);
}

/* `more`: a limit of what is sampled. */
static void samples_fact(const char *more)
{
	char text[GP_PROFILER_WHY + 100];
	snprintf(text, sizeof text, "CUPTI %u; a sample every %g ms%s", samples.version,
		 (double)sink->interval_ns / 1e6, more);
	for (uint32_t k = 0; !samples.is_open && k < samples.metrics.count; k++)
		sink->metric(k, samples.metrics.name[k]);
	samples.is_open = true;
	sink->fact(true, text);
}

/* `refusal`: NULL: it is sampled. */
static void device_fact(unsigned device, const char *refusal)
{
	char more[GP_PROFILER_WHY + 20] = "";
	if (refusal)
		snprintf(more, sizeof more, "; GPU %u: %s", device, refusal);
	samples_fact(more);
}

static void device_open(struct gp_pm_sampler *s, unsigned device)
{
	char text[GP_PROFILER_WHY];
	struct gp_metrics metrics = samples.metrics;
	metrics.is_usual &= !samples.is_open; /* numbers of metrics are those of the first GPU */
	const char *refusal =
		gp_pm_open(samples.cupti, s, device, &metrics, sink->interval_ns, text);
	if (refusal && !samples.is_open) {
		sink->fact(false, refusal);
		return;
	}
	if (!refusal)
		samples.metrics = metrics;
	device_fact(s->device, refusal);
}

static void device_decode(struct gp_pm_sampler *s)
{
	char text[GP_PROFILER_WHY], other[GP_PROFILER_WHY];
	const struct gp_pm_hand hand = { sink->sample, sink->samples_lost };
	const char *refusal = gp_pm_decode(samples.cupti, s, &samples.metrics, &hand, text);
	if (!refusal)
		return;
	gp_pm_stop(samples.cupti, s, other);
	device_fact(s->device, refusal);
}

/* CUPTI might make a call that a capture forbids; the GPU's buffer bridges that time. */
static void samples_turn(void)
{
	const uint64_t known = sink->devices();
	for (unsigned device = 0; device < GP_DEVICES && sink->may_call(); device++) {
		struct gp_pm_sampler *s = &samples.sampler[device];
		if (!(samples.devices >> device & 1) && known >> device & 1) {
			samples.devices |= 1ull << device;
			device_open(s, device);
		} else if (s->is_started) {
			device_decode(s);
		}
	}
}

static void samples_close(void)
{
	char text[GP_PROFILER_WHY];
	for (unsigned device = 0; device < GP_DEVICES && sink->may_call(); device++) {
		struct gp_pm_sampler *s = &samples.sampler[device];
		if (s->is_started && !gp_pm_stop(samples.cupti, s, text))
			device_decode(s);
		gp_pm_close(samples.cupti, s);
	}
}

static void samples_at_exit(void)
{
	gp_cupti_end();
	gp_samples_end();
}

static void *samples_main(void *unused)
{
	char text[GP_PROFILER_WHY];
	(void)unused;
	sink->thread();
	prctl(PR_SET_NAME, "gpuprof-counter");
	gp_cupti_leave_processor();
	const char *why = samples_prepare(text);
	if (why) {
		sink->fact(false, why);
		samples_phase(PHASE_OVER);
		return NULL;
	}
	/* CUPTI is shut down by handlers of exit that were registered before, so ours runs first */
	atexit(samples_at_exit);
	samples_phase(PHASE_OPEN);
	while (!atomic_load(&samples.is_ending)) {
		samples_turn();
		gp_cupti_wait(&samples.wake, 0, TURN_US);
	}
	samples_close();
	samples_phase(PHASE_OVER);
	return NULL;
}

void gp_samples_start(const struct gp_counters_sink *of)
{
	sink = of;
	samples.owner = getpid();
	atomic_store(&samples.phase, PHASE_OPENING);
	if (gp_cupti_thread_start(samples_main))
		return;
	samples_phase(PHASE_OVER);
	sink->fact(false, "its thread could not be started");
}

/* Waits while the thread is before or in this phase. */
static void samples_await(enum phase phase)
{
	const uint64_t until = gp_cupti_now_ms() + END_MOST_MS;
	uint32_t seen;
	for (uint64_t now; samples.owner == getpid() &&
			   (seen = atomic_load(&samples.phase)) != PHASE_NONE && seen <= phase &&
			   (now = gp_cupti_now_ms()) < until;)
		gp_cupti_wait(&samples.phase, seen, (uint32_t)(until - now) * 1000);
}

void gp_samples_await_before_fork(void)
{
	samples_await(PHASE_OPENING);
}

void gp_samples_end(void)
{
	if (samples.owner != getpid())
		return;
	if (!atomic_exchange(&samples.is_ending, true)) {
		atomic_store(&samples.wake, 1);
		gp_cupti_wake(&samples.wake);
	}
	samples_await(PHASE_OPEN);
}

void gp_samples_finalizing(void)
{
	const bool was_open = atomic_load(&samples.phase) == PHASE_OPEN;
	gp_samples_end();
	/* the thread is over, so this one may read what it left */
	if (was_open && atomic_load(&samples.phase) == PHASE_OVER && samples.is_open)
		samples_fact("; ended, since the job finalized CUPTI or loaded its own");
}
