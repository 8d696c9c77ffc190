/* Families for made_hostile.c: operations of the GPU that are hard to join to launches. */
#ifndef HOSTILE_GPU_H
#define HOSTILE_GPU_H

#include "hostile_writer.h"

static void gpu_call(uint64_t kernel, uint64_t stream)
{
	struct gp_record r = { .kind = GP_LAUNCH };
	r.launch.kernel = kernel;
	r.launch.stream = stream;
	r.launch.grid = kernel;
	add(r);
}

/* `function` is not defined: shape 0, no name. */
static void gpu_done(uint64_t correlation, uint64_t stream, uint64_t began_ns)
{
	struct gp_record r = { .kind = GP_GPU_KERNEL, .code = 1 };
	r.gpu_kernel.began_ns = began_ns;
	r.gpu_kernel.took_ns = 64;
	r.gpu_kernel.launch = correlation | stream << 32;
	add(r);
}

/* As many launches as operations, but one operation is missing in front: all may be moved. */
static void gpu_moved(uint64_t count)
{
	for (uint64_t k = 0; k < count; k++)
		gpu_call(0, 1);
	for (uint64_t k = 1; k < count; k++)
		gpu_done((uint32_t)k, 1, k << 8);
}

/* Few launches fit, so each edit script is long. */
static void gpu_unlike(uint64_t count)
{
	uint64_t random = 88172645463325252u;
	for (uint64_t k = 0; k < count; k++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		gpu_call(random >> 40 & 1, 1);
	}
	for (uint64_t k = 0; k < count; k++)
		gpu_done((uint32_t)k, 1, k << 8);
}

/* Short windows of equal launches, and operations of calls outside of them. */
static void gpu_windows(uint64_t count)
{
	struct gp_record window = { .kind = GP_GPU_TIME, .device = GP_DEVICE_UNKNOWN };
	struct gp_record clock = { .kind = GP_GPU_CLOCK, .device = GP_DEVICE_UNKNOWN };
	add(clock);
	for (uint64_t k = 0; k < count; k++) {
		window.aux = k % 2 ? GP_GPU_TIME_OFF : GP_GPU_TIME_ON;
		if (k % 4 < 2)
			add(window);
		gpu_call(k % 8 == 7, 1 + k % 3);
	}
	for (uint64_t k = 0; k < count; k++)
		gpu_done((uint32_t)k, 1 + k % 3, k << 8);
}

static void gpu_copied(uint64_t correlation, uint64_t bytes)
{
	struct gp_record r = { .kind = GP_GPU_COPY, .code = 1, .aux = GP_GPU_TO_DEVICE };
	r.gpu_copy.began_ns = correlation << 10;
	r.gpu_copy.took_ns = 64;
	r.gpu_copy.launch = correlation | (uint64_t)1 << 32;
	r.gpu_copy.bytes = bytes;
	add(r);
}

/* Copies that may have no operation, then a launch that has none: many places fit but for it. */
static void gpu_optional(uint64_t count)
{
	struct gp_record copy = { .kind = GP_COPY, .aux = gp_call_pack(GP_COPY_UNIFIED, 0, 0) };
	copy.copy = (__typeof__(copy.copy)){ .bytes = 64, .stream = 1 };
	add((struct gp_record){ .kind = GP_GPU_CLOCK, .device = GP_DEVICE_UNKNOWN });
	add((struct gp_record){ .kind = GP_GPU_TIME, .aux = GP_GPU_TIME_ON });
	for (uint64_t k = 0; k < count; k++)
		add(copy);
	gpu_call(1, 1);
	gpu_copied(1, 17);
	for (uint64_t k = 0; k < 4000; k++)
		gpu_copied(2 + k, 64);
}

/* Each launch and each operation has a stream of its own, and waits are for all of them. */
static void gpu_streams(uint64_t count)
{
	struct gp_record wait = { .kind = GP_WAIT };
	wait.aux = gp_call_pack(GP_WAIT_CONTEXT, 0, 64);
	for (uint64_t k = 0; k < count; k++) {
		gpu_call(0, 16 + k);
		gpu_done((uint32_t)k, k, k << 8);
		add(wait);
	}
}

/* Allocations as long as can be stored: each is under way in all gaps before it. */
static void gpu_allocations(uint64_t count)
{
	struct gp_record r = { .kind = GP_ALLOC, .space = GP_SPACE_DEVICE, .code = UINT16_MAX };
	add((struct gp_record){ .kind = GP_GPU_CLOCK, .time = START });
	for (uint64_t k = 0; k < count; k++) {
		r.alloc.address = k << 21;
		r.alloc.bytes = 1 << 21;
		r.stack = (uint32_t)k;
		add(r);
		gpu_call(0, 1);
		gpu_done((uint32_t)k, 1, k << 8);
	}
}

/* One graph launch with all operations, some beyond the end of the clock. */
static void gpu_one_graph(uint64_t count)
{
	struct gp_record clock = { .kind = GP_GPU_CLOCK, .aux = UINT32_MAX };
	add((struct gp_record){ .kind = GP_GRAPH_LAUNCH });
	for (uint64_t k = 0; k < count; k++) {
		struct gp_record r = { .kind = GP_GPU_KERNEL, .aux = (uint32_t)k };
		r.gpu_kernel.began_ns = k % 2 ? k : UINT64_MAX - k;
		r.gpu_kernel.took_ns = UINT64_MAX;
		r.gpu_kernel.node = k;
		add(r);
		clock.gpu_clock.gpu_ns = k << 40 ^ k;
		add(clock);
	}
}

/* Each launch is in a range of its own, below as many as are followed. */
static void gpu_ranges(uint64_t count)
{
	struct gp_record push = { .kind = GP_RANGE_PUSH, .device = GP_DEVICE_UNKNOWN };
	struct gp_record pop = { .kind = GP_RANGE_POP, .device = GP_DEVICE_UNKNOWN };
	push.range_push.source = pop.range_pop.source = GP_RANGE_NVTX;
	for (uint64_t k = 0; k < 126; k++) {
		push.range_push.depth = k;
		add(push);
	}
	for (uint64_t k = 0; k < count; k++) {
		push.range_push.depth = pop.range_pop.depth = 126;
		add(push);
		gpu_call(0, 1);
		add(pop);
	}
	for (uint64_t k = 0; k < count; k++)
		gpu_done((uint32_t)k, 1, k << 8);
}

/* The same with times on the job's clock, so that each range has a span on the stream. */
static void gpu_nested(uint64_t count)
{
	add((struct gp_record){ .kind = GP_GPU_CLOCK, .device = GP_DEVICE_UNKNOWN });
	gpu_ranges(count);
}

/* Each launch is in as many started ranges as are followed. */
static void gpu_started(uint64_t count)
{
	struct gp_record start = { .kind = GP_RANGE_START, .device = GP_DEVICE_UNKNOWN };
	start.range_start.source = GP_RANGE_NVTX;
	for (uint64_t k = 1; k <= 4096; k++) {
		start.range_start.range = k;
		add(start);
	}
	for (uint64_t k = 0; k < count; k++)
		gpu_call(0, 1);
	for (uint64_t k = 0; k < count; k++)
		gpu_done((uint32_t)k, 1, k << 8);
}

/* One launch that passes the same 4,000 allocations again and again, and an operation. */
static void gpu_uses(uint64_t count)
{
	struct gp_record launch = { .kind = GP_LAUNCH };
	launch.launch.block = (uint64_t)GP_LAUNCH_SCANNED << 48;
	for (uint64_t k = 1; k <= 4000; k++) {
		struct gp_record r = { .kind = GP_ALLOC, .space = GP_SPACE_DEVICE };
		r.alloc.address = k << 21;
		r.alloc.bytes = 4096;
		add(r);
	}
	gpu_done(1, 1, 1 << 8);
	add(launch);
	for (uint64_t k = 0; k < count; k++) {
		struct gp_record r = { .kind = GP_USE, .aux = GP_USE_LAUNCH };
		for (unsigned v = 0; v < 4; v++)
			r.v[v] = (1 + (4 * k + v) % 4000) << 21;
		add(r);
	}
}

/* Each function is another kernel with a name of its own. */
static void gpu_functions(uint64_t count)
{
	for (uint64_t k = 0; k < count; k++) {
		struct gp_record r = { .kind = GP_GPU_FUNCTION, .aux = (uint32_t)k };
		char name[32];
		snprintf(name, sizeof name, "_Z9kernel%06xPf", (unsigned)k);
		r.gpu_function.grid = r.gpu_function.block = k;
		define(r, name);
	}
	flush(GP_BLOCK_DEFINE);
	for (uint64_t k = 0; k < count; k++) {
		struct gp_record r = { .kind = GP_GPU_KERNEL, .aux = (uint32_t)k };
		r.gpu_kernel.launch = k;
		add(r);
	}
}

/*
 * Calls of NCCL: each in a row of its own, in one group that never ends, with all kernels, and each
 * also with a communicator of its own.
 */
static void nccl_calls(uint64_t count)
{
	struct gp_record function = { .kind = GP_GPU_FUNCTION };
	function.gpu_function.grid = 7;
	define((struct gp_record){ .kind = GP_RANGE_NAME, .aux = 1 }, "NCCL");
	define((struct gp_record){ .kind = GP_RANGE_NAME, .aux = 2 }, "ncclGroupStart");
	define((struct gp_record){ .kind = GP_KERNEL, .kernel.handle = 7 }, "ncclKernel_");
	define(function, "ncclKernel_");
	for (uint64_t k = 0; k < count; k++) {
		struct gp_record c = { .kind = GP_COMMUNICATOR, .aux = (uint32_t)k };
		c.communicator.communicator = k;
		c.communicator.ranks = UINT64_MAX - k % 2;
		define(c, NULL);
	}
	flush(GP_BLOCK_DEFINE);
	for (uint64_t k = 0; k < count; k++) {
		struct gp_record push = { .kind = GP_RANGE_PUSH, .aux = 2 };
		push.range_push.source = GP_RANGE_NVTX;
		push.range_push.domain = k % 4 == 0;
		push.range_push.depth = k % 3;
		add(push);
		struct gp_record call = { .kind = GP_COLLECTIVE, .aux = (uint32_t)k };
		call.collective.communicator = k % 5000;
		call.collective.bytes = UINT64_MAX - k;
		call.collective.peer = UINT64_MAX - k;
		add(call);
		gpu_call(7, 1);
		gpu_done((uint32_t)k, 1, k << 8);
	}
}

/* Counters of many kernels, and more values than a report takes. */
static void gpu_counters(uint64_t count)
{
	for (uint64_t k = 0; k < 65535; k++) {
		struct gp_record r = { .kind = GP_GPU_FUNCTION, .aux = (uint32_t)k };
		define(r, "kernel");
	}
	for (uint64_t k = 0; k < 64; k++)
		define((struct gp_record){ .kind = GP_FACT, .aux = (uint32_t)(GP_FACT_METRIC + k) },
		       "sm__throughput.avg.pct_of_peak_sustained_elapsed");
	flush(GP_BLOCK_DEFINE);
	for (uint64_t k = 0; k < count; k++) {
		struct gp_record r = { .kind = GP_COUNTER, .aux = (uint32_t)(k * 40503 % 65536) };
		r.counter.metric = k % 65;
		r.counter.value = k * 0x9e3779b97f4a7c15u;
		add(r);
	}
}

/* Samples in no order of more GPUs and metrics than there are, with all values of 64 bits. */
static void gpu_samples(uint64_t count)
{
	for (uint64_t k = 0; k < 64; k++)
		define((struct gp_record){ .kind = GP_FACT, .aux = (uint32_t)(GP_FACT_METRIC + k) },
		       "sm__cycles_active.avg.pct_of_peak_sustained_elapsed");
	flush(GP_BLOCK_DEFINE);
	for (uint64_t k = 0; k < count; k++) {
		struct gp_record r = { .kind = k % 100 ? GP_SAMPLE : GP_SAMPLES_LOST,
				       .device = (uint8_t)(k % 70),
				       .aux = (uint32_t)(k % 65) };
		r.sample.began_ns = k * 0x9e3779b97f4a7c15u;
		r.sample.took_ns = k * 0xbf58476d1ce4e5b9u;
		r.sample.value = k * 0x94d049bb133111ebu;
		add(r);
	}
}

#endif
