/*
 * The effect of the job's ranges on captures, as the job itself sees it (are its launches
 * recorded?) and as readers see it. Each test runs in a forked child: a process records once.
 */
#include "captured_child.h"

#include <pthread.h>

/* ---- the job ---- */

static void once(void)
{
	CHECK(!is_launch_recorded());
	push("steps");
	CHECK(!is_launch_recorded());
	push("step");
	CHECK(is_launch_recorded());
	push("step"); /* inside the span it is a range like any other */
	pop();
	CHECK(is_launch_recorded());
	pop();
	CHECK(!is_launch_recorded());
	push("step"); /* the rule is for the first one only */
	CHECK(!is_launch_recorded());
	pop();
	pop();
}

static void twice(void)
{
	for (int k = 0; k < 4; k++) {
		push("step");
		CHECK(is_launch_recorded() == (k < 2));
		pop();
		CHECK(!is_launch_recorded());
	}
}

static void without_end(void)
{
	push("step");
	pop();
	CHECK(is_launch_recorded());
}

/*
 * A range alone does not begin a recording; a recording begins inside the span that ranges opened.
 */
static void before_the_first_event(void)
{
	push("step");
	pop();
	push("step");
	CHECK(is_launch_recorded());
	pop();
	CHECK(!is_launch_recorded());
}

static void crossed(void)
{
	push_of(GP_RANGE_TORCH, 0, "below");
	push("step");
	push_of(GP_RANGE_TORCH, 0, "above");
	CHECK(gp_range_pop(GP_RANGE_TORCH, 0) == 2);
	push_of(GP_RANGE_TORCH, 0, "above");
	pop(); /* ends the range that opened the span, below another one */
	CHECK(!is_launch_recorded());
	CHECK(gp_range_pop(GP_RANGE_TORCH, 0) == 1);
	CHECK(gp_range_pop(GP_RANGE_TORCH, 0) == 0);
}

/* A range below the opener ends first: the opener's own end is still recognized. */
static void crossed_below(void)
{
	push_of(GP_RANGE_TORCH, 0, "below");
	push("step");
	CHECK(gp_range_pop(GP_RANGE_TORCH, 0) == 0);
	CHECK(is_launch_recorded());
	pop();
	CHECK(!is_launch_recorded());
	CHECK(gp_range_pop(GP_RANGE_NVTX, 0) == -1);
	CHECK(gp_range_pop(GP_RANGE_TORCH, 0) == -1);
}

static void in_domains(void)
{
	uint32_t mine = gp_range_name(0, "mine", 4), other = gp_range_name(0, "other", 5);
	push("step");
	CHECK(!is_launch_recorded());
	push_of(GP_RANGE_NVTX, other, "step");
	CHECK(!is_launch_recorded());
	push_of(GP_RANGE_NVTX, mine, "step");
	CHECK(is_launch_recorded());
	pop();
	gp_range_pop(GP_RANGE_NVTX, other);
	CHECK(is_launch_recorded());
	gp_range_pop(GP_RANGE_NVTX, mine);
	CHECK(!is_launch_recorded());
}

static void *end_elsewhere(void *number)
{
	gp_range_end(GP_RANGE_NVTX, *(uint64_t *)number);
	CHECK(!is_launch_recorded());
	return NULL;
}

static void started(void)
{
	const struct gp_range range = { .source = GP_RANGE_NVTX, .text = "step", .bytes = 4 };
	pthread_t thread;
	uint64_t first = gp_range_start(&range), second = gp_range_start(&range);
	CHECK(is_launch_recorded());
	gp_range_end(GP_RANGE_NVTX, second);
	CHECK(is_launch_recorded());
	pthread_create(&thread, NULL, end_elsewhere, &first);
	pthread_join(thread, NULL);
	CHECK(!is_launch_recorded());
}

static struct gp_range_handle *kept;
static uint64_t key_of_kept;

static void *end_kept(void *unused)
{
	gp_range_pop_kept(GP_RANGE_TORCH, kept, &key_of_kept);
	CHECK(!is_launch_recorded());
	return unused;
}

/* The opener ends on another thread, and once more out of turn: the span ends with it. */
static void kept_by_others(void)
{
	pthread_t thread;
	uint64_t inner_key;
	for (int k = 0; k < 2; k++) {
		push_of(GP_RANGE_TORCH, 0, "around");
		kept = push_kept("step", &key_of_kept);
		CHECK(is_launch_recorded());
		struct gp_range_handle *inner = push_kept("step", &inner_key);
		if (k == 0) {
			pthread_create(&thread, NULL, end_kept, NULL);
			pthread_join(thread, NULL);
		} else {
			gp_range_pop_kept(GP_RANGE_TORCH, kept, &key_of_kept);
		}
		CHECK(!is_launch_recorded());
		push_of(GP_RANGE_TORCH, 0, "other");
		CHECK(gp_range_pop(GP_RANGE_TORCH, 0) == 2);
		gp_range_pop_kept(GP_RANGE_TORCH, inner, &inner_key);
		CHECK(!is_launch_recorded());
		CHECK(gp_range_pop(GP_RANGE_TORCH, 0) == 0);
	}
}

static void iterate(const char *text, int first, int last)
{
	for (int k = 1; k <= 5; k++) {
		CHECK(is_launch_recorded() == (first <= k && k <= last));
		push("other");
		pop();
		push(text);
		CHECK(is_launch_recorded() == (first <= k && k <= last));
		pop();
	}
}
static void steps_two_and_three(void)
{
	iterate("iteration", 2, 3);
}
static void steps_from_the_first(void)
{
	iterate("iteration", 1, 2);
}

static void steps_of_an_optimizer(void)
{
	for (int k = 1; k <= 4; k++) {
		push_of(GP_RANGE_TORCH, 0, "Optimizer.zero_grad#SGD.zero_grad");
		gp_range_pop(GP_RANGE_TORCH, 0);
		CHECK(is_launch_recorded() == (k == 3));
		push_of(GP_RANGE_TORCH, 0, "Optimizer.step#SGD.step");
		gp_range_pop(GP_RANGE_TORCH, 0);
	}
}

static void started_steps(void)
{
	const struct gp_range range = { .source = GP_RANGE_NVTX, .text = "iteration", .bytes = 9 };
	for (int k = 1; k <= 4; k++) {
		uint64_t number = gp_range_start(&range);
		CHECK(is_launch_recorded() == (k == 2 || k == 3));
		gp_range_end(GP_RANGE_NVTX, number);
		gp_range_end(GP_RANGE_NVTX, number);
	}
}

/* The child continues in its parent's range, and ends it only for itself. */
static void forked(void)
{
	char path[128];
	push("step");
	CHECK(is_launch_recorded());
	pid_t pid = fork();
	if (pid == 0) {
		name_of(path, sizeof path, "child.gpr");
		memcpy(gp_settings.output, path, sizeof path);
		CHECK(is_launch_recorded());
		pop();
		CHECK(!is_launch_recorded());
		push("step");
		CHECK(!is_launch_recorded());
		pop();
		gp_recorder_end();
		_exit(0);
	}
	CHECK(end_of(pid) == 0);
	CHECK(is_launch_recorded());
	pop();
	CHECK(!is_launch_recorded());
}

static void *end_a_former_one(void *unused)
{
	(void)unused;
	push("step");
	CHECK(is_launch_recorded());
	return NULL; /* the thread's ranges end here */
}

/*
 * The clock ends a span before its range does. That end of the range does not affect the next span.
 */
static void in_turn(void)
{
	pthread_t thread;
	push("step");
	while (is_launch_recorded())
		sched_yield();
	push("other");
	pop();
	pthread_create(&thread, NULL, end_a_former_one, NULL);
	pthread_join(thread, NULL);
	CHECK(!is_launch_recorded()); /* it ended its own span */
	const struct gp_range range = { .source = GP_RANGE_NVTX, .text = "step", .bytes = 4 };
	const uint64_t number = gp_range_start(&range);
	CHECK(is_launch_recorded());
	pop(); /* the first range */
	CHECK(is_launch_recorded());
	gp_range_end(GP_RANGE_NVTX, number);
	CHECK(!is_launch_recorded());
}

static void await_outside(void)
{
	while (is_launch_recorded())
		sched_yield();
}

/* The same for ranges with numbers, and for both kinds in turn. */
static void started_in_turn(void)
{
	const uint64_t first = start("step");
	await_outside();
	push("step");
	CHECK(is_launch_recorded());
	gp_range_end(GP_RANGE_NVTX, first);
	CHECK(is_launch_recorded());
	pop();
	CHECK(!is_launch_recorded());
	const uint64_t second = start("step");
	await_outside();
	const uint64_t third = start("step");
	gp_range_end(GP_RANGE_NVTX, second);
	gp_range_end(GP_RANGE_NVTX, first);
	CHECK(is_launch_recorded());
	gp_range_end(GP_RANGE_NVTX, third);
	CHECK(!is_launch_recorded());
}

/* A range that is not kept has no recorded end: it opens no span, or a span that ends at once. */
static void without_a_place(void)
{
	static uint64_t number[2 * GP_RANGES_STARTED];
	CHECK(!is_launch_recorded());
	for (unsigned k = 0; k < GP_RANGES_DEEP; k++)
		push("other");
	push("step");
	CHECK(!is_launch_recorded());
	for (unsigned k = 0; k <= GP_RANGES_DEEP; k++)
		pop();
	for (unsigned k = 0; k < 2 * GP_RANGES_STARTED; k++)
		number[k] = start("other");
	const uint64_t step = start("step");
	CHECK(!is_launch_recorded());
	gp_range_end(GP_RANGE_NVTX, step);
	for (unsigned k = 0; k < 2 * GP_RANGES_STARTED; k++)
		gp_range_end(GP_RANGE_NVTX, number[k]);
	push("step");
	CHECK(is_launch_recorded());
	pop();
	CHECK(!is_launch_recorded());
}

static bool is_recorded(void)
{
	if (!gp_enter())
		return false;
	gp_leave();
	return true;
}

static void *try_elsewhere(void *unused)
{
	(void)unused;
	CHECK(!is_recorded());
	return NULL;
}

/* Waits until the capture is finished; the job continues. */
static void await_end(void)
{
	while (atomic_load(&gp_recorder.state) != GP_RECORDER_ENDED)
		sched_yield();
}

/*
 * The rings accept no events that readers would find; a thread that has a ring may still write to
 * it.
 */
static void go_on(void)
{
	pthread_t thread;
	char path[128];
	struct gp_ring *ring = gp_thread.ring;
	await_end();
	push("step");
	CHECK(!is_recorded());
	pop();
	pthread_create(&thread, NULL, try_elsewhere, NULL);
	pthread_join(thread, NULL);
	gp_region_slots(ring, 0)[GP_REGION_SLOTS(0u) - 1].time = 1;
	pid_t pid = fork();
	if (pid == 0) {
		name_of(path, sizeof path, "orphan.gpr");
		memcpy(gp_settings.output, path, sizeof path);
		push("step");
		CHECK(!is_recorded());
		pop();
		gp_recorder_end();
		_exit(0);
	}
	CHECK(end_of(pid) == 0);
	name_of(path, sizeof path, "orphan.gpr");
	CHECK(access(path, F_OK) != 0);
}

static void ended_after_two(void)
{
	for (int k = 0; k < 4; k++) {
		if (k < 2)
			allocate();
		push("step");
		CHECK(is_recorded() == (k < 2));
		CHECK(k >= 2 || is_launch_recorded());
		pop();
		CHECK(is_recorded() == (k < 1));
	}
	go_on();
}

static void ended_after_steps(void)
{
	for (int k = 1; k <= 5; k++) {
		CHECK(is_recorded() == (k <= 3));
		CHECK(k > 3 || is_launch_recorded() == (k >= 2));
		push("iteration");
		pop();
	}
	go_on();
}

/* Ended only by the clock, on the drain thread. */
static void ended_in_time(void)
{
	CHECK(is_launch_recorded());
	while (is_recorded())
		sched_yield();
	go_on();
}

static void ended_before_it_began(void)
{
	push("step");
	pop();
	allocate();
	push("step");
	CHECK(is_launch_recorded());
	pop();
	CHECK(!is_recorded());
	go_on();
}

/* ---- readers ---- */

static void ranges_open_and_close(void **state)
{
	(void)state;
	record("once.gpr", "nvtx:step", "", once);
	assert_recorded("once.gpr", 1, 2, 6, GP_SCOPE_BY_RANGE);
	record("twice.gpr", "nvtx:step", "outside:2", twice);
	assert_recorded("twice.gpr", 2, 2, 8, GP_SCOPE_BY_RANGE);
	record("open.gpr", "nvtx:step", "none", without_end);
	assert_recorded("open.gpr", 1, 1, 1, GP_SCOPE_BY_RANGE);
	/* of the first range no event was recorded: it does not count */
	record("before.gpr", "nvtx:step", "", before_the_first_event);
	assert_recorded("before.gpr", 1, 1, 2, GP_SCOPE_BY_RANGE);
	record("started.gpr", "nvtx:step", "", started);
	assert_recorded("started.gpr", 1, 2, 4, GP_SCOPE_BY_RANGE);
}

static void ranges_that_cross_keep_their_ends(void **state)
{
	(void)state;
	record("crossed.gpr", "nvtx:step", "", crossed);
	record("below.gpr", "nvtx:step", "", crossed_below);
	assert_recorded("below.gpr", 1, 1, 2, GP_SCOPE_BY_RANGE);
	record("kept.gpr", "nvtx:step", "repeat", kept_by_others);
}

static void a_range_ends_its_own_span_alone(void **state)
{
	(void)state;
	setenv("GPUPROF_DURATION", "50ms", 1);
	record("turn.gpr", "nvtx:step", "repeat", in_turn);
	record("started_turn.gpr", "nvtx:step", "repeat", started_in_turn);
	unsetenv("GPUPROF_DURATION");
	record("place.gpr", "nvtx:step", "repeat", without_a_place);
}

static void domains_are_separate(void **state)
{
	(void)state;
	record("domains.gpr", "nvtx:step@mine", "", in_domains);
	assert_recorded("domains.gpr", 1, 2, 5, GP_SCOPE_BY_RANGE);
}

static void steps_are_counted(void **state)
{
	(void)state;
	record("steps.gpr", "step:2-3@iteration", "", steps_two_and_three);
	assert_recorded("steps.gpr", 1, 4, 10, GP_SCOPE_BY_STEP);
	record("first.gpr", "step:1-2@iteration", "", steps_from_the_first);
	assert_recorded("first.gpr", 1, 4, 10, GP_SCOPE_BY_STEP);
	record("optimizer.gpr", "step:3", "", steps_of_an_optimizer);
	assert_recorded("optimizer.gpr", 1, 1, 4, GP_SCOPE_BY_STEP);
	record("numbered.gpr", "step:2-3@iteration", "", started_steps);
	assert_recorded("numbered.gpr", 1, 2, 4, GP_SCOPE_BY_STEP);
}

static void a_forked_child_goes_on(void **state)
{
	(void)state;
	record("parent.gpr", "nvtx:step", "", forked);
	assert_recorded("parent.gpr", 1, 2, 3, GP_SCOPE_BY_RANGE);
	assert_recorded("child.gpr", 1, 1, 3, GP_SCOPE_BY_RANGE);
}

static unsigned ended_by(const char *name)
{
	char path[128];
	struct gp_recording *r;
	const struct gp_info *info;
	name_of(path, sizeof path, name);
	assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
	assert_int_equal(gp_recording_info(r, &info), GP_OK);
	const unsigned by = info->ended_by;
	assert_true(info->is_complete);
	assert_int_equal(info->lost_memory + info->lost_launch + info->lost_other, 0);
	gp_recording_close(r);
	return by;
}

static void the_recording_ends_with_the_last_span(void **state)
{
	(void)state;
	record("two.gpr", "nvtx:step", "repeat:2", ended_after_two);
	assert_recorded("two.gpr", 2, 2, 4, GP_SCOPE_BY_RANGE);
	assert_int_equal(ended_by("two.gpr"), GP_SCOPE_BY_RANGE);
	record("stop.gpr", "nvtx:step", "stop", ended_before_it_began);
	assert_recorded("stop.gpr", 1, 1, 2, GP_SCOPE_BY_RANGE);
	assert_int_equal(ended_by("stop.gpr"), GP_SCOPE_BY_RANGE);
	record("steps_stop.gpr", "step:2-3@iteration", "stop", ended_after_steps);
	assert_recorded("steps_stop.gpr", 1, 2, 3, GP_SCOPE_BY_STEP);
	assert_int_equal(ended_by("steps_stop.gpr"), GP_SCOPE_BY_STEP);
	assert_int_equal(ended_by("steps.gpr"), 0);
	setenv("GPUPROF_DURATION", "1s", 1); /* longer than the start of a slow job */
	record("time.gpr", "", "stop", ended_in_time);
	unsetenv("GPUPROF_DURATION");
	assert_int_equal(ended_by("time.gpr"), GP_SCOPE_BY_DURATION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_open_and_close),
		cmocka_unit_test(ranges_that_cross_keep_their_ends),
		cmocka_unit_test(a_range_ends_its_own_span_alone),
		cmocka_unit_test(domains_are_separate),
		cmocka_unit_test(steps_are_counted),
		cmocka_unit_test(a_forked_child_goes_on),
		cmocka_unit_test(the_recording_ends_with_the_last_span),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
