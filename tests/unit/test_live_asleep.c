/*
 * Segments whose allocator returns their memory to the driver and keeps the addresses, as inference
 * servers do while they sleep. PyTorch reserves them meanwhile.
 */
#include "live_fixture.h"

#define MIB (UINT64_C(1) << 20)
#define BASE UINT64_C(0x7100000000)
#define SIZE (20 * MIB)
#define HANDLE 7

static void release(unsigned space, uint64_t address)
{
	put((struct gp_record){
		.kind = GP_FREE, .space = (uint8_t)space, .free.address = address });
}

static void wake(void)
{
	alloc(GP_SPACE_PHYSICAL, HANDLE, SIZE);
	put((struct gp_record){ .kind = GP_MAP, .map = { BASE, SIZE, HANDLE, 0 } });
}

static void go_to_sleep(void)
{
	put((struct gp_record){ .kind = GP_UNMAP, .unmap = { BASE, SIZE, 0, 0 } });
	release(GP_SPACE_PHYSICAL, HANDLE);
}

static void segment(enum gp_kind kind, unsigned arena, bool is_found)
{
	put((struct gp_record){ .kind = (uint16_t)kind,
				.code = (uint16_t)arena,
				.aux = is_found,
				.segment_alloc = { BASE, SIZE, 0, 0 } });
}

/* `allocated`: PyTorch's total after it, compared with ours; it reserves the segment. */
static void block(enum gp_kind kind, unsigned arena, uint64_t at, uint64_t allocated)
{
	put((struct gp_record){ .kind = (uint16_t)kind,
				.code = (uint16_t)arena,
				.block_alloc = { BASE + at, MIB, allocated, SIZE } });
}

/* A cached segment. */
static void begin_segment(unsigned arena)
{
	alloc(GP_SPACE_RESERVATION, BASE, SIZE);
	wake();
	if (arena != 0)
		segment(GP_SEGMENT_ALLOC, arena, false);
	block(GP_BLOCK_ALLOC, arena, 4 * MIB, MIB);
	block(GP_BLOCK_FREE, arena, 4 * MIB, 0);
}

static void figures_are(uint64_t driver, uint64_t reserved, uint64_t unmapped)
{
	const struct gp_live_device *d = gp_live_device(live, 0);
	assert_int_equal(d->curve[GP_CURVE_DRIVER].now_bytes, driver);
	assert_int_equal(d->curve[GP_CURVE_RESERVED].now_bytes, reserved);
	assert_int_equal(d->unmapped_bytes, unmapped);
	assert_int_equal(gp_live_mapped(d), reserved - unmapped);
	assert_int_equal(gp_live_count(live, GP_COUNT_MISMATCHES), 0);
	assert_int_equal(gp_live_count(live, GP_COUNT_ANOMALIES), 0);
}

static void segment_is_reserved_while_it_sleeps(void **state)
{
	(void)state;
	begin_segment(3);
	figures_are(SIZE, SIZE, 0);
	go_to_sleep();
	figures_are(0, SIZE, SIZE);
	block(GP_BLOCK_ALLOC, 3, 8 * MIB, MIB);
	figures_are(0, SIZE, SIZE);
	wake();
	figures_are(SIZE, SIZE, 0);
	assert_int_equal(gp_live_device(live, 0)->curve[GP_CURVE_RESERVED].peak_bytes, SIZE);
}

static void segment_ends_awake(void **state)
{
	(void)state;
	begin_segment(3);
	segment(GP_SEGMENT_FREE, 3, false); /* the allocator reports first */
	figures_are(SIZE, SIZE, 0);
	go_to_sleep();
	figures_are(0, 0, 0);
	release(GP_SPACE_RESERVATION, BASE);
	assert_int_equal(gp_live_entries(live), 0);
}

static void segment_ends_asleep(void **state)
{
	(void)state;
	begin_segment(3);
	go_to_sleep();
	segment(GP_SEGMENT_FREE, 3, false);
	figures_are(0, 0, 0);
	release(GP_SPACE_RESERVATION, BASE);
	figures_are(0, 0, 0);
	assert_int_equal(gp_live_entries(live), 0);
}

/* A reservation that is mapped completely is one segment: expandable segments never fill theirs. */
static void segment_without_details_sleeps(void **state)
{
	(void)state;
	begin_segment(0);
	go_to_sleep();
	figures_are(0, SIZE, SIZE);
	block(GP_BLOCK_ALLOC, 0, MIB, MIB);
	segment(GP_SEGMENT_ALLOC, 5, true); /* details begin */
	assert_int_equal(gp_live_find(live, GP_SPACE_SEGMENT, BASE)->stream, 5);
	figures_are(0, SIZE, SIZE);
	block(GP_BLOCK_FREE, 5, MIB, 0);
	release(GP_SPACE_RESERVATION, BASE);
	figures_are(0, 0, 0);
	assert_int_equal(gp_live_entries(live), 0);
}

static void found_segment_sleeps(void **state)
{
	(void)state;
	alloc(GP_SPACE_RESERVATION, BASE, SIZE);
	segment(GP_SEGMENT_ALLOC, 5, true);
	figures_are(0, SIZE, SIZE);
	wake();
	figures_are(SIZE, SIZE, 0);
	assert_int_equal(gp_live_find(live, GP_SPACE_SEGMENT, BASE)->flags, 0);
}

/* One of two pages: the reservation is expandable, so PyTorch itself unmaps. */
static void expandable_segment_is_reserved_as_mapped(void **state)
{
	(void)state;
	alloc(GP_SPACE_RESERVATION, BASE, 2 * SIZE);
	wake();
	block(GP_BLOCK_ALLOC, 0, 0, MIB);
	block(GP_BLOCK_FREE, 0, 0, 0);
	figures_are(SIZE, SIZE, 0);
	go_to_sleep();
	figures_are(0, 0, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(segment_is_reserved_while_it_sleeps),
		TEST(segment_ends_awake),
		TEST(segment_ends_asleep),
		TEST(segment_without_details_sleeps),
		TEST(found_segment_sleeps),
		TEST(expandable_segment_is_reserved_as_mapped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
