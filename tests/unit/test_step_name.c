/* Names of ranges: names of steps, and names that are equal except for numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/steps/step_name.h"

static void names_of_steps_are_known(void **state)
{
	(void)state;
	static const char *const steps[] = {
		"step",
		"Step::17",
		"step_3",
		"ProfilerStep#4",
		"Train_Step 5",
		"iteration12",
		"Body of iteration 7",
		"Training iteration",
		"[pl][profile]run_training_batch",
		"run_training_batch",
		"denoising step 3",
		"epoch 1 batch 20",
		"[Executor] _forward_step 12: 3 ctx reqs, 4 gen reqs"
	};
	static const char *const others[] = { "",
					      "forward",
					      "optimizer.step",
					      "DeepSpeedEngine.step",
					      "Optimizer.step#AdamW.step",
					      "micro batch",
					      "microbatch 3",
					      "micro batch 3",
					      "batch_norm",
					      "aten::batch_norm",
					      "layer 3",
					      "footstep 3",
					      "epoch 2",
					      "12",
					      "step 3 is over" };
	for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
		assert_int_not_equal(gp_step_name_kind(steps[k], NULL), 0);
	for (size_t k = 0; k < sizeof others / sizeof *others; k++)
		assert_int_equal(gp_step_name_kind(others[k], NULL), 0);
	assert_int_equal(gp_step_name_kind("step 1", NULL), gp_step_name_kind("Step#27", NULL));
	assert_int_not_equal(gp_step_name_kind("inner step 1", NULL),
			     gp_step_name_kind("outer step 1", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_steps_are_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
