/* The modules of PyTorch in a stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "name_frames.h"

#define MODULE SITE "torch/nn/modules/module.py"
#define CALL                                                                              \
	PYTHON("Module._call_impl", MODULE), NATIVE("_PyEval_EvalFrameDefault", CPYTHON), \
		PYTHON("Module._wrapped_call_impl", MODULE)

static void calls_of_modules_outermost_first(void **state)
{
	(void)state;
	static const struct gp_name_frame frames[] = {
		NATIVE("at::_ops::linear::call", CPU),
		PYTHON("Linear.forward", SITE "torch/nn/modules/linear.py"),
		CALL,
		PYTHON("Block.attend", "/srv/train.py"),
		PYTHON("make.<locals>.Block.forward", "/srv/train.py"),
		CALL,
		PYTHON("GPT.forward", "/srv/train.py"),
		CALL,
		PYTHON("main", "/srv/train.py"),
		{ 0 },
	};
	assert_string_equal(names_of(frames).modules, "GPT > Block > Linear");
}

static void other_forwards_have_no_module(void **state)
{
	(void)state;
	static const struct gp_name_frame frames[] = {
		/* forwards that their callers call by name, a hook, and another class */
		PYTHON("Twice.forward", "/srv/train.py"),
		PYTHON("Net.forward", "/srv/train.py"),
		PYTHON("Outer.forward", "/srv/train.py"),
		PYTHON("hook", "/srv/train.py"),
		CALL,
		PYTHON("Builder.forward", "/srv/train.py"),
		PYTHON("Builder._call_impl", "/srv/builder.py"),
		PYTHON(NULL, NULL),
		PYTHON("Module._call_impl", NULL),
		{ 0 },
	};
	assert_string_equal(names_of(frames).modules, "");
}

static void old_python_has_files_for_classes(void **state)
{
	(void)state;
	static const struct gp_name_frame frames[] = {
		PYTHON("forward", SITE "torch/nn/modules/linear.py"),
		PYTHON("_call_impl", MODULE),
		PYTHON("forward", "/srv/train.py"),
		PYTHON("_call_impl", MODULE),
		PYTHON("forward", NULL),
		PYTHON("_call_impl", MODULE),
		{ 0 },
	};
	assert_string_equal(names_of(frames).modules, "train.py > linear.py");
}

static void outer_modules_are_left_out_where_room_ends(void **state)
{
	(void)state;
	struct gp_name_frame frames[401] = { { 0 } };
	for (unsigned k = 0; k < 400; k += 2) {
		frames[k] = (struct gp_name_frame)PYTHON("Inner.forward", "/srv/train.py");
		frames[k + 1] = (struct gp_name_frame)PYTHON("Module._call_impl", MODULE);
	}
	const struct gp_names names = names_of(frames);
	assert_memory_equal(names.modules, "... > Inner > Inner > ", 22);
	assert_string_equal(names.modules + strlen(names.modules) - 5, "Inner");
	assert_in_range(strlen(names.modules), GP_MODULES_MAX - 16, GP_MODULES_MAX - 1);
}

static void a_name_without_room_ends_the_text(void **state)
{
	(void)state;
	static char name[GP_MODULES_MAX + 16];
	memset(name, 'x', sizeof name - 1);
	memcpy(name + sizeof name - 9, ".forward", 9);
	const struct gp_name_frame frames[] = {
		PYTHON("Inner.forward", "/srv/train.py"),
		PYTHON("Module._call_impl", MODULE),
		PYTHON(name, "/srv/train.py"),
		PYTHON("Module._call_impl", MODULE),
		{ 0 },
	};
	assert_string_equal(names_of(frames).modules, "... > Inner");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_modules_outermost_first),
		cmocka_unit_test(other_forwards_have_no_module),
		cmocka_unit_test(old_python_has_files_for_classes),
		cmocka_unit_test(outer_modules_are_left_out_where_room_ends),
		cmocka_unit_test(a_name_without_room_ends_the_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
