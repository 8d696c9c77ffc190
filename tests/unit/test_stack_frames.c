/*
 * Native and Python chains merged: each run of Python frames at the native frame that runs it.
 * Without marks the places are not guessed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "read/file/stack_frames.h"

#define P(function, entry)                            \
	{                                             \
		.name = (function), .is_entry = entry \
	}

/* Names of Python frames and last digits of native ones, in order. */
static const char *merged(const struct gp_call_stack *stack, const struct gp_native_frame *native,
			  const struct gp_python_frame *python, size_t most)
{
	static char text[200];
	struct gp_frame frame[40];
	bool is_in_order;
	size_t n = gp_stack_merge(stack, native, python, NULL, frame, most, &is_in_order), at = 0;
	text[0] = '\0';
	for (size_t k = 0; k < n; k++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%.0d",
				       frame[k].is_python ? frame[k].function : "",
				       (int)frame[k].address);
	return text;
}

static void runs_stand_at_their_frames(void **state)
{
	(void)state;
	const struct gp_native_frame native[] = {
		{ 1, 0 }, { 2, 1 }, { 3, 0 }, { 4, 1 }, { 5, 0 }
	};
	const struct gp_python_frame python[] = { P("a", false), P("b", true), P("c", true) };
	const struct gp_call_stack both = { 5, 3, GP_WHY_WHOLE, GP_WHY_WHOLE, 0 };
	assert_string_equal(merged(&both, native, python, 40), "1ab23c45");
	assert_string_equal(merged(&both, native, python, 4), "1ab2");
	/* native frames end early: the other frames are further out */
	const struct gp_call_stack cut = { 3, 3, GP_WHY_TRUNCATED, GP_WHY_WHOLE, 0 };
	assert_string_equal(merged(&cut, native, python, 40), "1ab23c");
	/* at the innermost Python function */
	const struct gp_call_stack up_to = { 3, 3, GP_WHY_UP_TO_PYTHON, GP_WHY_WHOLE, 0 };
	assert_string_equal(merged(&up_to, native, python, 40), "1ab23c");
	/* Python frames end early */
	const struct gp_call_stack few = { 5, 1, GP_WHY_WHOLE, GP_WHY_TRUNCATED, 0 };
	assert_string_equal(merged(&few, native, python, 40), "1a2345");
}

static void one_kind_alone(void **state)
{
	(void)state;
	const struct gp_native_frame native[] = { { 1, 0 }, { 2, 0 } };
	const struct gp_python_frame python[] = { P("a", true), P("b", true) };
	assert_string_equal(merged(&(struct gp_call_stack){ 2, 0, 0, 0, 0 }, native, python, 40),
			    "12");
	assert_string_equal(merged(&(struct gp_call_stack){ 0, 2, 0, 0, 0 }, native, python, 40),
			    "ab");
	assert_string_equal(merged(&(struct gp_call_stack){ 2, 2, 0, 0, 0 }, native, python, 40),
			    "12ab");
	assert_string_equal(merged(&(struct gp_call_stack){ 0, 0, 0, 0, 0 }, native, python, 40),
			    "");
}

static void interpreter_is_folded(void **state)
{
	(void)state;
	struct gp_frame frame[] = { { .function = "a", .is_python = true },
				    { .function = "loop", .is_interpreter = true },
				    { .function = "main" } };
	assert_int_equal(gp_stack_fold(frame, 3), 2);
	assert_string_equal(frame[1].function, "main");
}

/*
 * Only the frames outside of Python's first frame: a program without Python is shown from its
 * start.
 */
static void frames_that_start_python_are_folded(void **state)
{
	(void)state;
	static const char libc[] = "/usr/lib/x86_64-linux-gnu/libc.so.6";
	const struct gp_frame python = { .function = "<module>", .is_python = true };
	const struct gp_frame unnamed = { .module = libc, .module_offset = 0x2a1ca };
	const struct gp_frame main_called = { .function = "__libc_start_main", .module = libc };
	const struct gp_frame start = { .function = "_start", .module = "/opt/job" };
	const struct gp_frame native = { .function = "main", .module = "/opt/job" };
	struct gp_frame in_python[] = { unnamed, python, unnamed, main_called, start };
	struct gp_frame embedded[] = { python, native, main_called, start };
	struct gp_frame alone[] = { native, unnamed, main_called, start };
	struct gp_frame no_main[] = { unnamed, main_called };
	assert_int_equal(gp_stack_fold(in_python, 5), 2);
	assert_string_equal(in_python[1].function, "<module>");
	assert_int_equal(gp_stack_fold(embedded, 4), 4);
	assert_int_equal(gp_stack_fold(alone, 4), 4);
	assert_int_equal(gp_stack_fold(no_main, 2), 2);
}

static void reports_missing_frames(void **state)
{
	(void)state;
	assert_null(gp_stack_missing(GP_WHY_WHOLE, GP_WHY_NO_THREAD));
	assert_null(gp_stack_missing(GP_WHY_OFF, GP_WHY_WHOLE));
	assert_null(gp_stack_missing(GP_WHY_UP_TO_PYTHON, GP_WHY_WHOLE));
	assert_non_null(gp_stack_missing(GP_WHY_TRUNCATED, GP_WHY_WHOLE));
	assert_non_null(gp_stack_missing(GP_WHY_GATE, GP_WHY_WHOLE));
	assert_non_null(gp_stack_missing(GP_WHY_TABLE_FULL, GP_WHY_TABLE_FULL));
}

static void modules_by_number(void **state)
{
	(void)state;
	struct gp_module_list list = { 0 };
	struct gp_record record = { .kind = GP_MODULE, .aux = 300 };
	record.module.base = 0x1000;
	record.module.bytes = 0x2000;
	record.module.since = 7;
	assert_int_equal(gp_module_list_add(&list, &record, "00ff1a /lib/a b.so"), GP_OK);
	const struct gp_listed_module *m = &list.module[300];
	assert_string_equal(m->path, "/lib/a b.so");
	assert_int_equal(m->build_id_bytes, 3);
	assert_memory_equal(m->build_id, "\x00\xff\x1a", 3);
	assert_int_equal(m->since, 7);
	assert_int_equal(m->until, 0);
	/* the newest record is valid */
	record.time = 100;
	record.module.until = 9;
	assert_int_equal(gp_module_list_add(&list, &record, "- /lib/a b.so"), GP_OK);
	assert_int_equal(list.module[300].until, 9);
	assert_int_equal(list.module[300].build_id_bytes, 0);
	/* of two records with one time, the later end is valid */
	record.module.until = 10;
	assert_int_equal(gp_module_list_add(&list, &record, "- /lib/a b.so"), GP_OK);
	record.module.until = 9;
	assert_int_equal(gp_module_list_add(&list, &record, "- /lib/a b.so"), GP_OK);
	assert_int_equal(list.module[300].until, 10);
	/* after a rewind they are read again, and change no result */
	const uint64_t changes = list.changes;
	assert_int_equal(changes, 3);
	for (record.time = 0; record.time <= 100; record.time += 100) {
		record.module.until = record.time / 10;
		assert_int_equal(gp_module_list_add(&list, &record, "- /lib/a b.so"), GP_OK);
	}
	assert_int_equal(list.module[300].until, 10);
	assert_int_equal(list.changes, changes);
	record.time = 200;
	/* damaged records are ignored */
	static const char *const bad[] = { "", "00ff", "00ff ", NULL };
	for (unsigned k = 0; k < 4; k++)
		assert_int_equal(gp_module_list_add(&list, &record, bad[k]), GP_OK);
	record.aux = 1u << 31;
	assert_int_equal(gp_module_list_add(&list, &record, "- /lib/a"), GP_OK);
	record.aux = 0;
	assert_int_equal(gp_module_list_add(&list, &record, "- /lib/a"), GP_OK);
	assert_int_equal(list.changes, changes);
	record.aux = 2;
	assert_int_equal(gp_module_list_add(&list, &record, "0g /lib/a"), GP_OK);
	assert_int_equal(list.module[2].build_id_bytes, 0);
	gp_module_list_release(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_stand_at_their_frames),
		cmocka_unit_test(one_kind_alone),
		cmocka_unit_test(interpreter_is_folded),
		cmocka_unit_test(frames_that_start_python_are_folded),
		cmocka_unit_test(reports_missing_frames),
		cmocka_unit_test(modules_by_number),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
