/* Modules of PyTorch as a recording defines them: their tree, and the root that paths begin at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "read/file/call_stacks.h"

static void define(struct gp_call_stacks *s, uint32_t id, uint32_t within, const char *name,
		   const char *class)
{
	const struct gp_record record = { .kind = GP_TORCH_MODULE,
					  .aux = id,
					  .torch_module.within = within };
	assert_int_equal(gp_call_stacks_add(s, &record, name, class), GP_OK);
}

static void the_root_with_most_modules_is_the_main_one(void **state)
{
	(void)state;
	struct gp_call_stacks *s = gp_call_stacks_open();
	struct gp_torch_module m;
	assert_int_equal(gp_call_stacks_main_root(s), 0);
	define(s, 3, 0, "", "Loss");
	assert_int_equal(gp_call_stacks_main_root(s), 3);
	define(s, 5, 0, "", "GPT");
	assert_int_equal(gp_call_stacks_main_root(s), 3); /* of equal ones the first */
	define(s, 9, 5, "layers", "ModuleList");
	assert_int_equal(gp_call_stacks_main_root(s), 5);
	define(s, 10, 3, "a", "Linear");
	define(s, 11, 10, "b", "Linear");
	assert_int_equal(gp_call_stacks_main_root(s), 3);
	assert_true(gp_call_stacks_module(s, 11, &m));
	assert_int_equal(m.within, 10);
	assert_string_equal(m.name, "b");
	assert_string_equal(m.class, "Linear");
	assert_false(gp_call_stacks_module(s, 4, &m));
	assert_false(gp_call_stacks_module(s, 0, &m));
	gp_call_stacks_close(s);
}

/* A damaged recording has modules in themselves, in later ones, or without a text. */
static void a_module_is_in_earlier_ones_only(void **state)
{
	(void)state;
	struct gp_call_stacks *s = gp_call_stacks_open();
	struct gp_torch_module m;
	define(s, 7, 7, "x", "X");
	define(s, 8, 20, "y", "Y");
	define(s, 20, 8, NULL, NULL);
	assert_true(gp_call_stacks_module(s, 7, &m));
	assert_int_equal(m.within, 0);
	assert_true(gp_call_stacks_module(s, 8, &m));
	assert_int_equal(m.within, 0);
	assert_true(gp_call_stacks_module(s, 20, &m));
	assert_int_equal(m.within, 8);
	assert_string_equal(m.name, "");
	assert_int_equal(gp_call_stacks_main_root(s), 8);
	gp_call_stacks_close(s);
}

/* Without a reference to a module, the reason is alone in its field, as before minor 15. */
static void a_stack_has_its_module(void **state)
{
	(void)state;
	struct gp_call_stacks *s = gp_call_stacks_open();
	struct gp_call_stack stack;
	struct gp_record record = { .kind = GP_CALL_STACK, .aux = 4 };
	record.call_stack.why_python = GP_WHY_TRUNCATED;
	assert_int_equal(gp_call_stacks_add(s, &record, NULL, NULL), GP_OK);
	assert_true(gp_call_stacks_get(s, 4, &stack, NULL, NULL, 0));
	assert_int_equal(stack.module, 0);
	record.call_stack.why_python = GP_WHY_TRUNCATED | UINT64_C(77) << GP_WHY_MODULE_SHIFT;
	assert_int_equal(gp_call_stacks_add(s, &record, NULL, NULL), GP_OK);
	assert_true(gp_call_stacks_get(s, 4, &stack, NULL, NULL, 0));
	assert_int_equal(stack.module, 77);
	assert_int_equal(stack.why_python, GP_WHY_TRUNCATED);
	gp_call_stacks_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_root_with_most_modules_is_the_main_one),
		cmocka_unit_test(a_module_is_in_earlier_ones_only),
		cmocka_unit_test(a_stack_has_its_module),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
