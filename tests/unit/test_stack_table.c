/*
 * The trie of stacks: equal chains have one id, different chains have different ids, from any
 * thread. A full table refuses new stacks and counts them.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/stacks/stack_table.h"

#define THREADS 4u
#define CHAINS 20000u
#define DEPTH 12u
#define OTHERS (GP_STACK_CHUNK * 5 / 8) /* of a thread: more than two chunks in all */

static struct gp_stack_entry *chunks[4];

static int open_table(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		chunks[i] = calloc(GP_STACK_CHUNK, sizeof *chunks[i]);
	return !gp_stack_table_open(4 * GP_STACK_CHUNK);
}

static int close_table(void **state)
{
	(void)state;
	gp_stack_table_reset();
	for (unsigned i = 0; i < 4; i++)
		free(chunks[i]);
	return 0;
}

static uint32_t native_below(uint32_t parent, uint64_t pc, bool runs_python)
{
	struct gp_stack_native frame = { pc, 0, runs_python };
	return gp_stack_natives(parent, &frame, 1) ? frame.id : 0;
}

static void without_a_chunk_no_entry_is_made(void **state)
{
	(void)state;
	assert_true(gp_stack_table_needs_chunk());
	assert_int_equal(native_below(0, 0x1000, false), 0);
	assert_int_equal(gp_stack_table_used(), 0);
	assert_null(gp_stack_table_entry(1));
}

static unsigned line_lookups;

static int32_t line_of(const void *object, int32_t offset)
{
	(void)object;
	line_lookups++;
	return 100 + offset;
}

static void chains_share_their_outer_frames(void **state)
{
	(void)state;
	assert_true(gp_stack_table_add_chunk(0, chunks[0]));
	struct gp_stack_native one[5] = { { .pc = 1 }, { .pc = 2 }, { .pc = 3 }, { .pc = 4 } };
	struct gp_stack_native other[5];
	assert_int_equal(gp_stack_natives(0, one, 4), 4);
	assert_int_equal(gp_stack_table_used(), 4);
	memcpy(other, one, sizeof other);
	other[2].runs_python = true; /* therefore the frame below differs, too */
	assert_int_equal(gp_stack_natives(0, other, 4), 4);
	assert_int_equal(gp_stack_table_used(), 6);
	assert_int_equal(other[1].id, one[1].id);
	assert_int_not_equal(other[2].id, one[2].id);
	assert_int_not_equal(other[3].id, one[3].id);
	assert_int_equal(gp_stack_table_entry(other[3].id)->parent, other[2].id);
	assert_int_equal(gp_stack_natives(one[1].id, one + 2, 2), 2);
	assert_int_equal(gp_stack_table_used(), 6);
	gp_stack_table_allow(false);
	/* without room new frames get no id, and old ones are still found */
	while (gp_stack_table_used() < GP_STACK_CHUNK - 3)
		assert_int_not_equal(native_below(7, 100 + gp_stack_table_used(), false), 0);
	other[3].pc = 5;
	other[4].pc = 6;
	assert_int_equal(gp_stack_natives(0, other, 5), 5);
	other[2].pc = 7;
	assert_int_equal(gp_stack_natives(0, other, 5), 2);
	assert_int_equal(gp_stack_natives(0, one, 4), 4);
	/* until there is room again */
	assert_true(gp_stack_table_needs_chunk());
	assert_true(gp_stack_table_add_chunk(1, chunks[1]));
	assert_int_equal(gp_stack_natives(0, other, 5), 5);
	assert_int_equal(gp_stack_table_own(), 0);
}

static void same_fields_same_id(void **state)
{
	(void)state;
	assert_true(gp_stack_table_add_chunk(0, chunks[0]));
	uint32_t outer = native_below(0, 0x1000, false), inner = native_below(outer, 0x2000, false);
	assert_int_equal(native_below(0, 0x1000, false), outer);
	assert_int_equal(native_below(outer, 0x2000, false), inner);
	assert_int_not_equal(native_below(0, 0x2000, false), inner);
	assert_int_not_equal(native_below(inner, 0x2000, false), inner);
	assert_int_not_equal(native_below(outer, 0x2000, true), inner);
	const struct gp_stack_python frame = { 0, 7, 10, false, 0 };
	struct gp_stack_python other = frame;
	uint32_t p = gp_stack_python(&frame, line_of, NULL);
	assert_int_equal(gp_stack_python(&frame, line_of, NULL), p);
	assert_int_equal(line_lookups, 1);
	other.offset = 12;
	assert_int_not_equal(gp_stack_python(&other, line_of, NULL), p);
	other = frame;
	other.is_entry = true;
	assert_int_not_equal(gp_stack_python(&other, line_of, NULL), p);
	other = frame;
	other.bare_entries = 1;
	assert_int_not_equal(gp_stack_python(&other, line_of, NULL), p);
	other = frame;
	other.code = 8;
	assert_int_not_equal(gp_stack_python(&other, line_of, NULL), p);
	assert_int_equal(line_lookups, 5);
	assert_int_equal(gp_stack_table_entry(p)->python.line, 110);
	uint32_t s = gp_stack_pair(inner, p, GP_WHY_WHOLE, GP_WHY_WHOLE);
	assert_int_equal(gp_stack_pair(inner, p, GP_WHY_WHOLE, GP_WHY_WHOLE), s);
	assert_int_not_equal(gp_stack_pair(inner, p, GP_WHY_WHOLE, GP_WHY_TRUNCATED), s);
	assert_int_not_equal(gp_stack_pair(outer, p, GP_WHY_WHOLE, GP_WHY_WHOLE), s);
	const struct gp_stack_entry *e = gp_stack_table_entry(s);
	assert_int_equal(e->kind, GP_STACK_STACK);
	assert_int_equal(e->stack.native, inner);
	assert_int_equal(e->stack.python, p);
	e = gp_stack_table_entry(inner);
	assert_int_equal(e->parent, outer);
	assert_int_equal(e->native.pc, 0x2000);
}

static void code_keeps_its_text(void **state)
{
	(void)state;
	assert_true(gp_stack_table_add_chunk(0, chunks[0]));
	char text[200];
	for (unsigned n = 0; n < sizeof text; n++)
		text[n] = (char)('a' + n % 26);
	for (uint32_t bytes = 1; bytes <= sizeof text; bytes++) {
		const uint32_t used = gp_stack_table_used();
		uint32_t id = gp_stack_code_add(0x5000, bytes, 17, text, bytes);
		assert_true(gp_stack_table_used() > used);
		assert_int_equal(gp_stack_code_add(0x5000, bytes, 17, text, bytes), id);
		/* made again in another object */
		assert_int_equal(gp_stack_code_add(0x6000, bytes, 17, text, bytes), id);
		assert_int_not_equal(gp_stack_code_add(0x5000, bytes + 1000, 17, text, bytes), id);
		const struct gp_stack_entry *e = gp_stack_table_entry(id);
		assert_int_equal(e->code.first_line, 17);
		assert_int_equal(gp_stack_table_entry(e->parent)->parent, bytes);
		assert_memory_equal(gp_stack_table_entry(e->parent) + 1, text, bytes);
	}
}

static void *make_others(void *number)
{
	for (uint64_t pc = 1; pc <= OTHERS; pc++)
		if (!native_below(0, (uintptr_t)number * OTHERS + pc, false))
			break;
	return NULL;
}

static void full_table_refuses_and_counts(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_true(gp_stack_table_add_chunk(i, chunks[i]));
	assert_false(gp_stack_table_needs_chunk());
	uint32_t made = 0;
	for (uint64_t pc = 1; pc <= 5 * GP_STACK_CHUNK; pc++)
		made += native_below(0, pc, false) != 0;
	assert_int_equal(made, 4 * GP_STACK_CHUNK - 1);
	/* earlier entries are still found */
	assert_int_not_equal(native_below(0, 1, false), 0);
}

/* The drain thread is late with chunks: threads map their own, up to the same bound. */
static void a_late_drain_costs_no_stack(void **state)
{
	(void)state;
	assert_true(gp_stack_table_add_chunk(0, chunks[0]));
	pthread_t thread[THREADS];
	for (uintptr_t t = 0; t < THREADS; t++)
		assert_int_equal(pthread_create(&thread[t], NULL, make_others, (void *)t), 0);
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	assert_int_equal(gp_stack_table_used(), THREADS * OTHERS);
	assert_int_equal(gp_stack_table_chunks(), 3);
	assert_int_equal(gp_stack_table_own(), 2 * GP_STACK_CHUNK * sizeof(struct gp_stack_entry));
	/* the drain thread comes now: numbers in use are left alone */
	assert_false(gp_stack_table_add_chunk(1, chunks[1]));
	assert_false(gp_stack_table_add_chunk(2, chunks[2]));
	assert_true(gp_stack_table_add_chunk(3, chunks[3]));
	assert_false(gp_stack_table_add_chunk(4, chunks[1]));
	assert_int_equal(gp_stack_table_chunks(), 4);
	for (uint64_t pc = 1; pc <= THREADS * OTHERS; pc++)
		assert_int_not_equal(native_below(0, pc, false), 0);
	assert_int_equal(gp_stack_table_used(), THREADS * OTHERS);
}

/* One frame that calls thousands of others fills its line of the index and the lines after it. */
static void many_below_one_are_found_again(void **state)
{
	enum { MANY = 20000 };
	static uint32_t child[MANY], pair[MANY];
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_true(gp_stack_table_add_chunk(i, chunks[i]));
	uint32_t parent = native_below(0, 0x1000, false);
	for (uint32_t k = 0; k < MANY; k++) {
		child[k] = native_below(parent, 0x2000 + 16 * k, false);
		pair[k] = gp_stack_pair(parent, child[k], GP_WHY_WHOLE, GP_WHY_WHOLE);
		assert_int_not_equal(child[k], 0);
		assert_int_not_equal(pair[k], 0);
	}
	assert_int_equal(gp_stack_table_used(), 1 + 2 * MANY);
	for (uint32_t k = 0; k < MANY; k++) {
		assert_int_equal(native_below(parent, 0x2000 + 16 * k, false), child[k]);
		assert_int_equal(gp_stack_pair(parent, child[k], GP_WHY_WHOLE, GP_WHY_WHOLE),
				 pair[k]);
	}
	assert_int_equal(gp_stack_table_used(), 1 + 2 * MANY);
}

static uint32_t ids[THREADS][CHAINS];

static void *make_chains(void *number)
{
	uint32_t *out = ids[(uintptr_t)number];
	for (uint32_t k = 0; k < CHAINS; k++) {
		/* threads begin at different places, so that they meet */
		uint32_t chain = (k + (uint32_t)(uintptr_t)number * (CHAINS / 7)) % CHAINS;
		struct gp_stack_native frame[DEPTH];
		for (uint32_t d = 0; d < DEPTH; d++)
			frame[d] = (struct gp_stack_native){
				.pc = 0x1000 + (d < DEPTH - 2 ? chain % 50 : chain) + d
			};
		out[chain] = gp_stack_natives(0, frame, DEPTH) ? frame[DEPTH - 1].id : 0;
	}
	return NULL;
}

static void threads_agree(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_true(gp_stack_table_add_chunk(i, chunks[i]));
	pthread_t thread[THREADS];
	for (uintptr_t t = 0; t < THREADS; t++)
		assert_int_equal(pthread_create(&thread[t], NULL, make_chains, (void *)t), 0);
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	for (uint32_t chain = 0; chain < CHAINS; chain++) {
		uint32_t id = ids[0][chain];
		for (unsigned t = 0; t < THREADS; t++)
			assert_int_equal(ids[t][chain], id);
		for (uint32_t d = DEPTH; d-- > 0;) {
			const struct gp_stack_entry *e = gp_stack_table_entry(id);
			assert_int_equal(e->kind, GP_STACK_NATIVE);
			assert_int_equal(e->native.pc,
					 0x1000 + (d < DEPTH - 2 ? chain % 50 : chain) + d);
			id = e->parent;
		}
		assert_int_equal(id, 0);
	}
}

/* If several lines of the index are full in a row, other lines have room. */
static void entries_beside_full_lines_are_found(void **state)
{
	enum { PARENTS = 40000, CHILDREN = 4 };
	static uint32_t made[PARENTS * (1 + CHILDREN)];
	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		assert_true(gp_stack_table_add_chunk(i, chunks[i]));
	/* a chain; each of its frames then gets more children */
	for (unsigned turn = 0; turn < 2; turn++)
		for (uint32_t i = 0; i < PARENTS * (1 + CHILDREN); i++) {
			const uint32_t parent = i == 0	    ? 0 :
						i < PARENTS ? made[i - 1] :
							      made[i % PARENTS];
			const uint32_t id = native_below(parent, 0x400000 + 16 * i, false);
			if (turn == 0)
				made[i] = id;
			assert_int_equal(id, made[i]);
		}
	assert_int_equal(gp_stack_table_used(), PARENTS * (1 + CHILDREN));
}

/* Equal modules have one id. Modules and the stacks in them take at most half of the table. */
static void modules_leave_room_for_stacks(void **state)
{
	enum { MANY = 3 * GP_STACK_CHUNK };
	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		assert_true(gp_stack_table_add_chunk(i, chunks[i]));
	const uint32_t pair =
		gp_stack_pair(native_below(0, 0x1000, false), 0, GP_WHY_WHOLE, GP_WHY_NO_THREAD);
	const uint32_t root = gp_stack_module_add(0, "\0GPT", 4);
	const uint32_t layer = gp_stack_module_add(root, "3\0Block", 7);
	assert_true(pair && root && layer && root != layer);
	assert_int_equal(gp_stack_module_add(root, "3\0Block", 7), layer);
	assert_int_not_equal(gp_stack_module_add(layer, "3\0Block", 7), layer);
	assert_int_not_equal(gp_stack_module_add(root, "3\0Linear", 8), layer);
	const uint32_t stack = gp_stack_in_module(pair, layer);
	assert_int_equal(gp_stack_in_module(pair, layer), stack);
	assert_int_not_equal(gp_stack_in_module(pair, root), stack);
	const struct gp_stack_entry *e = gp_stack_table_entry(stack);
	assert_int_equal(e->stack.why_python, GP_WHY_NO_THREAD | layer << GP_STACK_MODULE_SHIFT);
	assert_int_equal(e->stack.native, gp_stack_table_entry(pair)->stack.native);
	uint32_t within = root, made = 0;
	for (uint32_t i = 0; i < MANY && within; i++, made += within != 0)
		within = gp_stack_module_add(root, (const char *)&i, sizeof i);
	assert_true(made > 0 && made < MANY);
	assert_true(gp_stack_table_used() <= 2 * GP_STACK_CHUNK + 4);
	assert_int_equal(gp_stack_in_module(pair, 4711), 0);
	/* those that exist are found, and stacks are still added */
	assert_int_equal(gp_stack_in_module(pair, layer), stack);
	assert_int_equal(gp_stack_module_add(root, "3\0Block", 7), layer);
	assert_int_not_equal(native_below(0, 0x2000, false), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_a_chunk_no_entry_is_made, open_table,
						close_table),
		cmocka_unit_test_setup_teardown(chains_share_their_outer_frames, open_table,
						close_table),
		cmocka_unit_test_setup_teardown(same_fields_same_id, open_table, close_table),
		cmocka_unit_test_setup_teardown(code_keeps_its_text, open_table, close_table),
		cmocka_unit_test_setup_teardown(full_table_refuses_and_counts, open_table,
						close_table),
		cmocka_unit_test_setup_teardown(a_late_drain_costs_no_stack, open_table,
						close_table),
		cmocka_unit_test_setup_teardown(many_below_one_are_found_again, open_table,
						close_table),
		cmocka_unit_test_setup_teardown(modules_leave_room_for_stacks, open_table,
						close_table),
		cmocka_unit_test_setup_teardown(threads_agree, open_table, close_table),
		cmocka_unit_test_setup_teardown(entries_beside_full_lines_are_found, open_table,
						close_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
