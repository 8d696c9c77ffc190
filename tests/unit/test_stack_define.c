/*
 * Definitions of a stack id are recorded completely, parents first, once a segment. Invalid entries
 * of a dead process are left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "state/stack_define.h"

#define MOST 64u

static struct gp_stack_entry entries[MOST];
static unsigned char is_defined[MOST / 8];
static struct gp_record defined[MOST];
static char texts[MOST][1024];
static unsigned number;

static const struct gp_stack_entry *entry(void *context, uint32_t id)
{
	(void)context;
	return id < MOST ? &entries[id] : NULL;
}

static void keep(void *context, const struct gp_record *slots)
{
	(void)context;
	assert_true(number < MOST);
	if (slots->extra) {
		uint64_t bytes;
		memcpy(&bytes, slots + 1, sizeof bytes);
		assert_true(bytes < sizeof texts[0]);
		memcpy(texts[number], (const char *)(slots + 1) + 8, bytes);
	}
	defined[number++] = *slots;
}

static const struct gp_stack_define define = { entry, keep, NULL, is_defined, MOST };

/* 1 <- 2 <- 3 native; 4 a code object with its text in 5, 6; 7 <- 8 Python; 9 the stack */
static int make(void **state)
{
	(void)state;
	memset(entries, 0, sizeof entries);
	memset(is_defined, 0, sizeof is_defined);
	memset(texts, 0, sizeof texts);
	number = 0;
	for (uint32_t id = 1; id <= 3; id++) {
		entries[id].kind = GP_STACK_NATIVE;
		entries[id].parent = id - 1;
		entries[id].native.pc = 0x1000 * id;
	}
	entries[4].kind = GP_STACK_CODE;
	entries[4].parent = 5;
	entries[4].code.address = 0xc0de;
	entries[4].code.first_line = 12;
	entries[5].kind = GP_STACK_TEXT;
	entries[5].parent = 14;
	memcpy(&entries[6], "train.py\0step!", 14);
	for (uint32_t id = 7; id <= 8; id++) {
		entries[id].kind = GP_STACK_PYTHON;
		entries[id].parent = id == 7 ? 0 : 7;
		entries[id].python.code = 4;
		entries[id].python.line = 10 + id;
		entries[id].python.offset = -2;
		entries[id].python.is_entry = id == 7;
	}
	entries[9].kind = GP_STACK_STACK;
	entries[9].stack.native = 3;
	entries[9].stack.python = 8;
	entries[9].stack.why_python = GP_WHY_TRUNCATED;
	return 0;
}

static void whole_parents_first_and_once(void **state)
{
	(void)state;
	static const uint16_t kinds[] = { GP_NATIVE_FRAME, GP_NATIVE_FRAME, GP_NATIVE_FRAME,
					  GP_PYTHON_CODE,  GP_PYTHON_FRAME, GP_PYTHON_FRAME,
					  GP_CALL_STACK };
	static const uint32_t ids[] = { 1, 2, 3, 4, 7, 8, 9 };
	gp_stack_define(&define, 9);
	assert_int_equal(number, 7);
	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(defined[i].kind, kinds[i]);
		assert_int_equal(defined[i].aux, ids[i]);
	}
	assert_int_equal(defined[2].native_frame.parent, 2);
	assert_int_equal(defined[2].native_frame.pc, 0x3000);
	assert_int_equal(defined[3].python_code.first_line, 12);
	assert_memory_equal(texts[3], "train.py\0step!", 15);
	assert_int_equal(defined[4].python_frame.place, 0xfffffffeull << 9 | 1);
	assert_int_equal(defined[5].python_frame.line, 18);
	assert_int_equal(defined[6].call_stack.why_python, GP_WHY_TRUNCATED);
	gp_stack_define(&define, 9);
	assert_int_equal(number, 7);
	/* another stack with the same frames: only its own definition is missing */
	entries[10].kind = GP_STACK_STACK;
	entries[10].stack.native = 2;
	gp_stack_define(&define, 10);
	assert_int_equal(number, 8);
	memset(is_defined, 0, sizeof is_defined);
	gp_stack_define(&define, 10);
	assert_int_equal(number, 11);
}

static void nonsense_is_left_out(void **state)
{
	(void)state;
	gp_stack_define(&define, 0);
	gp_stack_define(&define, 3); /* a frame is not a stack */
	gp_stack_define(&define, MOST);
	gp_stack_define(&define, UINT32_MAX);
	assert_int_equal(number, 0);
	entries[2].parent = 3;		/* in a circle */
	entries[8].python.code = 9;	/* a later entry */
	entries[5].parent = UINT32_MAX; /* a text longer than the table */
	entries[7].parent = 1;		/* of another kind */
	gp_stack_define(&define, 9);
	assert_int_equal(defined[0].aux, 2);
	assert_int_equal(defined[1].aux, 3);
	assert_int_equal(defined[2].kind, GP_PYTHON_CODE);
	assert_int_equal(defined[number - 1].kind, GP_CALL_STACK);
}

static const struct gp_stack_entry *entry_of_eight(void *context, uint32_t id)
{
	assert_true(id < 8);
	return entry(context, id);
}

/* A damaged ring: the rows of a text go beyond the last entry. */
static void a_text_longer_than_the_table(void **state)
{
	(void)state;
	const struct gp_stack_define of_eight = { entry_of_eight, keep, NULL, is_defined, 8 };
	memset(entries, 0, sizeof entries);
	entries[1].kind = GP_STACK_TEXT;
	entries[1].parent = 500;
	entries[2].kind = GP_STACK_CODE;
	entries[2].parent = 1;
	entries[3].kind = GP_STACK_PYTHON;
	entries[3].python.code = 2;
	entries[7].kind = GP_STACK_STACK;
	entries[7].stack.python = 3;
	gp_stack_define(&of_eight, 7);
	assert_true(number > 0);
}

/* The modules of a stack come before it, the outer one first. */
static void modules_before_their_stack(void **state)
{
	(void)state;
	for (uint32_t id = 20; id <= 23; id += 3) {
		entries[id].kind = GP_STACK_MODULE;
		entries[id].parent = id + 1;
		entries[id].module.within = id == 20 ? 0 : 20;
		entries[id + 1].kind = GP_STACK_TEXT;
		entries[id + 1].parent = id == 20 ? 4 : 9;
		memcpy(&entries[id + 2], id == 20 ? "\0GPT" : "fc\0Linear", id == 20 ? 4 : 9);
	}
	entries[30].kind = GP_STACK_STACK;
	entries[30].stack.python = 8;
	entries[30].stack.why_python = GP_WHY_TRUNCATED | 23 << GP_STACK_MODULE_SHIFT;
	gp_stack_define(&define, 30);
	assert_int_equal(number, 6);
	assert_int_equal(defined[3].kind, GP_TORCH_MODULE);
	assert_int_equal(defined[3].aux, 20);
	assert_memory_equal(texts[3], "\0GPT", 4);
	assert_int_equal(defined[4].aux, 23);
	assert_int_equal(defined[4].torch_module.within, 20);
	assert_memory_equal(texts[4], "fc\0Linear", 9);
	assert_int_equal(defined[5].call_stack.why_python,
			 GP_WHY_TRUNCATED | 23 << GP_WHY_MODULE_SHIFT);
	/* a module of a dead process that is in itself, or in a later one */
	entries[40] = entries[30];
	entries[40].stack.why_python = 33 << GP_STACK_MODULE_SHIFT;
	entries[33].kind = GP_STACK_MODULE;
	entries[33].module.within = 33;
	gp_stack_define(&define, 40);
	assert_int_equal(number, 8);
	assert_int_equal(defined[6].kind, GP_TORCH_MODULE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(whole_parents_first_and_once, make),
		cmocka_unit_test_setup(nonsense_is_left_out, make),
		cmocka_unit_test_setup(a_text_longer_than_the_table, make),
		cmocka_unit_test_setup(modules_before_their_stack, make),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
