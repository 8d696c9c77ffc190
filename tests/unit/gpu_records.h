/*
 * A job with a GPU, made by hand: launches, copies and graph launches of four threads, and what
 * CUPTI reports of them later. The stack of each call is its number, so a test can compare the
 * launch of each operation with the true one.
 */
#ifndef GPU_RECORDS_H
#define GPU_RECORDS_H

#include "recording_writer.h"

#define GPU_US 1024u	  /* about a microsecond: a multiple of the ticks that are kept */
#define GPU_AHEAD 777777u /* CUPTI's clock minus the recording's */
#define GPU_CALLS 65536u
#define GPU_STREAMS 16u

/* Random numbers; a test sets the seed. */
static uint64_t seed;
static inline uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 20) % below;
}

struct gpu_job {
	struct writer w;
	uint32_t calls, correlation;
	uint32_t true_call[GPU_CALLS];	      /* by correlation id */
	uint64_t busy_until[GPU_STREAMS];     /* ticks */
	struct gp_record done[2 * GPU_CALLS]; /* to be reported */
	uint32_t dones;
	uint64_t kernels_named;
	uint32_t stack;	   /* of all calls; 0: the number of each; UINT32_MAX: none */
	bool is_hidden;	   /* operations: outside of a window */
	bool is_shapeless; /* kernels: the recorder had room for their name alone */
	uint32_t lead_us;  /* from the call to the GPU at least */
	bool is_scanned;   /* launches: their uses follow */
	bool is_waiting;   /* copies and sets: of the functions without "Async" */
	/* of copies and sets, CUPTI's kinds of memory: GPU_COPY.what, bits 8 to 23 */
	uint32_t copy_memory;
};

static struct gpu_job job;

static void gpu_put_text(unsigned thread, struct gp_record r, const char *text)
{
	struct gp_record slots[4] = { r };
	fill_text(slots, text);
	slots[0].order = job.w.order;
	slots[0].time = job.w.time += 64;
	gp_live_apply(job.w.live, slots);
	for (unsigned k = 0; k <= slots->extra; k++)
		job.w.buffer[thread][job.w.buffered[thread]++] = slots[k];
	flush(&job.w, thread);
}

static inline void gpu_job_open(const char *name)
{
	memset(&job, 0, sizeof job);
	writer_open(&job.w, name, 0, 0);
	job.lead_us = 4;
}

static inline void gpu_pass(uint64_t us)
{
	job.w.time += us * GPU_US;
}

static inline void gpu_clock_put(void)
{
	put(&job.w, 3,
	    (struct gp_record){ .kind = GP_GPU_CLOCK,
				.aux = 64,
				.gpu_clock.gpu_ns = job.w.time + 64 + GPU_AHEAD });
}

static inline void gpu_window(enum gp_gpu_time what, uint64_t number)
{
	put(&job.w, 0,
	    (struct gp_record){ .kind = GP_GPU_TIME, .aux = what, .gpu_time.number = number });
	job.is_hidden = what == GP_GPU_TIME_OFF;
}

/* `kernel`: its handle, its GPU_FUNCTION and its grid. */
static inline void gpu_name(unsigned thread, unsigned kernel)
{
	char name[32];
	if (job.kernels_named >> kernel & 1)
		return;
	job.kernels_named |= 1ull << kernel;
	snprintf(name, sizeof name, "_Z8kernel%02uPf", kernel / 2); /* two shapes of each */
	gpu_put_text(thread,
		     (struct gp_record){ .kind = GP_KERNEL, .kernel.handle = 0x1000 + kernel },
		     name);
	gpu_put_text(3,
		     (struct gp_record){ .kind = GP_GPU_FUNCTION,
					 .aux = kernel,
					 .gpu_function = { .grid = 1 + kernel,
							   .block = 128,
							   .shared = 1024,
							   .registers = 32 } },
		     name);
	gpu_put_text(3, (struct gp_record){ .kind = GP_GPU_FUNCTION, .aux = 64 + kernel / 2 },
		     name);
}

static inline uint64_t gpu_run(unsigned stream, uint64_t called, uint64_t took)
{
	uint64_t begin = called + job.lead_us * GPU_US;
	if (job.busy_until[stream] > begin)
		begin = job.busy_until[stream];
	job.busy_until[stream] = begin + took;
	return begin + GPU_AHEAD;
}

static inline uint64_t gpu_launch_bits(unsigned stream)
{
	return job.correlation | (uint64_t)(stream + 7) << 32;
}

static inline void gpu_done(struct gp_record r)
{
	if (!job.is_hidden)
		job.done[job.dones++] = r;
}

/* The GPU's part of a launch: call `call` is the next in CUPTI's order. */
static inline void gpu_kernel(unsigned stream, unsigned kernel, uint32_t call, uint64_t called,
			      uint64_t took_us, uint64_t node)
{
	const uint64_t began = gpu_run(stream, called, took_us * GPU_US);
	job.true_call[job.correlation] = call;
	gpu_done((struct gp_record){
		.kind = GP_GPU_KERNEL,
		.code = 1,
		.aux = job.is_shapeless ? 64 + kernel / 2 : kernel,
		.gpu_kernel = { began, took_us * GPU_US, gpu_launch_bits(stream), node } });
}

/* The recorder's part; returns the number of the call. */
static inline uint32_t gpu_call(unsigned thread, struct gp_record r)
{
	job.calls++;
	r.stack = job.stack == 0 ? job.calls : job.stack == UINT32_MAX ? 0 : job.stack;
	put(&job.w, thread, r);
	return job.calls;
}

static inline uint64_t gpu_handle(unsigned stream)
{
	return stream == 0 ? 0 : 0x5000 + stream;
}

static inline uint32_t gpu_call_kernel(unsigned thread, unsigned stream, unsigned kernel)
{
	const uint64_t scanned = job.is_scanned ? (uint64_t)GP_LAUNCH_SCANNED << 48 : 0;
	gpu_name(thread, kernel);
	return gpu_call(thread, (struct gp_record){ .kind = GP_LAUNCH,
						    .launch = { .kernel = 0x1000 + kernel,
								.stream = gpu_handle(stream),
								.grid = 1 + kernel,
								.block = 128 | scanned } });
}

static inline void gpu_launch(unsigned thread, unsigned stream, unsigned kernel, uint64_t took_us)
{
	const uint32_t call = gpu_call_kernel(thread, stream, kernel);
	job.correlation += 3; /* other calls of the API have ids, too */
	gpu_kernel(stream, kernel, call, job.w.time, took_us, 0);
}

static inline void gpu_graph(unsigned thread, unsigned stream, unsigned kernels)
{
	const uint32_t call = gpu_call(
		thread, (struct gp_record){
				.kind = GP_GRAPH_LAUNCH,
				.graph_launch = { .exec = 0x77, .stream = gpu_handle(stream) } });
	const uint64_t called = job.w.time;
	job.correlation += 3;
	for (unsigned k = 0; k < kernels; k++) {
		gpu_name(thread, k);
		gpu_kernel(stream, k, call, called, 5, 100 + k);
	}
}

static inline void gpu_copy(unsigned thread, unsigned stream, enum gp_call kind, uint64_t bytes)
{
	const uint32_t call = gpu_call(
		thread,
		(struct gp_record){
			.kind = GP_COPY,
			.aux = gp_call_pack(kind, job.is_waiting ? 0 : GP_CALL_ASYNC, GPU_US / 2),
			.copy = { .bytes = bytes, .stream = gpu_handle(stream) } });
	job.correlation += 3;
	const uint64_t began = gpu_run(stream, job.w.time, 3 * GPU_US);
	job.true_call[job.correlation] = call;
	gpu_done((struct gp_record){
		.kind = GP_GPU_COPY,
		.code = 1,
		.aux = (kind == GP_COPY_FILL ? GP_GPU_SET : GP_GPU_TO_DEVICE) | job.copy_memory,
		.gpu_copy = { began, 3 * GPU_US, gpu_launch_bits(stream), bytes } });
}

static inline void gpu_wait(unsigned thread, unsigned stream)
{
	if (job.busy_until[stream] > job.w.time)
		job.w.time = job.busy_until[stream] / 64 * 64 + 64;
	put(&job.w, thread,
	    (struct gp_record){ .kind = GP_WAIT,
				.aux = gp_call_pack(GP_WAIT_STREAM, 0, GPU_US),
				.wait.handle = gpu_handle(stream) });
}

/* CUPTI reports what is done so far, without those of `is_lost`. */
static inline uint32_t gpu_report(bool (*is_lost)(uint32_t done))
{
	uint32_t lost = 0;
	gpu_clock_put();
	for (uint32_t k = 0; k < job.dones; k++) {
		if (is_lost != NULL && is_lost(k))
			lost++;
		else
			put(&job.w, 3, job.done[k]);
	}
	if (lost != 0)
		put(&job.w, 3,
		    (struct gp_record){ .kind = GP_GPU_TIME,
					.aux = GP_GPU_TIME_DROPPED,
					.gpu_time.number = lost });
	job.dones = 0;
	return lost;
}

#endif
