/*
 * The memo separates stacks that differ in one frame at the same stack pointer and depth. It keeps
 * its bound.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../libgpuprof/record/native/native_memo.h"
#include "../../libgpuprof/record/process/thread_memory.h"
#include "native_fixture.h"
#include "native_paths.h"

struct seen {
	unsigned depth;
	uintptr_t pc[GP_NATIVE_DEPTH];
	uint32_t id;
	const void *here;
};

/* The stack of a walk and of the memo at the same place. */
static __attribute__((noinline)) void look(void *context)
{
	struct seen *seen = context;
	struct gp_native_thread *t = native_thread();
	seen->here = __builtin_frame_address(0);
	struct gp_native_stack *s = native_stack_now(t, seen->here);
	assert_non_null(s);
	seen->depth = s->depth;
	seen->id = s->id;
	memcpy(seen->pc, s->pc, sizeof seen->pc);
	static uint32_t ids;
	if (!s->id)
		s->id = ++ids;
	s = gp_native_stack_walk(t, seen->here);
	assert_int_equal(s->depth, seen->depth);
	assert_memory_equal(s->pc, seen->pc, seen->depth * sizeof *s->pc);
}

/*
 * Three times one stack, then three times the other, from one place: else the outer frames differ.
 */
static void run_pair(uint8_t *path, unsigned frames, unsigned at, uint8_t change,
		     struct seen runs[6], uint64_t hits_after[6])
{
	for (unsigned n = 0; n < 6; n++) {
		if (n == 3)
			path[at] ^= change;
		path_run(path, frames, look, &runs[n]);
		hits_after[n] = native_hits;
	}
}

static void separates_pairs(void **state)
{
	uint64_t seed = 314159;
	uint8_t path[60];
	unsigned early = 0;
	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		struct seen runs[6];
		uint64_t hits_after[6];
		unsigned frames = 12 + (unsigned)(path_random(&seed) >> 7) % 48;
		for (unsigned k = 0; k < frames; k++)
			path[k] = (uint8_t)(path_random(&seed) >> 30) % PATH_FUNCTIONS;
		unsigned at = (unsigned)(path_random(&seed) >> 11) % frames;
		if (i % 3 < 2)
			at = i % 3 ? frames - 1 : 0;
		run_pair(path, frames, at,
			 (uint8_t)(1 + (path_random(&seed) >> 40) % (PATH_FUNCTIONS - 1)), runs,
			 hits_after);
		const struct seen *one = &runs[2], *other = &runs[5];
		assert_int_equal(hits_after[2], hits_after[1] + 1);
		early += hits_after[4] != hits_after[2];
		assert_int_equal(hits_after[5], hits_after[4] + 1);
		assert_ptr_equal(one->here, other->here);
		assert_int_equal(one->depth, other->depth);
		assert_memory_equal(one->pc, runs[0].pc, one->depth * sizeof *one->pc);
		assert_memory_equal(other->pc, runs[3].pc, one->depth * sizeof *one->pc);
		unsigned differing = 0;
		for (unsigned k = 0; k < one->depth; k++)
			differing += one->pc[k] != other->pc[k];
		assert_int_equal(differing, 1);
		assert_int_not_equal(one->id, other->id);
	}
	/*
	 * different stacks with equal marks enter the memo at first sight; each is compared even so
	 */
	assert_in_range(early, 0, 5);
}

/* Variable rooms: frames whose place depends on a saved frame pointer. */
static __attribute__((noinline)) void roomy(unsigned room, unsigned more, struct seen *seen)
{
	volatile char *bytes = __builtin_alloca(room);
	bytes[0] = 0;
	if (more)
		roomy(more, 0, seen);
	else
		look(seen);
	bytes[room - 1] = bytes[0];
}

static void follows_variable_frames(void **state)
{
	uint64_t seed = 2718;
	const uint64_t before = native_hits;
	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		struct seen seen;
		/*
		 * the sum is often equal, and so the stack pointer is equal; the frames between
		 * differ
		 */
		unsigned room = 16 + 16 * (unsigned)((path_random(&seed) >> 20) % 12);
		roomy(room, 224 - room, &seen);
		assert_in_range(seen.depth, 4, GP_NATIVE_DEPTH);
	}
	assert_in_range(native_hits - before, 15000, 20000);
}

static void keeps_the_id_of_the_caller(void **state)
{
	uint8_t path[20] = { 7, 7, 7 };
	struct seen seen[4];
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		path_run(path, 20, look, &seen[i]);
	assert_int_equal(seen[0].id, 0);
	assert_int_equal(seen[1].id, 0); /* a new entry */
	assert_int_not_equal(seen[2].id, 0);
	assert_int_equal(seen[3].id, seen[2].id);
}

/*
 * Stacks that change like a counter, one after the other: a mark that is set at first sight must
 * still be there at the second.
 */
static void remembers_stacks_in_turn(void **state)
{
	enum { LEVELS = 14, STACKS = 64, ROUNDS = 12, LAST = 4 };
	struct seen seen;
	(void)state;
	for (unsigned first = 0; first <= LEVELS - 6; first++) {
		uint64_t before = 0;
		for (unsigned i = 0; i < ROUNDS * STACKS; i++) {
			uint8_t path[LEVELS];
			for (unsigned k = 0; k < LEVELS; k++)
				path[k] =
					(uint8_t)(2 * first +
						  (k >= first ? i % STACKS >> (k - first) & 1 : 0));
			if (i == (ROUNDS - LAST) * STACKS)
				before = native_hits;
			path_run(path, LEVELS, look, &seen);
		}
		/*
		 * The place of the code decides which marks share a place and evict each other. Up
		 * to a quarter of the stacks was measured; without any memory it was all of them.
		 */
		assert_in_range(native_hits - before, LAST * STACKS / 2, LAST * STACKS);
	}
}

static void forgets_the_least_recent(void **state)
{
	uint64_t seed = 161803;
	uint8_t path[24];
	struct seen seen;
	(void)state;
	native_thread_done();
	const struct gp_native_counts *counts = gp_native_thread_counts(native_thread());
	const uint64_t hits = native_hits;
	unsigned stacks = 0;
	for (; stacks < 2 * GP_NATIVE_MEMO_ENTRIES && !counts->evicted; stacks++) {
		for (unsigned k = 0; k < 24; k++)
			path[k] = (uint8_t)(path_random(&seed) >> 30);
		for (unsigned n = 0; n < 2; n++)
			path_run(path, 24, look, &seen);
	}
	/* entry 0 is not used, and entries that a finer key released are taken first */
	assert_in_range(stacks, GP_NATIVE_MEMO_ENTRIES, 2 * GP_NATIVE_MEMO_ENTRIES - 1);
	assert_int_equal(counts->evicted, 1);
	assert_int_equal(native_hits, hits);
}

/* New stacks until all is full. */
static void stays_within_its_bound(void **state)
{
	uint64_t seed = 57721;
	uint8_t path[40];
	struct seen seen;
	(void)state;
	native_thread_done();
	native_thread();
	const uint64_t opened = gp_thread_memory();
	for (unsigned i = 0; i < 20000; i++) {
		for (unsigned k = 0; k < 40; k++)
			path[k] = (uint8_t)(path_random(&seed) >> 30);
		for (unsigned n = 0; n < 3; n++)
			path_run(path, 40, look, &seen);
	}
	assert_in_range(gp_thread_memory() - opened, 1, 4u << 20);
	assert_in_range(gp_native_thread_counts(native_thread())->evicted,
			20000 - 2 * GP_NATIVE_MEMO_ENTRIES, 20000);
}

static void run_twice(unsigned stacks, uint64_t seed)
{
	uint8_t path[24];
	struct seen seen;
	for (unsigned i = 0; i < stacks; i++) {
		for (unsigned k = 0; k < 24; k++)
			path[k] = (uint8_t)(path_random(&seed) >> 30);
		for (unsigned n = 0; n < 3; n++)
			path_run(path, 24, look, &seen);
	}
}

/* Without room every stack is walked; with some room the memo takes only that much. */
static void keeps_to_the_budget(void **state)
{
	(void)state;
	native_thread_done();
	const uint64_t before = gp_thread_memory();
	const struct gp_native_counts *counts = gp_native_thread_counts(native_thread());
	const uint64_t opened = gp_thread_memory();
	run_twice(50, 28);
	const uint64_t grown = gp_thread_memory();
	assert_in_range(grown - opened, 1, 256 << 10);
	native_thread_done();
	counts = gp_native_thread_counts(native_thread());
	gp_thread_memory_bound(grown - 1);
	const uint64_t hits = native_hits;
	run_twice(50, 28);
	assert_int_equal(native_hits, hits);
	assert_int_equal(gp_thread_memory(), opened);
	gp_thread_memory_bound(grown);
	run_twice(50, 28);
	assert_true(native_hits > hits);
	assert_int_equal(counts->evicted, 0);
	run_twice(2 * GP_NATIVE_MEMO_STEP, 29);
	assert_in_range(counts->evicted, 1, 4 * GP_NATIVE_MEMO_STEP);
	assert_int_equal(gp_thread_memory(), grown);
	gp_thread_memory_bound(UINT64_MAX);
	const uint64_t evicted = counts->evicted;
	run_twice(2 * GP_NATIVE_MEMO_STEP, 30);
	assert_int_equal(counts->evicted, evicted);
	assert_true(gp_thread_memory() > grown);
	native_thread_done();
	assert_int_equal(gp_thread_memory(), before);
}

static void forgets_all_on_request(void **state)
{
	uint8_t path[20] = { 9, 9 };
	struct seen seen;
	(void)state;
	for (unsigned i = 0; i < 5; i++) /* the last ones are expected: they follow themselves */
		path_run(path, 20, look, &seen);
	const uint64_t hits = native_hits;
	gp_native_rules_forget();
	assert_int_equal(gp_native_rule_find(seen.pc[1]), 0);
	path_run(path, 20, look, &seen);
	assert_int_equal(native_hits, hits);
	assert_int_not_equal(gp_native_rule_find(seen.pc[1]), 0);
}

/* ---- growth of the memo ---- */

static bool is_left_as_it_maps;
static unsigned maps, maps_most = UINT_MAX, refusals;

/* In place of libc's. Mapping a piece ends with this call. */
int mprotect(void *at, size_t bytes, int protection)
{
	if (maps >= maps_most) {
		refusals++;
		errno = ENOMEM;
		return -1;
	}
	maps++;
	const int result = (int)syscall(SYS_mprotect, at, bytes, protection);
	if (is_left_as_it_maps)
		raise(SIGUSR1);
	return result;
}

static sigjmp_buf way_out;

static void jump_out(int signal)
{
	(void)signal;
	siglongjmp(way_out, 1);
}

static void stands_a_jump_out_as_it_grows(void **state)
{
	static unsigned jumps, k; /* static, so that longjmp keeps them */
	(void)state;
	native_thread_done();
	const uint64_t before = gp_thread_memory();
	native_thread();
	signal(SIGUSR1, jump_out);
	for (k = 0; k < 20; k++) {
		is_left_as_it_maps = true;
		if (sigsetjmp(way_out, 1) == 0) {
			run_twice(5 * GP_NATIVE_MEMO_STEP, 100 + k);
		} else {
			jumps++;
			gp_native_thread_left(native_thread());
		}
		is_left_as_it_maps = false;
		run_twice(20, k);
	}
	assert_in_range(jumps, 3, 20);
	signal(SIGUSR1, SIG_DFL);
	native_thread_done();
	assert_int_equal(gp_thread_memory(), before);
}

/*
 * The kernel refuses memory: the memo stays as it is. It tries again only after the drain thread
 * did.
 */
static void goes_on_where_it_cannot_grow(void **state)
{
	(void)state;
	native_thread_done();
	const struct gp_native_counts *counts = gp_native_thread_counts(native_thread());
	const uint64_t opened = gp_thread_memory();
	maps = 0;
	maps_most = 1;
	run_twice(3 * GP_NATIVE_MEMO_STEP, 31);
	assert_int_equal(maps, 1);
	assert_true(counts->evicted > 0);
	const uint64_t grown = gp_thread_memory();
	gp_thread_memory_bound(UINT64_MAX);
	maps_most = UINT_MAX;
	const uint64_t evicted = counts->evicted;
	run_twice(3 * GP_NATIVE_MEMO_STEP, 32);
	assert_int_equal(counts->evicted, evicted);
	assert_true(maps > 1 && opened < grown && grown < gp_thread_memory());
}

/* For any use of a piece, and even if each event needs one. */
static void tries_once_a_turn_without_memory(void **state)
{
	enum { SMALL = 5000, LARGE = 50000 };
	struct gp_thread_pieces pieces = { NULL, 0 };
	const uint64_t before = gp_thread_memory();
	(void)state;
	for (unsigned is_cache = 0; is_cache < 2; is_cache++) {
		refusals = maps = maps_most = 0;
		for (unsigned k = 0; k < 10; k++)
			assert_null(gp_thread_piece(&pieces, LARGE, is_cache));
		assert_int_equal(refusals, 1);
		/* the kernel may have room for a smaller one */
		assert_null(gp_thread_piece(&pieces, SMALL, is_cache));
		assert_int_equal(refusals, 2);
		maps_most = UINT_MAX;
		assert_null(gp_thread_piece(&pieces, SMALL, is_cache));
		gp_thread_memory_bound(UINT64_MAX); /* the drain thread's turn */
		assert_int_equal(gp_thread_memory(), before);
	}
	maps_most = 0;
	assert_null(gp_thread_piece(&pieces, LARGE, false));
	maps_most = UINT_MAX;
	assert_non_null(gp_thread_piece(&pieces, SMALL, true));
	gp_thread_memory_bound(UINT64_MAX);
	gp_thread_pieces_close(&pieces);
}

/* A stack of words, in which a test can change words that a walk read. */
static uint64_t words[64];

static struct gp_native_walked walked_here(uintptr_t pc)
{
	struct gp_native_walked w = { .words = 2 };
	struct gp_native_entry *e = &w.entry;
	e->sp = (uintptr_t)words;
	e->needs_frame = 1;
	e->frame = 77;
	e->stack.depth = 12;
	e->stack.pc[0] = pc;
	for (unsigned k = 1; k < e->stack.depth; k++) {
		e->at[k] = (uint16_t)(3 * k);
		e->stack.pc[k] = words[3 * k];
		w.sum = gp_native_sum(w.sum, e->stack.pc[k]);
	}
	w.word[0] = (struct gp_native_word){ words[5], 5 * sizeof *words, 1 };
	w.word[1] = (struct gp_native_word){ words[11], 11 * sizeof *words, 3 };
	return w;
}

/*
 * Each word that a walk read is compared, both in searched and in expected stacks. A forgotten
 * stack is neither found nor expected nor guessed.
 */
static void compares_every_word(void **state)
{
	struct gp_thread_pieces pieces = { 0 };
	struct gp_native_memo empty, *memo = &empty;
	(void)state;
	gp_native_memo_init(memo, &pieces);
	for (unsigned i = 0; i < 64; i++)
		words[i] = 1000 + i;
	const struct gp_native_start start = { 500, (uintptr_t)words, 77 };
	struct gp_native_walked walked = walked_here(start.pc);
	bool is_evicted = false;
	assert_null(gp_native_memo_add(memo, &walked, &is_evicted));
	struct gp_native_entry *kept = gp_native_memo_add(memo, &walked, &is_evicted);
	assert_non_null(kept);
	for (unsigned n = 0; n < 3; n++) { /* searched for, searched for, expected */
		for (unsigned i = 0; i < 64; i++) {
			const bool matters = i == 5 || i == 11 || (i % 3 == 0 && i && i < 36);
			words[i] ^= 1;
			assert_ptr_equal(gp_native_memo_find(memo, &start), matters ? NULL : kept);
			words[i] ^= 1;
			if (n == 0)
				memo->expected = 0;
		}
		const struct gp_native_start other = { start.pc, start.sp, 78 };
		assert_null(gp_native_memo_find(memo, &other));
		assert_ptr_equal(gp_native_memo_find(memo, &start), kept);
	}
	assert_int_equal(memo->expected, kept->stack.number);
	const unsigned number = kept->stack.number;
	gp_native_memo_forget(memo);
	assert_null(gp_native_memo_find(memo, &start));
	gp_native_memo_expect(memo, number); /* an outdated guess */
	assert_null(gp_native_memo_find(memo, &start));
	/* also not if the last one was forgotten while it was being added */
	assert_ptr_equal(gp_native_memo_add(memo, &walked, &is_evicted), NULL);
	kept = gp_native_memo_add(memo, &walked, &is_evicted);
	memo->used--;
	gp_native_memo_forget(memo);
	gp_native_memo_expect(memo, kept->stack.number);
	assert_null(gp_native_memo_find(memo, &start));
	gp_thread_pieces_close(&pieces);
}

/* Two stacks in a turn that ends: the expected stack does not come, and is not returned. */
static void expects_without_insisting(void **state)
{
	struct gp_thread_pieces pieces = { 0 };
	struct gp_native_memo empty, *memo = &empty;
	struct gp_native_entry *kept[3];
	bool is_evicted = false;
	(void)state;
	gp_native_memo_init(memo, &pieces);
	for (unsigned i = 0; i < 3; i++) {
		words[9] = 2000 + i;
		struct gp_native_walked walked = walked_here(500);
		gp_native_memo_add(memo, &walked, &is_evicted);
		kept[i] = gp_native_memo_add(memo, &walked, &is_evicted);
		assert_non_null(kept[i]);
	}
	static const uint8_t turn[] = { 0, 1, 2, 0, 1, 2, 1, 0, 0, 2, 2, 1, 0, 1, 2 };
	for (unsigned n = 0; n < sizeof turn; n++) {
		const struct gp_native_start start = { 500, (uintptr_t)words, 77 };
		words[9] = 2000u + turn[n];
		gp_native_memo_expect(memo, n % 4); /* mostly wrong, also the invalid number 0 */
		assert_ptr_equal(gp_native_memo_find(memo, &start), kept[turn[n]]);
		assert_int_equal(memo->last, kept[turn[n]]->stack.number);
		if (n == 4) /* 1 followed 0, 2 followed 1 */
			assert_int_equal(memo->expected, kept[2]->stack.number);
	}
	gp_thread_pieces_close(&pieces);
}

int main(int argc, char **argv)
{
	(void)argc;
	native_fixture_open(argv[0], GP_NATIVE_DEPTH);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(separates_pairs),
		cmocka_unit_test(follows_variable_frames),
		cmocka_unit_test(keeps_the_id_of_the_caller),
		cmocka_unit_test(remembers_stacks_in_turn),
		cmocka_unit_test(forgets_the_least_recent),
		cmocka_unit_test(stays_within_its_bound),
		cmocka_unit_test(keeps_to_the_budget),
		cmocka_unit_test(stands_a_jump_out_as_it_grows),
		cmocka_unit_test(goes_on_where_it_cannot_grow),
		cmocka_unit_test(tries_once_a_turn_without_memory),
		cmocka_unit_test(forgets_all_on_request),
		cmocka_unit_test(compares_every_word),
		cmocka_unit_test(expects_without_insisting),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
