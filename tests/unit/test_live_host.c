/*
 * Page-locked memory of the host: the bytes that count, the events that end it, and the records of
 * it in a checkpoint.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "state/live.h"

#define KIB 1024u
#define RECORDS 16u

static struct gp_live *live;
static uint64_t order;
static struct gp_record saved[RECORDS];
static size_t saves;

static int begin(void **state)
{
	(void)state;
	live = gp_live_open();
	order = saves = 0;
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
				     .time = order * 100,
				     .space = (uint8_t)space,
				     .alloc = { .address = address, .bytes = bytes, .owner = 42 } };
	gp_live_apply(live, &r);
	return order++;
}

static uint64_t release(unsigned space, uint64_t address)
{
	const struct gp_record r = { .kind = GP_FREE,
				     .order = order,
				     .time = order * 100,
				     .space = (uint8_t)space,
				     .free.address = address };
	gp_live_apply(live, &r);
	return order++;
}

static void assert_host(uint64_t now, uint64_t registered, uint64_t peak, uint64_t peak_order,
			uint64_t registered_at_peak)
{
	const struct gp_live_host *h = gp_live_host(live);
	assert_int_equal(h->pinned.now_bytes, now);
	assert_int_equal(h->registered_bytes, registered);
	assert_int_equal(h->pinned.peak_bytes, peak);
	assert_int_equal(h->pinned.peak_order, peak_order);
	assert_int_equal(h->pinned.peak_time, peak_order * 100);
	assert_int_equal(h->registered_at_peak, registered_at_peak);
}

/* Managed memory and device memory do not count as host memory; pinned memory has no device. */
static void allocated_and_registered_memory_is_pinned(void **state)
{
	(void)state;
	for (unsigned space = 0; space < 256; space++) {
		const struct gp_live_entry entry = { .space = (uint8_t)space };
		assert_int_equal(gp_live_is_pinned(&entry),
				 space == GP_SPACE_HOST || space == GP_SPACE_HOST_REGISTER);
	}
	alloc(GP_SPACE_MANAGED, 0x100000, 64 * KIB);
	assert_false(gp_live_take_host_moved(live));
	alloc(GP_SPACE_HOST, 0x1000, 4 * KIB);
	assert_true(gp_live_take_host_moved(live));
	assert_false(gp_live_take_host_moved(live));
	alloc(GP_SPACE_HOST_REGISTER, 0x8000, 8 * KIB);
	assert_host(12 * KIB, 8 * KIB, 12 * KIB, 2, 8 * KIB);
	release(GP_SPACE_HOST_REGISTER, 0x8000);
	alloc(GP_SPACE_HOST, 0x4000, 4 * KIB);
	assert_host(8 * KIB, 0, 12 * KIB, 2, 8 * KIB);
	assert_int_equal(gp_live_device(live, 0)->curve[GP_CURVE_DRIVER].now_bytes, 64 * KIB);
	assert_int_equal(gp_live_count(live, GP_COUNT_ANOMALIES), 0);
}

static void a_refused_free_pins_on(void **state)
{
	(void)state;
	alloc(GP_SPACE_HOST, 0x1000, 4 * KIB);
	const uint64_t freed = release(GP_SPACE_HOST, 0x1000);
	assert_host(0, 0, 4 * KIB, 0, 0);
	const struct gp_record refused = { .kind = GP_FREE_FAILED,
					   .order = order++,
					   .space = GP_SPACE_HOST,
					   .free_failed = { 0x1000, freed, 0, 0 } };
	gp_live_apply(live, &refused);
	assert_host(4 * KIB, 0, 4 * KIB, 0, 0);
}

static void the_end_of_a_context_unpins_its_memory(void **state)
{
	(void)state;
	alloc(GP_SPACE_HOST, 0x1000, 4 * KIB);
	alloc(GP_SPACE_HOST_REGISTER, 0x8000, 8 * KIB);
	const struct gp_record gone = { .kind = GP_OWNER_GONE,
					.order = order++,
					.aux = GP_HOW_PRIMARY_RESET,
					.owner_gone.owner = 42 };
	gp_live_apply(live, &gone);
	assert_host(0, 0, 12 * KIB, 1, 8 * KIB);
}

/* An address that is allocated again without a free counts once. */
static void a_lost_free_does_not_count_twice(void **state)
{
	(void)state;
	alloc(GP_SPACE_HOST, 0x1000, 4 * KIB);
	alloc(GP_SPACE_HOST, 0x1000, 8 * KIB);
	assert_host(8 * KIB, 0, 8 * KIB, 1, 0);
}

static void save(void *context, const struct gp_record *record)
{
	(void)context;
	assert_true(saves < RECORDS);
	saved[saves++] = *record;
}

static void save_entry(void *context, const struct gp_live_entry *entry)
{
	struct gp_record record;
	gp_live_to_record(entry, &record);
	save(context, &record);
}

/* `has_host`: with the records of host memory, which older recorders did not write. */
static void reload(bool is_backwards, bool has_host)
{
	struct gp_live *loaded = gp_live_open();
	assert_non_null(loaded);
	saves = 0;
	gp_live_totals(live, save, NULL);
	gp_live_walk_begin(live, save_entry, NULL);
	while (!gp_live_walk_more(live, 1))
		;
	for (size_t k = 0; k < saves; k++) {
		const struct gp_record *r = &saved[is_backwards ? saves - 1 - k : k];
		bool is_host = r->kind == GP_CURVE &&
			       (r->aux == GP_CURVE_PINNED || r->aux == GP_CURVE_REGISTERED);
		if (is_host)
			assert_int_equal(r->device, GP_DEVICE_UNKNOWN);
		if (has_host || !is_host)
			assert_int_equal(gp_live_apply(loaded, r), GP_OK);
	}
	gp_live_close(live);
	live = loaded;
}

static void a_checkpoint_carries_the_peak(void **state)
{
	(void)state;
	for (int is_backwards = 0; is_backwards < 2; is_backwards++) {
		order = 0;
		alloc(GP_SPACE_HOST, 0x1000, 4 * KIB);
		alloc(GP_SPACE_HOST_REGISTER, 0x8000, 8 * KIB);
		alloc(GP_SPACE_HOST, 0x4000, 16 * KIB);
		release(GP_SPACE_HOST, 0x4000);
		reload(is_backwards, true);
		assert_host(12 * KIB, 8 * KIB, 28 * KIB, 2, 8 * KIB);
		release(GP_SPACE_HOST_REGISTER, 0x8000);
		assert_host(4 * KIB, 0, 28 * KIB, 2, 8 * KIB);
		alloc(GP_SPACE_HOST, 0x4000, 32 * KIB);
		assert_host(36 * KIB, 0, 36 * KIB, 5, 0);
		gp_live_close(live);
		live = gp_live_open();
	}
}

/* Older recordings show the bytes that were live, which is a lower bound of the peak. */
static void without_host_records_the_peak_is_the_live_bytes(void **state)
{
	(void)state;
	alloc(GP_SPACE_HOST, 0x1000, 4 * KIB);
	alloc(GP_SPACE_HOST, 0x4000, 16 * KIB);
	release(GP_SPACE_HOST, 0x4000);
	alloc(GP_SPACE_HOST_REGISTER, 0x8000, 8 * KIB);
	reload(false, false);
	assert_host(12 * KIB, 8 * KIB, 12 * KIB, 3, 8 * KIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(allocated_and_registered_memory_is_pinned, begin,
						end),
		cmocka_unit_test_setup_teardown(a_refused_free_pins_on, begin, end),
		cmocka_unit_test_setup_teardown(the_end_of_a_context_unpins_its_memory, begin, end),
		cmocka_unit_test_setup_teardown(a_lost_free_does_not_count_twice, begin, end),
		cmocka_unit_test_setup_teardown(a_checkpoint_carries_the_peak, begin, end),
		cmocka_unit_test_setup_teardown(without_host_records_the_peak_is_the_live_bytes,
						begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
