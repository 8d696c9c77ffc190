/* Steps found in loops of many kinds with known begins. */
#include "loop_gauge.h"

#include "analyze/steps/steps.h"

#define SEEDS 6u
#define EXACT_PERCENT 90u

static void steps_of_usual_loops_are_found_exactly(void **state)
{
	(void)state;
	const unsigned kinds = sizeof job_loops / sizeof *job_loops;
	unsigned right = 0;
	for (unsigned k = 0; k < kinds; k++)
		for (unsigned seed = 0; seed < SEEDS; seed++)
			right += is_found(&job_loops[k], seed);
	print_message("steps found exactly in %u of %u loops of %u kinds\n", right, kinds * SEEDS,
		      kinds);
	assert_true(right * 100 >= kinds * SEEDS * EXACT_PERCENT);
}

/* Log lines come several times within a step, and are not parts of it. */
static void lines_of_a_log_are_not_steps(void **state)
{
	(void)state;
	const struct job_loop loop = { .name = "logging much", .run = loop_logging_much };
	for (unsigned seed = 0; seed < 2 * SEEDS; seed++)
		assert_true(is_found(&loop, seed));
}

/* No step begins inside a launch of a graph, however often its layers repeat. */
static void layers_of_a_graph_are_not_steps(void **state)
{
	(void)state;
	const struct job_loop loop = { .name = "captured layers", .run = loop_captured_layers };
	for (unsigned seed = 0; seed < 2 * SEEDS; seed++)
		assert_true(is_found(&loop, seed));
}

static struct gp_recording *close_job(struct job *j, struct gp_steps *steps)
{
	struct gp_recording *r = fixture_read(&j->w);
	assert_int_equal(gp_steps_find(r, steps), GP_OK);
	return r;
}

/* Random work, and no work: no steps are found, with a reason. */
static void work_without_repetition_has_no_steps(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		struct job *j = job_open("none.gpr", 99 + k, 0, 0);
		j->has_launches = j->has_blocks = k > 0;
		job_begin(j);
		for (unsigned n = 0; n < 400 * k; n++)
			if (job_draw(j, 3) == 0)
				operate_short(j, 1 + (unsigned)job_draw(j, 40), 1, 512);
			else
				launch(j, 1 + (unsigned)job_draw(j, 40));
		struct gp_steps steps;
		struct gp_recording *r = close_job(j, &steps);
		assert_int_equal(steps.source, GP_STEPS_NONE);
		assert_int_equal(steps.steps, 0);
		assert_non_null(steps.why);
		assert_int_equal(steps.p50_ns, -1);
		gp_steps_free(&steps);
		gp_recording_close(r);
		free(j);
	}
}

/* Random work may alternate by chance: rarely. */
static void expect_chance(bool has_launches)
{
	unsigned with_steps = 0;
	for (unsigned k = 0; k < 120; k++) {
		const unsigned kinds = 10 + k % 5 * 20;
		struct job *j = job_open("chance.gpr", 1000 + k, 0, 0);
		j->has_launches = has_launches;
		job_begin(j);
		for (unsigned n = 0; n < 200 + 40 * k; n++)
			if (!has_launches)
				operate_short(j, K_SUM, 1 + (unsigned)job_draw(j, 4),
					      512 * (1 + job_draw(j, kinds)));
			else if (job_draw(j, 3) == 0)
				operate_short(j, 1 + (unsigned)job_draw(j, kinds), 1, 512);
			else
				launch(j, 1 + (unsigned)job_draw(j, kinds));
		struct gp_steps steps;
		struct gp_recording *r = close_job(j, &steps);
		with_steps += steps.steps > 0;
		gp_steps_free(&steps);
		gp_recording_close(r);
		free(j);
	}
	print_message("steps told of %u of 120 histories by chance, %s launches\n", with_steps,
		      has_launches ? "with" : "without");
	assert_true(with_steps <= 10);
}

static void chance_is_seldom_taken_for_steps(void **state)
{
	(void)state;
	expect_chance(true);
	expect_chance(false);
}

/* The reason fits the events that were recorded. */
static void why_there_are_no_steps_is_true(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		struct gp_steps found;
		struct job *j = job_open("why.gpr", 7, 0, 0);
		j->has_launches = k > 0;
		job_begin(j);
		for (unsigned n = 0; n < 100; n++)
			operate_short(j, 1 + (unsigned)job_draw(j, 40), 1,
				      512 * (1 + job_draw(j, 40)));
		struct gp_recording *r = close_job(j, &found);
		assert_int_equal(found.steps, 0);
		assert_int_equal(strstr(found.why, "no launches are recorded") != NULL, k == 0);
		gp_steps_free(&found);
		gp_recording_close(r);
		free(j);
	}
}

/* ---- ranges ---- */

static void push_range(struct job *j, uint32_t id, const char *text, unsigned depth)
{
	put_text(&j->w, (struct gp_record){ .kind = GP_RANGE_NAME, .aux = id }, text, strlen(text));
	put(&j->w, 0,
	    (struct gp_record){ .kind = GP_RANGE_PUSH,
				.aux = id,
				.range_push = { .source = GP_RANGE_NVTX, .depth = depth } });
}

static void pop_range(struct job *j, unsigned depth)
{
	put(&j->w, 0,
	    (struct gp_record){ .kind = GP_RANGE_POP,
				.range_pop = { .source = GP_RANGE_NVTX, .depth = depth } });
}

static void ranges_that_are_steps_are_believed(void **state)
{
	(void)state;
	struct gp_steps steps;
	uint64_t begin[20], end_ns = 0;
	struct job *j = job_open("named.gpr", 3, 0, 0);
	job_begin(j);
	for (unsigned k = 0; k < 20; k++) {
		char name[32];
		snprintf(name, sizeof name, "Train_Step %u", k);
		push_range(j, 2 * k + 1, name, 0);
		begin[k] = j->w.time;
		push_range(j, 2 * k + 2, "forward", 1);
		for (unsigned n = 0; n < 5 + k % 3; n++)
			launch(j, 1 + (unsigned)job_draw(j, 40));
		pop_range(j, 1);
		pop_range(j, 0);
		end_ns = j->w.time;
		launch(j, K_SUM);
	}
	struct gp_recording *r = close_job(j, &steps);
	assert_int_equal(steps.source, GP_STEPS_RANGES);
	assert_int_equal(steps.steps, 20);
	for (unsigned k = 0; k < 20; k++)
		assert_int_equal(steps.step[k].begin_ns, at_ns(begin[k]));
	assert_int_equal(steps.step[19].end_ns, at_ns(end_ns));
	assert_int_equal(steps.step[0].launches, 6);
	gp_steps_free(&steps);
	gp_recording_close(r);
	free(j);
}

/* Only the optimizer repeats. */
static void steps_end_with_the_optimizer(void **state)
{
	(void)state;
	struct gp_steps steps;
	struct job *j = job_open("optimizer.gpr", 3, 0, 0);
	job_begin(j);
	for (unsigned k = 0; k < 30; k++) {
		for (unsigned n = 0; n < 20 + job_draw(j, 20); n++)
			launch(j, 1 + (unsigned)job_draw(j, 40));
		push_range(j, 1, "Optimizer.step#AdamW.step", 0);
		launch(j, 1 + (unsigned)job_draw(j, 40));
		pop_range(j, 0);
	}
	launch(j, K_SUM);
	struct gp_recording *r = close_job(j, &steps);
	assert_int_equal(steps.source, GP_STEPS_UPDATES);
	assert_int_equal(steps.steps, 30);
	gp_steps_free(&steps);
	gp_recording_close(r);
	free(j);
}

/* Launches and stacks are recorded of one step, ranges and allocations of all. */
static void steps_are_found_if_one_is_captured(void **state)
{
	(void)state;
	struct gp_steps steps;
	struct job *j = job_open("captured.gpr", 3, 0, 0);
	j->has_stacks = true;
	job_begin(j);
	for (unsigned k = 0; k < 30; k++) {
		j->has_launches = j->has_stacks = k == 5;
		pass_of_images(j, j->layers);
		give_kept(j, 0);
		push_range(j, 1, "Optimizer.step#AdamW.step", 0);
		optimize(j);
		pop_range(j, 0);
	}
	struct gp_recording *r = close_job(j, &steps);
	assert_int_equal(steps.source, GP_STEPS_UPDATES);
	assert_int_equal(steps.steps, 30);
	gp_steps_free(&steps);
	gp_recording_close(r);
	free(j);
}

static void times_leave_warm_up_out(void **state)
{
	(void)state;
	struct gp_step step[101];
	struct gp_steps steps = { .steps = 101, .step = step };
	int64_t now_ns = 0;
	for (size_t k = 0; k < 101; k++) {
		int64_t ns = k < 3 ? 9000 : k == 50 ? 5000 : 1000;
		step[k] = (struct gp_step){ .begin_ns = now_ns,
					    .end_ns = now_ns + ns,
					    .launches = k == 3 ? 61 : 40 };
		now_ns += ns;
	}
	assert_int_equal(gp_step_stat(&steps), GP_OK);
	assert_int_equal(steps.warmup, 4);
	assert_int_equal(steps.p50_ns, 1000);
	assert_int_equal(steps.p99_ns, 5000); /* one of 96 is more than 1% */
	assert_true(steps.per_second > 9.59e5 && steps.per_second < 9.61e5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_of_usual_loops_are_found_exactly),
		cmocka_unit_test(lines_of_a_log_are_not_steps),
		cmocka_unit_test(layers_of_a_graph_are_not_steps),
		cmocka_unit_test(work_without_repetition_has_no_steps),
		cmocka_unit_test(chance_is_seldom_taken_for_steps),
		cmocka_unit_test(why_there_are_no_steps_is_true),
		cmocka_unit_test(ranges_that_are_steps_are_believed),
		cmocka_unit_test(steps_end_with_the_optimizer),
		cmocka_unit_test(steps_are_found_if_one_is_captured),
		cmocka_unit_test(times_leave_warm_up_out),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
