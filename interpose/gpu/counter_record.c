/* The sink of counters, on the job's threads. */
#include "counter_record.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "../../libgpuprof/record/record.h"
#include "../driver/cuda_api.h"
#include "../hooks/capture.h"
#include "../hooks/context.h"
#include "../hooks/deferred_call.h"
#include "../hooks/hook_launch.h"
#include "counter_idle.h"
#include "gpu_function.h"
#include "gpu_record.h"

bool gp_launch_is_plain GP_HOT_DATA;
static bool (*counter_resolve)(const char *symbol, void **real);
/* The launch that this thread is in. */
static _Thread_local bool is_measured, is_launching;
static _Thread_local uint64_t launch_stream;
static _Atomic uint32_t launching; /* threads that are in one, with and without the turn */

/* In a hook or outside of hooks. False: it is not recorded now. */
static bool counter_define(enum gp_fact key, uint64_t value, const char *text)
{
	const bool is_outermost = gp_thread.inside == 0;
	if (is_outermost && !gp_enter())
		return false;
	gp_define_fact(key, value, text);
	if (is_outermost)
		gp_leave();
	return true;
}

static void counter_fact(bool is_recorded, const char *why)
{
	static char line[720]; /* gp_log recognises a printed line by its address */
	if (counter_define(GP_FACT_COUNTERS, is_recorded, why) && !is_recorded &&
	    snprintf(line, sizeof line, "counters are not recorded: %s", why) > 0)
		gp_log(true, line, NULL);
}

static void counter_metric(uint32_t number, const char *name)
{
	counter_define(GP_FACT_METRIC + number, 0, name);
}

/* ---- samples, on a thread of ours; as launches, they are not recorded outside of captures ---- */

static void counter_sample(unsigned device, uint64_t began_ns, uint64_t took_ns,
			   const double *values, size_t count)
{
	if (!gp_enter_launch())
		return;
	for (uint32_t k = 0; k < count; k++) {
		struct gp_record r = { .kind = GP_SAMPLE,
				       .device = (uint8_t)device,
				       .aux = k,
				       .sample = { .began_ns = began_ns, .took_ns = took_ns } };
		memcpy(&r.sample.value, &values[k], sizeof values[k]);
		gp_put(r);
	}
	gp_leave();
}

static void counter_samples_lost(unsigned device, uint64_t count)
{
	if (!gp_enter_launch())
		return;
	gp_put((struct gp_record){ .kind = GP_SAMPLES_LOST,
				   .device = (uint8_t)device,
				   .samples_lost = { .number = count } });
	gp_leave();
}

static void counter_value(uint32_t function, uint32_t metric, uint64_t number, double value,
			  uint64_t passes)
{
	struct gp_record r = { .kind = GP_COUNTER,
			       .device = GP_DEVICE_UNKNOWN,
			       .aux = function,
			       .counter = {
				       .metric = metric, .number = number, .passes = passes } };
	memcpy(&r.counter.value, &value, sizeof value);
	gp_put(r);
}

static bool counter_context(void **context, int *device)
{
	return gp_cuda.cuCtxGetCurrent && gp_cuda.cuCtxGetDevice &&
	       gp_cuda.cuCtxGetCurrent((CUcontext *)context) == CUDA_SUCCESS && *context &&
	       gp_cuda.cuCtxGetDevice(device) == CUDA_SUCCESS;
}

#define YIELDS 1000u

static bool counter_await_idle(void *context)
{
	/* a launch that is inside the driver is on no stream yet */
	for (unsigned k = 0; atomic_load(&launching) > 1 && k < YIELDS; k++)
		sched_yield();
	return (gp_cuda.cuStreamQuery ||
		counter_resolve("cuStreamQuery", (void **)&gp_cuda.cuStreamQuery)) &&
	       atomic_load(&launching) <= 1 &&
	       gp_idle_await(launch_stream, (uint64_t)(uintptr_t)context);
}

static void counter_refused(void)
{
	gp_launch_is_plain = gp_clock_is_tsc;
	atomic_fetch_and(&gp_due, ~(uint32_t)GP_DUE_ENDED);
}

static void counter_thread(void)
{
	gp_gpu_thread(GP_THREAD_COUNTERS);
}

static bool counter_may_call(void)
{
	return !gp_is_capturing();
}

static struct gp_counters_sink counter_sink = {
	.bytes = sizeof counter_sink,
	.fact = counter_fact,
	.metric = counter_metric,
	.function = gp_gpu_function,
	.value = counter_value,
	.devices = gp_counters_devices,
	.sample = counter_sample,
	.samples_lost = counter_samples_lost,
	.context = counter_context,
	.await_idle = counter_await_idle,
	.refused = counter_refused,
	.thread = counter_thread,
	.may_call = counter_may_call,
	.name = gp_kernel_name_query,
};

static void counter_launch_ended(CUresult result)
{
	if (is_launching)
		atomic_fetch_sub(&launching, 1);
	is_launching = false;
	if (!is_measured)
		return;
	is_measured = false;
	gp_counters_source->end(result == CUDA_SUCCESS);
	gp_calls_are_long(false);
	gp_calls_end();
}

const struct gp_counters_sink *gp_counters_open(const struct gp_counters_source *source,
						bool (*resolve_call)(const char *symbol,
								     void **real))
{
	if (!*gp_settings.metrics || source->bytes != sizeof *source)
		return NULL;
	counter_sink.metrics = gp_settings.metrics;
	counter_sink.kernel = gp_settings.kernel;
	counter_sink.count = gp_settings.count;
	counter_sink.interval_ns = gp_settings.interval_ns;
	gp_counters_source = source;
	counter_resolve = resolve_call;
	if (!*gp_settings.kernel) /* samples need no hook of launches */
		return &counter_sink;
	gp_launch_is_plain = false;
	gp_launch_ended = counter_launch_ended;
	gp_is_due(GP_DUE_ENDED);
	return &counter_sink;
}

void gp_counters_write(void)
{
	if (!*gp_settings.metrics)
		return;
	if (gp_counters_source)
		gp_counters_start(gp_thread.context);
	if (!gp_counters_source)
		counter_fact(false, "libgpuprof-cupti.so is not preloaded");
	else if (!gp_counters_are_started()) {
		counter_fact(false, "the process was forked from one that used CUPTI");
		counter_refused();
	}
}

static void counter_begin(uint64_t function, const struct gp_gpu_kernel *kernel)
{
	if (!gp_calls_begin())
		return;
	gp_calls_are_long(true);
	is_measured =
		gp_counters_source->begin(function, atomic_load(&gp_kernel_generation), kernel);
	if (is_measured)
		return;
	gp_calls_are_long(false);
	gp_calls_end();
}

uint64_t gp_launch_time_slow(uint64_t function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
			     uint32_t block_x, uint32_t block_y, uint32_t block_z,
			     uint32_t shared_bytes, CUstream stream, bool is_per_thread)
{
	const int kept = errno;
	const struct gp_gpu_kernel kernel = { .grid = { grid_x, grid_y, grid_z },
					      .block = { block_x, block_y, block_z },
					      .dynamic_shared = shared_bytes };
	if (is_measured || is_launching) /* a handler jumped out of that launch */
		counter_launch_ended(CUDA_ERROR_INVALID_VALUE);
	if (gp_counters_source && gp_counters_source->await()) {
		is_launching = true;
		launch_stream = gp_stream_of(stream, is_per_thread);
		/* partner: the load in counter_await_idle, by the thread with the turn */
		atomic_fetch_add(&launching, 1);
		counter_begin(function, &kernel);
	}
	errno = kept;
	return gp_clock_now();
}

#define ATTRIBUTES_MOST 64u

static bool is_cooperative(const CUlaunchConfig *c)
{
	bool is = false;
	for (unsigned k = 0; c->attrs && k < c->numAttrs && k < ATTRIBUTES_MOST; k++)
		is |= c->attrs[k].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
		      c->attrs[k].value.cooperative;
	return is;
}

uint64_t gp_launch_time_ex_slow(uint64_t function, const CUlaunchConfig *c, bool is_per_thread)
{
	return !c || is_cooperative(c) ?
		       gp_clock_now() :
		       gp_launch_time_slow(function, c->gridDimX, c->gridDimY, c->gridDimZ,
					   c->blockDimX, c->blockDimY, c->blockDimZ,
					   c->sharedMemBytes, c->hStream, is_per_thread);
}

void gp_counted_context_end_slow(uint64_t context, bool is_certain)
{
	const int kept = errno;
	const bool may_call = gp_calls_begin();
	if (is_certain)
		gp_idle_remove(0, context);
	gp_counters_source->context_end((void *)(uintptr_t)context, may_call);
	if (may_call)
		gp_calls_end();
	errno = kept;
}

void gp_counted_stream_slow(uint64_t stream, bool is_ending)
{
	const int kept = errno;
	if (is_ending && stream)
		gp_idle_remove(stream, 0);
	else if (!is_ending)
		gp_idle_add(stream, gp_thread.context);
	errno = kept;
}
