/*
 * Advice on a second recording: only options that are not set by default, and only where they help.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../tools/io/amount.c"
#include "../../tools/report/again.c"

#define ALL ((unsigned)(GP_LACK_STACKS | GP_LACK_DETAILS))
#define UNTRIED "this version was not tried (--allocator-details=on records them)"

void gp_command_print(FILE *out, const char *command)
{
	fputs(command, out);
}

static void expect(const struct gp_info *info, unsigned needs, unsigned lacks, const char *run)
{
	char text[GP_AGAIN_OPTIONS];
	assert_int_equal(gp_again_lacks(info, needs), lacks);
	assert_string_equal(gp_again_run(info, lacks, text), run);
}

static void recorded_data_is_not_recorded_again(void **state)
{
	(void)state;
	const struct gp_info whole = { .has_stacks = true,
				       .has_allocator_details = true,
				       .has_uses = true,
				       .pytorch = "2.11.0" };
	const struct gp_info no_pytorch = { .has_stacks = true };
	assert_int_equal(gp_again_lacks(&whole, ALL | GP_LACK_USES), 0);
	assert_int_equal(gp_again_lacks(&no_pytorch, ALL), 0);
}

static void defaults_are_not_named(void **state)
{
	(void)state;
	const struct gp_info light = { .pytorch = "2.11.0", .allocator_why = "switched off" };
	const struct gp_info older = { .pytorch = "2.11.0" };
	const struct gp_info uses = { .has_uses = true };
	char why[GP_AGAIN_WHY];
	expect(&light, ALL, ALL, "gpuprof run");
	expect(&older, ALL, ALL, "gpuprof run");
	expect(&older, GP_LACK_STACKS, GP_LACK_STACKS, "gpuprof run");
	/* options of the recording at hand stay set */
	expect(&uses, GP_LACK_STACKS, GP_LACK_STACKS, "gpuprof run --track-access");
	assert_non_null(strstr(gp_again_why(&light, ALL, why), "--light"));
}

static void each_cause_has_its_option(void **state)
{
	(void)state;
	const struct gp_info untried = { .has_stacks = true,
					 .pytorch = "2.9.1",
					 .allocator_why = UNTRIED };
	const struct gp_info outside = { .is_captured_in_part = true };
	const struct gp_info no_room = { .stacks_cut = 7 };
	char why[GP_AGAIN_WHY];
	expect(&untried, ALL, GP_LACK_DETAILS, "gpuprof run --allocator-details=on");
	expect(&outside, ALL, GP_LACK_STACKS, "gpuprof run --outside-capture=stacks");
	expect(&no_room, ALL, GP_LACK_STACKS, "gpuprof run --memory=512M");
	assert_string_equal(gp_again_why(&no_room, GP_LACK_STACKS, why),
			    "no room for the stacks of 7 events");
	assert_string_equal(gp_again_why(&outside, GP_LACK_STACKS, why), "");
	assert_string_equal(gp_again_why(&untried, GP_LACK_DETAILS, why), "");
}

static void data_that_no_option_adds_is_not_advised(void **state)
{
	(void)state;
	const struct gp_info too_old = { .has_stacks = true,
					 .pytorch = "2.1.0",
					 .allocator_why = "this PyTorch is too old" };
	const struct gp_info one_kind = { .no_python = "no Python frames: unknown version" };
	const struct gp_info no_kind = { .no_python = "no Python frames: unknown version",
					 .no_native = "no native frames: refused" };
	const struct gp_info refused = { .has_stacks = true, .no_uses = "the driver is too old" };
	assert_int_equal(gp_again_lacks(&too_old, ALL), 0);
	assert_int_equal(gp_again_lacks(&one_kind, ALL), GP_LACK_STACKS);
	assert_int_equal(gp_again_lacks(&no_kind, ALL), 0);
	assert_int_equal(gp_again_lacks(&refused, GP_LACK_USES), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_data_is_not_recorded_again),
		cmocka_unit_test(defaults_are_not_named),
		cmocka_unit_test(each_cause_has_its_option),
		cmocka_unit_test(data_that_no_option_adds_is_not_advised),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
