/*
 * The moment of most unused memory: after a free, and not between a new segment and its first
 * block. For each device; the first of equals.
 */
#include "recording_writer.h"

#define MIB (UINT64_C(1) << 20)
#define BASE UINT64_C(0x7f0000000000)

struct job {
	struct writer w;
	uint64_t allocated[2], reserved[2];
};

static void segment(struct job *j, unsigned device, uint64_t at, uint64_t bytes)
{
	struct gp_record r = { .kind = GP_ALLOC,
			       .space = GP_SPACE_DEVICE,
			       .device = (uint8_t)device };
	r.alloc.address = BASE + at;
	r.alloc.bytes = bytes;
	put(&j->w, 0, r);
	r = (struct gp_record){ .kind = GP_SEGMENT_ALLOC, .device = (uint8_t)device, .code = 1 };
	r.segment_alloc.address = BASE + at;
	r.segment_alloc.bytes = bytes;
	put(&j->w, 0, r);
	j->reserved[device] += bytes;
}

static uint64_t block(struct job *j, unsigned kind, unsigned device, uint64_t at, uint64_t bytes)
{
	struct gp_record r = { .kind = (uint16_t)kind, .device = (uint8_t)device, .code = 1 };
	j->allocated[device] += kind == GP_BLOCK_ALLOC ? bytes : -bytes;
	r.block_alloc.address = BASE + at;
	r.block_alloc.bytes = bytes;
	r.block_alloc.allocated = j->allocated[device];
	r.block_alloc.reserved = j->reserved[device];
	put(&j->w, 0, r);
	return j->w.order;
}

static void job_open(struct job *j, const char *name)
{
	*j = (struct job){ 0 };
	writer_open(&j->w, name, 0, 0);
}

static struct gp_recording *job_end(struct job *j)
{
	struct gp_recording *r = fixture_read(&j->w);
	return r;
}

static void a_segment_without_its_block_is_passed_over(void **state)
{
	(void)state;
	struct job j;
	struct gp_unused_peak all[GP_DEVICES];
	job_open(&j, "unused.gpr");
	segment(&j, 0, 0, 20 * MIB);
	block(&j, GP_BLOCK_ALLOC, 0, 0, 6 * MIB);
	segment(&j, 0, 100 * MIB, 500 * MIB); /* 514 MiB unused, until its block is there */
	block(&j, GP_BLOCK_ALLOC, 0, 100 * MIB, 500 * MIB);
	uint64_t order = block(&j, GP_BLOCK_FREE, 0, 0, 6 * MIB);
	block(&j, GP_BLOCK_ALLOC, 0, 0, 6 * MIB);
	block(&j, GP_BLOCK_FREE, 0, 0, 6 * MIB); /* the same value again */
	struct gp_recording *r = job_end(&j);
	assert_int_equal(gp_unused_peak_find(r, all), GP_OK);
	assert_int_equal(all[0].bytes, 20 * MIB);
	assert_int_equal(all[0].reserved_bytes, 520 * MIB);
	assert_int_equal(all[0].order, order);
	assert_false(all[0].is_after_last);
	/* the state at that moment has the same value */
	struct gp_memory m;
	struct gp_moment_of moment = { .when = GP_WHEN_UNUSED, .device = GP_DEVICE_UNKNOWN };
	assert_int_equal(gp_memory_build(r, &moment, &m), GP_OK);
	assert_int_equal(m.at_ns, all[0].at_ns);
	assert_int_equal(m.device[0].reserved_bytes - m.device[0].allocated_bytes, 20 * MIB);
	gp_memory_free(&m);
	gp_recording_close(r);
}

static void each_device_has_its_own(void **state)
{
	(void)state;
	struct job j;
	struct gp_unused_peak all[GP_DEVICES];
	struct gp_memory m;
	job_open(&j, "unused_two.gpr");
	segment(&j, 0, 0, 40 * MIB);
	block(&j, GP_BLOCK_ALLOC, 0, 0, 30 * MIB);
	segment(&j, 1, 100 * MIB, 80 * MIB);
	block(&j, GP_BLOCK_ALLOC, 1, 100 * MIB, 75 * MIB);
	block(&j, GP_BLOCK_FREE, 0, 0, 30 * MIB);
	struct gp_recording *r = job_end(&j);
	assert_int_equal(gp_unused_peak_find(r, all), GP_OK);
	assert_int_equal(all[0].bytes, 40 * MIB);
	assert_int_equal(all[1].bytes, 5 * MIB);
	assert_true(all[0].is_after_last);
	assert_ptr_equal(gp_unused_peak_highest(all, GP_DEVICE_UNKNOWN), &all[0]);
	assert_ptr_equal(gp_unused_peak_highest(all, 1), &all[1]);
	assert_null(gp_unused_peak_highest(all, 2));
	struct gp_moment_of moment = { .when = GP_WHEN_UNUSED, .device = 1 };
	assert_int_equal(gp_memory_build(r, &moment, &m), GP_OK);
	assert_int_equal(m.at_ns, all[1].at_ns);
	gp_memory_free(&m);
	moment.device = 2;
	assert_int_equal(gp_memory_build(r, &moment, &m), GP_END);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_segment_without_its_block_is_passed_over),
		cmocka_unit_test(each_device_has_its_own),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
