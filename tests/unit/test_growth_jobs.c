/*
 * Results of `check --max-growth` for whole jobs: does the sum of a device grow, and do stacks
 * grow? A job fails if a suspect is certain, which `leaks` reports as found. Else it is not judged
 * if the sum or a stack grows. With fewer than 24 steps no suspect is certain.
 */
#include "job_loops.h"

#define LOOPS (sizeof job_loops / sizeof *job_loops)
#define STEPS_MOST 45u

struct count {
	size_t jobs, sums, suspects, fails, kept;
};

static void judge(const struct job_loop *loop, uint64_t seed, unsigned steps, unsigned queue,
		  size_t leaks_every, struct count *few, struct count *enough)
{
	struct gp_growth growth;
	struct gp_leaks leaks;
	struct job *j = fixture_job(loop, "growth.gpr", seed, 0, 0);
	j->has_stacks = true;
	j->caches = queue;
	j->leaks_from = leaks_every != 0;
	j->leaks_every = leaks_every;
	j->layers = 2 + (unsigned)(seed % 3);
	job_begin(j);
	loop->run(j, steps);
	struct gp_recording *r = fixture_read(&j->w);
	assert_int_equal(gp_growth_find(r, 0, &leaks, &growth), GP_OK);
	assert_true(growth.why == NULL || growth.warm < GP_GROWTH_STEPS_LEAST);
	if (growth.warm >= 8) {
		struct count *c = growth.why ? few : enough;
		const bool is_sum = growth.devices > 0 && growth.device[0].rule >= GP_GROWTH_SLOWS;
		bool is_certain = false;
		for (size_t k = 0; k < leaks.leaks; k++)
			is_certain |= gp_leak_is_certain(&leaks, &leaks.leak[k]);
		c->jobs++;
		c->sums += is_sum;
		c->suspects += leaks.leaks > 0;
		c->fails += is_certain;
		c->kept += leaks.leaks == 0 && !is_sum;
	}
	gp_leaks_free(&leaks);
	gp_recording_close(r);
	free(j);
}

/* `queue`: size of queues and tables, which fill up and then do not grow. */
static void judge_all(unsigned queue, size_t leaks_every, struct count *few, struct count *enough)
{
	*few = *enough = (struct count){ 0 };
	for (unsigned steps = 9; steps <= STEPS_MOST; steps += 2)
		for (size_t k = 0; k < LOOPS; k++)
			if (!job_loops[k].has_no_blocks)
				judge(&job_loops[k], 1000 + steps * 31 + k, steps, queue,
				      leaks_every, few, enough);
	print_message("queues of %u, leaks each %zu: of %zu of 8 to 23 steps %zu have suspects; of "
		      "%zu of "
		      "more %zu, the sum of %zu grows; %zu fail, %zu pass\n",
		      queue, leaks_every, few->jobs, few->suspects, enough->jobs, enough->suspects,
		      enough->sums, enough->fails, enough->kept);
}

/* docs/ANALYSIS.md, section 2, and gpuprof-check(1) have these figures. */
struct row {
	unsigned queue;
	size_t few, few_suspects; /* jobs of 8 to 23 steps */
	size_t jobs, suspects, fails, kept;
};

static void check_rows(const struct row *row, size_t rows, size_t leaks_every)
{
	struct count few, enough;
	for (size_t k = 0; k < rows; k++) {
		judge_all(row[k].queue, leaks_every, &few, &enough);
		assert_int_equal(few.jobs, row[k].few);
		assert_int_equal(few.suspects, row[k].few_suspects);
		assert_int_equal(few.fails, 0);
		assert_int_equal(enough.jobs, row[k].jobs);
		assert_int_equal(enough.suspects, row[k].suspects);
		assert_int_equal(enough.fails, row[k].fails);
		assert_int_equal(enough.kept, row[k].kept);
	}
}

/* Queues of 20 are full in the last steps of the shorter jobs, or still fill. */
static void clean_jobs_do_not_fail(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ 0, 168, 0, 230, 0, 0, 228 },
		{ 5, 167, 0, 230, 0, 0, 224 },
		{ 10, 167, 41, 230, 0, 0, 199 },
		{ 20, 167, 154, 230, 46, 0, 39 },
	};
	check_rows(rows, sizeof rows / sizeof *rows, 0);
}

static void leaking_jobs_fail(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ 5, 167, 166, 230, 230, 230, 0 },
		{ 20, 167, 167, 230, 230, 230, 0 },
	};
	check_rows(rows, sizeof rows / sizeof *rows, 1);
}

/* A queue that fills keeps as many bytes. A third of so few steps does not separate the two. */
static void rare_leaks_are_not_judged(void **state)
{
	(void)state;
	static const struct row row = { 5, 167, 0, 230, 188, 0, 40 };
	check_rows(&row, 1, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_jobs_do_not_fail),
		cmocka_unit_test(leaking_jobs_fail),
		cmocka_unit_test(rare_leaks_are_not_judged),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
