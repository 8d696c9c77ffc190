/*
 * Operations projected onto ranges, against a brute force search: two threads with ranges of the
 * same names, and kernels that run long after their range has ended.
 */
#include "gpu_records.h"

#define NAMES 3u
#define DEEP 3u
#define CALLS 4096u
#define OPERATIONS 8192u

struct call {
	char path[64]; /* "1 > 2" */
	uint64_t first, last, sum, operations;
};

static struct call call[CALLS];
static size_t calls;
static struct operation {
	uint64_t began, took;
	size_t in[DEEP]; /* calls */
	unsigned depth;
} operation[OPERATIONS];
static size_t operations;
static size_t open_call[2][DEEP];
static unsigned depth[2];

static void push(unsigned thread)
{
	const uint32_t name = 1 + (uint32_t)draw(NAMES);
	struct call *c = &call[calls];
	const char *up = depth[thread] > 0 ? call[open_call[thread][depth[thread] - 1]].path : "";
	*c = (struct call){ .first = UINT64_MAX };
	snprintf(c->path, sizeof c->path, "%.40s%sr%u", up, *up ? " > " : "", name);
	put(&job.w, thread,
	    (struct gp_record){ .kind = GP_RANGE_PUSH,
				.device = GP_DEVICE_UNKNOWN,
				.aux = name,
				.range_push = { GP_RANGE_NVTX, 0, depth[thread], 0 } });
	open_call[thread][depth[thread]++] = calls++;
}

static void pop(unsigned thread)
{
	put(&job.w, thread,
	    (struct gp_record){ .kind = GP_RANGE_POP,
				.device = GP_DEVICE_UNKNOWN,
				.range_pop = { GP_RANGE_NVTX, 0, --depth[thread], 0 } });
}

static void launch(unsigned thread)
{
	const uint64_t took_us = 1 + draw(20);
	struct operation *o = &operation[operations++];
	/* each thread has its stream, so no race leaves a launch uncertain */
	gpu_launch(thread, 1 + thread, (unsigned)draw(6), took_us);
	const struct gp_record *done = &job.done[job.dones - 1];
	*o = (struct operation){ .began = done->gpu_kernel.began_ns,
				 .took = done->gpu_kernel.took_ns,
				 .depth = depth[thread] };
	memcpy(o->in, open_call[thread], sizeof o->in);
	for (unsigned k = 0; k < o->depth; k++) {
		struct call *c = &call[o->in[k]];
		c->operations++;
		c->sum += o->took;
		if (o->began < c->first)
			c->first = o->began;
		if (o->began + o->took > c->last)
			c->last = o->began + o->took;
	}
}

/* The time in which an operation of the call ran, by each of its moments. */
static uint64_t busy_of(size_t which)
{
	uint64_t busy = 0, covered = 0;
	for (;;) { /* operations in order of their begin */
		const struct operation *next = NULL;
		for (size_t k = 0; k < operations; k++) {
			const struct operation *o = &operation[k];
			bool is_in = false;
			for (unsigned n = 0; n < o->depth; n++)
				is_in |= o->in[n] == which;
			if (is_in && o->began + o->took > covered &&
			    (next == NULL || o->began < next->began))
				next = o;
		}
		if (next == NULL)
			return busy;
		const uint64_t from = next->began > covered ? next->began : covered;
		covered = next->began + next->took;
		busy += covered - from;
	}
}

static void assert_range(const struct gp_gpu_range *range)
{
	char path[128];
	struct gp_gpu_sum expected = { 0 };
	uint64_t count = 0;
	gp_range_path_text(range->path, path, sizeof path);
	for (size_t k = 0; k < calls; k++)
		if (call[k].operations != 0 && strcmp(call[k].path, path) == 0) {
			count++;
			expected.operations += call[k].operations;
			expected.envelope_ns += call[k].last - call[k].first;
			expected.sum_ns += call[k].sum;
			expected.busy_ns += busy_of(k);
		}
	assert_int_equal(range->calls, count);
	assert_int_equal(range->sum.operations, expected.operations);
	assert_int_equal(range->sum.envelope_ns, expected.envelope_ns);
	assert_int_equal(range->sum.sum_ns, expected.sum_ns);
	assert_int_equal(range->sum.busy_ns, expected.busy_ns);
}

static void ranges_have_the_operations_of_each_call(void **state)
{
	(void)state;
	struct gp_gpu_ranges ranges;
	for (unsigned round = 1; round <= 8; round++) {
		seed = 0x9e3779b97f4a7c15u * round;
		calls = operations = 0;
		depth[0] = depth[1] = 0;
		gpu_job_open("ranges.gpr");
		for (uint32_t k = 1; k <= NAMES; k++) {
			char name[8];
			snprintf(name, sizeof name, "r%u", k);
			gpu_put_text(0, (struct gp_record){ .kind = GP_RANGE_NAME, .aux = k },
				     name);
		}
		gpu_clock_put();
		for (unsigned k = 0; k < 1200; k++) {
			const unsigned thread = (unsigned)draw(2), act = (unsigned)draw(4);
			if (act == 0 && depth[thread] < DEEP)
				push(thread);
			else if (act == 1 && depth[thread] > 0)
				pop(thread);
			else
				launch(thread);
			gpu_pass(1 + draw(8));
		}
		gpu_report(NULL);
		struct gp_recording *r = fixture_read(&job.w);
		assert_int_equal(
			gp_gpu_ranges_build(r, INT64_MIN, INT64_MAX, GP_DEVICE_UNKNOWN, &ranges),
			GP_OK);
		assert_int_equal(ranges.gpu.joined[GP_GPU_JOINED], operations);
		uint64_t seen = 0;
		for (size_t k = 0; k < ranges.ranges; k++) {
			if (ranges.range[k].path->known == GP_RANGE_IN)
				assert_range(&ranges.range[k]);
			seen += ranges.range[k].path->up == NULL ? ranges.range[k].sum.operations :
								   0;
		}
		assert_int_equal(seen, operations);
		gp_gpu_ranges_free(&ranges);
		gp_recording_close(r);
	}
}

static void steps_have_the_operations_of_their_launches(void **state)
{
	(void)state;
	struct gp_step step[3];
	struct gp_steps steps = { .steps = 3, .step = step };
	struct gp_gpu_sum *sum;
	gpu_job_open("steps.gpr");
	gpu_clock_put();
	for (unsigned k = 0; k < 3; k++) {
		step[k].begin_ns = (int64_t)job.w.time - 1024;
		gpu_launch(0, 1, 0, 10 + k);
		gpu_pass(100);
		gpu_launch(0, 1, 1, 20);
		gpu_pass(100);
		step[k].end_ns = (int64_t)job.w.time - 1024;
	}
	gpu_report(NULL);
	struct gp_recording *r = fixture_read(&job.w);
	assert_int_equal(gp_gpu_steps_build(r, &steps, &sum), GP_OK);
	for (unsigned k = 0; k < 3; k++) {
		assert_int_equal(sum[k].operations, 2);
		assert_int_equal(sum[k].sum_ns, (30 + k) * GPU_US);
		assert_int_equal(sum[k].busy_ns, (30 + k) * GPU_US);
		/* 100 us, a record and both definitions of a name lie between the launches */
		assert_in_range(sum[k].envelope_ns, 120 * GPU_US, 121 * GPU_US);
	}
	free(sum);
	gp_recording_close(r);
}

static void occupancy_follows_from_the_limits(void **state)
{
	(void)state;
	static const struct {
		uint64_t block;
		uint32_t registers, static_shared;
		double expected;
	} shapes[] = {
		{ 128, 32, 0, 1 },	       /* 16 blocks of 4 warps */
		{ 128, 255, 0, 0.125 },	       /* 8 warps: 65536 / 8192, 2 blocks */
		{ 384, 168, 197632, 0.1875 },  /* 12 warps, one block */
		{ 32, 16, 0, 0.5 },	       /* 32 blocks of one warp */
		{ 1024, 32, 0, 1 },	       /* 2 blocks */
		{ 1024, 33, 0, 0.5 },	       /* 40 registers: 48 warps, one block */
		{ 256, 32, 100 << 10, 0.25 },  /* 101 KiB: 2 blocks of 8 warps */
		{ 256, 32, 113 << 10, 0.25 },  /* 114 KiB: twice that is 228 KiB */
		{ 256, 32, 114 << 10, 0.125 }, /* 115 KiB: one block */
		{ 256, 32, 228 << 10, -1 },    /* more than a block may have */
	};
	for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
		const struct gp_gpu_function f = { .block = shapes[k].block | UINT64_C(1) << 16 |
							    UINT64_C(1) << 32,
						   .registers = shapes[k].registers,
						   .static_shared = shapes[k].static_shared };
		assert_float_equal(gp_gpu_occupancy("NVIDIA H100 80GB HBM3", &f),
				   shapes[k].expected, 1e-9);
		assert_float_equal(gp_gpu_occupancy("NVIDIA A100-SXM4-80GB", &f), -1, 1e-9);
		assert_float_equal(gp_gpu_occupancy(NULL, &f), -1, 1e-9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_have_the_operations_of_each_call),
		cmocka_unit_test(steps_have_the_operations_of_their_launches),
		cmocka_unit_test(occupancy_follows_from_the_limits),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
