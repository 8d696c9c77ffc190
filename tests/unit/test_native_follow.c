/*
 * A walk that meets the previous one takes its remaining frames, if every word that was read from
 * there on is unchanged. The result then equals that of a walk by rules, for all kinds of frames.
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

/* ---- made-up walks ---- */

enum { WORDS = 64, FRAMES = 12 };

static uint64_t words[WORDS];

/*
 * Frame k's return address lies 3 k words above the start; frames 4 and 7 also needed another word.
 */
static struct gp_native_walked walked_before(void)
{
	struct gp_native_walked w = { .words = 2, .steady_from = 1 };
	struct gp_native_entry *e = &w.entry;
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = 1000 + i;
	e->sp = (uintptr_t)words;
	e->stack.depth = FRAMES;
	e->stack.pc[0] = 7;
	for (unsigned k = 1; k < FRAMES; k++) {
		e->at[k] = (uint16_t)(3 * k);
		e->stack.pc[k] = words[3 * k];
	}
	w.word[0] = (struct gp_native_word){ words[20], 20 * sizeof *words, 4 };
	w.word[1] = (struct gp_native_word){ words[26], 26 * sizeof *words, 7 };
	return w;
}

/* 0: they do not meet. */
static unsigned meeting(const struct gp_native_walked *w, unsigned start, unsigned end)
{
	struct gp_native_meeting m;
	gp_native_meeting_expect(&m, w, (uintptr_t)&words[start], (uintptr_t)&words[end]);
	if (m.sp == UINTPTR_MAX)
		return 0;
	assert_int_equal(m.sp, &words[w->entry.at[m.frame] + 1]);
	return m.frame;
}

static void every_word_must_stand(void **state)
{
	struct gp_native_walked w = walked_before();
	(void)state;
	assert_int_equal(meeting(&w, 0, WORDS), 1);
	for (unsigned i = 0; i < WORDS; i++) {
		unsigned frame = i % 3 == 0 && i && i < 3 * FRAMES ? i / 3 + 1 : 1;
		frame = i == 20 ? 5 : i == 26 ? 8 : frame;
		words[i]++;
		assert_int_equal(meeting(&w, 0, WORDS), frame == FRAMES ? 0 : frame);
		words[i]--;
	}
}

static void only_words_of_the_stack_are_read(void **state)
{
	struct gp_native_walked w = walked_before();
	(void)state;
	assert_int_equal(meeting(&w, 10, WORDS), 4);
	assert_int_equal(meeting(&w, 3 * FRAMES - 2, WORDS), 0);
	assert_int_equal(meeting(&w, 0, 3 * FRAMES - 2), 1);
	assert_int_equal(meeting(&w, 0, 3 * FRAMES - 3), 0);
	w.entry.sp = 4096;
	gp_native_meeting_expect(&(struct gp_native_meeting){ 0 }, &w, (uintptr_t)words,
				 (uintptr_t)&words[WORDS]);
	w.entry.stack.depth = 0;
	assert_int_equal(meeting(&w, 0, WORDS), 0);
}

/* A frame pointer saved further inward than the meeting may differ now. */
static void words_read_further_inward_are_not_followed(void **state)
{
	struct gp_native_walked w = walked_before();
	(void)state;
	w.word[1] = (struct gp_native_word){ words[2], 2 * sizeof *words, 7 };
	assert_int_equal(meeting(&w, 0, WORDS), 8);
	w = walked_before();
	w.frame_from = (uintptr_t)&words[2];
	w.frame_by = 9;
	assert_int_equal(meeting(&w, 0, WORDS), 10);
	w = walked_before();
	w.steady_from = 6;
	assert_int_equal(meeting(&w, 0, WORDS), 6);
	w.steady_from = FRAMES;
	assert_int_equal(meeting(&w, 0, WORDS), 0);
}

static void they_meet_at_a_frame_of_both(void **state)
{
	const struct gp_native_walked w = walked_before();
	struct gp_native_meeting m;
	(void)state;
	gp_native_meeting_expect(&m, &w, (uintptr_t)words, (uintptr_t)&words[WORDS]);
	/* between two of its frames; at the place of one with another address; and without room */
	assert_false(gp_native_meeting_is_at(&m, words[6], (uintptr_t)&words[6], 64));
	assert_int_equal(m.sp, &words[7]);
	assert_false(gp_native_meeting_is_at(&m, words[6] + 1, (uintptr_t)&words[7], 64));
	assert_int_equal(m.sp, &words[10]);
	assert_false(gp_native_meeting_is_at(&m, words[9], (uintptr_t)&words[10], 7));
	assert_true(gp_native_meeting_is_at(&m, words[12], (uintptr_t)&words[13], 7));
	assert_int_equal(m.frame, 4);
	struct gp_native_entry to = { .sp = (uintptr_t)&words[1] };
	uint64_t sum = 5, expected = 5;
	assert_int_equal(gp_native_meeting_follow(&m, &to, 2, &sum), 7);
	for (unsigned k = 0; k < 7; k++) {
		assert_int_equal(to.stack.pc[2 + k], words[3 * (5 + k)]);
		assert_int_equal(to.at[2 + k], 3 * (5 + k) - 1);
		expected = gp_native_sum(expected, to.stack.pc[2 + k]);
	}
	assert_int_equal(sum, expected);
	assert_false(gp_native_meeting_is_at(&m, 1, (uintptr_t)&words[WORDS - 1], 64));
	assert_int_equal(m.sp, UINTPTR_MAX);
}

/* Words between the walk and the meeting may be left over from other frames. */
static void words_passed_by_are_not_followed(void **state)
{
	struct gp_native_walked w = walked_before();
	struct gp_native_meeting m;
	(void)state;
	w.word[1] = (struct gp_native_word){ words[10], 10 * sizeof *words, 7 };
	gp_native_meeting_expect(&m, &w, (uintptr_t)words, (uintptr_t)&words[WORDS]);
	assert_int_equal(m.frame, 1);
	for (unsigned k = 4; k < 8; k++)
		assert_false(gp_native_meeting_is_at(&m, words[3 * k], (uintptr_t)&words[3 * k + 1],
						     64));
	assert_true(gp_native_meeting_is_at(&m, words[24], (uintptr_t)&words[25], 64));
	w = walked_before();
	w.frame_from = (uintptr_t)&words[10];
	w.frame_by = 9;
	gp_native_meeting_expect(&m, &w, (uintptr_t)words, (uintptr_t)&words[WORDS]);
	assert_int_equal(m.frame, 1);
	assert_false(gp_native_meeting_is_at(&m, words[27], (uintptr_t)&words[28], 64));
	assert_true(gp_native_meeting_is_at(&m, words[30], (uintptr_t)&words[31], 64));
}

/* ---- real walks ---- */

static uint64_t seed = 271828;

static unsigned chance(unsigned of)
{
	return (unsigned)(path_random(&seed) >> 21) % of;
}

static void same(const struct gp_native_walked *a, const struct gp_native_walked *b)
{
	const char *what = walked_differs(a, b);
	if (what)
		fail_msg("the %s of the walks differ", what);
}

static unsigned long walks;

/* Compares the stack with a walk that has no history. */
static __attribute__((noinline)) void look(void *context)
{
	(void)context;
	static struct gp_native_walked now;
	struct gp_native_thread *t = native_thread();
	const void *here = __builtin_frame_address(0);
	const uint64_t hits = native_hits;
	struct gp_native_stack *s = native_stack_now(t, here);
	assert_non_null(s);
	walks += native_hits == hits;
	/* mostly return: so the next walk often follows a walk that itself followed another */
	if (s->number || chance(4) == 0)
		return;
	now = *walked_of(s);
	s = gp_native_stack_walk(t, here);
	assert_non_null(s);
	walks++;
	same(&now, walked_of(s));
}

static void wander(unsigned left);

static void wander_on(void *left)
{
	wander(*(unsigned *)left);
}

/* A frame that is left by its frame pointer, which its first callees keep in the register. */
static __attribute__((noinline)) void in_a_room(unsigned left, unsigned bytes)
{
	volatile char *room = __builtin_alloca(bytes);
	uint8_t path[3];
	room[0] = 1;
	for (unsigned turn = 0; turn < 4; turn++) {
		for (unsigned k = 0; k < 3; k++)
			path[k] = (uint8_t)chance(4);
		path_run(path, 3, look, NULL);
	}
	wander(left);
	room[bytes - 1] = room[0];
}

/* The same, with a frame pointer that is saved in memory. */
static __attribute__((noinline)) void aligned(unsigned left, unsigned bytes)
{
	__attribute__((aligned(128))) volatile char room[256];
	volatile char *more = __builtin_alloca(bytes);
	room[bytes] = more[bytes - 1] = 1;
	wander(left);
	room[0] = room[bytes];
}

/* Calls repeatedly from one place, so that outer frames stay, and looks from each depth. */
static __attribute__((noinline)) void wander(unsigned left)
{
	for (unsigned turns = left > 9 ? 1 : 1 + chance(3); turns > 0; turns--) {
		unsigned less = left - 1;
		uint8_t path[4];
		if (left == 0 || chance(6) == 0)
			look(NULL);
		if (left == 0)
			return;
		for (unsigned k = 0; k < 4; k++)
			path[k] = (uint8_t)chance(2);
		switch (chance(5)) {
		case 0:
			in_a_room(less, 16 + 16 * chance(4));
			break;
		case 1:
			aligned(less, 16 + 16 * chance(4));
			break;
		default:
			path_run(path, chance(5), wander_on, &less);
		}
	}
}

static void a_followed_walk_is_a_walk(void **state)
{
	const struct gp_native_counts *counts = gp_native_thread_counts(native_thread());
	(void)state;
	for (unsigned i = 0; i < 100; i++)
		wander(3 + chance(7));
	for (unsigned i = 0; i < 100; i++) /* deeper than the recorded depth */
		wander(25 + chance(20));
	assert_in_range(walks, 10000, 10000000);
	assert_in_range(counts->followed, walks / 4, walks);
	print_message("%llu of %lu walks followed another\n", (unsigned long long)counts->followed,
		      walks);
}

#if FOLLOW_FRAMES
static unsigned compared;

static __attribute__((noinline)) void look_there(void)
{
	static struct gp_native_walked now;
	struct gp_native_thread *t = native_thread();
	const void *here = __builtin_frame_address(0);
	struct gp_native_stack *s = gp_native_stack_now(t, here);
	assert_non_null(s);
	assert_int_equal(s->number, 0);
	if (compared++ == 0)
		return;
	now = *walked_of(s);
	s = gp_native_stack_walk(t, here);
	assert_non_null(s);
	same(&now, walked_of(s));
}

/*
 * The second stack is two frames shorter, in memory that still has every word of the first. Up to
 * the first meeting of both, only the frame pointer differs.
 */
static void words_of_old_frames_are_not_a_stack(void **state)
{
#define CALL(name) (uintptr_t)(name)
	static const uintptr_t script[2][8] = {
		{ CALL(follow_fixed), CALL(follow_room), 16, CALL(follow_fixed),
		  CALL(follow_saving), 0, CALL(follow_fixed), CALL(look_there) },
		{ CALL(follow_room), 48, CALL(follow_fixed), CALL(follow_wide), CALL(look_there) },
	};
#undef CALL
	(void)state;
	compared = 0;
	for (volatile unsigned turn = 0; turn < 2; turn++)
		follow_fixed(script[turn]);
	assert_int_equal(compared, 2);
}
#endif

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_word_must_stand),
		cmocka_unit_test(only_words_of_the_stack_are_read),
		cmocka_unit_test(words_read_further_inward_are_not_followed),
		cmocka_unit_test(they_meet_at_a_frame_of_both),
		cmocka_unit_test(words_passed_by_are_not_followed),
#if FOLLOW_FRAMES
		cmocka_unit_test(words_of_old_frames_are_not_a_stack),
#endif
		cmocka_unit_test(a_followed_walk_is_a_walk),
	};
	(void)argc;
	native_fixture_open(argv[0], GP_NATIVE_DEPTH);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
