/* The live memory that arguments of launches point to, joined to the kernels of the GPU. */
#include "gpu_records.h"

#include "gpuprof.h"

#define MIB (1ull << 20)
#define SEGMENT 0x7000000000ull
#define BLOCK(k) (SEGMENT + (k)*16 * MIB)

static struct gp_kernels kernels;
static uint64_t allocated;

static void block(unsigned k, uint64_t bytes)
{
	allocated += bytes;
	put(&job.w, 2,
	    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
				.block_alloc = { BLOCK(k), bytes, allocated, 256 * MIB } });
}

static void unblock(unsigned k, uint64_t bytes)
{
	allocated -= bytes;
	put(&job.w, 2,
	    (struct gp_record){ .kind = GP_BLOCK_FREE,
				.block_free = { BLOCK(k), bytes, allocated, 256 * MIB } });
}

static void use(unsigned thread, uint64_t first, uint64_t second)
{
	put(&job.w, thread,
	    (struct gp_record){ .kind = GP_USE, .aux = GP_USE_LAUNCH, .use = { first, second } });
}

static int begin(void **state)
{
	(void)state;
	gpu_job_open("arguments.gpr");
	job.is_scanned = true;
	allocated = 0;
	put(&job.w, 2,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = GP_SPACE_DEVICE,
				.alloc = { .address = SEGMENT, .bytes = 256 * MIB } });
	block(0, 1 * MIB);
	block(1, 2 * MIB);
	block(2, 4 * MIB);
	gpu_clock_put();
	return 0;
}

static void build(void)
{
	gpu_report(NULL);
	struct gp_recording *r = fixture_read(&job.w);
	assert_int_equal(gp_kernels_build(r, GP_KERNELS_BY_NAME, INT64_MIN, INT64_MAX,
					  GP_DEVICE_UNKNOWN, &kernels),
			 GP_OK);
	gp_recording_close(r);
}

static int end(void **state)
{
	(void)state;
	gp_kernels_free(&kernels);
	return 0;
}

static uint64_t bytes_of(unsigned kernel)
{
	char name[32];
	snprintf(name, sizeof name, "kernel%02u", kernel / 2);
	for (size_t k = 0; k < kernels.rows; k++)
		if (strstr(kernels.row[k].key, name) != NULL)
			return kernels.row[k].argument_bytes;
	fail();
	return 0;
}

/* Each allocation counts once, wherever in it the addresses lie; of several launches the median. */
static void distinct_blocks_are_added_up(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		gpu_launch(0, 1, 0, 5);
		use(0, BLOCK(0), BLOCK(1) + 4096);
		use(0, BLOCK(1), BLOCK(0) + 12);
		use(0, k == 0 ? BLOCK(2) : 0, BLOCK(0) + 8 * MIB); /* the last is in a gap */
		gpu_pass(20);
	}
	gpu_launch(0, 1, 2, 5); /* points to no memory */
	gpu_pass(20);
	build();
	assert_true(kernels.has_arguments);
	assert_int_equal(bytes_of(0), 3 * MIB);
	assert_int_equal(bytes_of(2), 0);
}

/* A block at the same address later is another one. */
static void blocks_are_those_of_the_launch(void **state)
{
	(void)state;
	gpu_launch(0, 1, 0, 5);
	use(0, BLOCK(2), 0);
	unblock(2, 4 * MIB);
	gpu_pass(20);
	gpu_launch(0, 1, 2, 5);
	use(0, BLOCK(2), BLOCK(0));
	block(2, 8 * MIB);
	gpu_pass(20);
	gpu_launch(0, 1, 4, 5);
	use(0, BLOCK(2), 0);
	gpu_pass(20);
	build();
	assert_int_equal(bytes_of(0), 4 * MIB);
	assert_int_equal(bytes_of(2), 1 * MIB);
	assert_int_equal(bytes_of(4), 8 * MIB);
}

/* Uses belong to the last launch of their own thread. */
static void threads_are_kept_apart(void **state)
{
	(void)state;
	gpu_launch(0, 1, 0, 5);
	gpu_launch(1, 2, 2, 5);
	use(0, BLOCK(0), 0);
	use(1, BLOCK(0), BLOCK(1));
	use(0, BLOCK(0), BLOCK(2));
	gpu_pass(20);
	build();
	assert_int_equal(bytes_of(0), 5 * MIB);
	assert_int_equal(bytes_of(2), 3 * MIB);
}

/* Launches that were not scanned, and graphs, are unknown; uses of captured launches count not. */
static void unknown_is_not_zero(void **state)
{
	(void)state;
	gpu_launch(0, 1, 0, 5);
	use(0, BLOCK(0), 0);
	put(&job.w, 0,
	    (struct gp_record){
		    .kind = GP_USE, .aux = GP_USE_LAUNCH | GP_USE_CAPTURED, .use = { BLOCK(1) } });
	put(&job.w, 0,
	    (struct gp_record){ .kind = GP_USE, .aux = GP_USE_COPY, .use = { BLOCK(2) } });
	gpu_pass(20);
	job.is_scanned = false;
	gpu_launch(0, 1, 2, 5);
	gpu_pass(20);
	gpu_graph(0, 1, 6);
	build();
	assert_int_equal(bytes_of(0), 1 * MIB);
	assert_int_equal(bytes_of(2), UINT64_MAX);
	assert_int_equal(bytes_of(4), UINT64_MAX);
}

static void recording_without_uses_has_no_column(void **state)
{
	(void)state;
	job.is_scanned = false;
	gpu_launch(0, 1, 0, 5);
	build();
	assert_false(kernels.has_arguments);
	assert_int_equal(bytes_of(0), UINT64_MAX);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(distinct_blocks_are_added_up),
		TEST(blocks_are_those_of_the_launch),
		TEST(threads_are_kept_apart),
		TEST(unknown_is_not_zero),
		TEST(recording_without_uses_has_no_column),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
