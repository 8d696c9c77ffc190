/*
 * How much a flight recorder keeps. A segment ends when its slot is full, for any number of events;
 * figures of the file's size leave out space without blocks.
 */
#include "recorded_child.h"

#include "gpuprof.h"

#define RING "16M"
#define RING_BYTES (16u << 20)
#define EVENTS_MANY 8000000u /* some 3 bytes each: more than the ring holds */
#define EVENTS_FEW 400000u   /* a small part of it */

static void put_events(uint64_t events)
{
	uint64_t random = 88172645463325252u;
	for (uint64_t k = 0; k < events / 2; k++) {
		/* xorshift64 (Marsaglia 2003): addresses that a block cannot predict */
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		const uint64_t address = 0x7f0000000000u + (random & 0xfffffe00u);
		put_memory(GP_ALLOC, address);
		put_memory(GP_FREE, address);
	}
}

static void put_many(void)
{
	put_events(EVENTS_MANY);
}

static void put_few(void)
{
	put_events(EVENTS_FEW);
}

static void read_info(const char *name, struct gp_info *info)
{
	char path[128];
	struct gp_recording *recording = NULL;
	struct gp_damage damage;
	const struct gp_info *all;
	name_of(path, sizeof path, name);
	assert_int_equal(gp_recording_open(path, &recording, &damage), GP_OK);
	assert_int_equal(gp_recording_info(recording, &all), GP_OK);
	*info = *all; /* its lists end with the recording */
	gp_recording_close(recording);
}

static void test_keeps_most_of_its_size(void **state)
{
	(void)state;
	struct gp_info info;
	assert_int_equal(in_child("wrapped.gpr", RING, put_many), 0);
	read_info("wrapped.gpr", &info);
	assert_true(info.kept_from_ns > 0); /* the ring wrapped */
	/* at least 400 of 512 */
	assert_in_range(info.kept_bytes, (uint64_t)RING_BYTES * 400 / 512, RING_BYTES);
	assert_true(info.file_bytes <= RING_BYTES + GP_FILE_HEADER);
}

static void test_empty_space_does_not_count(void **state)
{
	(void)state;
	struct gp_info all, slots;
	assert_int_equal(in_child("all.gpr", "0", put_few), 0);
	assert_int_equal(in_child("slots.gpr", "64M", put_few), 0);
	read_info("all.gpr", &all);
	read_info("slots.gpr", &slots);
	assert_int_equal(all.counts[GP_ALLOC], slots.counts[GP_ALLOC]);
	/* one segment each, with the same blocks; only their times differ */
	assert_in_range(slots.kept_bytes, all.kept_bytes * 9 / 10, all.kept_bytes * 11 / 10);
	assert_true(all.kept_bytes < all.file_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps_most_of_its_size),
		cmocka_unit_test(test_empty_space_does_not_count),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
