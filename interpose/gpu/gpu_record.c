/* The sink that libgpuprof-cupti.so calls, on CUPTI's threads and on the job's. */
#include "gpu_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../libgpuprof/record/ranges/scope.h"
#include "../../libgpuprof/record/ranges/scope_range.h"
#include "../hooks/capture.h"
#include "gpu_function.h"

const struct gp_gpu_source *gp_gpu_source GP_HOT_DATA;

static _Atomic bool is_started; /* a forked child keeps it: the parent's CUDA is useless there */
/* Operations that no record holds, not yet reported. */
static _Atomic uint64_t unreported;

/* ---- records ---- */

static void put_state(enum gp_gpu_time what, uint64_t number, uint64_t since)
{
	gp_put((struct gp_record){ .kind = GP_GPU_TIME,
				   .device = GP_DEVICE_UNKNOWN,
				   .aux = what,
				   .gpu_time = { .number = number, .since = since } });
}

static void report_lost(void)
{
	if (atomic_load_explicit(&unreported, memory_order_relaxed) == 0)
		return;
	const uint64_t count = atomic_exchange(&unreported, 0);
	if (count)
		put_state(GP_GPU_TIME_LOST, count, 0);
}

/* In its caller's frame, which lives until gp_leave(). */
GP_HOT bool enter(void)
{
	const bool is_on = gp_enter();
	if (is_on)
		report_lost();
	return is_on;
}

static bool sink_record(void (*hand)(void *context), void *context)
{
	const int kept = errno;
	const bool is_on = enter();
	if (is_on) {
		hand(context);
		gp_leave();
	}
	errno = kept;
	return is_on;
}

static uint64_t launch_of(uint32_t correlation, uint32_t stream)
{
	return correlation | (uint64_t)stream << 32;
}

static uint64_t took(uint64_t began_ns, uint64_t ended_ns)
{
	return ended_ns > began_ns ? ended_ns - began_ns : 0;
}

static struct gp_record *reserve(enum gp_kind kind, uint32_t device, uint32_t context)
{
	struct gp_record *r = gp_reserve(kind);
	if (gp_unlikely(!r)) {
		atomic_fetch_add(&unreported, 1);
		return NULL;
	}
	r->device = device < GP_DEVICES ? (uint8_t)device : GP_DEVICE_UNKNOWN;
	r->code = (uint16_t)context;
	return r;
}

static void sink_kernel(const struct gp_gpu_kernel *k)
{
	const int kept = errno;
	const uint32_t function = gp_gpu_function(k); /* first: it may record the definition */
	struct gp_record *r = reserve(GP_GPU_KERNEL, k->device, k->context);
	if (gp_likely(r != NULL)) {
		r->aux = function;
		r->gpu_kernel.began_ns = k->began_ns;
		r->gpu_kernel.took_ns = took(k->began_ns, k->ended_ns);
		r->gpu_kernel.launch = launch_of(k->correlation, k->stream);
		r->gpu_kernel.node = k->node;
		gp_commit(r);
	}
	errno = kept;
}

static void sink_copy(const struct gp_gpu_copied *c)
{
	const int kept = errno;
	struct gp_record *r = reserve(GP_GPU_COPY, c->device, c->context);
	if (gp_likely(r != NULL)) {
		r->aux = c->what;
		r->gpu_copy.began_ns = c->began_ns;
		r->gpu_copy.took_ns = took(c->began_ns, c->ended_ns);
		r->gpu_copy.launch = launch_of(c->correlation, c->stream);
		r->gpu_copy.bytes = c->bytes;
		gp_commit(r);
	}
	errno = kept;
}

/* `time` must be `after`: in a thread whose first event this is, definitions come in between. */
static void sink_clock(uint64_t gpu_ns, uint64_t before, uint64_t after)
{
	const int kept = errno;
	const uint64_t head = gp_thread.head;
	if (enter()) {
		const bool is_first = gp_thread.head != head;
		struct gp_record *r = is_first ? NULL : gp_reserve_at(GP_GPU_CLOCK, after);
		if (r && r->time == after) {
			r->device = GP_DEVICE_UNKNOWN;
			r->aux = (uint32_t)(after - before);
			r->gpu_clock.gpu_ns = gpu_ns;
			gp_commit(r);
		}
		gp_leave();
	}
	errno = kept;
}

static void sink_lost(uint64_t count)
{
	atomic_fetch_add(&unreported, count);
}

static void sink_state(enum gp_gpu_time what, uint64_t number, uint64_t since)
{
	const int kept = errno;
	if (enter()) {
		put_state(what, number, since);
		gp_leave();
	}
	errno = kept;
}

static void sink_fact(bool is_recorded, const char *why)
{
	const int kept = errno;
	if (enter()) {
		gp_define_fact(GP_FACT_GPU_TIME, is_recorded, why);
		gp_leave();
	}
	static char line[200]; /* gp_log recognises a printed line by its address */
	if (!is_recorded && snprintf(line, sizeof line, "GPU time is not recorded: %s", why) > 0)
		gp_log(true, line, NULL);
	errno = kept;
}

static void sink_memory(uint64_t bytes)
{
	const int kept = errno;
	if (enter()) {
		gp_define_fact(GP_FACT_CUPTI_MEMORY, bytes, NULL);
		gp_leave();
	}
	errno = kept;
}

static uint64_t sink_now(void)
{
	return gp_clock_now();
}

static bool sink_is_recording(void)
{
	const uint32_t word = atomic_load(&gp_local->word);
	return word == 0 || gp_word_level(word) > GP_LEVEL_OFF; /* 0: before the first event */
}

static bool sink_may_switch(void)
{
	return !gp_is_capturing();
}

void gp_gpu_thread(enum gp_gpu_thread which)
{
	atomic_store(&gp_local->gpu_tid[which], (uint32_t)syscall(SYS_gettid));
}

static void sink_thread(void)
{
	gp_gpu_thread(GP_THREAD_GPU_TIME);
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
	.is_recording = sink_is_recording,
	.may_switch = sink_may_switch,
	.thread = sink_thread,
};

/* ---- start and end ---- */

static void pass_window(bool is_open, uint32_t number)
{
	if (atomic_load(&gp_local->has_gpu_time))
		gp_gpu_source->window(is_open, number);
}

const struct gp_gpu_sink *gp_gpu_time_open(const struct gp_gpu_source *source)
{
	if (gp_settings.gpu_time.when == GP_GPU_NEVER || source->bytes != sizeof *source)
		return NULL;
	gp_gpu_source = source;
	gp_gpu_window = pass_window;
	return &sink;
}

void gp_gpu_time_start(void)
{
	if (atomic_load_explicit(&is_started, memory_order_relaxed) ||
	    !gp_recorder_is_requested() || atomic_exchange(&is_started, true))
		return;
	const int kept = errno;
	atomic_store(&gp_local->has_gpu_time, 1);
	/* before the driver ends: its own handler was registered earlier, and so runs later */
	atexit(gp_gpu_time_end);
	sink.begins_open = gp_gpu_window_is_open();
	gp_gpu_source->start();
	errno = kept;
}

void gp_gpu_time_write(void)
{
	if (gp_settings.gpu_time.when == GP_GPU_NEVER)
		return;
	if (gp_gpu_source)
		gp_gpu_time_start();
	if (gp_gpu_source && !atomic_load(&gp_local->has_gpu_time))
		gp_define_fact(GP_FACT_GPU_TIME, 0,
			       "the process was forked from one that used CUPTI");
	if (!gp_gpu_source)
		gp_define_fact(GP_FACT_GPU_TIME, 0, "libgpuprof-cupti.so is not preloaded");
}

void gp_gpu_time_end(void)
{
	uint32_t has = 1;
	if (!gp_local || !atomic_compare_exchange_strong(&gp_local->has_gpu_time, &has, 0))
		return;
	gp_gpu_source->end();
	if (enter()) /* reports the last losses */
		gp_leave();
}
