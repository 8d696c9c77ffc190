/*
 * CUDA graphs of invented jobs: the pool of a graph and its bytes, the lives of graphs and
 * executable graphs, captures at the same time, and which call broke a capture.
 */
#include "recording_writer.h"

#define STREAM 0x9000u
#define SIDE 0x9100u
#define MIB (1ull << 20)
#define SEGMENT 0x7000000000ull
enum { GLOBAL, THREAD, RELAXED };
enum { UNSUPPORTED = 900, INVALIDATED, MERGE, UNMATCHED, UNJOINED };

static struct writer w;
static struct gp_recording *recording;
static struct gp_graphs_report report;

static int open_job(void **state)
{
	(void)state;
	writer_open(&w, "graphs.gpr", 0, 0);
	return 0;
}

static void build(void)
{
	recording = fixture_read(&w);
	assert_int_equal(gp_graphs_report_build(recording, &report), GP_OK);
}

static int close_job(void **state)
{
	(void)state;
	gp_graphs_report_free(&report);
	gp_recording_close(recording);
	return 0;
}

/* ---- events ---- */

static void begin(unsigned thread, uint64_t stream, unsigned mode)
{
	put(&w, thread,
	    (struct gp_record){ .kind = GP_CAPTURE_BEGIN,
				.aux = mode,
				.stack = 1,
				.capture_begin.stream = stream });
}

static void end_with(unsigned thread, uint64_t stream, uint64_t graph, unsigned code,
		     uint32_t nodes)
{
	put(&w, thread,
	    (struct gp_record){ .kind = GP_CAPTURE_END,
				.code = (uint16_t)code,
				.aux = nodes,
				.stack = code != 0 ? 99 : 0,
				.capture_end = { stream, graph } });
}

static void end(uint64_t graph)
{
	end_with(0, STREAM, graph, 0, 0);
}

static void broke(unsigned thread, unsigned code, uint32_t stack)
{
	put(&w, thread,
	    (struct gp_record){ .kind = GP_CAPTURE_ERROR, .code = (uint16_t)code, .stack = stack });
}

static void launch(unsigned thread, uint64_t stream, uint64_t kernel)
{
	put(&w, thread,
	    (struct gp_record){ .kind = GP_LAUNCH,
				.launch = { .kernel = kernel,
					    .stream = stream,
					    .block = (uint64_t)GP_LAUNCH_CAPTURED << 48 } });
}

static void instantiate(uint64_t exec, uint64_t graph)
{
	put(&w, 0,
	    (struct gp_record){ .kind = GP_GRAPH_INSTANTIATE,
				.graph_instantiate = { exec, graph } });
}

static void launch_graph(uint64_t exec, uint64_t took)
{
	put(&w, 0,
	    (struct gp_record){ .kind = GP_GRAPH_LAUNCH, .graph_launch = { exec, STREAM, took } });
}

static void destroy(enum gp_kind kind, uint64_t handle)
{
	put(&w, 0, (struct gp_record){ .kind = (uint16_t)kind, .v = { handle } });
}

static void arena(unsigned number, uint64_t stream, uint64_t pool, uint64_t user_pool)
{
	put_definition(&w, 0,
		       (struct gp_record){ .kind = GP_ARENA,
					   .aux = number,
					   .arena = { stream, pool, user_pool, 1 } });
}

static void segment(enum gp_kind kind, unsigned number, uint64_t at, uint64_t mib)
{
	put(&w, 0,
	    (struct gp_record){ .kind = (uint16_t)kind,
				.code = (uint16_t)number,
				.segment_alloc = { SEGMENT + at * MIB, mib * MIB } });
}

static void block(enum gp_kind kind, unsigned number, uint64_t at, uint64_t mib)
{
	put(&w, 0,
	    (struct gp_record){ .kind = (uint16_t)kind,
				.code = (uint16_t)number,
				.block_alloc = { SEGMENT + at * MIB, mib * MIB } });
}

/* The graph with this handle; there is one. */
static const struct gp_graph *graph(uint64_t handle)
{
	const struct gp_graph *found = NULL;
	for (size_t k = 0; k < report.graphs; k++)
		if (report.graph[k].handle == handle) {
			assert_null(found);
			found = &report.graph[k];
		}
	assert_non_null(found);
	return found;
}

static void assert_pool(uint64_t handle, uint64_t pool, uint64_t user_pool, uint64_t mib)
{
	const struct gp_graph *g = graph(handle);
	assert_true(g->pool < report.pools);
	assert_int_equal(report.pool[g->pool].pool, pool);
	assert_int_equal(report.pool[g->pool].user_pool, user_pool);
	assert_int_equal(g->pool_bytes, mib * MIB);
}

/* ---- pools ---- */

/* A MemPool within a capture, used first and used last, is another pool. */
static void the_pool_of_the_capture_is_its_own(void **state)
{
	(void)state;
	arena(1, STREAM, 5, 0);
	arena(2, STREAM, 0, 3);
	arena(3, STREAM, 6, 0);
	begin(0, STREAM, GLOBAL);
	segment(GP_SEGMENT_ALLOC, 1, 0, 20);
	segment(GP_SEGMENT_ALLOC, 2, 100, 4);
	end(1);
	begin(0, STREAM, GLOBAL);
	block(GP_BLOCK_ALLOC, 2, 100, 1);
	segment(GP_SEGMENT_ALLOC, 3, 200, 30);
	end(2);
	build();
	assert_pool(1, 5, 0, 20);
	assert_pool(2, 6, 0, 30);
	for (uint64_t handle = 1; handle <= 2; handle++) {
		assert_int_equal(graph(handle)->other_pools, 1);
		assert_int_equal(graph(handle)->other_pool_bytes, 4 * MIB);
	}
	assert_int_equal(report.pools, 3);
	assert_int_equal(report.pool[1].graphs, 2);
	assert_int_equal(report.pool[1].allocated_bytes, MIB);
	for (size_t k = 0; k < 3; k++)
		assert_int_equal(report.pool[k].is_own, k != 1);
}

/* The second graph fits into the segments of the first; pages come and go. */
static void graphs_share_a_pool(void **state)
{
	(void)state;
	arena(1, STREAM, 0, 7);
	arena(2, 0, 0, 0);
	begin(0, STREAM, RELAXED);
	segment(GP_SEGMENT_MAP, 1, 0, 40);
	block(GP_BLOCK_ALLOC, 1, 0, 10);
	block(GP_BLOCK_ALLOC, 2, 500, 8); /* the default pool */
	end(1);
	block(GP_BLOCK_FREE, 1, 0, 10);
	segment(GP_SEGMENT_MAP, 1, 40, 20);
	segment(GP_SEGMENT_UNMAP, 1, 0, 2);
	begin(0, STREAM, RELAXED);
	block(GP_BLOCK_ALLOC, 1, 10, 5);
	end(2);
	build();
	assert_pool(1, 0, 7, 58);
	assert_pool(2, 0, 7, 58);
	assert_int_equal(graph(2)->pool_allocated_bytes, 5 * MIB);
	assert_int_equal(report.pools, 1);
	assert_int_equal(report.pool[0].graphs, 2);
	/* before the pages went */
	assert_int_equal(report.pool[0].most_bytes, 60 * MIB);
	assert_true(report.pool[0].most_at_ns > graph(1)->at_ns);
	assert_true(report.pool[0].most_at_ns < graph(2)->at_ns);
}

/* Without a capture, or of another stream and thread, a pool is not used by a graph. */
static void other_allocations_use_no_pool_of_a_graph(void **state)
{
	(void)state;
	arena(1, SIDE, 0, 7);
	segment(GP_SEGMENT_ALLOC, 1, 0, 20);
	begin(1, STREAM, GLOBAL);
	block(GP_BLOCK_ALLOC, 1, 0, 10); /* by thread 0 */
	end_with(1, STREAM, 1, 0, 0);
	block(GP_BLOCK_ALLOC, 1, 10, 1);
	build();
	assert_int_equal(graph(1)->pool, GP_GRAPH_NO_POOL);
	assert_int_equal(report.pool[0].graphs, 0);
	assert_int_equal(report.pool[0].bytes, 20 * MIB);
}

/* Its bytes are those of its end, not what the pool has later. */
static void a_destroyed_graph_keeps_its_bytes(void **state)
{
	(void)state;
	arena(1, STREAM, 5, 0);
	begin(0, STREAM, GLOBAL);
	segment(GP_SEGMENT_ALLOC, 1, 0, 20);
	end(1);
	instantiate(0x100, 1);
	destroy(GP_GRAPH_DESTROY, 1); /* before its exec */
	segment(GP_SEGMENT_ALLOC, 1, 20, 20);
	launch_graph(0x100, 64);
	destroy(GP_GRAPH_EXEC_DESTROY, 0x100);
	segment(GP_SEGMENT_FREE, 1, 0, 20);
	build();
	assert_pool(1, 5, 0, 40);
	assert_true(graph(1)->gone_ns > graph(1)->last_ns);
	assert_int_equal(report.pool[0].bytes, 20 * MIB);
	assert_int_equal(report.pool[0].most_bytes, 40 * MIB);
}

/* A flight recorder has overwritten the capture and the first segments, and has their sum. */
static void overwritten_segments_count(void **state)
{
	(void)state;
	writer_close(&w, true);
	writer_open(&w, "graphs.gpr", 2, 1 << 20);
	arena(1, STREAM, 5, 0);
	segment(GP_SEGMENT_ALLOC, 1, 0, 20);
	for (unsigned k = 0; k < 4; k++)
		next_segment(&w);
	begin(0, STREAM, GLOBAL);
	segment(GP_SEGMENT_ALLOC, 1, 20, 2);
	end(1);
	build();
	assert_pool(1, 5, 0, 22);
	assert_int_equal(report.pool[0].most_bytes, 22 * MIB);
}

/* ---- lives ---- */

static void execs_belong_to_their_graph(void **state)
{
	(void)state;
	begin(0, STREAM, GLOBAL);
	launch(0, STREAM, 0xa);
	end(1);
	instantiate(0x100, 1);
	destroy(GP_GRAPH_DESTROY, 1);
	begin(0, STREAM, GLOBAL); /* the handle again */
	launch(0, STREAM, 0xa);
	launch(0, STREAM, 0xb);
	end(1);
	instantiate(0x200, 1);
	launch_graph(0x100, 0);
	launch_graph(0x200, 128);
	launch_graph(0x200, 64);
	put(&w, 0, (struct gp_record){ .kind = GP_GRAPH_UPDATE, .graph_update = { 0x100, 1 } });
	launch_graph(0x100, 192);
	launch_graph(0x300, 64); /* of no known graph */
	build();
	assert_int_equal(report.graphs, 3);
	const struct gp_graph *second = &report.graph[0]; /* most launches */
	assert_int_equal(second->launches, 3);
	assert_int_equal(second->instantiations, 1);
	assert_int_equal(second->updates, 1);
	assert_int_equal(second->nodes, 2);
	assert_int_equal(second->host_ns, 384);
	assert_int_equal(second->longest_ns, 192);
	assert_int_equal(second->gone_ns, -1);
	const struct gp_graph *first = &report.graph[1];
	assert_int_equal(first->launches, 1);
	assert_int_equal(first->untimed, 1);
	assert_true(first->gone_ns > first->last_ns); /* its exec is of the second now */
	assert_int_equal(report.graph[2].origin, GP_GRAPH_UNSEEN);
	assert_int_equal(report.graph_kernels, 1 + 3 * 2);
	assert_int_equal(report.unknown_launches, 1);
}

static void child_graphs_add_their_kernels(void **state)
{
	(void)state;
	struct gp_record node = { .kind = GP_GRAPH_ADD_NODE };
	begin(0, STREAM, GLOBAL);
	launch(0, STREAM, 0xa);
	launch(0, STREAM, 0xa);
	end(1);
	node.graph_add_node.graph = 2;
	node.graph_add_node.address = 1;
	node.aux = GP_NODE_CHILD;
	put(&w, 0, node);
	put(&w, 0, node);
	node.graph_add_node.address = 0xb;
	node.aux = GP_NODE_KERNEL;
	put(&w, 0, node);
	node.graph_add_node.graph = 3;
	node.graph_add_node.address = 2;
	node.aux = GP_NODE_CLONE;
	put(&w, 0, node);
	build();
	assert_int_equal(graph(2)->origin, GP_GRAPH_BUILT);
	assert_int_equal(graph(3)->origin, GP_GRAPH_CLONED);
	for (uint64_t handle = 2; handle <= 3; handle++) {
		assert_int_equal(graph(handle)->nodes, 3);
		assert_int_equal(graph(handle)->node[GP_GRAPH_CHILD], 2);
		assert_int_equal(graph(handle)->kernel_launches, 5);
	}
}

/* ---- captures at the same time ---- */

static void launches_belong_to_stream_or_thread(void **state)
{
	(void)state;
	begin(0, STREAM, THREAD);
	begin(1, SIDE, THREAD);
	launch(1, STREAM, 0xa); /* by stream */
	launch(1, 0x9999, 0xa); /* by thread */
	launch(1, SIDE, 0xa);
	end_with(0, STREAM, 1, 0, 1);
	launch(2, 0x9999, 0xa); /* to the only one */
	end_with(1, SIDE, 2, 0, 4);
	build();
	assert_int_equal(graph(1)->nodes, 1);
	assert_false(graph(1)->is_partial);
	assert_int_equal(graph(2)->node[GP_GRAPH_KERNEL], 3);
	assert_int_equal(graph(2)->node[GP_GRAPH_OTHER], 1); /* as the driver counts */
	assert_false(graph(2)->is_partial);
}

static void launches_of_neither_make_both_partial(void **state)
{
	(void)state;
	begin(0, STREAM, THREAD);
	begin(1, SIDE, THREAD);
	launch(2, 0x9999, 0xa);
	end_with(0, STREAM, 1, 0, 0);
	end_with(1, SIDE, 2, 0, 0);
	begin(0, STREAM, THREAD);
	launch(0, STREAM, 0xa);
	launch(0, STREAM, 0xa);
	end_with(0, STREAM, 3, 0, 1); /* one of them was not captured */
	build();
	for (uint64_t handle = 1; handle <= 3; handle++)
		assert_true(graph(handle)->is_partial);
}

/* ---- failures ---- */

static void assert_failure(size_t k, unsigned code, uint32_t stack, bool is_end)
{
	assert_true(k < report.failures);
	assert_int_equal(report.failure[k].code, code);
	assert_int_equal(report.failure[k].stack, stack);
	assert_int_equal(report.failure[k].is_end, is_end);
}

static void the_first_error_of_its_thread_broke_it(void **state)
{
	(void)state;
	broke(0, UNSUPPORTED, 10); /* before the capture */
	begin(0, STREAM, THREAD);
	broke(1, UNSUPPORTED, 11); /* another thread cannot break it so */
	broke(0, UNSUPPORTED, 12);
	broke(0, MERGE, 13);
	broke(0, INVALIDATED, 14);
	end_with(0, STREAM, 0, INVALIDATED, 0);
	broke(0, UNSUPPORTED, 15);
	build();
	assert_int_equal(report.failures, 1);
	assert_int_equal(report.graphs, 0);
	assert_failure(0, UNSUPPORTED, 12, false);
	assert_int_equal(report.failure[0].begin_stack, 1);
}

static void any_thread_breaks_a_global_capture(void **state)
{
	(void)state;
	begin(0, STREAM, GLOBAL);
	broke(1, UNSUPPORTED, 11);
	broke(0, UNSUPPORTED, 12);
	end_with(0, STREAM, 0, INVALIDATED, 0);
	begin(0, STREAM, THREAD); /* without an own error, that of another thread */
	broke(0, INVALIDATED, 13);
	broke(1, MERGE, 14);
	end_with(0, STREAM, 0, INVALIDATED, 0);
	build();
	assert_int_equal(report.failures, 2);
	assert_failure(0, UNSUPPORTED, 11, false);
	assert_failure(1, MERGE, 14, false);
}

static void without_an_error_the_end_is_named(void **state)
{
	(void)state;
	begin(0, STREAM, GLOBAL);
	end_with(0, STREAM, 0, INVALIDATED, 0);
	begin(0, STREAM, GLOBAL);
	broke(1, UNSUPPORTED, 11);
	end_with(0, STREAM, 0, UNJOINED, 0);  /* that error has broken no capture */
	end_with(0, SIDE, 0, INVALIDATED, 0); /* it began before the recording */
	end_with(0, SIDE, 0, 401, 0);	      /* there was none */
	build();
	assert_int_equal(report.failures, 3);
	assert_failure(0, INVALIDATED, 99, true);
	assert_failure(1, UNJOINED, 99, true);
	assert_failure(2, INVALIDATED, 99, true);
	assert_int_equal(report.failure[2].began_ns, -1);
}

static void an_end_that_is_refused_ends_nothing(void **state)
{
	(void)state;
	begin(0, STREAM, GLOBAL);
	launch(0, STREAM, 0xa);
	end_with(1, STREAM, 0, 908, 0);
	broke(1, 908, 20);
	launch(0, STREAM, 0xa);
	end(1);
	build();
	assert_int_equal(report.failures, 0);
	assert_int_equal(graph(1)->nodes, 2);
}

static void captures_that_are_not_ended(void **state)
{
	(void)state;
	begin(0, STREAM, GLOBAL);
	broke(0, UNSUPPORTED, 11);
	begin(1, SIDE, THREAD);
	build();
	assert_int_equal(report.failures, 1);
	assert_true(report.failure[0].is_unended);
	assert_int_equal(report.open, 1);
	assert_int_equal(report.graphs, 0);
}

/* A broken one and another; events that follow belong to neither. */
static void the_end_of_a_stream_ends_its_captures(void **state)
{
	(void)state;
	begin(0, STREAM, GLOBAL);
	broke(0, UNSUPPORTED, 11);
	destroy(GP_STREAM_DESTROY, STREAM);
	begin(1, SIDE, THREAD);
	destroy(GP_STREAM_DESTROY, SIDE);
	begin(0, STREAM, THREAD);
	launch(1, 0x9999, 0xa);
	end(1);
	build();
	assert_int_equal(report.failures, 1);
	assert_true(report.failure[0].is_unended);
	assert_int_equal(report.open, 1);
	assert_int_equal(graph(1)->nodes, 1);
	assert_false(graph(1)->is_partial);
}

/* A pool that a launched graph uses is not idle, nor is a graph that is gone. */
static void idle_graphs_hold_memory_of_their_own(void **state)
{
	(void)state;
	for (unsigned k = 1; k <= 3; k++)
		arena(k, STREAM, k, 0);
	for (uint64_t handle = 1; handle <= 4; handle++) {
		begin(0, STREAM, GLOBAL);
		segment(GP_SEGMENT_ALLOC, handle <= 2 ? 1 : (unsigned)handle - 1, handle * 100, 2);
		end(handle);
		instantiate(handle << 8, handle);
	}
	launch_graph(1 << 8, 64);
	destroy(GP_GRAPH_DESTROY, 4);
	destroy(GP_GRAPH_EXEC_DESTROY, 4 << 8);
	build();
	for (uint64_t handle = 1; handle <= 4; handle++)
		assert_int_equal(gp_graph_is_idle(&report, graph(handle)), handle == 3);
	assert_int_equal(report.pool[0].launched, 1);
}

static void a_capture_from_before_the_recording_is_partial(void **state)
{
	(void)state;
	launch(0, STREAM, 0xa);
	end_with(0, STREAM, 1, 0, 5);
	build();
	assert_true(graph(1)->is_partial);
	assert_int_equal(graph(1)->nodes, 5);
	assert_int_equal(graph(1)->took_ns, -1);
}

/* More graphs than are kept: the report counts the others. */
static void graphs_have_a_bound(void **state)
{
	(void)state;
	const unsigned graphs = 70000;
	for (unsigned k = 1; k <= graphs; k++) {
		begin(0, STREAM, GLOBAL);
		end(k);
	}
	build();
	assert_int_equal(report.graphs + report.beyond, graphs);
	assert_true(report.beyond != 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_job, close_job)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_pool_of_the_capture_is_its_own),
		TEST(graphs_share_a_pool),
		TEST(other_allocations_use_no_pool_of_a_graph),
		TEST(a_destroyed_graph_keeps_its_bytes),
		TEST(overwritten_segments_count),
		TEST(execs_belong_to_their_graph),
		TEST(child_graphs_add_their_kernels),
		TEST(launches_belong_to_stream_or_thread),
		TEST(launches_of_neither_make_both_partial),
		TEST(the_first_error_of_its_thread_broke_it),
		TEST(any_thread_breaks_a_global_capture),
		TEST(without_an_error_the_end_is_named),
		TEST(an_end_that_is_refused_ends_nothing),
		TEST(captures_that_are_not_ended),
		TEST(the_end_of_a_stream_ends_its_captures),
		TEST(idle_graphs_hold_memory_of_their_own),
		TEST(a_capture_from_before_the_recording_is_partial),
		TEST(graphs_have_a_bound),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
