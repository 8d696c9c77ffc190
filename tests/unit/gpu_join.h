/* Tests of the join: a job of gpu_records.h, and its operations compared with the true launches. */
#ifndef GPU_JOIN_H
#define GPU_JOIN_H

#include "gpu_records.h"

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

static struct gp_gpu gpu;
/* By number of the call: it was in a window. */
static bool is_inside[GPU_CALLS];
static uint32_t is_inside_known;

static int begin(void **state)
{
	(void)state;
	gpu_job_open("gpu.gpr");
	gpu_clock_put();
	seed = 88172645463325252u;
	is_inside_known = 0;
	return 0;
}

static void build(void)
{
	gpu_clock_put();
	struct gp_recording *r = fixture_read(&job.w);
	assert_int_equal(gp_gpu_build(r, false, &gpu), GP_OK);
	gp_recording_close(r);
}

static int end(void **state)
{
	(void)state;
	gp_gpu_free(&gpu);
	return 0;
}

/* How many of the joined operations have another launch than the true one; at `join`. */
static uint64_t wrong(enum gp_gpu_join join)
{
	uint64_t count = 0;
	for (size_t k = 0; k < gpu.operations; k++) {
		const struct gp_gpu_operation *o = &gpu.operation[k];
		if (o->join == join && o->launch != GP_GPU_NO_LAUNCH)
			count += gpu.launch[o->launch].stack != job.true_call[o->correlation];
	}
	return count;
}

/* Of calls since the last time. */
static inline void set_inside(bool inside)
{
	while (is_inside_known < job.calls)
		is_inside[++is_inside_known] = inside;
}

/* Operations in the report whose call was in a window. */
static inline uint64_t of_windows(void)
{
	uint64_t count = 0;
	for (size_t k = 0; k < gpu.operations; k++)
		count += is_inside[job.true_call[gpu.operation[k].correlation]];
	return count;
}

static inline void assert_all_joined(size_t operations)
{
	assert_int_equal(gpu.operations, operations);
	assert_int_equal(gpu.joined[GP_GPU_JOINED], operations);
	assert_int_equal(wrong(GP_GPU_JOINED), 0);
	assert_int_equal(gpu.launches_alone, 0);
}

/* Two threads in turn, as PyTorch's forward and backward, three streams. */
static inline void put_steps(unsigned steps)
{
	for (unsigned step = 0; step < steps; step++)
		for (unsigned k = 0; k < 60; k++) {
			gpu_launch(k < 20 ? 0 : 1, (unsigned)draw(3), (unsigned)draw(12),
				   1 + draw(30));
			gpu_pass(1 + draw(9));
			if (k == 19 || k == 59)
				gpu_pass(200);
		}
}

#endif
