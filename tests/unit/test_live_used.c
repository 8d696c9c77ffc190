/*
 * Parts of a device's used memory that no allocation explains: for each, counts that decide for it,
 * and counts that must not.
 */
#include "live_fixture.h"

#define MIB (INT64_C(1) << 20)
#define TOTAL (8192 * MIB)

/* A count of the driver, with the causes of its change. */
static void count(int64_t used, uint64_t causes, int64_t pool_bytes)
{
	put((struct gp_record){
		.kind = GP_DEVICE_MEMORY,
		.device_memory = { .free_bytes = (uint64_t)(TOTAL - used),
				   .total_bytes = TOTAL,
				   .state = causes << GP_CAUSES_SHIFT | (uint64_t)pool_bytes } });
}

static int64_t part(enum gp_used_part which)
{
	return gp_live_device(live, 0)->used.part[which];
}

/* The parts and the job's own memory are what the driver counts. */
static void adds_up(int64_t used)
{
	int64_t sum = (int64_t)gp_live_held(gp_live_device(live, 0));
	for (unsigned k = 0; k < GP_PARTS; k++)
		sum += part(k);
	assert_int_equal(sum, used);
}

static void first_count_is_the_context(void **state)
{
	(void)state;
	alloc(GP_SPACE_DEVICE, 0x1000000, 100 * MIB);
	count(600 * MIB, GP_CAUSE_MODULE_LOAD, 0);
	assert_int_equal(part(GP_PART_CONTEXT), 500 * MIB);
	assert_int_equal(part(GP_PART_MODULES), 0);
	count(660 * MIB, GP_CAUSE_MODULE_LOAD, 0);
	assert_int_equal(part(GP_PART_CONTEXT), 500 * MIB);
	count(760 * MIB, GP_CAUSE_CONTEXT, 0);
	assert_int_equal(part(GP_PART_CONTEXT), 600 * MIB);
	adds_up(760 * MIB);
}

static void one_cause_decides(void **state)
{
	static const struct {
		uint64_t causes;
		enum gp_used_part part;
	} rows[] = {
		{ GP_CAUSE_MODULE_LOAD, GP_PART_MODULES },
		{ GP_CAUSE_KERNEL, GP_PART_MODULES },
		{ GP_CAUSE_MODULE_LOAD | GP_CAUSE_KERNEL, GP_PART_MODULES },
		{ GP_CAUSE_LOCAL, GP_PART_LOCAL },
		{ GP_CAUSE_HEAP, GP_PART_HEAP },
		{ GP_CAUSE_GRAPH, GP_PART_GRAPHS },
		/* several causes: no part */
		{ GP_CAUSE_LOCAL | GP_CAUSE_KERNEL, GP_PART_UNKNOWN },
		{ GP_CAUSE_GRAPH | GP_CAUSE_MODULE_LOAD, GP_PART_UNKNOWN },
		{ GP_CAUSE_HEAP | GP_CAUSE_GRAPH, GP_PART_UNKNOWN },
	};
	(void)state;
	int64_t used = 500 * MIB;
	count(used, 0, 0);
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		int64_t before = part(rows[k].part);
		count(used += 64 * MIB, rows[k].causes, 0);
		assert_int_equal(part(rows[k].part) - before, 64 * MIB);
		adds_up(used);
	}
	/* an unload takes it back */
	int64_t modules = part(GP_PART_MODULES);
	count(used -= 64 * MIB, GP_CAUSE_MODULE_LOAD, 0);
	assert_int_equal(part(GP_PART_MODULES), modules - 64 * MIB);
}

/* Memory that comes back belongs to a part that has it. */
static void no_part_is_below_zero(void **state)
{
	(void)state;
	count(900 * MIB, 0, 0);
	count(964 * MIB, GP_CAUSE_MODULE_LOAD, 0);
	count(1064 * MIB, 0, 0);
	/* more than all modules: of other processes, 300 MiB of them older than the first count */
	count(664 * MIB, GP_CAUSE_MODULE_LOAD, 0);
	assert_int_equal(part(GP_PART_MODULES), 64 * MIB);
	assert_int_equal(part(GP_PART_OTHERS), 0);
	assert_int_equal(part(GP_PART_CONTEXT), 600 * MIB);
	/* a launch returns nothing */
	count(632 * MIB, GP_CAUSE_KERNEL, 0);
	assert_int_equal(part(GP_PART_MODULES), 64 * MIB);
	assert_int_equal(part(GP_PART_CONTEXT), 568 * MIB);
	adds_up(632 * MIB);
	/* a process that began beside a first launch, larger than the context's part */
	count(1300 * MIB, GP_CAUSE_KERNEL, 0);
	count(700 * MIB, 0, 0);
	assert_int_equal(part(GP_PART_MODULES), 132 * MIB);
	assert_int_equal(part(GP_PART_CONTEXT), 568 * MIB);
	/* no part has that much */
	count(100 * MIB, 0, 0);
	assert_int_equal(part(GP_PART_UNKNOWN), -600 * MIB);
	adds_up(100 * MIB);
}

static void own_memory_is_in_no_part(void **state)
{
	(void)state;
	count(500 * MIB, 0, 0);
	alloc(GP_SPACE_DEVICE, 0x1000000, 100 * MIB);
	count(664 * MIB, GP_CAUSE_MODULE_LOAD, 0);
	assert_int_equal(part(GP_PART_MODULES), 64 * MIB);
	alloc(GP_SPACE_DEVICE, 0x80000000, 200 * MIB);
	count(864 * MIB, 0, 0);
	assert_int_equal(part(GP_PART_OTHERS), 0);
	assert_int_equal(part(GP_PART_ROUNDING), 0);
}

static void other_processes_need_no_cause(void **state)
{
	(void)state;
	count(500 * MIB, 0, 0);
	count(800 * MIB, 0, 0);
	assert_int_equal(part(GP_PART_OTHERS), 300 * MIB);
	count(600 * MIB, 0, 0);
	assert_int_equal(part(GP_PART_OTHERS), 100 * MIB);
	/* a change that rounding explains is not theirs, even a large one of many odd sizes */
	alloc(GP_SPACE_DEVICE, 0x1000000, MIB);
	count(602 * MIB, 0, 0);
	assert_int_equal(part(GP_PART_OTHERS), 100 * MIB);
	assert_int_equal(part(GP_PART_ROUNDING), MIB);
	alloc(GP_SPACE_DEVICE, 0x3000000, MIB);
	count(803 * MIB, 0, 0);
	assert_int_equal(part(GP_PART_OTHERS), 300 * MIB);
	put((struct gp_record){
		.kind = GP_RESOURCE, .aux = GP_RESOURCE_STREAM, .resource.handle = 0x7000 });
	count(805 * MIB, 0, 0);
	assert_int_equal(part(GP_PART_OTHERS), 300 * MIB);
	assert_int_equal(part(GP_PART_ROUNDING), 3 * MIB);
	adds_up(805 * MIB);
}

/* The driver takes such memory when it is used, at any moment. */
static void managed_memory_hides_other_processes(void **state)
{
	static const uint8_t spaces[] = { GP_SPACE_MANAGED, GP_SPACE_GRAPH };
	(void)state;
	int64_t used = 500 * MIB;
	count(used, 0, 0);
	for (size_t k = 0; k < 2; k++) {
		alloc(spaces[k], 0x1000000, 64 * MIB);
		count(used, 0, 0);
		count(used += 32 * MIB, 0, 0);
		assert_int_equal(part(GP_PART_OTHERS), 0);
		put((struct gp_record){
			.kind = GP_FREE, .space = spaces[k], .free.address = 0x1000000 });
		count(used -= 32 * MIB, 0, 0);
		assert_int_equal(part(GP_PART_OTHERS), 0);
	}
	count(used += 64 * MIB, 0, 0);
	assert_int_equal(part(GP_PART_OTHERS), 64 * MIB);
}

static void missing_events_decide_nothing(void **state)
{
	(void)state;
	count(500 * MIB, 0, 0);
	put((struct gp_record){ .kind = GP_LOST, .lost.memory = 3 });
	count(800 * MIB, GP_CAUSE_MODULE_LOAD, 0);
	assert_int_equal(part(GP_PART_MODULES), 0);
	assert_int_equal(part(GP_PART_UNKNOWN), 300 * MIB);
	count(864 * MIB, GP_CAUSE_MODULE_LOAD, 0);
	assert_int_equal(part(GP_PART_MODULES), 64 * MIB);
}

/* Requests of a pool change the count only where the pool grows. */
static void pool_counts_as_it_is_reserved(void **state)
{
	(void)state;
	count(500 * MIB, 0, 0);
	alloc(GP_SPACE_ASYNC, 0x1000000, 10 * MIB);
	count(532 * MIB, 0, 32 * MIB);
	assert_int_equal(gp_live_held(gp_live_device(live, 0)), 32 * MIB);
	alloc(GP_SPACE_ASYNC, 0x80000000, 20 * MIB);
	count(532 * MIB, 0, 32 * MIB);
	put((struct gp_record){
		.kind = GP_FREE, .space = GP_SPACE_ASYNC, .free.address = 0x80000000 });
	count(596 * MIB, GP_CAUSE_MODULE_LOAD, 32 * MIB);
	assert_int_equal(part(GP_PART_OTHERS), 0);
	assert_int_equal(part(GP_PART_MODULES), 64 * MIB);
	/* beyond what was reserved at the last count */
	alloc(GP_SPACE_ASYNC, 0x90000000, 50 * MIB);
	assert_int_equal(gp_live_held(gp_live_device(live, 0)), 60 * MIB);
	adds_up(624 * MIB);
}

static struct gp_live *loaded;

static void load(void *context, const struct gp_record *r)
{
	(void)context;
	assert_int_equal(gp_live_apply(loaded, r), GP_OK);
}

static void load_entry(void *context, const struct gp_live_entry *entry)
{
	struct gp_record r;
	(void)context;
	gp_live_to_record(entry, &r);
	load(NULL, &r);
}

static void checkpoint_keeps_the_parts(void **state)
{
	(void)state;
	count(500 * MIB, 0, 0);
	alloc(GP_SPACE_ASYNC, 0x1000000, 10 * MIB);
	count(596 * MIB, GP_CAUSE_LOCAL, 32 * MIB);
	count(570 * MIB, 0, 32 * MIB);
	loaded = gp_live_open();
	assert_non_null(loaded);
	gp_live_totals(live, load, NULL);
	gp_live_walk_begin(live, load_entry, NULL);
	while (!gp_live_walk_more(live, 100))
		;
	struct gp_live *before = live;
	assert_int_equal(part(GP_PART_LOCAL), 64 * MIB);
	live = loaded;
	assert_int_equal(part(GP_PART_LOCAL), 64 * MIB);
	assert_int_equal(part(GP_PART_CONTEXT), 474 * MIB);
	adds_up(570 * MIB);
	count(600 * MIB, GP_CAUSE_HEAP, 32 * MIB);
	assert_int_equal(part(GP_PART_HEAP), 30 * MIB);
	live = before;
	gp_live_close(loaded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(first_count_is_the_context),    TEST(one_cause_decides),
		TEST(no_part_is_below_zero),	     TEST(own_memory_is_in_no_part),
		TEST(other_processes_need_no_cause), TEST(managed_memory_hides_other_processes),
		TEST(missing_events_decide_nothing), TEST(pool_counts_as_it_is_reserved),
		TEST(checkpoint_keeps_the_parts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
