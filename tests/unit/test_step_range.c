/*
 * The choice of the ranges that are steps: names of few turns, missing ends, optimizers in a row.
 */
#include "range_records.h"

enum { TURN = 11, BATCH, SGD, ADAM, PROFILER };

static void begin_job(struct writer *w, const char *file)
{
	begin(w, file);
	define_name(w, TURN, "train_step 7");
	define_name(w, BATCH, "batch");
	define_name(w, SGD, "Optimizer.step#SGD.step");
	define_name(w, ADAM, "Optimizer.step#Adam.step");
	define_name(w, PROFILER, "ProfilerStep#2");
}

static void in_range(struct writer *w, uint32_t name, unsigned launches)
{
	put_push(w, 1, name, GP_RANGE_TORCH);
	while (launches-- > 0)
		put_launch(w, 1);
	put_pop(w, 1, GP_RANGE_TORCH);
}

static void launch(struct writer *w, unsigned launches)
{
	while (launches-- > 0)
		put_launch(w, 1);
}

/* Expects so many steps from that source. */
static void assert_steps_by(struct writer *w, size_t steps, enum gp_step_source source)
{
	struct gp_steps found;
	struct gp_recording *r = fixture_read(w);
	assert_int_equal(gp_steps_find(r, &found), GP_OK);
	assert_int_equal(found.source, source);
	assert_int_equal(found.steps, steps);
	gp_steps_free(&found);
	gp_recording_close(r);
	unlink(w->path);
}

static void assert_steps(struct writer *w, size_t steps)
{
	assert_steps_by(w, steps, GP_STEPS_RANGES);
}

/* A profiler that ran for five steps names them; the optimizer names all. */
static void a_profiler_names_a_few(void **state)
{
	(void)state;
	struct writer w;
	begin_job(&w, "profiler.gpr");
	for (unsigned k = 0; k < 60; k++) {
		if (k / 5 == 4)
			put_push(&w, 1, PROFILER, GP_RANGE_TORCH);
		launch(&w, 5 + k % 3);
		in_range(&w, SGD, 2);
		if (k / 5 == 4)
			put_pop(&w, 1, GP_RANGE_TORCH);
	}
	assert_steps_by(&w, 60, GP_STEPS_UPDATES);
}

/* "step" comes first in the list of names, but only the warm-up has this name. */
static void ranges_with_most_work_are_the_steps(void **state)
{
	(void)state;
	struct writer w;
	begin_job(&w, "names.gpr");
	for (unsigned k = 0; k < 4; k++)
		in_range(&w, STEP, 6);
	for (unsigned k = 0; k < 50; k++)
		in_range(&w, BATCH, 6 + k % 3);
	assert_steps(&w, 50);
	begin_job(&w, "batches.gpr"); /* "step" is chosen, and not the batches in it */
	for (unsigned k = 0; k < 20; k++) {
		put_push(&w, 1, STEP, GP_RANGE_NVTX);
		for (unsigned batch = 0; batch < 4; batch++)
			in_range(&w, BATCH, 6);
		launch(&w, 2);
		put_pop(&w, 1, GP_RANGE_NVTX);
	}
	assert_steps(&w, 20);
}

/* A job with one range "step" has one step, for any repetition inside. */
static void one_alone_is_one_step(void **state)
{
	(void)state;
	for (unsigned steps = 1; steps <= 2; steps++) {
		struct writer w;
		begin_job(&w, "alone.gpr");
		launch(&w, 3);
		for (unsigned k = 0; k < steps; k++)
			in_range(&w, STEP, 90);
		launch(&w, 3);
		assert_steps(&w, steps);
	}
}

/* After a missing end all later ranges lie inside the open one. */
static void an_end_is_missing(void **state)
{
	(void)state;
	struct writer w;
	begin_job(&w, "unended.gpr");
	for (unsigned k = 0; k < 40; k++) {
		put_push(&w, 1, TURN, GP_RANGE_NVTX);
		launch(&w, 5 + k % 3);
		if (k != 7 && k != 20)
			put_pop(&w, 1, GP_RANGE_NVTX);
	}
	assert_steps(&w, 40);
}

/* A library's own "step" inside a step of the job is not another step. */
static void a_step_inside_a_step_is_not_counted(void **state)
{
	(void)state;
	struct writer w;
	begin_job(&w, "nested.gpr");
	for (unsigned k = 0; k < 40; k++) {
		put_push(&w, 1, STEP, GP_RANGE_NVTX);
		launch(&w, 5 + k % 3);
		in_range(&w, STEP, 2);
		in_range(&w, STEP, 2);
		put_pop(&w, 1, GP_RANGE_NVTX);
	}
	assert_steps(&w, 40);
}

static void optimizers_in_a_row_are_of_one_step(void **state)
{
	(void)state;
	struct writer w;
	begin_job(&w, "row.gpr");
	for (unsigned k = 0; k < 40; k++) {
		launch(&w, 5 + k * 7 % 5);
		in_range(&w, SGD, 2);
		if (k % 4 == 0)
			in_range(&w, ADAM, 2);
	}
	assert_steps_by(&w, 40, GP_STEPS_UPDATES);
	begin_job(&w, "both.gpr");
	for (unsigned k = 0; k < 40; k++) {
		launch(&w, 5 + k * 7 % 5);
		in_range(&w, SGD, 2);
		in_range(&w, ADAM, 2);
	}
	assert_steps_by(&w, 40, GP_STEPS_UPDATES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_profiler_names_a_few),
		cmocka_unit_test(ranges_with_most_work_are_the_steps),
		cmocka_unit_test(one_alone_is_one_step),
		cmocka_unit_test(an_end_is_missing),
		cmocka_unit_test(a_step_inside_a_step_is_not_counted),
		cmocka_unit_test(optimizers_in_a_row_are_of_one_step),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
