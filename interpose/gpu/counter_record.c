/* The sink of counters, on the job's threads. */
#include "counter_record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../libgpuprof/record/record.h"
#include "../driver/cuda_api.h"
#include "../hooks/capture.h"
#include "../hooks/context.h"
#include "../hooks/deferred_call.h"
#include "../hooks/hook_launch.h"
#include "gpu_function.h"

bool gp_launch_is_plain GP_HOT_DATA;
static bool (*counter_resolve)(const char *symbol, void **real);
static _Thread_local bool is_measured; /* the launch that this thread is in */

static bool counter_enter(void)
{
	return gp_enter();
}

static void counter_leave(void)
{
	gp_leave();
}

static void counter_fact(bool is_recorded, const char *why)
{
	static char line[400]; /* gp_log recognises a printed line by its address */
	gp_define_fact(GP_FACT_COUNTERS, is_recorded, why);
	if (!is_recorded && snprintf(line, sizeof line, "counters are not recorded: %s", why) > 0)
		gp_log(true, line, NULL);
}

static void counter_metric(uint32_t number, const char *name)
{
	gp_define_fact(GP_FACT_METRIC + number, 0, name);
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

static bool counter_synchronize(void)
{
	return (gp_cuda.cuCtxSynchronize ||
		counter_resolve("cuCtxSynchronize", (void **)&gp_cuda.cuCtxSynchronize)) &&
	       gp_cuda.cuCtxSynchronize() == CUDA_SUCCESS;
}

static struct gp_counters_sink counter_sink = {
	.bytes = sizeof counter_sink,
	.enter = counter_enter,
	.leave = counter_leave,
	.fact = counter_fact,
	.metric = counter_metric,
	.function = gp_gpu_function,
	.value = counter_value,
	.context = counter_context,
	.synchronize = counter_synchronize,
	.name = gp_kernel_name_query,
};

static void counter_launch_ended(CUresult result)
{
	if (!is_measured)
		return;
	is_measured = false;
	gp_counters_source->end(result == CUDA_SUCCESS);
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
	gp_counters_source = source;
	counter_resolve = resolve_call;
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
		gp_counters_start();
	if (!gp_counters_source)
		counter_fact(false, "libgpuprof-cupti.so is not preloaded");
	else if (!gp_counters_are_started())
		counter_fact(false, "the process was forked from one that used CUPTI");
}

uint64_t gp_launch_time_slow(uint64_t function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
			     uint32_t block_x, uint32_t block_y, uint32_t block_z,
			     uint32_t shared_bytes)
{
	const int kept = errno;
	const struct gp_gpu_kernel kernel = { .grid = { grid_x, grid_y, grid_z },
					      .block = { block_x, block_y, block_z },
					      .dynamic_shared = shared_bytes };
	if (gp_counters_source && gp_counters_source->await() && gp_calls_begin()) {
		is_measured = gp_counters_source->begin(
			function, atomic_load(&gp_kernel_generation), &kernel);
		if (!is_measured)
			gp_calls_end();
	}
	errno = kept;
	return gp_clock_now();
}
