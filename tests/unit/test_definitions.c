/* Definitions that are repeated in each segment: the newest of each key, with any text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>

#include "../../libgpuprof/record/recorder.h"

static struct gp_definitions definitions;
static struct gp_record seen[16];
static unsigned count;

static void see(void *context, const struct gp_record *slots)
{
	(void)context;
	assert_true(count < 16);
	seen[count++] = *slots;
}

static void visit(void)
{
	count = 0;
	gp_definitions_visit(&definitions, see, NULL);
}

static void add(struct gp_record record)
{
	static const unsigned char text[64 * 16];
	gp_definitions_add(&definitions, &record, text);
}

static int fresh(void **state)
{
	(void)state;
	return gp_definitions_open(&definitions) ? 0 : 1;
}

static int leave(void **state)
{
	(void)state;
	gp_definitions_close(&definitions);
	return 0;
}

/* Several arenas have the same stream, and the default stream is 0. */
static void arenas_are_known_by_their_number(void **state)
{
	(void)state;
	for (uint32_t number = 1; number <= 3; number++)
		add((struct gp_record){ .kind = GP_ARENA,
					.aux = number,
					.arena = { .pool = number, .has_pool = 1 } });
	add((struct gp_record){ .kind = GP_ARENA, .aux = 2, .arena = { .pool = 9 } });
	visit();
	assert_int_equal(count, 3);
	assert_int_equal(seen[0].arena.pool, 1);
	assert_int_equal(seen[1].arena.pool, 9);
	assert_int_equal(seen[2].arena.pool, 3);
}

static void other_definitions_are_known_by_their_key(void **state)
{
	(void)state;
	add((struct gp_record){
		.kind = GP_FACT, .aux = GP_FACT_BLOCK_REPORTS, .fact = { .value = 1 } });
	add((struct gp_record){ .kind = GP_FACT, .aux = GP_FACT_ALLOCATOR_DETAILS, .extra = 1 });
	add((struct gp_record){
		.kind = GP_FACT, .aux = GP_FACT_ALLOCATOR_DETAILS, .fact = { .value = 1 } });
	add((struct gp_record){ .kind = GP_GPU, .device = 0 });
	add((struct gp_record){ .kind = GP_GPU, .device = 1 });
	add((struct gp_record){ .kind = GP_KERNEL, .kernel = { .handle = 0x50 } });
	add((struct gp_record){ .kind = GP_KERNEL, .kernel = { .handle = 0x50, .module = 7 } });
	visit();
	assert_int_equal(count, 5);
	assert_int_equal(seen[0].fact.value, 1);
	/* the newest definition of that key is shorter: it is stored behind the old one */
	assert_int_equal(seen[1].aux, GP_FACT_ALLOCATOR_DETAILS);
	assert_int_equal(seen[1].fact.value, 1);
	assert_int_equal(seen[2].kind, GP_GPU);
	assert_int_equal(seen[3].device, 1);
	assert_int_equal(seen[4].kernel.module, 7);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, leave)
	const struct CMUnitTest tests[] = {
		TEST(arenas_are_known_by_their_number),
		TEST(other_definitions_are_known_by_their_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
