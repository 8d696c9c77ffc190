/* Each rule of the live state by hand; each of its counters is exactly 1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "brute_force.h"
#include "state/live.h"

static struct gp_live *live;
static uint64_t order;

static int begin(void **state)
{
	(void)state;
	live = gp_live_open();
	order = 0;
	return live == NULL;
}

static int end(void **state)
{
	(void)state;
	gp_live_close(live);
	return 0;
}

static uint64_t alloc(unsigned space, uint64_t address, uint64_t bytes)
{
	const struct gp_record r = { .kind = GP_ALLOC,
				     .order = order,
				     .space = (uint8_t)space,
				     .alloc = { .address = address, .bytes = bytes } };
	gp_live_apply(live, &r);
	return order++;
}
static uint64_t release(unsigned space, uint64_t address)
{
	const struct gp_record r = {
		.kind = GP_FREE, .order = order, .space = (uint8_t)space, .free.address = address
	};
	gp_live_apply(live, &r);
	return order++;
}
static uint64_t map(uint64_t address, uint64_t bytes, uint64_t handle)
{
	const struct gp_record r = {
		.kind = GP_MAP,
		.order = order,
		.space = GP_SPACE_MAPPED,
		.map = { .address = address, .bytes = bytes, .handle = handle }
	};
	gp_live_apply(live, &r);
	return order++;
}
static uint64_t unmap(uint64_t address, uint64_t bytes)
{
	const struct gp_record r = { .kind = GP_UNMAP,
				     .order = order,
				     .unmap = { .address = address, .bytes = bytes } };
	gp_live_apply(live, &r);
	return order++;
}
static void block(enum gp_kind kind, uint64_t address, uint64_t bytes, uint64_t allocated,
		  uint64_t reserved)
{
	const struct gp_record r = { .kind = (uint16_t)kind,
				     .order = order++,
				     .block_alloc = { address, bytes, allocated, reserved } };
	gp_live_apply(live, &r);
}
static void gap(void)
{
	const struct gp_record r = { .kind = GP_GAP, .order = order++, .aux = GP_WHY_STOPPED };
	gp_live_apply(live, &r);
}
static uint64_t now(enum gp_curve curve)
{
	return gp_live_device(live, 0)->curve[curve].now_bytes;
}
static void assert_verdict(uint64_t mismatches, uint64_t anomalies)
{
	assert_int_equal(gp_live_count(live, GP_COUNT_MISMATCHES), mismatches);
	assert_int_equal(gp_live_count(live, GP_COUNT_ANOMALIES), anomalies);
}

#define MIB (1ull << 20)

static void one_wrong_total_is_one_mismatch(void **state)
{
	(void)state;
	alloc(GP_SPACE_DEVICE, 0x10000000, 2 * MIB);
	block(GP_BLOCK_ALLOC, 0x10000000, 512, 512, 2 * MIB);
	block(GP_BLOCK_ALLOC, 0x10000200, 512, 1024 + 512, 2 * MIB); /* the wrong total */
	assert_verdict(1, 0);
	block(GP_BLOCK_ALLOC, 0x10000400, 512, 1536, 2 * MIB);
	block(GP_BLOCK_FREE, 0x10000400, 512, 1024, 2 * MIB);
	assert_verdict(1, 0);
	assert_int_equal(now(GP_CURVE_ALLOCATED), 1024);
	assert_int_equal(gp_live_device(live, 0)->curve[GP_CURVE_ALLOCATED].peak_bytes, 1536);
}

static void lie_that_stays_is_one_mismatch(void **state)
{
	(void)state;
	alloc(GP_SPACE_DEVICE, 0x10000000, 2 * MIB);
	for (uint64_t i = 0; i < 8; i++)
		block(GP_BLOCK_ALLOC, 0x10000000 + i * 512, 512, (i + 1) * 512 + (i >= 3 ? 512 : 0),
		      2 * MIB);
	assert_verdict(1, 0);
}

static void dropped_block_events_are_one_mismatch_each(void **state)
{
	(void)state;
	alloc(GP_SPACE_DEVICE, 0x10000000, 2 * MIB);
	/* a lost allocation, the first in its segment; its free is recorded */
	block(GP_BLOCK_ALLOC, 0x10000200, 512, 1024, 2 * MIB);
	assert_verdict(1, 0);
	block(GP_BLOCK_FREE, 0x10000000, 512, 512, 2 * MIB);
	assert_verdict(1, 1);
	/* a lost free; its address is used again */
	block(GP_BLOCK_ALLOC, 0x10000400, 1024, 1024, 2 * MIB);
	assert_verdict(2, 1);
	block(GP_BLOCK_ALLOC, 0x10000200, 512, 1536, 2 * MIB);
	assert_verdict(2, 2);
	block(GP_BLOCK_FREE, 0x10000200, 512, 1024, 2 * MIB);
	block(GP_BLOCK_FREE, 0x10000400, 1024, 0, 2 * MIB);
	assert_verdict(2, 2);
	assert_int_equal(now(GP_CURVE_ALLOCATED), 0);
}

static void segment_and_first_block_share_an_address(void **state)
{
	(void)state;
	alloc(GP_SPACE_DEVICE, 0x10000000, 20 * MIB);
	alloc(GP_SPACE_DEVICE, 0x20000000, 20 * MIB); /* not the framework's */
	block(GP_BLOCK_ALLOC, 0x10000000, MIB, MIB, 20 * MIB);
	assert_int_equal(now(GP_CURVE_RESERVED), 20 * MIB);
	assert_int_equal(now(GP_CURVE_DRIVER), 40 * MIB);
	block(GP_BLOCK_FREE, 0x10000000, MIB, 0, 20 * MIB);
	release(GP_SPACE_NONE, 0x10000000);
	assert_int_equal(now(GP_CURVE_RESERVED), 0);
	block(GP_BLOCK_EXISTING, 0x10000000, MIB, 123, 456);
	assert_verdict(0, 0);
	assert_int_equal(gp_live_entries(live), 1);
}

static void gap_excuses_the_unknown_and_takes_totals_over(void **state)
{
	(void)state;
	alloc(GP_SPACE_DEVICE, 0x10000000, 20 * MIB);
	block(GP_BLOCK_ALLOC, 0x10000000, MIB, MIB, 20 * MIB);
	gap();
	/*
	 * unseen: that block freed, another of 3 MiB allocated at its place, a segment of 2 MiB
	 * with 1 MiB in use
	 */
	block(GP_BLOCK_ALLOC, 0x10300000, MIB, 5 * MIB, 22 * MIB);
	assert_int_equal(now(GP_CURVE_ALLOCATED), 5 * MIB);
	assert_int_equal(now(GP_CURVE_RESERVED), 22 * MIB);
	block(GP_BLOCK_FREE, 0x30000000, MIB, 4 * MIB, 22 * MIB); /* in the unseen segment */
	release(GP_SPACE_DEVICE, 0x30000000);
	block(GP_BLOCK_FREE, 0x10300000, MIB, 3 * MIB, 20 * MIB);
	block(GP_BLOCK_FREE, 0x10000000, 3 * MIB, 0, 20 * MIB);
	assert_verdict(0, 0);
	assert_int_equal(now(GP_CURVE_RESERVED), 20 * MIB);
}

/* A loss is recorded before it happened: events before it are right, events after it are not. */
static void loss_excuses_events_in_its_span(void **state)
{
	(void)state;
	alloc(GP_SPACE_DEVICE, 0x10000000, 20 * MIB);
	const struct gp_record lost = {
		.kind = GP_LOST, .order = order, .aux = 3, .lost = { .memory = 2 }
	};
	gp_live_apply(live, &lost);
	block(GP_BLOCK_ALLOC, 0x10000000, MIB, MIB, 20 * MIB);
	alloc(GP_SPACE_DEVICE, 0x30000000, MIB);
	/* lost here: both are freed */
	block(GP_BLOCK_ALLOC, 0x10000000, 2 * MIB, 2 * MIB, 20 * MIB);
	alloc(GP_SPACE_DEVICE, 0x30000000, 2 * MIB);
	assert_verdict(0, 0);
	assert_int_equal(now(GP_CURVE_ALLOCATED), 2 * MIB);
	assert_int_equal(now(GP_CURVE_DRIVER), 22 * MIB);
	assert_int_equal(gp_live_count(live, GP_COUNT_LOST_MEMORY), 2);
	/* events after the span are not excused */
	block(GP_BLOCK_ALLOC, 0x10800000, MIB, 4 * MIB, 20 * MIB);
	alloc(GP_SPACE_DEVICE, 0x30000000, 2 * MIB);
	assert_verdict(1, 1);
}

static void block_of(unsigned device, uint64_t address, uint64_t bytes, uint64_t allocated)
{
	const struct gp_record r = { .kind = GP_BLOCK_ALLOC,
				     .order = order++,
				     .device = (uint8_t)device,
				     .block_alloc = { address, bytes, allocated, 0 } };
	gp_live_apply(live, &r);
}

/* The event after a loss excuses only the missing bytes of its own device. */
static void loss_excuses_the_next_total_of_each_device(void **state)
{
	(void)state;
	const struct gp_record lost = {
		.kind = GP_LOST, .order = order, .aux = 3, .lost = { .memory = 1 }
	};
	gp_live_apply(live, &lost);
	block_of(0, 0x10000000, MIB, MIB);
	block_of(1, 0x20000000, MIB, MIB);
	/* lost here: another MiB of device 1 */
	block_of(0, 0x10100000, MIB, 2 * MIB);
	block_of(0, 0x10200000, MIB, 3 * MIB);
	block_of(1, 0x20200000, MIB, 3 * MIB);
	assert_verdict(0, 0);
	block_of(0, 0x10300000, MIB, 5 * MIB);
	assert_verdict(1, 0);
	block_of(1, 0x20300000, MIB, 5 * MIB);
	assert_verdict(2, 0);
}

static void each_orphan_is_one_anomaly(void **state)
{
	(void)state;
	release(GP_SPACE_DEVICE, 0x5000);
	assert_verdict(0, 1);
	alloc(GP_SPACE_DEVICE, 0x6000, 512);
	alloc(GP_SPACE_ASYNC, 0x6000, 512);
	assert_verdict(0, 2);
	alloc(GP_SPACE_HOST, 0x6000, 512);
	alloc(GP_SPACE_ARRAY, 0x6000, 512);
	release(GP_SPACE_DEVICE, 0);
	assert_verdict(0, 2);
	release(GP_SPACE_MANAGED, 0x6000);
	assert_int_equal(gp_live_entries(live), 2);
	assert_int_equal(now(GP_CURVE_DRIVER), 512); /* the array */
}

static void refused_free_of_unknown_memory_is_not_an_anomaly(void **state)
{
	(void)state;
	uint64_t undoes = release(GP_SPACE_DEVICE, 0x5000);
	const struct gp_record r = { .kind = GP_FREE_FAILED,
				     .order = order++,
				     .free_failed = { .address = 0x5000, .undoes = undoes } };
	gp_live_apply(live, &r);
	assert_verdict(0, 0);
}

static void reused_handle_of_mapped_memory(void **state)
{
	(void)state;
	alloc(GP_SPACE_RESERVATION, 0x40000000, 64 * MIB);
	alloc(GP_SPACE_PHYSICAL, 7, 2 * MIB);
	map(0x40000000, 2 * MIB, 7);
	release(GP_SPACE_PHYSICAL, 7); /* as NCCL does: the mapping keeps the memory */
	assert_int_equal(now(GP_CURVE_DRIVER), 2 * MIB);
	alloc(GP_SPACE_PHYSICAL, 7, 4 * MIB);
	map(0x40200000, 4 * MIB, 7);
	assert_int_equal(now(GP_CURVE_DRIVER), 6 * MIB);
	unmap(0x40000000, 2 * MIB);
	assert_int_equal(now(GP_CURVE_DRIVER), 4 * MIB);
	uint64_t undoes = unmap(0x40200000, 4 * MIB);
	release(GP_SPACE_PHYSICAL, 7);
	assert_int_equal(now(GP_CURVE_DRIVER), 0);
	assert_verdict(0, 0);
	assert_int_equal(gp_live_entries(live), 1);
	(void)undoes;
}

static void mapped_bytes_of_a_marked_reservation_are_reserved(void **state)
{
	(void)state;
	alloc(GP_SPACE_RESERVATION, 0x4000000000, 160ull << 30);
	for (uint64_t i = 0; i < 4; i++) {
		alloc(GP_SPACE_PHYSICAL, 100 + i, 2 * MIB);
		map(0x4000000000 + i * 2 * MIB, 2 * MIB, 100 + i);
	}
	assert_int_equal(now(GP_CURVE_RESERVED), 0);
	block(GP_BLOCK_ALLOC, 0x4000000000, 7 * MIB, 7 * MIB, 8 * MIB);
	alloc(GP_SPACE_PHYSICAL, 104, 2 * MIB);
	map(0x4000800000, 2 * MIB, 104);
	assert_int_equal(now(GP_CURVE_RESERVED), 10 * MIB);
	block(GP_BLOCK_FREE, 0x4000000000, 7 * MIB, 0, 10 * MIB);
	unmap(0x4000000000, 10 * MIB);
	assert_int_equal(now(GP_CURVE_RESERVED), 0);
	assert_int_equal(now(GP_CURVE_DRIVER), 10 * MIB); /* handles not released yet */
	release(GP_SPACE_RESERVATION, 0x4000000000);
	assert_verdict(0, 0);
}

/* With any number of empty addresses between them. */
static void one_unmap_ends_mappings_that_lie_far_apart(void **state)
{
	(void)state;
	const uint64_t base = 0x400000000000, far = 3ull << 42;
	for (uint64_t i = 0; i < 3; i++) {
		alloc(GP_SPACE_PHYSICAL, 100 + i, 2 * MIB);
		map(base + i * far, 2 * MIB, 100 + i);
		release(GP_SPACE_PHYSICAL, 100 + i);
	}
	unmap(base, far + 2 * MIB);
	assert_int_equal(now(GP_CURVE_DRIVER), 2 * MIB);
	assert_non_null(gp_live_find(live, GP_SPACE_MAPPED, base + 2 * far));
	unmap(base, UINT64_MAX - base);
	assert_int_equal(now(GP_CURVE_DRIVER), 0);
	assert_int_equal(gp_live_entries(live), 0);
	assert_verdict(0, 0);
}

/* The end of a graph without memory does not visit the entries of others. */
static void many_graphs_end_beside_many_entries(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		alloc(GP_SPACE_DEVICE, 0x700000000000 + i * 512, 512);
	for (uint64_t i = 0; i < 100000; i++) {
		const struct gp_record r = { .kind = GP_OWNER_GONE,
					     .order = order++,
					     .aux = GP_HOW_EXEC_DESTROY,
					     .owner_gone = { .owner = 42 } };
		gp_live_apply(live, &r);
	}
	assert_verdict(0, 0);
}

static void owner_takes_its_memory_along(void **state)
{
	(void)state;
	const unsigned spaces[] = { GP_SPACE_DEVICE, GP_SPACE_MANAGED, GP_SPACE_HOST,
				    GP_SPACE_ARRAY, GP_SPACE_ASYNC };
	for (unsigned i = 0; i < 5; i++) {
		const struct gp_record r = {
			.kind = GP_ALLOC,
			.order = order++,
			.space = (uint8_t)spaces[i],
			.alloc = { .address = 0x1000 * (i + 1), .bytes = 512, .owner = 42 }
		};
		gp_live_apply(live, &r);
	}
	const struct gp_record r = { .kind = GP_OWNER_GONE,
				     .order = order++,
				     .aux = GP_HOW_PRIMARY_RESET,
				     .owner_gone.owner = 42 };
	gp_live_apply(live, &r);
	assert_int_equal(gp_live_entries(live), 1);
	assert_int_equal(now(GP_CURVE_DRIVER), 512);
}

/* FREE and UNMAP need no device: the memory that they end has one. */
static void the_end_of_memory_has_its_device(void **state)
{
	(void)state;
	struct gp_record r[] = {
		{ .kind = GP_ALLOC,
		  .space = GP_SPACE_DEVICE,
		  .device = 1,
		  .alloc = { .address = 0x1000, .bytes = 512 } },
		{ .kind = GP_MAP,
		  .space = GP_SPACE_MAPPED,
		  .device = 2,
		  .map = { .address = 0x8000, .bytes = 512 } },
		{ .kind = GP_FREE, .space = GP_SPACE_DEVICE, .free.address = 0x1000 },
		{ .kind = GP_UNMAP,
		  .space = GP_SPACE_MAPPED,
		  .unmap = { .address = 0x8000, .bytes = 512 } },
		{ .kind = GP_FREE, .space = GP_SPACE_DEVICE, .free.address = 0x1000 },
	};
	const unsigned expected[] = { GP_DEVICE_UNKNOWN, GP_DEVICE_UNKNOWN, 1, 2,
				      GP_DEVICE_UNKNOWN };
	for (unsigned i = 0; i < 5; i++) {
		r[i].order = i;
		if (expected[i] != GP_DEVICE_UNKNOWN)
			r[i].device = GP_DEVICE_UNKNOWN;
		gp_live_apply(live, &r[i]);
		assert_int_equal(gp_live_ended_device(live, &r[i]), expected[i]);
	}
	assert_int_equal(gp_live_device(live, 1)->curve[GP_CURVE_DRIVER].now_bytes, 0);
}

/*
 * Growth far beyond the first index and page table, then back: every entry is found, memory is
 * bounded.
 */
static void a_million_entries_take_96_bytes_each(void **state)
{
	(void)state;
	const uint64_t n = 1000000;
	for (uint64_t i = 0; i < n; i++)
		alloc(GP_SPACE_DEVICE, 0x700000000000 + i * 512, 512);
	assert_int_equal(gp_live_entries(live), n);
	assert_true(gp_live_memory(live) < n * 96 + MIB);
	for (uint64_t i = 0; i < n; i += 997)
		assert_int_equal(
			gp_live_find(live, GP_SPACE_DEVICE, 0x700000000000 + i * 512 + 300)->order,
			i);
	for (uint64_t i = 0; i < n; i++)
		release(GP_SPACE_NONE, 0x700000000000 + i * 512);
	assert_int_equal(gp_live_entries(live), 0);
	assert_int_equal(now(GP_CURVE_DRIVER), 0);
	assert_verdict(0, 0);
}

/* A recording may contain any of 256 values. */
static void a_space_that_is_none_is_not_the_drivers(void **state)
{
	(void)state;
	for (unsigned space = GP_SPACES; space < 256; space++) {
		const struct gp_live_entry entry = { .space = (uint8_t)space, .bytes = 1 };
		assert_false(gp_live_is_driver(&entry));
	}
}

static void refuse(uint64_t time, uint64_t free_bytes, uint64_t total_bytes)
{
	const struct gp_record r = { .kind = GP_ALLOC_FAILED,
				     .order = order++,
				     .time = time,
				     .alloc_failed = { .bytes = 80,
						       .free_bytes = free_bytes,
						       .total_bytes = total_bytes } };
	gp_live_apply(live, &r);
}

static void load(void *context, const struct gp_record *record)
{
	assert_int_equal(gp_live_apply(context, record), GP_OK);
}

/* A refusal does not report the limit; without a count it reports no figures. */
static void a_refusal_counts_the_device(void **state)
{
	(void)state;
	const struct gp_live_used *used = &gp_live_device(live, 0)->used;
	alloc(GP_SPACE_DEVICE, 0x1000, 21);
	refuse(100, 60, 100);
	assert_int_equal(used->free_bytes, 60);
	assert_int_equal(used->driver_bytes, 21);
	assert_false(used->has_limit);
	const struct gp_record counted = {
		.kind = GP_DEVICE_MEMORY, .time = 200, .aux = 1, .device_memory = { 70, 100, 50, 0 }
	};
	gp_live_apply(live, &counted);
	refuse(300, 0, 0);
	/* late */
	refuse(150, 60, 100);
	assert_int_equal(used->free_bytes, 70);
	refuse(400, 10, 100);
	/* as a checkpoint has it */
	struct gp_live *then = gp_live_open();
	assert_non_null(then);
	gp_live_totals(live, load, then);
	used = &gp_live_device(then, 0)->used;
	assert_int_equal(used->time, 400);
	assert_int_equal(used->free_bytes, 10);
	assert_true(used->has_limit);
	assert_int_equal(used->limit_bytes, 50);
	gp_live_close(then);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_wrong_total_is_one_mismatch, begin, end),
		cmocka_unit_test_setup_teardown(lie_that_stays_is_one_mismatch, begin, end),
		cmocka_unit_test_setup_teardown(dropped_block_events_are_one_mismatch_each, begin,
						end),
		cmocka_unit_test_setup_teardown(segment_and_first_block_share_an_address, begin,
						end),
		cmocka_unit_test_setup_teardown(gap_excuses_the_unknown_and_takes_totals_over,
						begin, end),
		cmocka_unit_test_setup_teardown(loss_excuses_events_in_its_span, begin, end),
		cmocka_unit_test_setup_teardown(loss_excuses_the_next_total_of_each_device, begin,
						end),
		cmocka_unit_test_setup_teardown(each_orphan_is_one_anomaly, begin, end),
		cmocka_unit_test_setup_teardown(refused_free_of_unknown_memory_is_not_an_anomaly,
						begin, end),
		cmocka_unit_test_setup_teardown(reused_handle_of_mapped_memory, begin, end),
		cmocka_unit_test_setup_teardown(mapped_bytes_of_a_marked_reservation_are_reserved,
						begin, end),
		cmocka_unit_test_setup_teardown(one_unmap_ends_mappings_that_lie_far_apart, begin,
						end),
		cmocka_unit_test_setup_teardown(many_graphs_end_beside_many_entries, begin, end),
		cmocka_unit_test_setup_teardown(owner_takes_its_memory_along, begin, end),
		cmocka_unit_test_setup_teardown(the_end_of_memory_has_its_device, begin, end),
		cmocka_unit_test_setup_teardown(a_refusal_counts_the_device, begin, end),
		cmocka_unit_test(a_space_that_is_none_is_not_the_drivers),
		cmocka_unit_test_setup_teardown(a_million_entries_take_96_bytes_each, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
