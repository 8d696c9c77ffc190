/*
 * Threads that end with open ranges which opened a span, or which end a step: the ranges end with
 * their thread, and only once.
 */
#include "captured_child.h"

#include <pthread.h>

static pthread_barrier_t barrier;

static void *push_and_end(void *text)
{
	push(text);
	return NULL;
}

static void *push_and_wait(void *text)
{
	push(text);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

/* The thread has no event of its own: before the recording begins, and after. */
static void left_by_a_thread(void)
{
	pthread_t thread;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, push_and_end, "step");
	pthread_join(thread, NULL);
	pthread_create(&thread, NULL, push_and_wait, "step");
	pthread_barrier_wait(&barrier);
	CHECK(is_launch_recorded());
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	CHECK(!is_launch_recorded());
}

static void left_before_it_began(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, push_and_end, "step");
	pthread_join(thread, NULL);
	CHECK(!is_launch_recorded());
}

#define RACES 3000
static _Atomic(struct gp_range_handle *) raced;
static uint64_t raced_key;
static _Atomic bool is_race_over;

static void *push_iteration(void *unused)
{
	atomic_store(&raced, push_kept("iteration", &raced_key));
	return unused;
}

static void *end_raced(void *unused)
{
	for (unsigned k = 0; !atomic_load(&is_race_over); k++) {
		struct gp_range_handle *handle = atomic_exchange(&raced, NULL);
		for (_Atomic unsigned wait = handle ? k * 61 % 4096 : 0; wait > 0; wait--)
			;
		if (handle)
			gp_range_pop_kept(GP_RANGE_TORCH, handle, &raced_key);
		else
			sched_yield();
	}
	return unused;
}

/* Its thread and another one end the same range: one step. */
static void ended_twice_at_once(void)
{
	pthread_t ends, thread;
	allocate();
	pthread_create(&ends, NULL, end_raced, NULL);
	for (unsigned k = 0; k < RACES; k++) {
		pthread_create(&thread, NULL, push_iteration, NULL);
		pthread_join(thread, NULL);
		while (atomic_load(&raced))
			sched_yield();
	}
	CHECK(!is_launch_recorded());
	atomic_store(&is_race_over, true);
	pthread_join(ends, NULL);
	CHECK(!is_launch_recorded());
	push("iteration");
	pop();
	CHECK(is_launch_recorded());
}

static struct gp_range_handle *outer, *deep;
static uint64_t outer_key, deep_key;

static void *end_both(void *unused)
{
	gp_range_pop_kept(GP_RANGE_TORCH, outer, &outer_key);
	gp_range_pop_kept(GP_RANGE_TORCH, deep, &deep_key);
	return unused;
}

/* When the opener ends, the ranges below and above it have ended on another thread. */
static void opener_moves_down(void)
{
	pthread_t thread;
	allocate();
	outer = push_kept("outer", &outer_key);
	for (unsigned k = 0; k < GP_RANGES_DEEP - 2; k++)
		push("between");
	push("step");
	CHECK(is_launch_recorded());
	deep = push_kept("too deep", &deep_key);
	pthread_create(&thread, NULL, end_both, NULL);
	pthread_join(thread, NULL);
	pop();
	CHECK(!is_launch_recorded());
}

static void a_moved_opener_closes_its_span(void **state)
{
	(void)state;
	record("moved.gpr", "nvtx:step", "repeat", opener_moves_down);
	assert_recorded("moved.gpr", 1, 1, 3, GP_SCOPE_BY_RANGE);
}

static void open_ranges_end_with_their_thread(void **state)
{
	(void)state;
	record("left.gpr", "nvtx:step", "repeat", left_by_a_thread);
	assert_recorded("left.gpr", 1, 1, 2, GP_SCOPE_BY_RANGE);
	record("left_before.gpr", "nvtx:step", "", left_before_it_began);
}

static void of_two_ends_at_once_one_counts(void **state)
{
	(void)state;
	record("race.gpr", "step:3002@iteration", "", ended_twice_at_once);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_ranges_end_with_their_thread),
		cmocka_unit_test(of_two_ends_at_once_one_counts),
		cmocka_unit_test(a_moved_opener_closes_its_span),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
