/* Calls of ranges in contradictory recordings: each call has a path. */
#include "range_records.h"

/* A started range of the source that only the reader gives, and a usual one. */
static void a_started_range_of_any_source_has_a_path(void **state)
{
	(void)state;
	struct writer w;
	begin(&w, "calls.gpr");
	put_push(&w, 1, STEP, GP_RANGE_NVTX);
	for (unsigned k = 0; k < 2; k++)
		put(&w, 1,
		    (struct gp_record){
			    .kind = GP_RANGE_START,
			    .device = GP_DEVICE_UNKNOWN,
			    .aux = DATA,
			    .range_start = { .source = k == 0 ? GP_RANGE_DERIVED : GP_RANGE_NVTX,
					     .range = 7 + k } });
	put_launch(&w, 1);
	put_pop(&w, 1, GP_RANGE_NVTX);
	struct gp_recording *r = fixture_read(&w);
	struct gp_gpu gpu;
	size_t calls;
	assert_int_equal(gp_gpu_build(r, true, &gpu), GP_OK);
	const struct gp_range_call *call = gp_range_paths_calls(gpu.ranges, &calls);
	assert_true(calls >= 2);
	for (size_t k = 1; k <= calls; k++)
		assert_non_null(gp_range_paths_called(gpu.ranges, &call[k])->name);
	gp_gpu_free(&gpu);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_started_range_of_any_source_has_a_path),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
