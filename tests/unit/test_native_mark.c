/*
 * Finds the native frame that contains an address on the stack: this places Python's frames within
 * native stacks.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "native_fixture.h"

#define LEVELS 40u

static const void *local[LEVELS]; /* the innermost first */
static unsigned levels;

static inline __attribute__((always_inline)) struct gp_native_stack *now(void)
{
	return gp_native_stack_now(native_thread(), NULL);
}

static __attribute__((noinline)) void leaf(void (*judge)(void))
{
	judge();
	__asm__ volatile("" ::: "memory");
}

/*
 * Each level has a variable of its own; a bit of `kept` stores the address of that level's
 * variable.
 */
static __attribute__((noinline)) int level(unsigned n, uint64_t kept, void (*judge)(void))
{
	volatile uint64_t own[4] = { n };
	if (kept >> n & 1)
		local[--levels] = (const void *)&own[n % 4];
	if (n)
		level(n - 1, kept, judge);
	else
		leaf(judge);
	return (int)own[0];
}

static void run(unsigned n, uint64_t kept, void (*judge)(void))
{
	levels = (unsigned)__builtin_popcountll(kept);
	level(n, kept, judge);
}

static uint64_t expected;

/* judge() is frame 0, leaf() 1, level(0) 2. */
static void judge_marks(void)
{
	const unsigned n = (unsigned)__builtin_popcountll(expected);
	for (unsigned k = 0; k < 4; k++) {
		struct gp_native_stack *s = now();
		uint64_t marks = 1;
		assert_non_null(s);
		/* without a guess, with the right one, with wrong ones */
		const uint64_t guess[] = { 0, expected << 2, expected << 3, ~UINT64_C(0) };
		assert_true(gp_native_stack_mark(s, local, n, guess[k], &marks));
		assert_true(marks == expected << 2);
	}
}

static void marks_the_frame_of_each(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 400; seed++) {
		expected = (seed * UINT64_C(0x9e3779b97f4a7c15) >> 24) & ((UINT64_C(1) << 30) - 1);
		run(30, expected, judge_marks);
	}
}

/* One start, first with all frames. Walks up to an address are kept as stacks of their own. */
static void judge_up_to(void)
{
	struct gp_native_stack whole = *now();
	for (unsigned k = 0; k < 3 * 8; k++) {
		struct gp_native_look look;
		const unsigned level = k % 8, frame = level + 2;
		struct gp_native_stack *s = gp_native_stack_find(native_thread(), NULL, &look);
		if (!s || !gp_native_stack_is_up_to(s, local[level]) || s->end != GP_NATIVE_UP_TO)
			s = gp_native_stack_take(native_thread(), &look, local[level]);
		assert_non_null(s);
		assert_int_equal(s->end, GP_NATIVE_UP_TO);
		assert_int_equal(s->depth, frame + 2);
		assert_true(gp_native_stack_is_up_to(s, local[level]));
		assert_false(gp_native_stack_is_up_to(s, local[level + 1]));
		assert_false(gp_native_stack_is_up_to(s, NULL));
		/* frame 0 is the caller of the look: another place in this function */
		assert_memory_equal(&s->pc[1], &whole.pc[1], (frame + 1) * sizeof *s->pc);
		uint64_t marks;
		assert_true(gp_native_stack_mark(s, &local[level], 1, 0, &marks));
		assert_true(marks == UINT64_C(1) << frame);
	}
	/* with all frames it is another stack than after a walk up to the address */
	struct gp_native_look look;
	struct gp_native_stack *s = gp_native_stack_find(native_thread(), NULL, &look);
	if (!s || s->end == GP_NATIVE_UP_TO)
		s = gp_native_stack_take(native_thread(), &look, NULL);
	assert_non_null(s);
	assert_int_equal(s->depth, whole.depth);
	assert_true(gp_native_stack_is_up_to(s, NULL));
	assert_false(gp_native_stack_is_up_to(s, local[0]));
	assert_true(gp_native_stack_is_up_to(s, (const void *)UINTPTR_MAX));
}

static void ends_after_the_frame_of_an_address(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 4; round++)
		run(30, 0x1ff, judge_up_to);
}

static void judge_disorder(void)
{
	uint64_t marks;
	const void *first = local[0];
	struct gp_native_stack *s = now();
	local[0] = local[1];
	local[1] = first;
	assert_false(gp_native_stack_mark(s, local, 2, 0, &marks));
	/* two in one frame */
	local[0] = (const char *)local[1] - 1;
	assert_false(gp_native_stack_mark(s, local, 2, 0, &marks));
	/* below the stack */
	local[0] = (const void *)((uintptr_t)__builtin_frame_address(0) - 65536);
	assert_false(gp_native_stack_mark(s, local, 1, 0, &marks));
}

static void refuses_disorder(void **state)
{
	(void)state;
	run(6, 1u << 2 | 1u << 4, judge_disorder);
}

static void judge_beyond(void)
{
	uint64_t marks = 1;
	struct gp_native_stack *s = now();
	assert_int_equal(s->end, GP_NATIVE_TRUNCATED);
	/* level(k) is frame k + 2; the end of the 64th frame is unknown */
	const unsigned n = (unsigned)__builtin_popcountll(expected);
	assert_true(gp_native_stack_mark(s, local, n, 0, &marks));
	assert_true(marks == (UINT64_C(1) << 12 | UINT64_C(1) << 62));
}

static void frames_beyond_the_walk_are_not_marked(void **state)
{
	(void)state;
	expected = UINT64_C(1) << 10 | UINT64_C(1) << 60 | UINT64_C(1) << 61 | UINT64_C(1) << 63;
	for (int k = 0; k < 3; k++) {
		levels = 4;
		level(63, expected, judge_beyond);
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	native_fixture_open(argv[0], GP_NATIVE_DEPTH);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_the_frame_of_each),
		cmocka_unit_test(ends_after_the_frame_of_an_address),
		cmocka_unit_test(refuses_disorder),
		cmocka_unit_test(frames_beyond_the_walk_are_not_marked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
