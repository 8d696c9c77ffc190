/*
 * Calls of NCCL and their kernels: groups, shared time, lost pops, communicators that report late,
 * overlap. Each figure is compared with that of the invented job.
 */
#include "gpu_records.h"

#define NCCL_KERNEL 20u /* named as NCCL's */
#define WORLD 0xabcdefu
enum { DOMAIN = 1, START, END, REDUCE, GATHER, SEND, RECV, OTHER };

static uint32_t depth[4];

static void push(unsigned thread, uint32_t name)
{
	put(&job.w, thread,
	    (struct gp_record){ .kind = GP_RANGE_PUSH,
				.device = GP_DEVICE_UNKNOWN,
				.aux = name,
				.range_push = { GP_RANGE_NVTX, name == OTHER ? 0 : DOMAIN,
						depth[thread]++, 0 } });
}

static void pop_of(unsigned thread, uint32_t name)
{
	put(&job.w, thread,
	    (struct gp_record){ .kind = GP_RANGE_POP,
				.device = GP_DEVICE_UNKNOWN,
				.range_pop = { GP_RANGE_NVTX, name == OTHER ? 0 : DOMAIN,
					       --depth[thread], 0 } });
}

static void collective(unsigned thread, uint32_t operation, uint64_t communicator, uint64_t bytes,
		       uint32_t peer)
{
	put(&job.w, thread,
	    (struct gp_record){ .kind = GP_COLLECTIVE,
				.device = GP_DEVICE_UNKNOWN,
				.aux = operation,
				.collective = { communicator, bytes, peer, 0 } });
}

/* `took_us` 0: no kernel. */
static void call(unsigned thread, uint32_t name, uint32_t operation, uint64_t bytes, uint32_t peer,
		 uint64_t took_us)
{
	push(thread, name);
	collective(thread, operation, WORLD, bytes, peer);
	if (took_us != 0)
		gpu_launch(thread, 1 + thread, NCCL_KERNEL, took_us);
	pop_of(thread, name);
}

static void group_start(unsigned thread)
{
	push(thread, START);
	pop_of(thread, START);
}

static void group_end(unsigned thread, uint64_t took_us)
{
	push(thread, END);
	gpu_launch(thread, 1 + thread, NCCL_KERNEL, took_us);
	pop_of(thread, END);
}

static void communicator(uint32_t number, uint64_t id, uint64_t ranks, uint64_t rank)
{
	gpu_put_text(0,
		     (struct gp_record){ .kind = GP_COMMUNICATOR,
					 .aux = number,
					 .communicator = { id, ranks, rank, 0 } },
		     "");
}

static void job_begin(const char *file)
{
	static const char *const names[] = { "NCCL",	      "ncclGroupStart",
					     "ncclGroupEnd",  "ncclAllReduce",
					     "ncclAllGather", "ncclSend",
					     "ncclRecv",      "step" };
	static const char kernel[] = "_Z31ncclDevKernel_AllReduce_Sum_f32v";
	gpu_job_open(file);
	memset(depth, 0, sizeof depth);
	for (uint32_t k = 0; k < OTHER; k++)
		gpu_put_text(0,
			     (struct gp_record){ .kind = GP_RANGE_NAME,
						 .aux = k + 1,
						 .range_name.domain =
							 k != 0 && k + 1 != OTHER ? DOMAIN : 0 },
			     names[k]);
	job.kernels_named = 1ull << NCCL_KERNEL;
	gpu_put_text(0,
		     (struct gp_record){ .kind = GP_KERNEL, .kernel.handle = 0x1000 + NCCL_KERNEL },
		     kernel);
	gpu_put_text(3,
		     (struct gp_record){ .kind = GP_GPU_FUNCTION,
					 .aux = NCCL_KERNEL,
					 .gpu_function = { .grid = 1 + NCCL_KERNEL,
							   .block = 128,
							   .shared = 1024,
							   .registers = 32 } },
		     kernel);
	gpu_clock_put();
}

static struct gp_recording *recording;

static struct gp_collectives job_end(void)
{
	struct gp_collectives c;
	gpu_report(NULL);
	recording = fixture_read(&job.w);
	assert_int_equal(
		gp_collectives_build(recording, GP_COLLECTIVES_BY_CALL, INT64_MIN, INT64_MAX, &c),
		GP_OK);
	return c;
}

static void job_close(struct gp_collectives *c)
{
	gp_collectives_free(c);
	gp_recording_close(recording);
}

static const struct gp_collective_row *row_of(const struct gp_collectives *c, uint32_t operation,
					      uint64_t bytes)
{
	const struct gp_collective_row *found = NULL;
	for (size_t k = 0; k < c->rows; k++) {
		if (c->row[k].operation != operation || c->row[k].bytes != bytes)
			continue;
		assert_null(found);
		found = &c->row[k];
	}
	assert_non_null(found);
	return found;
}

static void assert_row(const struct gp_collectives *c, uint32_t operation, uint64_t bytes,
		       uint64_t count, uint64_t total_us)
{
	const struct gp_collective_row *row = row_of(c, operation, bytes);
	assert_int_equal(row->count, count);
	assert_int_equal(row->total_ns, total_us * GPU_US);
}

static void assert_rate(double found, double expected)
{
	assert_true(found > expected * 0.999999 && found < expected * 1.000001);
}

/* ---- groups ---- */

static void calls_have_the_kernels_of_their_thread(void **state)
{
	(void)state;
	job_begin("threads.gpr");
	communicator(1, WORLD, 4, 1);
	for (unsigned k = 0; k < 20; k++) {
		push(0, REDUCE);
		push(1, GATHER);
		collective(1, GP_ALL_GATHER, WORLD, 1000, 0);
		collective(0, GP_ALL_REDUCE, WORLD, 4000, 0);
		gpu_launch(0, 1, NCCL_KERNEL, 10);
		gpu_launch(1, 2, NCCL_KERNEL, 20 + k);
		pop_of(0, REDUCE);
		pop_of(1, GATHER);
		gpu_pass(200);
	}
	gpu_launch(0, 1, NCCL_KERNEL, 7); /* of no call */
	gpu_graph(0, 1, 1);
	struct gp_collectives c = job_end();
	assert_row(&c, GP_ALL_REDUCE, 4000, 20, 200);
	assert_row(&c, GP_ALL_GATHER, 1000, 20, 590);
	const struct gp_collective_row *reduce = row_of(&c, GP_ALL_REDUCE, 4000);
	const struct gp_collective_row *gather = row_of(&c, GP_ALL_GATHER, 1000);
	assert_int_equal(gather->median_ns, 29 * GPU_US);
	assert_rate(reduce->algorithm_rate, 80000.0 / (200 * GPU_US));
	assert_rate(reduce->bus_rate, reduce->algorithm_rate * 1.5);
	assert_rate(gather->algorithm_rate, 80000.0 / (590 * GPU_US));
	assert_rate(gather->bus_rate, gather->algorithm_rate * 0.75);
	assert_int_equal(c.kernels, 41);
	assert_int_equal(c.kernels_alone, 1);
	assert_int_equal(c.alone_ns, 7 * GPU_US);
	assert_int_equal(c.bytes, 100000);
	job_close(&c);
}

static void a_group_launches_at_its_end(void **state)
{
	(void)state;
	job_begin("groups.gpr");
	communicator(1, WORLD, 2, 1);
	push(0, OTHER);
	group_start(0); /* of one call */
	call(0, REDUCE, GP_ALL_REDUCE, 100, 0, 0);
	group_end(0, 10);
	group_start(0); /* of equal calls, in groups of their own */
	for (unsigned k = 0; k < 3; k++) {
		group_start(0);
		call(0, REDUCE, GP_ALL_REDUCE, 100, 0, 0);
		push(0, END);
		pop_of(0, END);
	}
	group_end(0, 30);
	group_start(0); /* of different calls */
	call(0, REDUCE, GP_ALL_REDUCE, 500, 0, 0);
	call(0, GATHER, GP_ALL_GATHER, 500, 0, 0);
	call(0, GATHER, GP_ALL_GATHER, 500, 0, 0);
	group_end(0, 50);
	pop_of(0, OTHER);
	struct gp_collectives c = job_end();
	assert_row(&c, GP_ALL_REDUCE, 100, 4, 40);
	const struct gp_collective_row *same = row_of(&c, GP_ALL_REDUCE, 100);
	assert_false(same->is_shared);
	assert_int_equal(same->median_ns, 10 * GPU_US);
	assert_rate(same->bus_rate, 400.0 / (40 * GPU_US));
	assert_row(&c, GP_ALL_REDUCE, 500, 1, 50);
	assert_row(&c, GP_ALL_GATHER, 500, 2, 50);
	assert_true(row_of(&c, GP_ALL_GATHER, 500)->is_shared);
	assert_true(row_of(&c, GP_ALL_GATHER, 500)->algorithm_rate < 0);
	assert_non_null(row_of(&c, GP_ALL_GATHER, 500)->without);
	assert_int_equal(c.kernels_alone, 0);
	job_close(&c);
}

static void sends_and_receives_of_all_are_an_all_to_all(void **state)
{
	(void)state;
	job_begin("exchange.gpr");
	communicator(1, WORLD, 3, 1);
	group_start(0);
	for (uint32_t k = 1; k <= 3; k++) {
		call(0, SEND, GP_SEND, 64, k, 0);
		call(0, RECV, GP_RECV, 64, k, 0);
	}
	group_end(0, 10);
	group_start(0); /* twice to one rank */
	for (uint32_t k = 1; k <= 2; k++) {
		call(0, SEND, GP_SEND, 128, 1, 0);
		call(0, RECV, GP_RECV, 128, k, 0);
	}
	group_end(0, 10);
	group_start(0); /* of two sizes */
	for (uint32_t k = 1; k <= 2; k++) {
		call(0, SEND, GP_SEND, 256 * k, k, 0);
		call(0, RECV, GP_RECV, 256 * k, k, 0);
	}
	group_end(0, 10);
	call(0, SEND, GP_SEND, 1024, 2, 16);
	struct gp_collectives c = job_end();
	const struct gp_collective_row *all = row_of(&c, GP_ALL_TO_ALL, 64);
	assert_int_equal(all->exchanged, 3);
	assert_int_equal(all->count, 1);
	assert_rate(all->algorithm_rate, 3 * 64.0 / (10 * GPU_US));
	assert_rate(all->bus_rate, all->algorithm_rate * (2.0 / 3));
	assert_true(row_of(&c, GP_SEND, 128)->is_shared);
	assert_int_equal(row_of(&c, GP_SEND, 128)->count, 2);
	assert_true(row_of(&c, GP_RECV, 512)->is_shared);
	assert_rate(row_of(&c, GP_SEND, 1024)->bus_rate, 1024.0 / (16 * GPU_US));
	job_close(&c);
}

static void lost_events_end_with_later_ranges(void **state)
{
	(void)state;
	job_begin("lost.gpr");
	communicator(1, WORLD, 2, 1);
	push(0, REDUCE); /* its pop is lost */
	collective(0, GP_ALL_REDUCE, WORLD, 100, 0);
	gpu_launch(0, 1, NCCL_KERNEL, 10);
	depth[0] = 0;
	call(0, GATHER, GP_ALL_GATHER, 200, 0, 20);
	push(0, REDUCE); /* likewise, and its event */
	depth[0] = 0;
	push(0, OTHER);
	gpu_launch(0, 1, NCCL_KERNEL, 5);
	pop_of(0, OTHER);
	collective(0, GP_ALL_REDUCE, WORLD, 300, 0); /* its push is lost */
	push(0, GATHER);
	pop_of(0, GATHER);
	push(0, REDUCE); /* not ended */
	collective(0, GP_ALL_REDUCE, WORLD, 400, 0);
	gpu_launch(0, 1, NCCL_KERNEL, 30);
	struct gp_collectives c = job_end();
	assert_row(&c, GP_ALL_REDUCE, 100, 1, 10);
	assert_row(&c, GP_ALL_GATHER, 200, 1, 20);
	assert_row(&c, GP_ALL_REDUCE, 300, 1, 0);
	assert_row(&c, GP_ALL_REDUCE, 400, 1, 30);
	assert_int_equal(c.unsized, 2);
	assert_int_equal(c.kernels_alone, 1);
	assert_int_equal(c.alone_ns, 5 * GPU_US);
	job_close(&c);
}

/* One process with two ranks of one communicator: each has its kernel. */
static void ranks_of_one_process_are_not_added(void **state)
{
	(void)state;
	job_begin("devices.gpr");
	communicator(1, WORLD, 2, 1);
	communicator(2, WORLD, 2, 2);
	group_start(0);
	for (unsigned k = 0; k < 2; k++)
		call(0, REDUCE, GP_ALL_REDUCE, 1000, 0, 0);
	push(0, END);
	gpu_launch(0, 1, NCCL_KERNEL, 10);
	const uint32_t second =
		gpu_call(0, (struct gp_record){ .kind = GP_LAUNCH,
						.device = 1,
						.launch = { .kernel = 0x1000 + NCCL_KERNEL,
							    .stream = gpu_handle(2),
							    .grid = 1 + NCCL_KERNEL,
							    .block = 128 } });
	job.correlation += 3;
	gpu_kernel(2, NCCL_KERNEL, second, job.w.time, 10, 0);
	job.done[job.dones - 1].device = 1;
	pop_of(0, END);
	const uint64_t first = job.done[0].gpu_kernel.began_ns;
	const uint64_t last = job.done[1].gpu_kernel.began_ns + 10 * GPU_US;
	struct gp_collectives c = job_end();
	const struct gp_collective_row *row = row_of(&c, GP_ALL_REDUCE, 1000);
	assert_int_equal(row->count, 2);
	assert_int_equal(row->total_ns, last - first);
	assert_rate(row->algorithm_rate, 1000.0 / (double)(last - first));
	assert_int_equal(row->streams, 2);
	assert_int_equal(c.communicator[row->communicator].rank, 0);
	job_close(&c);
}

static void intervals_have_whole_groups(void **state)
{
	(void)state;
	struct gp_collectives c;
	job_begin("interval.gpr");
	communicator(1, WORLD, 2, 1);
	call(0, REDUCE, GP_ALL_REDUCE, 1000, 0, 500); /* its kernel runs on into the interval */
	const int64_t from_ns = (int64_t)job.w.time - 1024;
	call(0, GATHER, GP_ALL_GATHER, 1000, 0, 20);
	gpu_report(NULL);
	recording = fixture_read(&job.w);
	assert_int_equal(
		gp_collectives_build(recording, GP_COLLECTIVES_BY_CALL, from_ns, INT64_MAX, &c),
		GP_OK);
	assert_int_equal(c.rows, 1);
	assert_row(&c, GP_ALL_GATHER, 1000, 1, 20);
	assert_int_equal(c.kernels, 1);
	assert_int_equal(c.kernels_alone, 0);
	job_close(&c);
}

/* A tick is 25 ns, so a launch may have the time of a push or pop next to it. */
static void kernels_of_one_tick_stay_on_their_side(void **state)
{
	(void)state;
	job_begin("tick.gpr");
	communicator(1, WORLD, 2, 1);
	for (unsigned k = 0; k < 10; k++) {
		const uint64_t now = job.w.time + 64;
		for (unsigned n = 0; n < 8; n++) {
			job.w.time = now - 64; /* put adds a tick */
			switch (n) {
			case 0:
			case 7:
				gpu_launch(0, 1, NCCL_KERNEL, 3); /* of no call */
				break;
			case 1:
			case 4:
				push(0, n == 1 ? REDUCE : GATHER);
				break;
			case 2:
			case 5:
				collective(0, n == 2 ? GP_ALL_REDUCE : GP_ALL_GATHER, WORLD, 100,
					   0);
				job.w.time = now - 64;
				gpu_launch(0, 1, NCCL_KERNEL, n == 2 ? 10 : 20);
				break;
			default:
				pop_of(0, n == 3 ? REDUCE : GATHER);
			}
		}
		gpu_pass(100);
	}
	struct gp_collectives c = job_end();
	assert_row(&c, GP_ALL_REDUCE, 100, 10, 100);
	assert_row(&c, GP_ALL_GATHER, 100, 10, 200);
	assert_int_equal(c.kernels_alone, 20);
	job_close(&c);
}

/* ---- communicators ---- */

static void ranks_are_those_that_all_reports_agree_on(void **state)
{
	(void)state;
	static const struct {
		uint64_t id;
		uint64_t ranks[2];
		uint32_t known;
	} cases[] = {
		{ 1, { 4, 0 }, 4 }, /* a split reports none, its end does */
		{ 2, { 0, 4 }, 4 },
		{ 3, { 4, 8 }, 0 }, /* contradictory */
		{ 4, { 0, 0 }, 0 },
		{ 0, { 4, 4 }, 4 }, /* without a hash: all communicators of the process */
	};
	job_begin("ranks.gpr");
	for (uint32_t k = 0; k < 5; k++)
		for (uint32_t n = 0; n < 2; n++)
			communicator(2 * k + n + 1, cases[k].id, cases[k].ranks[n], 1 + n);
	for (uint32_t k = 0; k < 5; k++) {
		push(0, REDUCE);
		collective(0, GP_ALL_REDUCE, cases[k].id, 100 + k, 0);
		gpu_launch(0, 1, NCCL_KERNEL, 10);
		pop_of(0, REDUCE);
	}
	struct gp_collectives c = job_end();
	for (uint32_t k = 0; k < 5; k++) {
		const struct gp_collective_row *row = row_of(&c, GP_ALL_REDUCE, 100 + k);
		assert_int_equal(c.communicator[row->communicator].id, cases[k].id);
		assert_int_equal(c.communicator[row->communicator].ranks, cases[k].known);
		assert_true(row->algorithm_rate > 0);
		assert_true((row->bus_rate > 0) == (cases[k].known != 0));
		assert_true((row->without == NULL) == (cases[k].known != 0));
	}
	job_close(&c);
	job_begin("unclear.gpr"); /* without a hash one split makes the number unknown */
	communicator(1, 0, 4, 1);
	communicator(2, 0, 0, 0);
	push(0, REDUCE);
	collective(0, GP_ALL_REDUCE, 0, 100, 0);
	gpu_launch(0, 1, NCCL_KERNEL, 10);
	pop_of(0, REDUCE);
	c = job_end();
	assert_true(c.rows == 1 && c.row->bus_rate < 0 && c.row->algorithm_rate > 0);
	job_close(&c);
}

/* ---- overlap ---- */

#define TICK 64u /* ns of a bit: all times are multiples */
#define TICKS 40000u

static void overlap_is_with_the_union_of_other_kernels(void **state)
{
	(void)state;
	static bool of_nccl[TICKS], of_others[TICKS];
	uint64_t expected = 0, kernel_ns = 0;
	job_begin("overlap.gpr");
	communicator(1, WORLD, 2, 1);
	for (unsigned k = 0; k < 6; k++) {
		call(0, REDUCE, GP_ALL_REDUCE, 100, 0, 100);
		gpu_pass(10 * k);
		gpu_launch(1, 5, 2, 30 + 7 * k); /* streams of their own */
		gpu_pass(5);
		gpu_launch(1, 6, 3, 20 * k + 1);
		gpu_pass(120);
	}
	uint64_t first = UINT64_MAX;
	for (uint32_t k = 0; k < job.dones; k++)
		if (job.done[k].gpu_kernel.began_ns < first)
			first = job.done[k].gpu_kernel.began_ns;
	memset(of_nccl, 0, sizeof of_nccl);
	memset(of_others, 0, sizeof of_others);
	for (uint32_t k = 0; k < job.dones; k++) {
		const struct gp_record *r = &job.done[k];
		const uint64_t begin = (r->gpu_kernel.began_ns - first) / TICK;
		assert_int_equal((r->gpu_kernel.began_ns - first) % TICK, 0);
		for (uint64_t at = 0; at < r->gpu_kernel.took_ns / TICK; at++)
			(r->aux == NCCL_KERNEL ? of_nccl : of_others)[begin + at] = true;
	}
	for (unsigned k = 0; k < TICKS; k++) {
		expected += of_nccl[k] && of_others[k] ? TICK : 0;
		kernel_ns += of_nccl[k] ? TICK : 0;
	}
	struct gp_collectives c = job_end();
	assert_int_equal(c.rows, 1);
	assert_int_equal(c.row->kernel_ns, kernel_ns);
	assert_true(expected != 0 && expected < kernel_ns);
	assert_int_equal(c.row->overlapped_ns, expected);
	assert_int_equal(c.overlapped_ns, expected);
	assert_int_equal(c.row->streams, 1);
	job_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_have_the_kernels_of_their_thread),
		cmocka_unit_test(a_group_launches_at_its_end),
		cmocka_unit_test(sends_and_receives_of_all_are_an_all_to_all),
		cmocka_unit_test(lost_events_end_with_later_ranges),
		cmocka_unit_test(ranks_of_one_process_are_not_added),
		cmocka_unit_test(intervals_have_whole_groups),
		cmocka_unit_test(kernels_of_one_tick_stay_on_their_side),
		cmocka_unit_test(ranks_are_those_that_all_reports_agree_on),
		cmocka_unit_test(overlap_is_with_the_union_of_other_kernels),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
