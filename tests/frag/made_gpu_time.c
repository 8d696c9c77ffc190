/*
 * Writes a recording with GPU time of an invented training: ten steps of forward, backward on a
 * second thread, and optimizer, with copies, sets, and graph launches.
 *	made_gpu_time FILE [without-stacks | lost | alone | refused | none | nccl | slow-nccl |
 *		started | allocates | frees | counters | hostile | pageable]
 * alone: the work of the last two launches was not reported.
 * nccl: each step has calls of NCCL, two of them in one group. started: the first five steps are in
 * a started range, and all of them in one that ends on the second thread. Threads have a tid.
 * pageable: copies are from pageable memory, sets are of managed memory; those of every second step
 * wait. hostile: names of the code have control characters, and bytes that are not UTF-8.
 * allocates: each step allocates driver memory in its forward. frees: it frees the memory at its
 * end, which waits for the GPU. counters: each kernel was measured three times.
 */
#include "../unit/gpu_records.h"
#include "../unit/stack_records.h"

#define NO_STACK UINT32_MAX /* not defined */

/* id: its handle is 0x1000 + id */
static const struct kernel {
	const char *name;
	uint32_t grid, block, registers, shared, took_us;
} kernels[] = {
	{ "_Z17gemm_bf16_128x128PfS_S_", 264, 384, 168, 197632, 90 },
	{ "_ZN2at6native6reduceILi512EEEvPf", 128, 512, 32, 16, 12 },
	{ "_ZN2at6native4geluIfEEvPT_", 512, 128, 26, 0, 6 },
	{ "_Z10adamw_stepPfS_S_", 160, 512, 64, 0, 25 },
	{ "_Z38ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE", 24, 512,
	  96, 0, 64 },
};
#define NCCL 4u /* of kernels */

static bool has_stacks;
static unsigned nccl_us; /* 0: no calls of NCCL */
static bool has_allocations, has_frees, is_hostile, is_pageable;

static void define_stack(uint32_t id, uint32_t line)
{
	static const char code[] = "/srv/job/train.py\0step";
	static const char hostile[] = "/srv/a;b\n\x1b[31m/tr\xff"
				      "ain.py\0st;ep\n<b>\"\\";
	put_text(&job.w, (struct gp_record){ .kind = GP_PYTHON_CODE, .aux = 1000 + id },
		 is_hostile ? hostile : code, (is_hostile ? sizeof hostile : sizeof code) - 1);
	put(&job.w, 0,
	    (struct gp_record){
		    .kind = GP_PYTHON_FRAME,
		    .aux = 2000 + id,
		    .python_frame = { .python_code = 1000 + id, .line = line, .place = 1 } });
	put(&job.w, 0,
	    (struct gp_record){ .kind = GP_CALL_STACK,
				.aux = id,
				.call_stack = { .python = 2000 + id, .why_native = GP_WHY_OFF } });
	flush(&job.w, 0);
}

static void define_all(void)
{
	struct gp_record gpu = { .kind = GP_GPU };
	gpu.gpu.total_bytes = UINT64_C(80) << 30;
	gpu_put_text(0, gpu, "NVIDIA H100 80GB HBM3");
	static const char *const ranges[] = { "step", "forward", "backward", "optimizer" };
	for (uint32_t k = 0; k < 4; k++)
		gpu_put_text(0, (struct gp_record){ .kind = GP_RANGE_NAME, .aux = k + 1 },
			     ranges[k]);
	for (uint32_t k = 0; k < (nccl_us != 0 ? NCCL + 1 : NCCL); k++) {
		const struct kernel *f = &kernels[k];
		gpu_put_text(0,
			     (struct gp_record){ .kind = GP_KERNEL, .kernel.handle = 0x1000 + k },
			     f->name);
		gpu_put_text(
			3,
			(struct gp_record){
				.kind = GP_GPU_FUNCTION,
				.aux = k,
				.gpu_function = { f->grid | UINT64_C(1) << 32 | UINT64_C(1) << 48,
						  f->block | UINT64_C(1) << 16 | UINT64_C(1) << 32,
						  (uint64_t)f->shared << 32, f->registers } },
			f->name);
	}
	for (uint32_t k = 0; has_stacks && k < 3; k++)
		define_stack(k + 1, 10 + k);
	static const char *const calls[] = { "NCCL", "ncclGroupStart", "ncclGroupEnd",
					     "ncclAllReduce", "ncclAllGather" };
	for (uint32_t k = 0; nccl_us != 0 && k < 5; k++)
		gpu_put_text(0,
			     (struct gp_record){ .kind = GP_RANGE_NAME,
						 .aux = 5 + k,
						 .range_name.domain = k != 0 ? 5 : 0 },
			     calls[k]);
	if (nccl_us != 0)
		put(&job.w, 0,
		    (struct gp_record){ .kind = GP_COMMUNICATOR,
					.aux = 1,
					.communicator = { 0xc0ffee, 8, 1 + 3, 0 } });
	job.kernels_named = UINT64_MAX;
}

static void push(unsigned thread, uint32_t name, uint32_t depth)
{
	put(&job.w, thread,
	    (struct gp_record){ .kind = GP_RANGE_PUSH,
				.device = GP_DEVICE_UNKNOWN,
				.aux = name,
				.range_push = { GP_RANGE_NVTX, 0, depth, 0 } });
}

static void pop(unsigned thread, uint32_t depth)
{
	put(&job.w, thread,
	    (struct gp_record){ .kind = GP_RANGE_POP,
				.device = GP_DEVICE_UNKNOWN,
				.range_pop = { GP_RANGE_NVTX, 0, depth, 0 } });
}

static void run(unsigned thread, unsigned kernel, uint32_t stack)
{
	const struct kernel *f = &kernels[kernel];
	job.stack = has_stacks ? stack : NO_STACK;
	struct gp_record r = { .kind = GP_LAUNCH,
			       .aux = f->shared,
			       .launch = { 0x1000 + kernel, gpu_handle(1),
					   f->grid | UINT64_C(1) << 32 | UINT64_C(1) << 48,
					   f->block | UINT64_C(1) << 16 | UINT64_C(1) << 32 } };
	const uint32_t call = gpu_call(thread, r);
	job.correlation += 2;
	gpu_kernel(1, kernel, call, job.w.time, f->took_us, 0);
	gpu_pass(5);
}

/* ---- NCCL: ranges 6 to 9 are of its domain, 5 ---- */

static void nccl_push(uint32_t name)
{
	put(&job.w, 1,
	    (struct gp_record){ .kind = GP_RANGE_PUSH,
				.device = GP_DEVICE_UNKNOWN,
				.aux = name,
				.range_push = { GP_RANGE_NVTX, 5, 1, 0 } });
}

static void nccl_pop(void)
{
	put(&job.w, 1,
	    (struct gp_record){ .kind = GP_RANGE_POP,
				.device = GP_DEVICE_UNKNOWN,
				.range_pop = { GP_RANGE_NVTX, 5, 1, 0 } });
}

static void nccl_launch(void)
{
	const uint32_t call = gpu_call(
		1, (struct gp_record){ .kind = GP_LAUNCH,
				       .launch = { 0x1000 + NCCL, gpu_handle(2),
						   24 | UINT64_C(1) << 32 | UINT64_C(1) << 48,
						   512 | UINT64_C(1) << 16 | UINT64_C(1) << 32 } });
	job.correlation += 2;
	gpu_kernel(2, NCCL, call, job.w.time, nccl_us, 0);
	gpu_pass(5);
}

static void nccl_call(uint32_t name, enum gp_collective operation, uint64_t bytes)
{
	nccl_push(name);
	put(&job.w, 1,
	    (struct gp_record){ .kind = GP_COLLECTIVE,
				.device = GP_DEVICE_UNKNOWN,
				.aux = operation,
				.collective = { 0xc0ffee, bytes } });
	nccl_pop();
}

/* As PyTorch calls: each kernel is launched by the end of a group. */
static void nccl_group(bool has_both)
{
	nccl_push(6);
	nccl_pop();
	nccl_call(8, GP_ALL_REDUCE, has_both ? 4096 : 64 << 20);
	if (has_both)
		nccl_call(9, GP_ALL_GATHER, 1 << 20);
	nccl_push(7);
	nccl_launch();
	nccl_pop();
}

#define ALLOCATION_US 400u

static void allocate(void)
{
	static uint64_t address = 0x7f0000000000;
	gpu_pass(ALLOCATION_US);
	put(&job.w, 0,
	    (struct gp_record){
		    .kind = GP_ALLOC,
		    .space = GP_SPACE_DEVICE,
		    .stack = 1,
		    .code = (uint16_t)gp_took_pack(ALLOCATION_US * GPU_US, GP_ALLOC_TOOK_BITS),
		    .alloc = { .address = address, .bytes = 32 << 20 } });
	if (!has_frees)
		address += 32 << 20;
}

static void release(void)
{
	put(&job.w, 0,
	    (struct gp_record){ .kind = GP_FREE,
				.space = GP_SPACE_DEVICE,
				.device = GP_DEVICE_UNKNOWN,
				.free.address = 0x7f0000000000 });
	gpu_pass(50);
	put(&job.w, 0,
	    (struct gp_record){ .kind = GP_WAIT,
				.stack = 3,
				.aux = gp_call_pack(GP_WAIT_FREE, 0, 50 * GPU_US),
				.wait.handle = 0x7f0000000000 });
}

#define CUPTI_PAGEABLE 1u
#define CUPTI_DEVICE 3u
#define CUPTI_MANAGED 5u

static void step(void)
{
	static bool is_second;
	job.is_waiting = is_pageable && is_second;
	is_second = !is_second;
	job.copy_memory = is_pageable ? CUPTI_PAGEABLE << 8 | CUPTI_DEVICE << 16 : 0;
	push(0, 1, 0);
	gpu_copy(0, 1, GP_COPY_TO_DEVICE, 1 << 20);
	if (has_allocations)
		allocate();
	push(0, 2, 1);
	for (unsigned k = 0; k < 4; k++) {
		run(0, 0, 1);
		run(0, 2, 1);
	}
	run(0, 1, 1);
	pop(0, 1);
	push(1, 3, 0);
	for (unsigned k = 0; k < 8; k++)
		run(1, k % 4 == 3 ? 2 : 0, 2);
	for (unsigned k = 0; nccl_us != 0 && k < 3; k++)
		nccl_group(k == 2);
	pop(1, 0);
	push(0, 4, 1);
	job.copy_memory = is_pageable ? CUPTI_MANAGED << 16 : 0;
	gpu_copy(0, 1, GP_COPY_FILL, 4096);
	run(0, 3, 3);
	pop(0, 1);
	pop(0, 0);
	gpu_wait(0, 1);
	if (has_frees)
		release();
	gpu_pass(300);
}

/* Ranges of two threads with work on one stream: one begins inside the other, and ends after it. */
static void cross(void)
{
	push(0, 2, 0);
	run(0, 0, 1);
	push(1, 3, 0);
	run(1, 0, 2);
	run(0, 0, 1);
	pop(0, 0);
	run(1, 0, 2);
	pop(1, 0);
	gpu_pass(300);
}

static void start(uint32_t name, uint64_t number)
{
	put(&job.w, 0,
	    (struct gp_record){ .kind = GP_RANGE_START,
				.device = GP_DEVICE_UNKNOWN,
				.aux = name,
				.range_start = { GP_RANGE_NVTX, 0, number, 0 } });
	gpu_pass(1); /* longer than a copy's call */
}

static void end(unsigned thread, uint64_t number)
{
	put(&job.w, thread,
	    (struct gp_record){ .kind = GP_RANGE_END,
				.device = GP_DEVICE_UNKNOWN,
				.range_end = { .source = GP_RANGE_NVTX, .range = number } });
	gpu_pass(1);
}

/* ---- counters ---- */

/* Of the first kernels, in the order of these metrics. Function 0 stands for an unknown one. */
#define COUNTED_FUNCTION 100u
static const char *const metrics[] = {
	"gpu__time_duration.sum",
	"sm__throughput.avg.pct_of_peak_sustained_elapsed",
	"dram__throughput.avg.pct_of_peak_sustained_elapsed",
	"lts__throughput.avg.pct_of_peak_sustained_elapsed",
	"sm__warps_active.avg.pct_of_peak_sustained_active",
	"dram__bytes.sum",
	"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
	"sm__ops_path_tensor_src_bf16_dst_fp32.sum",
};
#define METRICS (sizeof metrics / sizeof *metrics)
static const double counted[NCCL][METRICS] = {
	{ 92160, 78.4, 31.2, 42.6, 18.6, 96e6, 0, 6.87e10 },
	{ 12288, 21.0, 82.3, 46.1, 88.4, 33.9e6, 4.2e6, 0 },
	{ 6144, 38.5, 44.1, 52.0, 79.3, 9.1e6, 5.2e7, 0 },
	{ 25600, 14.2, 91.6, 48.3, 83.0, 78.6e6, 9.8e7, 0 },
};

static void counters_put(void)
{
	for (uint32_t m = 0; m < METRICS; m++)
		gpu_put_text(0, (struct gp_record){ .kind = GP_FACT, .aux = GP_FACT_METRIC + m },
			     metrics[m]);
	gpu_put_text(
		0, (struct gp_record){ .kind = GP_FACT, .aux = GP_FACT_COUNTERS, .fact.value = 1 },
		"CUPTI 130001; a measurement takes 3 launches");
	for (uint32_t k = 0; k < NCCL; k++) {
		const struct kernel *f = &kernels[k];
		const uint32_t id = COUNTED_FUNCTION + k;
		gpu_put_text(
			3,
			(struct gp_record){
				.kind = GP_GPU_FUNCTION,
				.aux = id,
				.gpu_function = { f->grid | UINT64_C(1) << 32 | UINT64_C(1) << 48,
						  f->block | UINT64_C(1) << 16 | UINT64_C(1) << 32,
						  (uint64_t)f->shared << 32, f->registers } },
			f->name);
		for (uint32_t m = 0; m < 3 * METRICS; m++) {
			struct gp_record r = { .kind = GP_COUNTER,
					       .device = GP_DEVICE_UNKNOWN,
					       .aux = id,
					       .counter = { .metric = m % METRICS,
							    .number = 1 + m / METRICS,
							    .passes = 3 } };
			memcpy(&r.counter.value, &counted[k][m % METRICS], sizeof r.counter.value);
			put(&job.w, 0, r);
		}
	}
}

static bool is_lost(uint32_t done)
{
	return done % 37 == 20;
}

int main(int argc, char **argv)
{
	char *slash = argc > 1 ? strrchr(argv[1], '/') : NULL;
	const char *kind = argc > 2 ? argv[2] : "";
	const bool is_none = strcmp(kind, "none") == 0, is_refused = strcmp(kind, "refused") == 0;
	has_stacks = strcmp(kind, "without-stacks") != 0;
	nccl_us = strcmp(kind, "nccl") == 0 ? 64 : strcmp(kind, "slow-nccl") == 0 ? 256 : 0;
	has_frees = strcmp(kind, "frees") == 0;
	is_hostile = strcmp(kind, "hostile") == 0;
	is_pageable = strcmp(kind, "pageable") == 0;
	has_allocations = has_frees || is_hostile || strcmp(kind, "allocates") == 0;
	snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - argv[1]) : 1,
		 slash ? argv[1] : ".");
	gpu_job_open(slash ? slash + 1 : argc > 1 ? argv[1] : "made.gpr");
	define_all();
	if (!is_none)
		gpu_put_text(0,
			     (struct gp_record){ .kind = GP_FACT,
						 .aux = GP_FACT_GPU_TIME,
						 .fact.value = !is_refused },
			     is_refused ? "libcupti.so.13 was not found" : "CUPTI 13.0");
	gpu_clock_put();
	const bool has_started = strcmp(kind, "started") == 0;
	if (has_started) {
		for (uint32_t k = 0; k < 2; k++)
			gpu_put_text(0,
				     (struct gp_record){
					     .kind = GP_THREAD, .aux = k, .thread.tid = 4711 + k },
				     "python");
		start(2, 1);
		gpu_put_text(0, (struct gp_record){ .kind = GP_RANGE_NAME, .aux = 5 },
			     "all \"10\", twice");
		start(5, 2);
	}
	for (unsigned k = 0; k < 10; k++) {
		step();
		if (k == 4 && has_started)
			end(0, 1);
	}
	if (has_started)
		end(1, 2);
	for (unsigned k = 0; k < 2 && strcmp(kind, "crossed") == 0; k++)
		cross();
	for (unsigned k = 0; k < 3; k++) {
		job.stack = NO_STACK;
		gpu_graph(0, 1, 3);
		gpu_pass(100);
	}
	for (unsigned k = 0; k < 2 && strcmp(kind, "alone") == 0; k++)
		gpu_call_kernel(0, 0, 0);
	if (!is_none && !is_refused)
		gpu_report(strcmp(kind, "lost") == 0 ? is_lost : NULL);
	if (strcmp(kind, "counters") == 0)
		counters_put();
	gpu_clock_put();
	writer_close(&job.w, true);
	return 0;
}
