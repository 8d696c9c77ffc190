/*
 * Frames that are left without a pop: by a jump, or for another stack. Each test runs in a forked
 * child: a process records once.
 */
#include "range_words.h"

#include <ucontext.h>

static sigjmp_buf landing;

static __attribute__((noinline)) void in_frame(void (*work)(void))
{
	struct gp_range_frame frame = { 0 };
	gp_range_push(&(struct gp_range){
		.source = GP_RANGE_ENGINE, .text = "frame", .bytes = GP_TO_NUL, .frame = &frame });
	CHECK(frame.word[0] != 0);
	work();
	gp_range_pop_frame(GP_RANGE_ENGINE, &frame);
}

static void jump(void)
{
	siglongjmp(landing, 1);
}
static void name_inside(void)
{
	push(0, "inside");
	pop(0);
}
/* Deeper than the frame that was left: other frames lie at its place then. */
static __attribute__((noinline)) void push_deep(unsigned deep)
{
	volatile unsigned mine = deep;
	if (deep > 0)
		push_deep(deep - 1);
	else
		push(0, "deep");
	CHECK(mine == deep);
}
static void jump_from_inner(void)
{
	if (sigsetjmp(landing, 1) == 0)
		in_frame(jump);
}
static void name_a_range_that_stays_open(void)
{
	push(0, "stays");
}

static void frames_of_all_kinds(void)
{
	put_alloc(512);
	in_frame(name_inside); /* the frame lives: a range in it ends no others */
	if (sigsetjmp(landing, 1) == 0)
		in_frame(jump);
	push(0, "next");
	pop(0);
	if (sigsetjmp(landing, 1) == 0)
		in_frame(jump);
	in_frame(name_inside);	   /* at the place of the frame that was left */
	in_frame(jump_from_inner); /* the outer frame ends both */
	in_frame(name_a_range_that_stays_open);
	pop(0);
}

static void deep_and_often(void)
{
	put_alloc(512);
	if (sigsetjmp(landing, 1) == 0)
		in_frame(jump);
	push_deep(40);
	pop(0);
	for (volatile unsigned k = 0; k < 3 * GP_RANGES_DEEP; k++)
		if (sigsetjmp(landing, 1) == 0)
			in_frame(jump);
	CHECK(push(0, "last") == 0);
	pop(0);
}

static void a_frame_that_is_left_ends_its_range(void **state)
{
	(void)state;
	assert_int_equal(in_child("frames.gpr", "0", frames_of_all_kinds), 0);
	assert_string_equal(words_of("frames.gpr"),
			    "* +frame0 +inside1 -1 -0 +frame0 -0 +next0 -0 +frame0 -0 +frame0 "
			    "+inside1 -1 -0 +frame0 +frame1 -1 -0 +frame0 +stays1 -1 -0");
	assert_int_equal(in_child("often.gpr", "0", deep_and_often), 0);
	const char *words = words_of("often.gpr");
	const char first[] = "* +frame0 -0 +deep0 -0 +frame0 -0 +frame0 -0 ";
	assert_memory_equal(words, first, sizeof first - 1);
	assert_null(strstr(words, "+frame1"));
}

static struct {
	char stack[65536];
	ucontext_t job, other;
} fiber;

static void from_another_stack(void)
{
	push(0, "other stack");
	pop(0);
	in_frame(name_inside); /* on a stack that is not the thread's: like any range */
	swapcontext(&fiber.other, &fiber.job);
}
static void switch_stacks(void)
{
	makecontext(&fiber.other, from_another_stack, 0);
	swapcontext(&fiber.job, &fiber.other);
}

static void stacks_are_switched(void)
{
	put_alloc(512);
	getcontext(&fiber.other);
	fiber.other.uc_stack.ss_sp = fiber.stack;
	fiber.other.uc_stack.ss_size = sizeof fiber.stack;
	in_frame(switch_stacks);
}

/* A frame stays open while the thread is on another stack. */
static void a_switch_of_stacks_leaves_none(void **state)
{
	(void)state;
	assert_int_equal(in_child("fiber.gpr", "0", stacks_are_switched), 0);
	assert_string_equal(words_of("fiber.gpr"), "* +frame0 +other stack1 -1 +frame1 +inside2 "
						   "-2 -1 -0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_that_is_left_ends_its_range),
		cmocka_unit_test(a_switch_of_stacks_leaves_none),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
