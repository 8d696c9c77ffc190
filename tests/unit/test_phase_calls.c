/* Memory allocated after a given birth that is still live, against the sum over all live memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyze/phases/phase_calls.h"

enum { ADDRESSES = 400, EVENTS = 20000 };

static uint64_t born_since(const uint64_t (*of)[2], uint64_t number)
{
	uint64_t bytes = 0;
	for (unsigned k = 0; k < ADDRESSES; k++)
		bytes += of[k][0] > number ? of[k][1] : 0;
	return bytes;
}

/* `first`: births before the first query; the sums are built then. */
static void compare(uint64_t first)
{
	static uint64_t of[ADDRESSES][2]; /* number of the birth, bytes; 0: not live */
	struct gp_phase_calls calls = { 0 };
	uint64_t births = 0, queries = 0;
	for (unsigned k = 0; k < ADDRESSES; k++)
		of[k][0] = of[k][1] = 0;
	for (unsigned k = 0; k < EVENTS; k++) {
		const unsigned at = (unsigned)random() % ADDRESSES;
		if (random() % 3 != 0) {
			const struct gp_phase_birth birth = { .address = at + 1,
							      .bytes = (uint64_t)random() };
			assert_true(gp_phase_calls_born(&calls, &birth));
			of[at][0] = ++births;
			of[at][1] = birth.bytes;
		} else {
			gp_phase_calls_dead(&calls, 0, at + 1);
			of[at][0] = of[at][1] = 0;
		}
		if (births < first || k % 7 != 0)
			continue;
		const uint64_t number = (uint64_t)random() % (births + 1);
		assert_int_equal(gp_phase_calls_born_since(&calls, number), born_since(of, number));
		assert_int_equal(gp_phase_calls_born_since(&calls, births), 0);
		queries++;
	}
	assert_true(queries > 0);
	gp_phase_calls_release(&calls);
}

static void sums_are_those_of_the_live(void **state)
{
	(void)state;
	srandom(7);
	compare(0);
	compare(1);
	compare(1023);
	compare(9000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_those_of_the_live),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
