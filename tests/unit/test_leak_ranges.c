/* The range that is reported with a leak contains all of its live blocks. */
#include "range_records.h"

enum { TURNS = 40, STEPS = 100, FORWARD_BYTES = 512, TWO_BYTES = 1024, OUTSIDE_BYTES = 2048 };

static uint64_t next_address;

static void keep(struct writer *w, uint64_t bytes)
{
	put_alloc(w, 0, next_address += 0x10000, bytes);
}

/*
 * One stack leaks in the forward, one in turns there and in the backward, one also between steps.
 */
static struct gp_recording *record_loop(struct gp_leaks *leaks)
{
	static struct writer w;
	next_address = 0x700000000000;
	begin(&w, "leak_ranges.gpr");
	for (unsigned k = 0; k < TURNS; k++) {
		char text[16];
		snprintf(text, sizeof text, "step %u", k);
		define_name(&w, STEPS + k, text);
		put_push(&w, 0, STEPS + k, GP_RANGE_NVTX);
		put_push(&w, 0, FORWARD, GP_RANGE_NVTX);
		put_launch(&w, 0);
		keep(&w, FORWARD_BYTES);
		if (k % 2)
			keep(&w, TWO_BYTES);
		put_pop(&w, 0, GP_RANGE_NVTX);
		put_push(&w, 0, BACKWARD, GP_RANGE_NVTX);
		put_launch(&w, 0);
		if (k % 2 == 0)
			keep(&w, TWO_BYTES);
		else
			keep(&w, OUTSIDE_BYTES);
		put_pop(&w, 0, GP_RANGE_NVTX);
		put_pop(&w, 0, GP_RANGE_NVTX);
		if (k % 2 == 0)
			keep(&w, OUTSIDE_BYTES);
	}
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_leaks_build(r, INT64_MIN, INT64_MAX, leaks), GP_OK);
	return r;
}

static const struct gp_leak *find_leak(const struct gp_leaks *leaks, uint64_t size)
{
	for (size_t k = 0; k < leaks->leaks; k++)
		if (leaks->leak[k].size == size)
			return &leaks->leak[k];
	fail_msg("no leak of %u bytes", (unsigned)size);
	return NULL;
}

static void names_that_count_up_are_folded(void **state)
{
	(void)state;
	struct gp_leaks leaks;
	char text[256];
	struct gp_recording *r = record_loop(&leaks);
	assert_int_equal(leaks.steps.source, GP_STEPS_RANGES);
	assert_int_equal(leaks.leaks, 3);
	gp_range_path_text(find_leak(&leaks, FORWARD_BYTES)->range, text, sizeof text);
	assert_string_equal(text, "step # > forward");
	gp_range_path_text(find_leak(&leaks, TWO_BYTES)->range, text, sizeof text);
	assert_string_equal(text, "step #");
	assert_null(find_leak(&leaks, OUTSIDE_BYTES)->range);
	gp_leaks_free(&leaks);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_count_up_are_folded),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
