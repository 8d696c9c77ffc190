/*
 * The memo of whole Python stacks on interpreters made of bytes, of every minor version. Its
 * results equal those of a walk, for each word that can differ and for random histories. An
 * interpreter is found once a process, so each case is a child process.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "native_paths.h"
#include "python_image.h"
#include "record/process/thread_memory.h"
#include "record/python/python_memo.h"
#include "record/python/python_object.h"

#define CHECK(condition)                                                                  \
	do {                                                                              \
		if (!(condition)) {                                                       \
			fprintf(stderr, "3.%u, line %d: not so: %s\n", image.spec->minor, \
				__LINE__, #condition);                                    \
			_exit(1);                                                         \
		}                                                                         \
	} while (0)

static struct gp_python_memo memo;
static struct gp_thread_pieces pieces;
static unsigned guess; /* any value gives the right result */

static void for_each_version(void (*check)(void))
{
	for (size_t k = 0; k < SPECS; k++) {
		int status;
		pid_t child = fork();
		if (child == 0) {
			/* cmocka's handler would continue with the next test, in the child */
			signal(SIGSEGV, SIG_DFL);
			image_start(&specs[k]);
			gp_python_memo_init(&memo, &pieces);
			check();
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

/* ---- results of a walk ---- */

#define MOST 12u
#define CONTENTS 8192u

struct content {
	unsigned frames, loops;
	enum gp_python_reason reason;
	struct gp_python_frame frame[MOST];
	uint64_t identity[MOST];
	const void *loop[MOST];
};

/* All contents of earlier walks, without the places of loops: an id is an index here, + 1. */
static struct content seen[CONTENTS];
static unsigned contents;

static struct content walked_now(unsigned most)
{
	struct gp_python_walk walk;
	struct content now;
	memset(&now, 0, sizeof now);
	now.frames = gp_python_walk(now.frame, most, &walk);
	now.reason = walk.reason;
	for (unsigned k = 0; k < now.frames; k++) {
		struct gp_python_frame *f = &now.frame[k];
		now.identity[k] = gp_python_identity(f->code);
		if (f->loop)
			now.loop[now.loops++] = f->loop;
		f->loop = NULL;
	}
	return now;
}

static uint32_t id_of(const struct content *now)
{
	unsigned k = 0;
	while (k < contents && (seen[k].frames != now->frames || seen[k].reason != now->reason ||
				memcmp(seen[k].frame, now->frame, sizeof now->frame) != 0 ||
				memcmp(seen[k].identity, now->identity, sizeof now->identity) != 0))
		k++;
	if (k == contents) {
		CHECK(contents < CONTENTS);
		seen[contents++] = *now;
	}
	return k + 1;
}

/* The value that interpreters with a C frame keep for their loop. */
static const void *cframe_now(void)
{
	return image.spec->cframe >= 0 ? &image.cframe : NULL;
}

/* Stack `number` is the current one, by both ways to its first frame or by none. */
static bool is_stack(unsigned number)
{
	const uint32_t content = memo.stack[number].content;
	const bool is = content && gp_python_memo_is(&memo, number, content, NULL);
	CHECK(is == (content && gp_python_memo_is(&memo, number, content, cframe_now())));
	CHECK(!gp_python_memo_is(&memo, number, content + 1, NULL));
	return is;
}

/* Like a hook. True: found, and equal to the result of a walk. */
static bool take(unsigned most)
{
	struct gp_python_start start;
	enum gp_python_reason reason;
	const struct gp_python_stack *s = gp_python_memo_find(&memo, guess, &start, &reason);
	const bool is_found = s != NULL;
	if (guess)
		CHECK(is_stack(guess) == (s && gp_python_number(&memo, s) == guess));
	const struct content now = walked_now(most);
	if (!s && reason != GP_PYTHON_COMPLETE) {
		CHECK(now.frames == 0 && now.reason == reason);
		return false;
	}
	const uint32_t id = now.frames ? id_of(&now) : 0;
	if (!s && id)
		s = gp_python_memo_add(&memo, &start,
				       &(struct gp_python_walked){ most, now.reason, id,
								   (uint8_t)now.reason, now.loops,
								   now.loop, NULL });
	if (s) {
		CHECK(s->id == id && s->why == now.reason && s->loops == now.loops);
		CHECK(memcmp(gp_python_loops(s), now.loop, now.loops * sizeof *now.loop) == 0);
	}
	return is_found;
}

static bool is_found(void)
{
	struct gp_python_start start;
	enum gp_python_reason reason;
	return gp_python_memo_find(&memo, guess, &start, &reason) != NULL;
}

/* ---- one stack ---- */

static union object *inner, *outer;

/* Six frames, two runs. */
static void call(void)
{
	image_return(0);
	image_frame(inner, 20, 0);
	image_frame(inner, 10, 1);
	image_entry();
	for (int k = 0; k < 4; k++)
		image_frame(outer, 30 + k, 0);
	image_entry();
}

static void meet(unsigned most)
{
	CHECK(gp_python_find(image_symbol, NULL));
	for (int k = 0; k < 4; k++) /* seen, remembered, expected after itself */
		take(most);
	for (int k = 0; k < 4; k++)
		CHECK(take(most));
}

static void start(void)
{
	inner = image_code("a/file.py", "Class.inner", 10);
	outer = image_code("other.py", "<module>", 1);
	call();
}

static void check_repeats(void)
{
	start();
	CHECK(gp_python_find(image_symbol, NULL));
	CHECK(!take(MOST)); /* a stack is not remembered at first sight */
	CHECK(memo.used == 0);
	meet(MOST);
	CHECK(memo.used == 1);
	gp_python_memo_forget(&memo);
	CHECK(!is_found());
	meet(MOST);
}

static void finds_repeated_stacks(void **state)
{
	(void)state;
	for_each_version(check_repeats);
}

/* Any change of the `size` bytes at `bytes` makes the stack different: it is not found. */
static void counts(void *bytes, size_t size)
{
	unsigned char *byte = bytes;
	for (size_t k = 0; k < size; k++) {
		byte[k] ^= 1;
		CHECK(!is_found());
		byte[k] ^= 1;
		CHECK(is_found());
	}
}

static void check_words(void)
{
	const struct spec *s = image.spec;
	start();
	meet(MOST);
	union object *code = image_code("a/file.py", "Class.inner", 10);
	for (unsigned k = 0; k < image.frames_used; k++) {
		union object *f = &image.frames[k], kept = *f;
		const bool is_shim = s->owner >= 0 && f->bytes[s->owner] >= 3;
		if (s->owner >= 0)
			counts(f->bytes + s->owner, 1);
		if (s->minor == 11)
			counts(f->bytes + 68, 1);
		if (is_shim)
			continue;
		counts(f->bytes + s->instruction, s->minor < 11 ? 4 : 8);
		put_pointer(f, s->code, (const char *)code + (s->minor == 14)); /* an equal one */
		CHECK(!is_found());
		*f = kept;
		/* the same frame further in or out: one less, one more */
		put_pointer(f, s->previous, k + 2 < image.frames_used ? f + 2 : NULL);
		CHECK(k + 1 == image.frames_used || !is_found());
		put_pointer(f, s->previous, f);
		CHECK(!is_found());
		*f = kept;
	}
	/* the innermost frame has returned; its memory is unchanged */
	union object *top = s->cframe < 0 ? &image.thread : &image.cframe;
	const int top_at = s->cframe < 0 ? s->thread_frame : s->cframe;
	put_pointer(top, top_at, &image.frames[1]);
	CHECK(!is_found());
	put_pointer(top, top_at, &image.frames[0]);
	if (s->minor == 11) {
		put_pointer(&image.cframe, 16, &image.cframes[20]);
		CHECK(!is_found());
		put_pointer(&image.cframe, 16, &image.cframes[0]);
	}
	CHECK(is_found());
}

static void compares_every_word_of_every_frame(void **state)
{
	(void)state;
	for_each_version(check_words);
}

/* A code object was freed; another one, with equal or different content, has its address. */
static void check_reuse(void)
{
	start();
	meet(MOST);
	union object *const hidden = image_code("f.py", "not begun", 1);
	union object *const codes[] = { inner, outer, hidden };
	image_return(0);
	image_frame(inner, 20, 0);
	image_frame(hidden, 1, 0); /* before its first traceable instruction: not shown */
	image_frame(outer, 30, 0);
	image_entry();
	meet(MOST);
	for (int k = 0; k < 3; k++) {
		image_drop(codes[k]);
		CHECK(!is_found());
		meet(MOST);
	}
	/* an object of another stack dies: the objects of this stack are checked, and live */
	union object *const other = image_code("f.py", "other", 1);
	const unsigned number = memo.last;
	gp_python_watch_code(other);
	const uint64_t before = gp_python_code_frees_in_all();
	image_drop(other);
	CHECK(gp_python_code_frees_in_all() == before + 1);
	CHECK(memo.stack[number].code_frees == before && is_found());
	CHECK(memo.last == number && memo.stack[number].code_frees == before + 1);
}

static void separates_code_objects(void **state)
{
	(void)state;
	for_each_version(check_reuse);
}

static void check_truncated(void)
{
	const struct spec *s = image.spec;
	start();
	meet(3);
	const unsigned shims = s->minor > 11; /* between the visible frames */
	union object *third = &image.frames[2 + shims], *fourth = third + 1, *fifth = fourth + 1;
	counts(fourth->bytes + s->instruction, 1); /* the visibility of a frame is compared */
	fifth->bytes[s->instruction] ^= 4;	   /* it lies beyond */
	put_pointer(fifth, s->previous, NULL);
	CHECK(is_found() && take(3));
	put_pointer(third, s->previous, NULL); /* now whole */
	CHECK(!is_found() && !take(3));
}

static void finds_a_stack_that_is_deeper_than_the_limit(void **state)
{
	(void)state;
	for_each_version(check_truncated);
}

static void check_ending(void)
{
	start();
	meet(MOST);
	image.ending_checks = 0;
	image.is_ending = image.spec->cframe >= 0 ? 2 : 1;
	CHECK(!is_found());
	struct gp_python_start at;
	enum gp_python_reason reason;
	CHECK(!gp_python_memo_find(&memo, 0, &at, &reason) && reason == GP_PYTHON_FINALIZING);
	/* the thread state is not read: the loop still runs, so its frames are there */
	const uint32_t content = memo.stack[memo.last].content;
	CHECK(gp_python_memo_is(&memo, memo.last, content, cframe_now()) == !!cframe_now());
	image.is_ending = 0;
	CHECK(is_found());
}

static void finds_no_stack_once_the_end_has_begun(void **state)
{
	(void)state;
	for_each_version(check_ending);
}

/* ---- histories ---- */

static uint64_t random_state;

static unsigned below(unsigned n)
{
	return (unsigned)(path_random(&random_state) >> 20) % n;
}

/* Stack number `n` of a program, `place` frames further on. */
static void call_random(unsigned n, unsigned place)
{
	const uint64_t kept = random_state;
	random_state = 0x9e3779b97f4a7c15u * (n / 3 + 1);
	image_return(place);
	const unsigned depth = 1 + below(14);
	for (unsigned k = 0; k < depth; k++) {
		/* three stacks differ in one frame only */
		const int unit = (int)below(39) - 1 + (k == depth / 2 && n % 3);
		image_frame(&image.codes[below(8)], unit, (int)below(3));
		if (below(3) == 0)
			image_entry();
		while (image.spec->minor > 11 && below(12) == 0)
			image_entry(); /* has only begun */
	}
	random_state = kept;
}

static void check_history_to(unsigned most)
{
	unsigned found = 0, n = 0;
	for (int k = 0; k < 8; k++)
		image_code("f.py", "f", k);
	call_random(0, 0);
	CHECK(gp_python_find(image_symbol, NULL));
	random_state = 88172645463325252u;
	for (int k = 0; k < 40000; k++) {
		/* mostly the order of the last turn */
		n = below(8) ? (n + 1) % 40 : below(200);
		call_random(n, below(20) ? 0 : below(4));
		if (below(1000) == 0) {
			image_drop(&image.codes[below(8)]);
		}
		guess = below(3) ? 0 : below(memo.used + 1u);
		found += take(most);
		if (below(5000) == 0) {
			contents = 0;
			gp_python_memo_forget(&memo);
		}
	}
	CHECK(found > 8000);
}

static void check_history(void)
{
	check_history_to(MOST);
}

static void check_history_of_deep_stacks(void)
{
	check_history_to(4);
}

static void agrees_with_walks_in_random_histories(void **state)
{
	(void)state;
	for_each_version(check_history);
	for_each_version(check_history_of_deep_stacks);
}

/* Without room every stack is walked; with some room the memo takes only that much. */
static void check_budget(void)
{
	start();
	CHECK(gp_python_find(image_symbol, NULL));
	meet(MOST);
	const uint64_t grown = gp_thread_memory();
	gp_thread_pieces_close(&pieces);
	const uint64_t before = gp_thread_memory();
	CHECK(before < grown);
	gp_python_memo_init(&memo, &pieces);
	gp_thread_memory_bound(grown - 1);
	for (int k = 0; k < 8; k++)
		CHECK(!take(MOST));
	CHECK(gp_thread_memory() == before);
	gp_thread_memory_bound(grown);
	meet(MOST);
	for (int turn = 0; turn < 4; turn++)
		for (int k = 0; k < 900; k++) {
			image_return(0);
			image_frame(inner, 4 + k % 30, 0);
			image_frame(inner, 4 + k / 30, 0);
			image_entry();
			take(MOST);
			CHECK(memo.rows_used <= GP_PYTHON_MEMO_STEP);
		}
	CHECK(gp_thread_memory() == grown);
}

static void keeps_to_the_budget(void **state)
{
	(void)state;
	for_each_version(check_budget);
}

/* A walk that was abandoned may write the rest of a stack that was forgotten meanwhile. */
static void check_half_written(void)
{
	start();
	meet(MOST);
	const struct gp_python_stack last = memo.stack[memo.last];
	gp_python_memo_forget(&memo);
	memo.stack[1] = last;
	memo.stack[1].row = NULL;
	guess = 1;
	CHECK(!take(MOST));
	meet(MOST);
}

static void stands_a_half_written_stack(void **state)
{
	(void)state;
	for_each_version(check_half_written);
}

/* A stack's rows lie in one piece: if the rest of a piece may be too small, in the next. */
static void check_piece_end(void)
{
	start();
	CHECK(gp_python_find(image_symbol, NULL));
	meet(MOST);
	for (unsigned left = 400; left > 0; left--) {
		gp_python_memo_forget(&memo);
		memo.rows_used = GP_PYTHON_MEMO_STEP - left;
		meet(MOST);
		const struct gp_python_stack *s = &memo.stack[memo.last];
		CHECK(s->row == memo.piece[1] ||
		      (left > UINT8_MAX && s->row == memo.piece[0] + GP_PYTHON_MEMO_STEP - left));
		CHECK(left < 400 || s->row != memo.piece[1]);
	}
}

static void keeps_rows_together(void **state)
{
	(void)state;
	for_each_version(check_piece_end);
}

/* More stacks in turn than there is room for. */
static void check_full(void)
{
	const unsigned stacks = 2 * GP_PYTHON_MEMO_STACKS + 100;
	unsigned found = 0;
	start();
	CHECK(gp_python_find(image_symbol, NULL));
	for (unsigned turn = 0; turn < 6; turn++)
		for (unsigned k = 0; k < stacks; k++) {
			call();
			const int units[] = { (int)(4 + k % 30), (int)(4 + k / 30 % 30),
					      (int)(4 + k / 900) };
			image_return(0);
			for (int f = 0; f < 3; f++)
				image_frame(inner, units[f], 0);
			image_entry();
			CHECK(!take(MOST) || turn > 0);
			CHECK(memo.used < GP_PYTHON_MEMO_STACKS &&
			      memo.rows_used <= GP_PYTHON_MEMO_ROWS);
		}
	/* stacks that then repeat in a smaller turn are remembered again */
	for (unsigned turn = 0; turn < 1000; turn++)
		for (unsigned k = 0; k < 30; k++) {
			image_return(0);
			image_frame(inner, (int)(4 + k), 0);
			image_entry();
			found += take(MOST);
		}
	CHECK(found > 15000);
}

static void is_bounded(void **state)
{
	(void)state;
	for_each_version(check_full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_repeated_stacks),
		cmocka_unit_test(compares_every_word_of_every_frame),
		cmocka_unit_test(separates_code_objects),
		cmocka_unit_test(finds_a_stack_that_is_deeper_than_the_limit),
		cmocka_unit_test(finds_no_stack_once_the_end_has_begun),
		cmocka_unit_test(agrees_with_walks_in_random_histories),
		cmocka_unit_test(keeps_to_the_budget),
		cmocka_unit_test(stands_a_half_written_stack),
		cmocka_unit_test(keeps_rows_together),
		cmocka_unit_test(is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
