/*
 * Steps from PyTorch's ranges of optimizers, gradients and its engine: which updates belong to one
 * step.
 */
#include "step_story.h"

#include "analyze/steps/step_range.h"

struct pair {
	const char *first, *second;
	unsigned every;	    /* turns from one step of the second optimizer to the next */
	bool has_backwards; /* the ranges of backwards are recorded */
	bool has_trifle;    /* one kernel between the two */
	bool clears_apart;  /* zero_grad after each of them */
};

static const struct pair pairs[] = {
	{ "Muon", "AdamW", 1, true, false, false }, { "Muon", "AdamW", 1, false, false, false },
	{ "Muon", "AdamW", 1, true, true, true },   { "Muon", "AdamW", 1, false, true, true },
	{ "AdamW", "AdamW", 1, true, true, true },  { "SGD", "Adam", 4, true, false, false },
	{ "SGD", "Adam", 4, false, false, false },
};

static void optimize_as(struct story *s, const char *optimizer)
{
	char name[64];
	snprintf(name, sizeof name, "Optimizer.step#%s.step", optimizer);
	update_as(s, name);
}

static void turn_of_two(struct story *s, const struct pair *p, unsigned turn, uint64_t *end)
{
	zero_grad(s);
	work_of_any_length(s);
	if (p->has_backwards)
		backward(s, 20);
	optimize_as(s, p->first);
	*end = s->end;
	if (turn % p->every != p->every - 1)
		return;
	if (p->clears_apart)
		zero_grad(s);
	if (p->has_trifle)
		work_by(s, 0, 1, 90);
	optimize_as(s, p->second);
	*end = s->end;
	if (p->clears_apart)
		zero_grad(s);
}

static void two_optimizers_in_a_row_are_of_one_step(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof pairs / sizeof *pairs; n++) {
		const struct pair *p = &pairs[n];
		struct story *s = story_open("two.gpr", 0, 0);
		print_message("%s and %s, every %u\n", p->first, p->second, p->every);
		for (unsigned k = 0; k < 60; k++) {
			uint64_t end;
			/* the first one begins with zero_grad, others with their work */
			k > 0 ? step_next_work(s) : step_next(s);
			turn_of_two(s, p, k, &end);
			s->end = end;
		}
		expect_updates(s);
	}
}

/* One optimizer for each kind of parameters, cleared by a kernel, and one backward for all. */
static void many_optimizers_of_a_name_are_of_one_step(void **state)
{
	(void)state;
	for (unsigned has_backwards = 0; has_backwards < 2; has_backwards++) {
		struct story *s = story_open("many.gpr", 0, 0);
		step_next(s);
		for (unsigned k = 0; k < 60; k++) {
			work_by(s, 0, 1, 95);
			work_of_any_length(s);
			work_by(s, 0, 20, 100);
			if (has_backwards)
				backward(s, 20);
			for (unsigned n = 0; n < 6; n++) {
				work_by(s, 0, n > 0, 90);
				optimize_as(s, "Adam");
			}
			if (k < 59)
				step_next(s);
		}
		expect_updates(s);
	}
}

/* One replaces the other. */
static void an_optimizer_is_followed_by_another(void **state)
{
	(void)state;
	struct story *s = story_open("after.gpr", 0, 0);
	step_next(s);
	for (unsigned k = 0; k < 90; k++) {
		zero_grad(s);
		work_of_any_length(s);
		backward(s, 20);
		optimize_as(s, k < 50 ? "Adam" : "LBFGS");
		if (k < 89)
			step_next_work(s);
	}
	expect_updates(s);
}

/* Gradients are cleared twice in a step: SAM goes up first, then down. */
static void clearing_twice_is_one_step(void **state)
{
	(void)state;
	struct story *s = story_open("sam.gpr", 0, 0);
	step_next(s);
	for (unsigned k = 0; k < 50; k++) {
		load_data(s);
		if (k > 0)
			step_next(s);
		work(s, 12);
		backward(s, 20);
		work_by(s, 0, 5, 90);
		zero_grad(s);
		work(s, 12);
		backward(s, 20);
		update(s);
		uint64_t end = s->end;
		zero_grad(s);
		s->end = end;
	}
	expect_updates(s);
}

/* The optimizer is called with the rest of the step inside: Lightning once, LBFGS many times. */
static void an_optimizer_calls_the_rest(void **state)
{
	(void)state;
	for (unsigned calls = 1; calls <= 5; calls += 4) {
		struct story *s = story_open("closure.gpr", 0, 0);
		for (unsigned k = 0; k < 50; k++) {
			if (k == 0)
				step_next(s);
			load_data(s);
			if (k > 0)
				step_next_work(s);
			push_by(s, 0, "Optimizer.step#LBFGS.step", GP_RANGE_TORCH);
			for (unsigned n = 0; n < calls; n++) {
				zero_grad(s);
				work_of_any_length(s);
				backward(s, 20);
			}
			work_by(s, 0, 4, 200);
			pop_by(s, 0, GP_RANGE_TORCH);
		}
		expect_updates(s);
	}
}

/* Each parameter has an optimizer, which runs during backward on autograd's thread. */
static void parameters_are_updated_while_going_back(void **state)
{
	(void)state;
	for (unsigned is_again = 0; is_again < 2; is_again++) {
		struct gp_steps steps;
		struct story *s = story_open("hooks.gpr", 0, 0);
		define_thread(&s->w, 1, "pt_autograd_0");
		for (unsigned k = 0; k < 50; k++) {
			load_data(s);
			work(s, 12);
			push_by(s, 0, "backward", GP_RANGE_ENGINE);
			for (unsigned n = 0; n < 10; n++) {
				if (is_again)
					backward_by(s, 1, 1, 3);
				work_by(s, 1, 3, 100);
				torch_range(s, 1, "Optimizer.step#SGD.step", 2, 200);
			}
			work_by(s, 1, 2, 120);
			pop_by(s, 0, GP_RANGE_ENGINE);
		}
		find_steps(s, &steps);
		assert_int_equal(steps.source, GP_STEPS_UPDATES);
		assert_int_equal(steps.steps, 50);
		gp_steps_free(&steps);
		free(s);
	}
}

/* The forward and backward pass is a graph: autograd's engine does not run. */
static void a_graph_needs_no_engine(void **state)
{
	(void)state;
	struct story *s = story_open("graph.gpr", 0, 0);
	step_next(s);
	zero_grad(s);
	work(s, 12);
	backward(s, 20);
	update(s);
	for (unsigned k = 0; k < 50; k++) {
		step_next(s);
		put(&s->w, 0,
		    (struct gp_record){ .kind = GP_GRAPH_LAUNCH, .graph_launch.exec = 7 });
		see_begin(s, true);
		update(s);
	}
	expect_updates(s);
}

/* The first kept events lie within a step: that is not a step, wherever the cut is. */
static void a_cut_update_is_not_a_step(void **state)
{
	(void)state;
	for (unsigned where = 0; where < 4; where++) {
		struct story *s = story_open("cut_update.gpr", 4, 65536);
		for (unsigned k = 0; k < 100; k++) {
			bool is_cut = k % 20 == 13;
			load_data(s);
			step_next_work(s);
			work(s, 6);
			if (is_cut && where == 0)
				story_segment(s);
			work(s, 6);
			push_by(s, 0, "backward", GP_RANGE_ENGINE);
			work_by(s, 0, 10, 100);
			if (is_cut && where == 1)
				story_segment(s);
			work_by(s, 0, 10, 110);
			pop_by(s, 0, GP_RANGE_ENGINE);
			push_by(s, 0, "Optimizer.step#SGD.step", GP_RANGE_TORCH);
			if (is_cut && where == 2)
				story_segment(s);
			work_by(s, 0, 4, 200);
			pop_by(s, 0, GP_RANGE_TORCH);
			uint64_t end = s->end;
			if (is_cut && where == 3)
				story_segment(s);
			zero_grad(s);
			s->end = end;
		}
		/* four of six segments are kept; the 34th step crosses the begin, or ends there */
		memmove(s->begin, s->begin + 35, 65 * sizeof *s->begin);
		struct gp_steps steps;
		find_steps(s, &steps);
		const size_t first = steps.steps - 65;
		assert_int_equal(steps.source, GP_STEPS_UPDATES);
		assert_true(first <= 1);
		for (size_t k = 0; k < 65; k++)
			assert_int_equal(steps.step[first + k].begin_ns, ns_of(s->begin[k]));
		gp_steps_free(&steps);
		free(s);
	}
}

/* `leaks` uses the same steps: each keeps a block, and one lacks a pop. */
static void leaks_are_of_the_same_steps(void **state)
{
	(void)state;
	for (unsigned is_named = 0; is_named < 2; is_named++) {
		struct story *s = story_open("leak.gpr", 0, 0);
		struct gp_leaks leaks;
		for (unsigned k = 0; k < 60; k++) {
			if (is_named)
				push(s, "step");
			zero_grad(s);
			work(s, 12);
			put_alloc(&s->w, 0, 0x7000000000 + k * 4096ull, 4096);
			backward(s, 20);
			optimize_as(s, "Muon");
			optimize_as(s, "AdamW");
			if (is_named && k != 30)
				pop(s);
		}
		struct gp_recording *r = fixture_read(&s->w);
		assert_int_equal(gp_leaks_build(r, INT64_MIN, INT64_MAX, &leaks), GP_OK);
		assert_int_equal(leaks.steps.source, is_named ? GP_STEPS_RANGES : GP_STEPS_UPDATES);
		assert_int_equal(leaks.steps.steps, 60);
		assert_int_equal(leaks.window_ns, 0);
		assert_int_equal(leaks.leaks, 1);
		assert_true(leaks.leak[0].bytes_per_step == 4096);
		gp_leaks_free(&leaks);
		gp_recording_close(r);
		free(s);
	}
}

/* ---- the rate of a job that runs ---- */

#define TURNS 30u

static double rate_of(uint64_t from, uint64_t to, unsigned steps)
{
	return steps * 1e9 / (double)(ns_of(to) - ns_of(from));
}

static bool is_iteration(const struct gp_recording *r, const struct gp_record *record)
{
	const char *text = record->kind == GP_RANGE_PUSH ?
				   gp_recording_text(r, GP_RANGE_NAME, record->aux) :
				   NULL;
	return text != NULL && strcmp(text, "iteration") == 0;
}

/* Replays the story, and notes when each step counts. */
static struct gp_step_ranges *see_all(struct gp_recording *r, uint64_t step[TURNS])
{
	uint32_t thread;
	enum gp_status status;
	struct gp_step_ranges *ranges = gp_step_ranges_open(r, &status);
	struct gp_step_place here = { 0 };
	const struct gp_record *record;
	size_t steps = 0, updates = 0;
	assert_true(gp_step_ranges_rate(ranges, INT64_MAX / 2, 0) < 0);
	while ((record = gp_recording_fetch(r, &thread, &status)) != NULL) {
		const unsigned work = record->kind == GP_LAUNCH || record->kind == GP_BLOCK_ALLOC;
		here.at_ns = gp_tick_ns(&r->tick, record->time);
		here.work += work;
		assert_true(gp_step_ranges_see(ranges, thread, record, &here, work));
		const bool is_update = gp_step_ranges_kept(ranges) > updates;
		updates = gp_step_ranges_kept(ranges);
		if (r->step_name != NULL ? is_iteration(r, record) : is_update)
			step[steps++] = record->time;
		assert_int_equal(gp_recording_apply(r, record), GP_OK);
	}
	assert_int_equal(steps, TURNS);
	return ranges;
}

/* The steps of the span count, and at least two; a late one lowers the rate. */
static void the_rate_is_that_of_the_last_steps(void **state)
{
	(void)state;
	for (unsigned is_named = 0; is_named < 2; is_named++) {
		uint64_t step[TURNS];
		struct story *s = story_open("rate.gpr", 0, 0);
		for (unsigned k = 0; k < TURNS; k++) {
			step_next(s);
			if (is_named)
				push(s, "iteration");
			train(s);
			if (is_named)
				pop(s);
			work(s, k < TURNS / 2 ? 2000 : 0); /* long steps at first */
		}
		struct gp_recording *r = fixture_read(&s->w);
		gp_steps_name(r, is_named ? "iteration" : NULL);
		struct gp_step_ranges *ranges = see_all(r, step);
		const uint64_t newest = step[TURNS - 1];
		const int64_t now = ns_of(newest);
		for (unsigned k = 1; k < TURNS; k++) {
			const uint64_t first = step[TURNS - 1 - k];
			const double expected = rate_of(first, newest, k);
			const double found = gp_step_ranges_rate(ranges, now - ns_of(first), now);
			assert_true(found > expected * 0.999 && found < expected * 1.001);
		}
		const double two = rate_of(step[TURNS - 2], newest, 1);
		assert_true(gp_step_ranges_rate(ranges, 0, now) > two * 0.999);
		const int64_t step_ns = (int64_t)(1e9 / two);
		assert_true(gp_step_ranges_rate(ranges, 0, now + step_ns) > two * 0.999);
		assert_true(gp_step_ranges_rate(ranges, 0, now + 3 * step_ns) < two / 3);
		gp_step_ranges_close(ranges);
		gp_recording_close(r);
		free(s);
	}
}

/* More named ranges than a watch keeps: it goes on without steps, and loses no event. */
static void a_watch_of_too_many_steps_goes_on(void **state)
{
	(void)state;
	const struct gp_info *info;
	struct gp_watch *watch;
	struct story *s = story_open("steps.gpr", 0, 0);
	for (unsigned k = 0; k < 150000; k++) {
		push(s, "step");
		pop(s);
	}
	struct gp_recording *r = fixture_read(&s->w);
	assert_int_equal(gp_watch_open(r, &watch), GP_OK);
	for (unsigned k = 0; k < 3; k++) {
		assert_int_equal(gp_watch_refresh(watch), GP_OK);
		assert_int_equal(gp_recording_info(r, &info), GP_OK);
		assert_int_equal(info->counts[GP_RANGE_PUSH], 150000);
		assert_int_equal(info->counts[GP_RANGE_POP], 150000);
	}
	assert_true(gp_watch_steps(watch) < 0);
	assert_int_equal(r->rewinds, 3); /* at the open, at the beginning, and once to forget */
	gp_watch_close(watch);
	gp_recording_close(r);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_optimizers_in_a_row_are_of_one_step),
		cmocka_unit_test(many_optimizers_of_a_name_are_of_one_step),
		cmocka_unit_test(an_optimizer_is_followed_by_another),
		cmocka_unit_test(clearing_twice_is_one_step),
		cmocka_unit_test(an_optimizer_calls_the_rest),
		cmocka_unit_test(parameters_are_updated_while_going_back),
		cmocka_unit_test(a_graph_needs_no_engine),
		cmocka_unit_test(a_cut_update_is_not_a_step),
		cmocka_unit_test(leaks_are_of_the_same_steps),
		cmocka_unit_test(the_rate_is_that_of_the_last_steps),
		cmocka_unit_test(a_watch_of_too_many_steps_goes_on),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
