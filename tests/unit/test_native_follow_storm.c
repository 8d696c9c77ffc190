/*
 * Walks that follow the previous one, against walks without history. The stacks are random, and
 * their frames leave their memory unwritten. Each stack is a change of the one before, so a
 * followed walk passes places with words of old frames. FULL=1: 3,000,000 walks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "follow_frames.h"
#include "native_fixture.h"
#include "native_paths.h"

#if FOLLOW_FRAMES
#include <signal.h>

#define LOOKS_A_SEED 1000u
#define FRAMES_MOST 90u
#define JUDGED 64u /* one in so many is compared with libunwind, too */

static uint64_t seed;

static unsigned chance(unsigned of)
{
	return (unsigned)(path_random(&seed) >> 21) % of;
}

/* ---- the stacks ---- */

enum kind { FIXED, WIDE, ROOM, SAVING, ALIGNED, SIGNAL, KINDS };

struct frame {
	enum kind kind;
	uintptr_t word; /* of ROOM and SAVING */
};

static struct frame frame[FRAMES_MOST];
static unsigned frames;
static uintptr_t script[2 * FRAMES_MOST + 1];
static uintptr_t somewhere; /* on the stack, above all of these frames */

static struct frame any_frame(void)
{
	static const enum kind often[] = { FIXED, FIXED, FIXED,	 WIDE,	 WIDE,	 ROOM,
					   ROOM,  ROOM,	 SAVING, SAVING, ALIGNED };
	struct frame f = { .kind = often[chance(sizeof often / sizeof *often)] };
	if (chance(200) == 0)
		f.kind = SIGNAL;
	if (f.kind == ROOM)
		f.word = 16u * (1 + chance(12));
	else if (f.kind == SAVING && chance(2))
		f.word = somewhere - 8u * chance(200);
	return f;
}

/* Outer frames keep their place on the stack, inner ones are replaced. */
static void change(void)
{
	const unsigned at = frames ? chance(frames) : 0;
	const unsigned behind = frames - at - (frames != 0);
	switch (chance(8)) {
	case 0:
		if (frames == 0 || frames == FRAMES_MOST)
			break;
		memmove(&frame[at + 1], &frame[at], (frames++ - at) * sizeof *frame);
		frame[at] = any_frame();
		return;
	case 1:
		if (frames < 2)
			break;
		memmove(&frame[at], &frame[at + 1], behind * sizeof *frame);
		frames--;
		return;
	case 2:
		frame[at] = any_frame();
		frames += frames == 0;
		return;
	case 3:
		return; /* the same stack again, which the memo has */
	default:
		break;
	}
	const unsigned most = chance(50) ? 20 : FRAMES_MOST;
	frames = at;
	for (unsigned more = 1 + chance(12); more > 0 && frames < most; more--)
		frame[frames++] = any_frame();
}

static void look(void);

static const uintptr_t *interrupted;

static void in_handler(int number)
{
	const uintptr_t *next = interrupted;
	(void)number;
	((void (*)(const uintptr_t *))next[0])(next + 1);
}

static __attribute__((noinline)) void by_signal(const uintptr_t *rest)
{
	interrupted = rest;
	raise(SIGUSR1);
}

static void write_script(void)
{
	static void (*const function[KINDS])(const uintptr_t *) = {
		follow_fixed, follow_wide, follow_room, follow_saving, follow_aligned, by_signal,
	};
	uintptr_t *to = script;
	for (unsigned k = 0; k < frames; k++) {
		*to++ = (uintptr_t)function[frame[k].kind];
		if (frame[k].kind == ROOM || frame[k].kind == SAVING)
			*to++ = frame[k].word;
	}
	*to = (uintptr_t)look;
}

/* ---- comparisons ---- */

static struct {
	unsigned long looks, remembered, wrong, wrong_stacks, judged;
} seen;
static struct gp_native_thread *judge; /* follows no earlier walk */

/* Must be inlined: in libunwind's result the caller's frame comes first. */
static inline __attribute__((always_inline)) void
compare_with_libunwind(const struct gp_native_stack *stack)
{
	void *pc[GP_NATIVE_DEPTH + 1];
	const int depth = native_unw_backtrace(pc, GP_NATIVE_DEPTH + 1) - 1;
	assert_int_equal(stack->depth, depth);
	assert_memory_equal(stack->pc, pc + 1, (size_t)depth * sizeof *pc);
	seen.judged++;
}

static __attribute__((noinline)) void look(void)
{
	const void *here = __builtin_frame_address(0);
	struct gp_native_thread *t = native_thread();
	const struct gp_native_stack *now = gp_native_stack_now(t, here);
	const struct gp_native_stack *plain = gp_native_stack_walk(judge, here);
	assert_non_null(now);
	assert_non_null(plain);
	const bool is_remembered = now->number != 0;
	const char *what = is_remembered ? stacks_differ(now, plain) :
					   walked_differs(walked_of(now), walked_of(plain));
	seen.looks++;
	seen.remembered += is_remembered;
	seen.wrong_stacks += stacks_differ(now, plain) != NULL;
	if (seen.looks % JUDGED == 0)
		compare_with_libunwind(plain);
	if (what && seen.wrong++ == 0)
		print_message("look %lu: the %s of the walks differ\n", seen.looks, what);
}

static __attribute__((noinline)) void run(void)
{
	((void (*)(const uintptr_t *))script[0])(&script[1]);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

static void a_followed_walk_is_a_plain_walk(void **state)
{
	(void)state;
	const unsigned long looks = getenv("FULL") ? 3000000 : 100000;
	volatile uintptr_t here = 0;
	somewhere = (uintptr_t)&here;
	signal(SIGUSR1, in_handler);
	struct gp_thread_pieces pieces = { 0 };
	judge = gp_native_thread_open(&pieces);
	assert_non_null(judge);
	for (unsigned long k = 0; k < looks; k++) {
		if (k % LOOKS_A_SEED == 0) {
			seed = (k / LOOKS_A_SEED + 1) * 0x9e3779b97f4a7c15u;
			frames = 0;
		}
		change();
		write_script();
		run();
	}
	const struct gp_native_counts *counts = gp_native_thread_counts(native_thread());
	print_message("%lu looks, %lu wrong, stacks %lu of them; %lu remembered, %llu followed\n",
		      seen.looks, seen.wrong, seen.wrong_stacks, seen.remembered,
		      (unsigned long long)counts->followed);
	assert_int_equal(seen.looks, looks);
	assert_int_equal(seen.wrong, 0);
	assert_int_equal(seen.judged, looks / JUDGED);
	assert_in_range(counts->followed, looks / 4, looks);
	assert_in_range(seen.remembered, looks / 100, looks / 2);
	gp_thread_pieces_close(&pieces);
}
#else
static void a_followed_walk_is_a_plain_walk(void **state)
{
	(void)state;
	skip(); /* the frames are for x86-64 */
}
#endif

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_followed_walk_is_a_plain_walk),
	};
	(void)argc;
	native_fixture_open(argv[0], GP_NATIVE_DEPTH);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
