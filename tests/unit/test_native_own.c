/*
 * The recorder's own frames are not part of a stack, for each way through them. The memo of one way
 * is not used for another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "native_fixture.h"
#include "native_paths.h"

#define KEEP() __asm__ volatile("" ::: "memory") /* no tail call, no merged frames */

static struct gp_native_stack seen;

/* ---- own frames: all ways pass through here, and some share their inner frames ---- */

NATIVE_OWN static void own_walk(void)
{
	struct gp_native_thread *t = native_thread();
	struct gp_native_stack *s = native_stack_now(t, __builtin_frame_address(0));
	assert_non_null(s);
	seen = *s;
}

NATIVE_OWN static void own_middle(void)
{
	own_walk();
	KEEP();
}

/* Uses the frame pointer's register for another value. */
NATIVE_OWN static void own_small(void)
{
#if defined(__x86_64__)
	__asm__ volatile("movl $12345, %%ebp" ::: "rbp");
#endif
	own_middle();
	KEEP();
}

NATIVE_OWN static void own_large(void)
{
	char room[3000];
	__asm__ volatile("" ::"r"(room) : "memory");
	own_middle();
	KEEP();
}

/* Its frame size is variable. */
NATIVE_OWN static void own_variable(unsigned n)
{
	volatile char *room = __builtin_alloca(16 + 48 * n);
	room[n] = 1;
	own_middle();
	KEEP();
	room[n] = 2;
}

NATIVE_OWN static void own_deep(unsigned n)
{
	if (n)
		own_deep(n - 1);
	else
		own_walk();
	KEEP();
}

/* ---- the job's frames ---- */

/* Can be left only by its frame pointer. */
static __attribute__((noinline)) void job(unsigned way, void *expected[], int *frames)
{
	volatile char *room = __builtin_alloca(16 + way % 7 * 16);
	room[way % 7] = 1;
	*frames = native_fixture.backtrace(expected, GP_NATIVE_DEPTH);
	switch (way % 6) {
	case 0:
		own_walk();
		break;
	case 1:
		own_middle();
		break;
	case 2:
		own_small();
		break;
	case 3:
		own_large();
		break;
	case 4:
		own_variable(way / 6 % 30);
		break;
	default:
		own_deep(way / 6 % 9);
		break;
	}
	room[way % 7] = 2;
}

struct turn {
	unsigned way;
};

static void take_a_way(void *context)
{
	void *expected[GP_NATIVE_DEPTH];
	int frames = 0;
	job(((const struct turn *)context)->way, expected, &frames);
	assert_int_equal(seen.depth, frames);
	/* inside job() it continued from another place */
	for (int k = 1; k < frames; k++)
		assert_int_equal(seen.pc[k], (uintptr_t)expected[k]);
	assert_in_range(seen.pc[0] - (uintptr_t)job, 1, 600);
}

static void own_frames_are_left_out(void **state)
{
	uint64_t seed = 271828;
	uint8_t path[12] = { 4, 3, 2 };
	(void)state;
	assert_in_range(__stop_own_code - __start_own_code, 50, 5000);
	for (unsigned n = 0; n < 20000; n++) {
		struct turn turn = { (unsigned)(path_random(&seed) >> 20) % 1000 };
		path_run(path, n % 12, take_a_way, &turn);
	}
	assert_in_range(native_hits, 10000, 20000);
}

int main(int argc, char **argv)
{
	(void)argc;
	native_fixture_open(argv[0], GP_NATIVE_DEPTH);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_frames_are_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
