/*
 * The state of memory at many moments of real recordings. Blocks and gaps cover their segments. The
 * segments add up to the reserved bytes, the blocks to the allocated bytes, and segments with
 * memory outside of them to the driver's bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpuprof.h"
#include "recordings.h"

#define MOMENTS 60u

static void assert_tiles(const struct gp_memory *m, const struct gp_memory_segment *s)
{
	uint64_t at = s->address, allocated = 0;
	for (size_t i = s->first; i < s->first + s->blocks; i++) {
		const struct gp_memory_block *b = &m->block[i];
		bool is_gap = b->state == GP_STATE_FREE;
		assert_int_equal(b->address, at);
		assert_true(b->bytes > 0);
		assert_false(is_gap && i > s->first && b[-1].state == GP_STATE_FREE);
		at += b->bytes;
		allocated += b->state == GP_STATE_ALLOCATED ? b->bytes : 0;
	}
	assert_int_equal(at, s->address + s->bytes);
	assert_int_equal(allocated, s->allocated_bytes);
}

static void assert_adds_up(const struct gp_memory *m, const struct gp_memory_device *d)
{
	uint64_t reserved = 0, allocated = 0, active = 0, outside = 0, empty = 0;
	for (size_t i = d->first_segment; i < d->first_segment + d->segments; i++) {
		const struct gp_memory_segment *s = &m->segment[i];
		assert_int_equal(s->device, d->device);
		assert_true(s->arena < m->arenas);
		assert_true(i == d->first_segment || s->address >= s[-1].address + s[-1].bytes);
		assert_tiles(m, s);
		reserved += s->bytes;
		allocated += s->allocated_bytes;
		active += s->active_bytes;
		empty += s->active_bytes == 0 ? s->bytes : 0;
	}
	for (size_t i = d->first_outside; i < d->first_outside + d->outsides; i++) {
		assert_int_equal(m->outside[i].device, d->device);
		outside += m->outside[i].bytes;
	}
	/*
	 * a segment is recorded before its first block, and the framework's total grows with that
	 * block
	 */
	assert_in_range(d->reserved_bytes, reserved - empty, reserved);
	assert_int_equal(allocated, d->allocated_bytes);
	assert_int_equal(active, d->active_bytes);
	assert_int_equal(reserved + outside, d->driver_bytes);
}

static bool assert_recording(const char *path)
{
	struct gp_recording *r;
	struct gp_memory m;
	assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
	assert_int_equal(gp_memory_build(r, &(struct gp_moment_of){ .when = GP_WHEN_END }, &m),
			 GP_OK);
	uint64_t orders = m.order;
	gp_memory_free(&m);
	for (uint64_t i = 0; i <= MOMENTS; i++) {
		const struct gp_moment_of at = { .when = GP_WHEN_ORDER,
						 .number = orders * i / MOMENTS };
		assert_int_equal(gp_memory_build(r, &at, &m), GP_OK);
		assert_int_equal(m.order, at.number);
		assert_false(m.is_uncertain);
		for (size_t d = 0; d < m.devices; d++)
			assert_adds_up(&m, &m.device[d]);
		gp_memory_free(&m);
	}
	gp_recording_close(r);
	return true;
}

static void every_recording_adds_up(void **state)
{
	(void)state;
	assert_true(recordings_visit(assert_recording) >= 5);
}

/* Before its OOM the job held the bytes that its own figures show. */
static void out_of_memory_of_a_gpu_is_found(void **state)
{
	(void)state;
	char path[1024];
	struct gp_recording *r;
	struct gp_memory m;
	snprintf(path, sizeof path, "%s/h200_gpt_oom.gpr", recordings_directory());
	assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
	assert_int_equal(gp_memory_build(r, &(struct gp_moment_of){ .when = GP_WHEN_OOM }, &m),
			 GP_OK);
	assert_true(m.device[0].reserved_bytes > 100ull << 30);
	assert_adds_up(&m, &m.device[0]);
	gp_memory_free(&m);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_recording_adds_up),
		cmocka_unit_test(out_of_memory_of_a_gpu_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
