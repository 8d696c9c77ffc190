/*
 * Lanes of GPU time: their intervals are the operations, waits and gaps of other reports. Blocks
 * are read as gpuprof_lanes.h describes them, with no code of the encoder.
 */
#include "gpu_records.h"

#include "analyze/lanes/lane_store.h"
#include "format/varint.h"

#define INTERVALS_MOST 40000u
#define BLOCKS_MOST 256u

static struct block {
	unsigned char *bytes;
	size_t count;
} block[BLOCKS_MOST];
static size_t blocks, fail_at = SIZE_MAX;

static enum gp_status keep_block(void *context, const unsigned char *bytes, size_t count,
				 size_t *number)
{
	(void)context;
	assert_true(blocks < BLOCKS_MOST);
	if (blocks == fail_at)
		return GP_E_IO;
	block[blocks] = (struct block){ malloc(count + 1), count };
	memcpy(block[blocks].bytes, bytes, count);
	*number = blocks++;
	return GP_OK;
}

static const struct gp_lives_sink sink = { .write = keep_block };
static struct gp_lanes lanes;
static uint64_t column[3][INTERVALS_MOST];
/* of the blocks: duration and number by group */
static uint64_t sum_ns[INTERVALS_MOST], sum_count[INTERVALS_MOST];

static const unsigned char *take(const unsigned char *at, const unsigned char *end, uint64_t *n)
{
	at = gp_varint_get(at, end, n);
	assert_non_null(at);
	return at;
}

/* Returns the number of rows; the columns are in `column`. */
static size_t read_block(size_t number)
{
	const unsigned char *at = block[number].bytes, *end = at + block[number].count;
	uint64_t head[5];
	for (unsigned k = 0; k < 5; k++)
		at = take(at, end, &head[k]);
	assert_int_equal(head[4], 0);
	assert_in_range(head[0], 1, INTERVALS_MOST);
	for (unsigned c = 0; c < 3; c++) {
		const unsigned char *last = at + head[1 + c];
		for (size_t k = 0; k < head[0]; k++)
			at = take(at, last, &column[c][k]);
		assert_ptr_equal(at, last);
	}
	assert_ptr_equal(at, end);
	return head[0];
}

static int begin(void **state)
{
	(void)state;
	gpu_job_open("lanes.gpr");
	seed = 88172645463325252u;
	return 0;
}

static int end(void **state)
{
	(void)state;
	gp_lanes_free(&lanes);
	while (blocks > 0)
		free(block[--blocks].bytes);
	fail_at = SIZE_MAX;
	memset(sum_ns, 0, sizeof sum_ns);
	memset(sum_count, 0, sizeof sum_count);
	return 0;
}
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

/* Reads all blocks; intervals of a lane are in the order of their begin. */
static void read_lanes(void)
{
	for (size_t k = 0; k < lanes.lanes; k++) {
		const struct gp_lane *lane = &lanes.lane[k];
		uint64_t count = 0;
		for (size_t b = 0; b < lane->blocks; b++) {
			const size_t rows = read_block(lane->block[b]);
			for (size_t n = 0; n < rows; n++) {
				const int64_t step = (int64_t)gp_unzigzag(column[0][n]);
				assert_true(step >= 0 || (b == 0 && n == 0));
				assert_in_range(column[2][n], 0, lanes.groups - 1);
				sum_ns[column[2][n]] += column[1][n];
				sum_count[column[2][n]]++;
			}
			count += rows;
		}
		assert_int_equal(count, lane->count);
	}
	for (size_t k = 0; k < lanes.groups; k++) {
		const struct gp_lane_group *g = &lanes.group[k];
		assert_int_equal(sum_count[k], g->count - g->short_count);
		assert_int_equal(sum_ns[k], g->total_ns - g->short_ns);
	}
}

static uint64_t total_of(enum gp_interval_of of, const char *name)
{
	uint64_t sum = 0;
	for (size_t k = 0; k < lanes.groups; k++)
		if (lanes.group[k].of == of &&
		    (name == NULL || strcmp(lanes.text[lanes.group[k].name], name) == 0))
			sum += lanes.group[k].total_ns;
	return sum;
}

static struct gp_recording *build_lanes(void)
{
	gpu_clock_put();
	gpu_report(NULL);
	gpu_clock_put();
	struct gp_recording *r = fixture_read(&job.w);
	assert_int_equal(gp_lanes_build(r, &sink, &lanes), GP_OK);
	return r;
}

/* Two streams, copies, sets, graphs and waits of three threads. */
static void put_job(unsigned steps)
{
	gpu_clock_put();
	for (unsigned k = 0; k < steps; k++) {
		gpu_copy(0, 1, GP_COPY_TO_DEVICE, 4096);
		for (unsigned n = 0; n < 5; n++)
			gpu_launch(0, 1, (unsigned)draw(8), 3 + draw(20));
		gpu_launch(1, 2, 9, 7);
		gpu_graph(0, 1, 3);
		gpu_copy(0, 1, GP_COPY_FILL, 64);
		gpu_wait(k % 3, 1);
		gpu_pass(draw(100));
	}
}

static const enum gp_kernels_by keys[] = { GP_KERNELS_BY_NAME, GP_KERNELS_BY_OPERATOR,
					   GP_KERNELS_BY_LINE, GP_KERNELS_BY_PHASE };

static const char *key_of(const struct gp_lane_group *g, enum gp_kernels_by by)
{
	return lanes.text[by == GP_KERNELS_BY_NAME     ? g->name :
			  by == GP_KERNELS_BY_OPERATOR ? g->operator:
			  by == GP_KERNELS_BY_LINE     ? g->line :
							 g->phase];
}

static void assert_kernels(struct gp_recording *r, enum gp_kernels_by by)
{
	struct gp_kernels kernels;
	assert_int_equal(gp_kernels_build(r, by, INT64_MIN, INT64_MAX, GP_DEVICE_UNKNOWN, &kernels),
			 GP_OK);
	assert_true(kernels.rows > 0);
	for (size_t k = 0; k < kernels.rows; k++) {
		uint64_t sum = 0, count = 0;
		for (size_t n = 0; n < lanes.groups; n++) {
			const struct gp_lane_group *g = &lanes.group[n];
			const bool is_of = g->of == GP_INTERVAL_KERNEL &&
					   strcmp(key_of(g, by), kernels.row[k].key) == 0;
			sum += is_of ? g->total_ns : 0;
			count += is_of ? g->count : 0;
		}
		assert_int_equal(sum, kernels.row[k].total_ns);
		assert_int_equal(count, kernels.row[k].count);
	}
	assert_int_equal(total_of(GP_INTERVAL_COPY, "host_to_device"),
			 kernels.total_ns[GP_GPU_IS_COPY]);
	assert_int_equal(total_of(GP_INTERVAL_SET, "fill"), kernels.total_ns[GP_GPU_IS_SET]);
	gp_kernels_free(&kernels);
}

static void sums_are_those_of_kernels_and_waits(void **state)
{
	(void)state;
	put_job(200);
	struct gp_recording *r = build_lanes();
	read_lanes();
	assert_true(lanes.has_operations);
	assert_int_equal(lanes.shorter_than_ns, 0);
	for (unsigned by = 0; by < sizeof keys / sizeof *keys; by++)
		assert_kernels(r, keys[by]);
	struct gp_waits waits;
	assert_int_equal(gp_waits_build(r, 0, INT64_MAX, &waits), GP_OK);
	assert_true(waits.blocked_ns > 0 && waits.idle_ns > 0);
	assert_int_equal(total_of(GP_INTERVAL_WAIT, NULL), waits.blocked_ns);
	assert_int_equal(total_of(GP_INTERVAL_GAP, NULL), waits.idle_ns);
	gp_waits_free(&waits);
	gp_recording_close(r);
}

/* The lanes of a kind; each has one stream or thread. */
static size_t lanes_of(enum gp_lane_of of)
{
	size_t count = 0;
	for (size_t k = 0; k < lanes.lanes; k++)
		count += lanes.lane[k].of == of;
	return count;
}

static void each_stream_and_thread_has_a_lane(void **state)
{
	(void)state;
	put_job(10);
	gp_recording_close(build_lanes());
	assert_int_equal(lanes_of(GP_LANE_OF_STREAM), 2);
	assert_int_equal(lanes_of(GP_LANE_OF_WAITS), 3);
	assert_int_equal(lanes_of(GP_LANE_OF_GAPS), 1);
	for (size_t k = 0; k < lanes.lanes; k++)
		assert_true(lanes.lane[k].of != GP_LANE_OF_STREAM || lanes.lane[k].id == 8 ||
			    lanes.lane[k].id == 9);
}

/* Operations of 300 contexts: the last lane has those beyond the bound. */
static void further_streams_share_a_lane(void **state)
{
	(void)state;
	gpu_clock_put();
	for (uint16_t k = 0; k < 300; k++) {
		gpu_launch(0, 1, k % 8, 5);
		job.done[job.dones - 1].code = k;
	}
	gp_recording_close(build_lanes());
	read_lanes();
	uint64_t alone = 0, shared = 0;
	for (size_t k = 0; k < lanes.lanes; k++)
		if (lanes.lane[k].of == GP_LANE_OF_STREAM)
			*(lanes.lane[k].is_rest ? &shared : &alone) += lanes.lane[k].count;
	assert_in_range(lanes_of(GP_LANE_OF_STREAM), 120, GP_LANES_MOST + 1);
	assert_true(shared > 100);
	assert_int_equal(alone + shared, 300);
}

/* Each launch has a stack of its own. Those beyond the bound have no place, but all are counted. */
static void sums_stay_with_too_many_stacks(void **state)
{
	(void)state;
	gpu_clock_put();
	for (unsigned k = 0; k < GP_LANE_GROUPS_MOST + 2000; k++) {
		const uint32_t call = gpu_call_kernel(0, 1, k % 8);
		job.correlation++;
		gpu_kernel(1, k % 8, call, job.w.time, 2, 0);
	}
	struct gp_recording *r = build_lanes();
	read_lanes();
	assert_kernels(r, GP_KERNELS_BY_NAME);
	uint64_t beyond = 0;
	for (size_t k = 0; k < lanes.groups; k++)
		if (strstr(lanes.text[lanes.group[k].line], "beyond") != NULL)
			beyond += lanes.group[k].count;
	assert_int_equal(beyond, 2000);
	gp_recording_close(r);
}

static void nothing_is_written_without_gpu_time(void **state)
{
	(void)state;
	job.is_hidden = true;
	put_job(3);
	struct gp_recording *r = fixture_read(&job.w);
	assert_int_equal(gp_lanes_build(r, &sink, &lanes), GP_OK);
	gp_recording_close(r);
	assert_false(lanes.has_operations);
	assert_int_equal(blocks, 0);
}

static void failures_of_the_sink_end_it(void **state)
{
	(void)state;
	put_job(3);
	fail_at = 1;
	gpu_report(NULL);
	gpu_clock_put();
	struct gp_recording *r = fixture_read(&job.w);
	assert_int_equal(gp_lanes_build(r, &sink, &lanes), GP_E_IO);
	gp_recording_close(r);
}

/* ---- the store ---- */

/* Sums stay, whatever is left out; the bound is the least of its kind. */
static void short_intervals_are_added_up(void **state)
{
	(void)state;
	seed = 88172645463325252u;
	struct gp_lane_store s = { .most = 500, .from_ns = 1000, .part_ns = 4096 };
	uint64_t all_ns = 0, kept_ns = 0, part_ns = 0, begun = 0, by_group = 0;
	for (unsigned k = 0; k < 3000; k++) {
		const struct gp_lane_row row = { .begin_ns = (int64_t)draw(40000000),
						 .took_ns = draw(1u << draw(20)),
						 .lane = (uint32_t)draw(3),
						 .group = (uint32_t)draw(7) };
		all_ns += row.took_ns;
		gp_lane_store_add(&s, &row);
	}
	assert_false(s.is_out_of_memory);
	assert_in_range(s.rows, 400, 500);
	gp_lane_store_sort(&s);
	for (size_t k = 0; k < s.rows; k++) {
		assert_true(s.row[k].took_ns >= s.shorter_than_ns);
		assert_true(k == 0 || s.row[k - 1].lane < s.row[k].lane ||
			    (s.row[k - 1].lane == s.row[k].lane &&
			     s.row[k - 1].begin_ns <= s.row[k].begin_ns));
		kept_ns += s.row[k].took_ns;
	}
	for (unsigned lane = 0; lane < 3; lane++)
		for (unsigned k = 0; k < GP_LANE_PARTS_MOST; k++) {
			part_ns += s.part[lane][k].ns;
			begun += s.part[lane][k].count;
		}
	for (unsigned k = 0; k < 7; k++)
		by_group += s.group[k].ns;
	assert_int_equal(kept_ns + part_ns, all_ns);
	assert_int_equal(by_group, part_ns);
	assert_int_equal(s.rows + begun, 3000);
	gp_lane_store_release(&s);
}

/* An interval is divided at the borders of parts; off the axis it is in the first or last one. */
static void parts_divide_intervals(void **state)
{
	(void)state;
	struct gp_lane_store s = { .from_ns = 0, .part_ns = 100, .shorter_than_ns = 1000 };
	const int64_t last_ns = 100 * (int64_t)GP_LANE_PARTS_MOST;
	const struct gp_lane_row row[] = { { 150, 260, 0, 0 },
					   { -70, 20, 0, 0 },
					   { last_ns - 10, 500, 0, 0 },
					   { last_ns + 77, 5, 0, 0 } };
	for (unsigned k = 0; k < 4; k++)
		gp_lane_store_add(&s, &row[k]);
	const struct gp_lane_part *part = s.part[0];
	const uint64_t ns[] = { 20, 50, 100, 100, 10, 0 }, count[] = { 1, 1, 0, 0, 0, 0 };
	for (unsigned k = 0; k < 6; k++) {
		assert_int_equal(part[k].ns, ns[k]);
		assert_int_equal(part[k].count, count[k]);
	}
	assert_int_equal(part[GP_LANE_PARTS_MOST - 1].ns, 505);
	assert_int_equal(part[GP_LANE_PARTS_MOST - 1].count, 2);
	gp_lane_store_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sums_are_those_of_kernels_and_waits),
		TEST(each_stream_and_thread_has_a_lane),
		TEST(further_streams_share_a_lane),
		TEST(sums_stay_with_too_many_stacks),
		TEST(nothing_is_written_without_gpu_time),
		TEST(failures_of_the_sink_end_it),
		cmocka_unit_test(short_intervals_are_added_up),
		cmocka_unit_test(parts_divide_intervals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
