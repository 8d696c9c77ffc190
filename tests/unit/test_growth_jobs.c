/*
 * What `check --max-growth` has of whole jobs: whether the sum of a device grows, and what leaks.
 * It fails where both do, or something leaks beside the sum.
 */
#include "job_loops.h"

#define LOOPS (sizeof job_loops / sizeof *job_loops)
#define STEPS_MOST 45u

struct count {
	size_t jobs, sums, suspects, alone;
};

static void judge(const struct job_loop *loop, uint64_t seed, unsigned steps, unsigned queue,
		  size_t leaks_from, struct count *few, struct count *enough)
{
	struct gp_recording *r;
	struct gp_growth growth;
	struct gp_leaks leaks;
	struct job *j = job_open("growth.gpr", seed, 0, 0);
	j->is_named = !loop->is_unnamed;
	j->has_launches = !loop->has_no_launches;
	j->has_blocks = j->has_stacks = true;
	j->caches = queue;
	j->leaks_from = leaks_from;
	j->layers = 2 + (unsigned)(seed % 3);
	job_begin(j);
	loop->run(j, steps);
	writer_close(&j->w, true);
	assert_int_equal(gp_recording_open(j->w.path, &r, NULL), GP_OK);
	assert_int_equal(gp_growth_find(r, 0, &leaks, &growth), GP_OK);
	assert_true(growth.why == NULL || growth.warm < GP_GROWTH_STEPS_LEAST);
	if (growth.warm >= 8) {
		struct count *c = growth.why ? few : enough;
		const bool is_sum = growth.devices > 0 && growth.device[0].is_beyond;
		c->jobs++;
		c->sums += is_sum;
		c->suspects += leaks.leaks > 0;
		c->alone += is_sum && leaks.leaks == 0 && leaks.fillings == 0;
	}
	gp_leaks_free(&leaks);
	gp_recording_close(r);
	free(j);
}

/* Queues and tables of that size, which fill up and then do not grow. */
static void judge_all(unsigned queue, size_t leaks_from, struct count *few, struct count *enough)
{
	*few = *enough = (struct count){ 0 };
	for (unsigned steps = 9; steps <= STEPS_MOST; steps += 2)
		for (size_t k = 0; k < LOOPS; k++)
			if (!job_loops[k].has_no_blocks)
				judge(&job_loops[k], 1000 + steps * 31 + k, steps, queue,
				      leaks_from, few, enough);
	print_message("queues of %u, %s jobs: of %zu of 8 to 23 steps %zu have suspects; of %zu of "
		      "more %zu; in %zu the sum grows, in %zu the sum alone\n",
		      queue, leaks_from ? "leaking" : "clean", few->jobs, few->suspects,
		      enough->jobs, enough->suspects, enough->sums, enough->alone);
}

static void clean_jobs_do_not_fail(void **state)
{
	(void)state;
	struct count few, enough;
	judge_all(0, 0, &few, &enough);
	assert_int_equal(few.suspects + enough.suspects, 0);
	assert_int_equal(enough.sums, enough.alone);
	assert_true(few.jobs > 150 && enough.jobs > 200);
	judge_all(5, 0, &few, &enough);
	assert_int_equal(enough.suspects, 0);
	assert_int_equal(enough.sums, enough.alone);
}

/* No sum that grows for want of a culprit goes without judgement. */
static void leaking_jobs_fail(void **state)
{
	(void)state;
	struct count few, enough;
	judge_all(5, 1, &few, &enough);
	assert_int_equal(enough.suspects, enough.jobs);
	assert_int_equal(enough.alone, 0);
	assert_true(enough.jobs > 200);
}

/* Why so few steps as tell a leak are not enough for a gate. */
static void few_steps_do_not_tell_a_queue_from_a_leak(void **state)
{
	(void)state;
	struct count few, enough;
	judge_all(20, 0, &few, &enough);
	assert_true(few.suspects * 10 > few.jobs * 9);
	assert_true(enough.suspects * 2 < enough.jobs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_jobs_do_not_fail),
		cmocka_unit_test(leaking_jobs_fail),
		cmocka_unit_test(few_steps_do_not_tell_a_queue_from_a_leak),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
