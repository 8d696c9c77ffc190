/* The settings in PYTORCH_CUDA_ALLOC_CONF, and their effect on a request. */
#include "memory_layout.h"

static void settings_are_read_as_the_allocator_reads_them(void **state)
{
	(void)state;
	struct gp_allocator_settings s;
	gp_allocator_settings_read(NULL, &s);
	assert_int_equal(s.max_split_bytes, UINT64_MAX);
	assert_int_equal(gp_allocator_rounded(&s, 1), 512);
	assert_int_equal(gp_allocator_rounded(&s, 513), 1024);
	gp_allocator_settings_read("expandable_segments:True,max_split_size_mb:128,"
				   "roundup_power2_divisions:[256:1,512:2,1024:4,>:8],"
				   "garbage_collection_threshold:0.8, large_segment_size_mb:32",
				   &s);
	assert_true(s.is_expandable);
	assert_int_equal(s.max_split_bytes, 128 * MIB);
	assert_int_equal(s.large_segment_bytes, 32 * MIB);
	const unsigned divisions[GP_ROUNDUP_BUCKETS] = { 1, 1, 1, 1, 1, 1, 1, 1,
							 1, 2, 4, 8, 8, 8, 8, 8 };
	for (unsigned k = 0; k < GP_ROUNDUP_BUCKETS; k++)
		assert_int_equal(s.roundup_divisions[k], divisions[k]);
	assert_int_equal(gp_allocator_rounded(&s, (uint64_t)(513 * MIB)), 768 * MIB);
	assert_int_equal(gp_allocator_rounded(&s, (uint64_t)(100 * MIB + 1)), 100 * MIB + 512);
	gp_allocator_settings_read("roundup_power2_divisions:4", &s);
	assert_int_equal(gp_allocator_rounded(&s, 1200), 1536);
	assert_int_equal(gp_allocator_rounded(&s, 4097), 5120);
	gp_allocator_settings_read("nonsense,max_split_size_mb,:,[[", &s);
	assert_int_equal(s.max_split_bytes, UINT64_MAX);
}

static void blanks_and_lists_make_no_difference(void **state)
{
	(void)state;
	struct gp_allocator_settings s;
	gp_allocator_settings_read(" max_split_size_mb : 64 ,\texpandable_ segments: True", &s);
	assert_int_equal(s.max_split_bytes, 64 * MIB);
	assert_true(s.is_expandable);
	assert_string_equal(s.not_known, "");
	/*
	 * the first key also applies to smaller sizes; other sizes without a key have no divisions
	 */
	gp_allocator_settings_read("roundup_power2_divisions:[4:2,16:8],max_split_size_mb:32", &s);
	const unsigned divisions[GP_ROUNDUP_BUCKETS] = { 2, 2, 2, 0, 8 };
	assert_memory_equal(s.roundup_divisions, divisions, sizeof divisions);
	assert_int_equal(s.max_split_bytes, 32 * MIB);
	/* a single key '>' applies from the second size on */
	gp_allocator_settings_read("roundup_power2_divisions:[>:4]", &s);
	assert_int_equal(s.roundup_divisions[0], 0);
	assert_int_equal(s.roundup_divisions[1], 4);
	assert_int_equal(s.roundup_divisions[GP_ROUNDUP_BUCKETS - 1], 4);
	gp_allocator_settings_read("roundup_power2_divisions:[4", &s);
	gp_allocator_settings_read("roundup_power2_divisions:[4:2,", &s);
	gp_allocator_settings_read("roundup_power2_divisions:[0:2]", &s);
	assert_int_equal(s.roundup_divisions[0], 0);
}

/* As recordings have the settings: with the variables' names. */
static void settings_are_of_the_variable_that_counts(void **state)
{
	(void)state;
	struct gp_allocator_settings s;
	gp_allocator_settings_read("PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:4 "
				   "PYTORCH_ALLOC_CONF=roundup_power2_divisions:4",
				   &s);
	assert_int_equal(s.roundup_divisions[15], 4);
	assert_int_equal(gp_allocator_rounded(&s, 19398656), 20 * MIB);
	assert_string_equal(s.not_known, "");
	gp_allocator_settings_read("PYTORCH_ALLOC_CONF=expandable_segments:True", &s);
	assert_true(s.is_expandable);
	gp_allocator_settings_read("PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64, backend:native "
				   "PYTORCH_ALLOC_CONF=expandable_segments:True",
				   &s);
	assert_int_equal(s.max_split_bytes, 64 * MIB);
	assert_false(s.is_expandable);
	assert_non_null(strstr(s.not_known, "PYTORCH_ALLOC_CONF differ"));
	size_t bytes;
	const char *value = gp_allocator_settings_value("PYTORCH_CUDA_ALLOC_CONF=a:1 "
							"PYTORCH_ALLOC_CONF=b:2",
							&bytes);
	assert_int_equal(bytes, 3);
	assert_memory_equal(value, "a:1", 3);
	assert_null(gp_allocator_settings_value(NULL, &bytes));
}

static void unknown_settings_are_listed(void **state)
{
	(void)state;
	struct gp_allocator_settings s;
	gp_allocator_settings_read("garbage_collection_threshold:0.8,pinned_use_background_threads:"
				   "True,backend:native,release_lock_on_cudamalloc:True",
				   &s);
	assert_string_equal(s.not_known, "");
	gp_allocator_settings_read("of_the_future:[1:2,3:4],expandable_segments:True,other:1", &s);
	assert_true(s.is_expandable);
	assert_non_null(strstr(s.not_known, "of_the_future"));
	assert_non_null(strstr(s.not_known, "other"));
	gp_allocator_settings_read("backend:cudaMallocAsync", &s);
	assert_non_null(strstr(s.not_known, "cudaMallocAsync"));
	char many[4096] = "";
	for (unsigned k = 0; k < 40; k++)
		strcat(many, "a_setting_with_a_name_that_is_rather_long:True,");
	gp_allocator_settings_read(many, &s);
	assert_int_equal(strlen(s.not_known), sizeof s.not_known - 1);
}

/*
 * A gap of 19398656 bytes, seen on an H200 with 4 divisions. It serves requests that are rounded to
 * 16 MiB; 2 bytes more are rounded to 20 MiB, which is also the size requested for segments.
 */
static void a_request_is_as_large_as_its_division(void **state)
{
	(void)state;
	struct layout l;
	struct gp_allocator_settings s;
	layout_open(&l);
	gp_allocator_settings_read("PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:4", &s);
	LAYOUT_SEGMENT(&l, 1, LARGE, 4 * MIB, -INT64_C(19398656), 2 * MIB);
	LAYOUT_SEGMENT(&l, 1, SMALL, 512, -INT64_C(730112), 2 * MIB - 512 - INT64_C(730112));
	l.device.used_bytes = l.device.total_bytes - 224395264;
	l.device.used_driver_bytes = l.device.driver_bytes;
	struct gp_frag_question q = { .settings = &s, .fit_bytes = (uint64_t)(16 * MIB + 1) };
	struct gp_frag f;
	assert_int_equal(gp_frag_build(&l.memory, 0, &q, &f), GP_OK);
	assert_int_equal(f.largest_request_bytes, 16 * MIB);
	assert_int_equal(f.largest_released_bytes, 192 * MIB);
	assert_int_equal(f.pools, 2);
	assert_int_equal(f.pool[1].largest_request_bytes, 640 * KIB);
	assert_int_equal(f.fit.rounded_bytes, 20 * MIB);
	assert_false(f.fit.is_served);
	assert_true(f.fit.is_served_released);
	gp_frag_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_are_read_as_the_allocator_reads_them),
		cmocka_unit_test(blanks_and_lists_make_no_difference),
		cmocka_unit_test(settings_are_of_the_variable_that_counts),
		cmocka_unit_test(unknown_settings_are_listed),
		cmocka_unit_test(a_request_is_as_large_as_its_division),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
