/* The next stack of a repeating turn is predicted, even if the last stack alone is ambiguous. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/stacks/stack_predictor.h"

/* The stacks of two layers and the stacks between them, as in a backward pass of a GPT. */
static const uint16_t turn_of_layers[] = {
	5, 5,  5,  6,  7,  8,  9,  9,  10, 6,  7,  8,  9,  9,  5, 5, 5, 6, 7, 8,
	9, 9,  11, 12, 12, 13, 14, 15, 16, 12, 12, 17, 17, 18, 6, 7, 8, 9, 9, 5,
	5, 5,  6,  7,  8,  9,  9,  10, 6,  7,  8,  9,  9,  5,  5, 5, 6, 7, 8, 9,
	9, 11, 12, 12, 13, 14, 15, 16, 12, 12, 17, 17, 18, 6,  7, 8, 9, 9,
};
#define STACKS (sizeof turn_of_layers / sizeof *turn_of_layers)

static struct gp_stack_predictor turn;
static struct gp_stack_guess guesses[1u << GP_STACK_PREDICTOR_LOG];

static unsigned right_in_a_turn(unsigned python)
{
	unsigned right = 0;
	for (size_t k = 0; k < STACKS; k++) {
		struct gp_stack_guess *guess = gp_stack_predictor_next(&turn);
		right += guess->native == turn_of_layers[k] && guess->python == python;
		*guess = (struct gp_stack_guess){ .native = turn_of_layers[k],
						  .python = (uint16_t)python };
		gp_stack_predictor_add(&turn, turn_of_layers[k], python);
	}
	return right;
}

static void learns_a_turn(void **state)
{
	(void)state;
	/* without memory for more there is one guess */
	gp_stack_predictor_init(&turn);
	assert_in_range(right_in_a_turn(0), 0, STACKS / 2);
	assert_ptr_equal(gp_stack_predictor_next(&turn), &turn.only);
	gp_stack_predictor_forget(&turn);
	gp_stack_predictor_grow(&turn, guesses);
	assert_int_equal(gp_stack_predictor_next(&turn)->native, 0);
	assert_in_range(right_in_a_turn(0), 0, STACKS / 2);
	right_in_a_turn(0);
	assert_in_range(right_in_a_turn(0), STACKS * 9 / 10, STACKS);
	/* the other half of the stacks is another turn */
	right_in_a_turn(2047);
	right_in_a_turn(2047);
	assert_in_range(right_in_a_turn(2047), STACKS * 9 / 10, STACKS);
	assert_in_range(right_in_a_turn(0), STACKS * 8 / 10, STACKS);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(learns_a_turn) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
