/* When the table of stacks gets its chunks: the first always, others when there is room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../libgpuprof/record/process/headroom.h"
#include "../../libgpuprof/record/ranges/scope.h"
#include "../../libgpuprof/record/recorder.h"
#include "../../libgpuprof/record/stacks/stack_table.h"

#define MIB (UINT64_C(1) << 20)
#define CHUNKS 4u

static struct gp_recorder recorder;

static const struct gp_stack_entry *entry_of(void *context, uint32_t id)
{
	(void)context;
	return gp_stack_table_entry(id);
}

/* Rings in private memory, and a table of stacks without a chunk. */
static void open_recorder(uint64_t budget)
{
	struct gp_recorder *r = &recorder;
	memset(r, 0, sizeof *r);
	strcpy(gp_settings.ring_dir, "/proc");
	r->live = gp_live_open();
	r->ranges = gp_open_ranges_open(16);
	assert_non_null(r->live);
	assert_non_null(r->ranges);
	assert_true(gp_stack_table_open(CHUNKS * GP_STACK_CHUNK));
	r->define.entry = entry_of;
	r->headroom = GP_NO_LIMIT;
	r->budget = gp_settings.memory_bytes = budget;
	assert_true(gp_ring_place_open(r, gp_scope_begin));
	assert_true(r->is_private);
	assert_true(gp_ring_place_add(r));
	assert_true(gp_ring_place_add(r));
	gp_stacks_open(r);
}

static void close_recorder(void)
{
	gp_stack_table_close();
	gp_live_close(recorder.live);
	gp_open_ranges_close(recorder.ranges);
}

static uint32_t native_below(uint32_t parent, uint64_t pc)
{
	struct gp_stack_native frame = { .pc = pc };
	return gp_stack_natives(parent, &frame, 1) ? frame.id : 0;
}

static void fill_to(uint32_t entries)
{
	while (gp_stack_table_used() < entries)
		assert_int_not_equal(native_below(0, 0x1000 + gp_stack_table_used()), 0);
}

static void the_first_chunk_needs_no_room(void **state)
{
	(void)state;
	open_recorder(1 * MIB);
	assert_int_equal(gp_stack_table_chunks(), 1);
	fill_to(GP_STACK_CHUNK - 1);
	gp_stacks_maintain(&recorder);
	assert_int_equal(gp_stack_table_chunks(), 1);
	assert_int_equal(native_below(0, 1), 0);
	close_recorder();
}

static void a_refusal_does_not_stand_for_ever(void **state)
{
	(void)state;
	open_recorder(64 * MIB);
	fill_to(GP_STACK_CHUNK - 1);
	recorder.ring_bytes += 64 * MIB;
	gp_stacks_maintain(&recorder);
	assert_int_equal(gp_stack_table_chunks(), 1);
	assert_int_equal(native_below(0, 1), 0);
	recorder.chunk_refused_ns = 1; /* long ago, but there is still no room */
	gp_stacks_maintain(&recorder);
	assert_int_equal(gp_stack_table_chunks(), 1);
	assert_true(recorder.chunk_refused_ns > 1);
	recorder.ring_bytes -= 64 * MIB;
	recorder.chunk_refused_ns = 1;
	gp_stacks_maintain(&recorder);
	assert_int_equal(gp_stack_table_chunks(), 2);
	assert_int_not_equal(native_below(0, 1), 0);
	/* therefore a thread need not wait for the drain thread either */
	fill_to(2 * GP_STACK_CHUNK);
	assert_int_equal(gp_stack_table_chunks(), 3);
	assert_int_equal(gp_stack_table_own(), 2 * MIB);
	close_recorder();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_chunk_needs_no_room),
		cmocka_unit_test(a_refusal_does_not_stand_for_ever),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
