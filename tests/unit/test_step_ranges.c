/* Steps from ranges: the choice among the many ranges of a job, and the bounds of the steps. */
#include "step_story.h"

/* ---- a pop is missing ---- */

struct loss {
	const char *what;
	unsigned first, second; /* steps without a pop */
	bool is_inner;		/* the missing pop belongs to a range inside the step */
	bool has_body;
};

static const struct loss losses[] = {
	{ "first", 0, 0, false, true },		  { "eleventh", 10, 10, false, true },
	{ "two", 10, 11, false, true },		  { "two apart", 10, 60, false, true },
	{ "last but one", 98, 98, false, true },  { "last", 99, 99, false, true },
	{ "inner", 10, 10, true, true },	  { "both", 10, 30, true, true },
	{ "without work", 10, 50, false, false },
};

static void a_missing_pop_costs_no_steps(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof losses / sizeof *losses; n++) {
		const struct loss *l = &losses[n];
		struct story *s = story_open("lost.gpr", 0, 0);
		uint64_t last = 0;
		print_message("%s\n", l->what);
		for (unsigned k = 0; k < 100; k++) {
			bool is_lost = k == l->first || k == l->second;
			step_next(s);
			push(s, "step");
			push(s, "forward");
			work(s, l->has_body ? 5 + k % 3 : 0);
			last = l->has_body ? s->w.time - 640 : s->w.time;
			if (!is_lost || !l->is_inner)
				pop(s);
			if (!is_lost || l->is_inner)
				pop(s);
		}
		/* a range without an end lasts until the last work */
		if (l->first == 99)
			s->end = last;
		expect_ranges(s);
	}
}

/* A range of the same name inside a step is a part: inside each step, or inside some. */
static void ranges_of_a_name_lie_in_each_other(void **state)
{
	(void)state;
	for (unsigned every = 1; every <= 4; every++) {
		struct story *s = story_open("nested.gpr", 0, 0);
		for (unsigned k = 0; k < 60; k++) {
			step_next(s);
			push(s, "step");
			work(s, 8);
			if (k % every == every - 1) {
				push(s, "step");
				work_by(s, 0, 3, 50);
				pop(s);
			}
			pop(s);
		}
		expect_ranges(s);
	}
}

/* Parts stay parts, also with a missing pop. */
static void a_missing_pop_leaves_parts_alone(void **state)
{
	(void)state;
	struct story *s = story_open("parts.gpr", 0, 0);
	for (unsigned k = 0; k < 60; k++) {
		step_next(s);
		push(s, "step");
		if (k == 20)
			continue;
		work(s, 8);
		push(s, "step");
		work_by(s, 0, 3, 50);
		pop(s);
		pop(s);
	}
	expect_ranges(s);
}

/* ---- ranges that are called steps, and are not ---- */

/* torch.profiler runs for a few steps of a job, with or without ranges of the job itself. */
static void a_profilers_steps_are_not_all(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 3; kind++) {
		struct story *s = story_open("profiler.gpr", 0, 0);
		for (unsigned k = 0; k < 200; k++) {
			char name[32];
			snprintf(name, sizeof name, "ProfilerStep#%u", k - 50);
			if (k >= 50 && k < 55)
				push_by(s, 0, name, GP_RANGE_TORCH);
			if (kind != 1 && k == 0)
				step_next(s);
			if (kind == 1) {
				step_next(s);
				push(s, "train_step");
			}
			kind == 2 ? (zero_grad(s), work_of_any_length(s), update(s)) : train(s);
			if (kind != 1 && k < 199)
				step_next_work(s);
			uint64_t end = s->end;
			if (kind == 1) {
				pop(s);
				end = s->end;
			}
			if (k >= 50 && k < 55)
				pop_by(s, 0, GP_RANGE_TORCH);
			s->end = end;
		}
		kind == 1 ? expect_ranges(s) : expect_updates(s);
	}
}

/* Without the optimizer's ranges: repetition finds more steps. */
static void a_few_ranges_are_not_all_that_repeats(void **state)
{
	(void)state;
	struct story *s = story_open("few.gpr", 0, 0);
	struct gp_steps steps;
	for (unsigned k = 0; k < 100; k++) {
		pause_for(s, 6400);
		if (k >= 40 && k < 45)
			push(s, "step");
		work(s, 20);
		if (k >= 40 && k < 45)
			pop(s);
	}
	find_steps(s, &steps);
	assert_int_equal(steps.source, GP_STEPS_REPETITION);
	assert_int_equal(steps.steps, 100);
	gp_steps_free(&steps);
	free(s);
}

static void a_warm_up_is_called_otherwise(void **state)
{
	(void)state;
	struct story *s = story_open("warm.gpr", 0, 0);
	for (unsigned k = 0; k < 200; k++) {
		if (k >= 3)
			step_next(s);
		push(s, k < 3 ? "step" : "iteration");
		work(s, 9);
		pop(s);
	}
	expect_ranges(s);
}

/* Two thirds of the work are in evaluations, whose ranges have the better name. */
static void evaluations_have_ranges(void **state)
{
	(void)state;
	for (unsigned has_optimizer = 0; has_optimizer < 2; has_optimizer++) {
		struct story *s = story_open("evaluation.gpr", 0, 0);
		for (unsigned k = 0; k < 100; k++) {
			step_next(s);
			push(s, "train_batch");
			has_optimizer ? train(s) : work(s, 12);
			pop(s);
			uint64_t end = s->end;
			for (unsigned n = 0; k % 20 == 19 && n < (has_optimizer ? 40u : 5u); n++) {
				push(s, "iter");
				work_by(s, 0, 18, 40);
				pop(s);
			}
			s->end = end;
		}
		expect_ranges(s);
	}
}

/* They have the same name: only ranges with an update are steps. */
static void evaluations_have_the_same_ranges(void **state)
{
	(void)state;
	for (unsigned is_inside = 0; is_inside < 2; is_inside++) {
		struct story *s = story_open("same.gpr", 0, 0);
		uint64_t end = 0;
		for (unsigned k = 0; k < 60; k++) {
			char name[32];
			snprintf(name, sizeof name, "step %u", k);
			step_next(s);
			push(s, name);
			zero_grad(s);
			work(s, 12);
			backward(s, 20);
			if (is_inside)
				update(s);
			pop(s);
			end = s->end;
			if (!is_inside)
				update(s);
			for (unsigned n = 0; k % 10 == 9 && n < 8; n++) {
				push(s, name);
				work_by(s, 0, 18, 40);
				pop(s);
			}
		}
		s->end = end;
		expect_ranges(s);
	}
}

/* Ranges that come once in ten steps are not the steps. */
static void an_occasional_range_is_not_a_step(void **state)
{
	(void)state;
	struct story *s = story_open("seldom.gpr", 0, 0);
	step_next(s);
	for (unsigned k = 0; k < 100; k++) {
		train(s);
		uint64_t end = s->end;
		if (k < 99)
			step_next_work(s);
		if (k % 10 == 9) {
			push(s, "batch 0");
			work_by(s, 0, 18, 40);
			pop(s);
		}
		s->end = end;
	}
	expect_updates(s);
}

/* The second model steps in each fifth. */
static void a_range_is_a_step_with_some_updates(void **state)
{
	(void)state;
	struct story *s = story_open("some.gpr", 0, 0);
	for (unsigned k = 0; k < 100; k++) {
		step_next(s);
		push(s, "iteration");
		for (unsigned n = 0; n < (k % 5 == 4 ? 3 : 1); n++)
			train(s);
		pop(s);
	}
	expect_ranges(s);
}

/* The ranges begin after a few steps: the updates show all steps. */
static void ranges_that_begin_late_are_not_all(void **state)
{
	(void)state;
	struct story *s = story_open("late.gpr", 0, 0);
	step_next(s);
	for (unsigned k = 0; k < 20; k++) {
		char name[32];
		snprintf(name, sizeof name, "iteration%u", k);
		if (k >= 10)
			push(s, name);
		train(s);
		uint64_t end = s->end;
		if (k >= 10)
			pop(s);
		s->end = end;
		if (k < 19)
			step_next_work(s);
	}
	expect_updates(s);
}

/* An update ends each step. If a range contains the step, the step begins with that range. */
static void micro_batches_are_parts(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 3; kind++) {
		struct story *s = story_open("micro.gpr", 0, 0);
		uint64_t updated = 0;
		if (kind != 1)
			step_next(s);
		for (unsigned k = 0; k < 40; k++) {
			if (kind == 1) {
				step_next(s);
				push(s, "global_step");
			}
			for (unsigned m = 0; m < 4; m++) {
				/* the first one begins with its data */
				load_data(s);
				push(s, "batch");
				work(s, 12);
				backward(s, 20);
				if (kind == 2 && m == 3)
					update(s);
				updated = s->end;
				pop(s);
			}
			if (kind != 2)
				update(s);
			uint64_t end = kind == 2 ? updated : s->end;
			zero_grad(s);
			if (kind == 1) {
				pop(s);
				end = s->end;
			} else if (k < 39) {
				step_next_work(s);
			}
			s->end = end;
		}
		kind == 1 ? expect_ranges(s) : expect_updates(s);
	}
}

/* Each update has a range, and many of these lie in another range around all. */
static void of_two_ranges_the_one_with_one_update_is_the_step(void **state)
{
	(void)state;
	struct story *s = story_open("around.gpr", 0, 0);
	for (unsigned k = 0; k < 10; k++) {
		push(s, "iteration");
		work_by(s, 0, 30, 60);
		for (unsigned m = 0; m < 8; m++) {
			step_next(s);
			push(s, "minibatch");
			train(s);
			pop(s);
		}
		uint64_t end = s->end;
		pop(s);
		s->end = end;
	}
	expect_ranges(s);
}

/* ---- threads ---- */

/* Two models at once, each on a thread of its own: the ranges of one thread are the steps. */
static void threads_that_do_the_same_are_one(void **state)
{
	(void)state;
	for (unsigned has_ranges = 0; has_ranges < 2; has_ranges++) {
		struct story *s = story_open("replicas.gpr", 0, 0);
		for (unsigned k = 0; k < 60; k++) {
			if (k == 0)
				step_next(s);
			if (has_ranges) {
				if (k > 0)
					step_next(s);
				push_by(s, 0, "step", GP_RANGE_NVTX);
				push_by(s, 1, "step", GP_RANGE_NVTX);
			}
			zero_grad(s);
			if (k > 0 && !has_ranges)
				step_next(s);
			work_by(s, 0, 12, 0);
			work_by(s, 1, 12, 0);
			push_by(s, 1, "backward", GP_RANGE_ENGINE);
			work_by(s, 3, 8, 100);
			backward_by(s, 0, 2, 20);
			work_by(s, 3, 8, 100);
			pop_by(s, 1, GP_RANGE_ENGINE);
			torch_range(s, 0, "Optimizer.step#SGD.step", 4, 200);
			uint64_t end = s->end;
			if (has_ranges) {
				pop_by(s, 0, GP_RANGE_NVTX);
				end = s->end;
			}
			torch_range(s, 1, "Optimizer.step#SGD.step", 4, 200);
			if (has_ranges)
				pop_by(s, 1, GP_RANGE_NVTX);
			s->end = end;
			/* the other one is late */
			if (!has_ranges && k < 59)
				work_by(s, 1, 1, 220);
		}
		if (has_ranges) {
			expect_ranges(s);
			continue;
		}
		struct gp_steps steps;
		find_steps(s, &steps);
		assert_int_equal(steps.steps, 60);
		assert_int_equal(steps.source, GP_STEPS_UPDATES);
		gp_steps_free(&steps);
		free(s);
	}
}

/* A data loader runs ahead; its batches have the name of the steps, or a better one. */
static void a_loaders_ranges_are_not_steps(void **state)
{
	(void)state;
	static const char *const names[] = { "step", "train_step", "batch" };
	for (unsigned n = 0; n < 3; n++)
		for (unsigned launches = 0; launches < 2; launches++) {
			struct story *s = story_open("loader.gpr", 0, 0);
			for (unsigned k = 0; k < 80; k++) {
				for (unsigned more = k == 0 ? 4 : 1; more > 0 && k < 77; more--) {
					push_by(s, 1, names[n], GP_RANGE_NVTX);
					work_by(s, 1, launches, 90);
					pop_by(s, 1, GP_RANGE_NVTX);
				}
				step_next(s);
				push(s, "step");
				work(s, 20);
				pop(s);
			}
			expect_ranges(s);
		}
}

/* ---- overwritten events ---- */

/* The first kept events lie in the middle of a step: without its begin it is not a step. */
static void a_cut_step_is_not_counted(void **state)
{
	(void)state;
	for (unsigned is_again = 0; is_again < 2; is_again++) {
		struct story *s = story_open("cut.gpr", is_again ? 0 : 4, is_again ? 0 : 65536);
		if (is_again) {
			name_of_text(s, "step 0");
			put(&s->w, 0,
			    (struct gp_record){
				    .kind = GP_RANGE_RESUMED,
				    .device = GP_DEVICE_UNKNOWN,
				    .aux = 1,
				    .range_resumed = { GP_RANGE_NVTX, 0, depth_of[0]++, 900 } });
		}
		size_t first = 0;
		for (unsigned k = 0; k < 100; k++) {
			char name[32];
			snprintf(name, sizeof name, "step %u", k);
			if (!is_again || k > 0) {
				step_next(s);
				push(s, name);
			}
			work(s, 10);
			if (!is_again && k % 20 == 13) {
				story_segment(s);
				first = k == 53 ? s->steps : first;
			}
			work(s, 10);
			pop(s);
		}
		/* of six segments four are kept: from the third on */
		if (!is_again) {
			first = 34;
			memmove(s->begin, s->begin + first, (s->steps - first) * sizeof *s->begin);
			s->steps -= first;
		}
		expect_ranges(s);
	}
}

/* Started ranges may end on another thread, or cross each other. */
static void steps_are_started_and_ended(void **state)
{
	(void)state;
	struct story *s = story_open("started.gpr", 0, 0);
	uint32_t name = name_of_text(s, "step");
	for (uint64_t k = 0; k < 50; k++) {
		step_next(s);
		put(&s->w, 0,
		    (struct gp_record){ .kind = GP_RANGE_START,
					.device = GP_DEVICE_UNKNOWN,
					.aux = name,
					.range_start = { GP_RANGE_NVTX, 0, k + 1, 0 } });
		see_begin(s, true);
		if (k > 0 && k != 20)
			put(&s->w, 1,
			    (struct gp_record){ .kind = GP_RANGE_END,
						.device = GP_DEVICE_UNKNOWN,
						.range_end = { GP_RANGE_NVTX, 0, k, 0 } });
		work(s, 9);
		s->end = s->w.time - 640;
	}
	expect_ranges(s);
}

/* ---- anything ---- */

static void write_random_ranges(struct story *s)
{
	static const char *const names[] = { "step",
					     "step 1",
					     "iteration",
					     "batch",
					     "forward",
					     "Optimizer.step#SGD.step",
					     "Optimizer.step#Adam.step",
					     "Optimizer.zero_grad#SGD.zero_grad" };
	for (unsigned k = 0; k < 3000; k++) {
		unsigned thread = (unsigned)story_draw(s, 3);
		unsigned source = 1 + (unsigned)story_draw(s, 3);
		switch (story_draw(s, 6)) {
		case 0:
		case 1:
			if (depth_of[thread] < 100)
				push_by(s, thread, names[story_draw(s, 8)], source);
			break;
		case 2:
		case 3:
			if (depth_of[thread] > 0)
				pop_by(s, thread, source);
			break;
		case 4:
			if (story_draw(s, 400) == 0)
				story_segment(s);
			break;
		default:
			work_by(s, thread, (unsigned)story_draw(s, 4), (unsigned)story_draw(s, 9));
		}
	}
}

/* For any ranges: steps come one after the other. */
static void steps_follow_each_other(void **state)
{
	(void)state;
	size_t found = 0;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct gp_steps steps;
		struct story *s = story_open("any.gpr", seed % 2 * 4, seed % 2 * 65536);
		s->random += seed * 0x9e3779b97f4a7c15u;
		write_random_ranges(s);
		find_steps(s, &steps);
		for (size_t k = 0; k < steps.steps; k++) {
			assert_true(steps.step[k].end_ns >= steps.step[k].begin_ns);
			assert_true(steps.step[k].launches < 10000);
			if (k > 0)
				assert_true(steps.step[k].begin_ns >= steps.step[k - 1].end_ns);
		}
		found += steps.steps > 0;
		gp_steps_free(&steps);
		free(s);
	}
	assert_true(found > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_pop_costs_no_steps),
		cmocka_unit_test(ranges_of_a_name_lie_in_each_other),
		cmocka_unit_test(a_missing_pop_leaves_parts_alone),
		cmocka_unit_test(a_profilers_steps_are_not_all),
		cmocka_unit_test(a_few_ranges_are_not_all_that_repeats),
		cmocka_unit_test(a_warm_up_is_called_otherwise),
		cmocka_unit_test(evaluations_have_ranges),
		cmocka_unit_test(evaluations_have_the_same_ranges),
		cmocka_unit_test(an_occasional_range_is_not_a_step),
		cmocka_unit_test(a_range_is_a_step_with_some_updates),
		cmocka_unit_test(ranges_that_begin_late_are_not_all),
		cmocka_unit_test(micro_batches_are_parts),
		cmocka_unit_test(of_two_ranges_the_one_with_one_update_is_the_step),
		cmocka_unit_test(threads_that_do_the_same_are_one),
		cmocka_unit_test(a_loaders_ranges_are_not_steps),
		cmocka_unit_test(a_cut_step_is_not_counted),
		cmocka_unit_test(steps_are_started_and_ended),
		cmocka_unit_test(steps_follow_each_other),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
