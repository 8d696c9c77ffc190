/*
 * Which memory is reported as unused if some uses are unseen: graphs, flight recorders, losses,
 * launches that could not be scanned, recordings without uses.
 */
#include "idle_history.h"

static void without_uses_no_memory_is_reported_unused(void **state)
{
	(void)state;
	struct writer w;
	struct gp_idle idle;
	begin_history(&w, "bare.gpr", 0, false);
	model_alloc(&w, 0, 512, 1);
	put(&w, 0, (struct gp_record){ .kind = GP_LAUNCH });
	struct gp_recording *r = open_recording(&w);
	assert_int_equal(gp_idle_build(r, 1, &idle), GP_OK);
	assert_false(idle.has_uses);
	assert_int_equal(idle.devices + idle.wastes, 0);
	gp_idle_free(&idle);
	gp_recording_close(r);
}

/* A flight recorder has no counts of early uses: old memory is never reported as unused. */
static void a_ring_reports_no_old_memory_as_unused(void **state)
{
	(void)state;
	struct writer w;
	struct gp_idle idle;
	begin_history(&w, "ring.gpr", 4, true);
	for (unsigned place = 200; place < 210; place++)
		/* never used, and not known to be unused */
		model_alloc(&w, place, PLACE_BYTES, STACKS);
	model_alloc(&w, 210, PLACE_BYTES, STACKS);
	for (unsigned segment = 0; segment < 12; segment++) {
		put(&w, 0, launched(0));
		put(&w, 0,
		    (struct gp_record){ .kind = GP_USE, .use.first = SEGMENT + 210 * PLACE_BYTES });
		for (unsigned k = 0; k < 200; k++)
			put_launch(&w);
		next_segment(&w);
	}
	struct gp_recording *r = open_recording(&w);
	assert_int_equal(gp_idle_build(r, 1000, &idle), GP_OK);
	assert_int_equal(idle.devices, 1);
	const struct gp_idle_device *d = &idle.device[0];
	assert_sum(d, GP_IDLE_BLOCK, GP_IDLE_NEVER, 0, 0);
	assert_sum(d, GP_IDLE_BLOCK, GP_IDLE_UNKNOWN, 11 * PLACE_BYTES, 11);
	assert_int_equal(idle.wastes, 0);
	gp_idle_free(&idle);
	gp_recording_close(r);
}

/* Uses during a pause of the recording, or among lost events, are unknown. */
static void pauses_and_losses_may_have_used_all(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 4; how++) {
		struct writer w;
		struct gp_idle idle;
		begin_history(&w, "unseen.gpr", 0, true);
		model_alloc(&w, 0, 1 << 20, 1);
		for (unsigned k = 0; k < 200; k++)
			put(&w, 0, launched(0));
		if (how == 1)
			put(&w, 0, (struct gp_record){ .kind = GP_GAP, .aux = GP_WHY_STOPPED });
		if (how == 2)
			put(&w, 0, (struct gp_record){ .kind = GP_LOST, .lost.other = 3 });
		if (how == 3)
			put(&w, 0, (struct gp_record){ .kind = GP_SCOPE, .aux = 0 });
		for (unsigned k = 0; k < 200; k++)
			put(&w, 0, launched(0));
		struct gp_recording *r = open_recording(&w);
		assert_int_equal(gp_idle_build(r, 300, &idle), GP_OK);
		const uint64_t seen = how == 0, unseen = how != 0;
		assert_sum(idle.device, GP_IDLE_BLOCK, GP_IDLE_NEVER, seen << 20, seen);
		assert_sum(idle.device, GP_IDLE_BLOCK, GP_IDLE_BUSY, unseen << 20, unseen);
		gp_idle_free(&idle);
		gp_recording_close(r);
	}
}

/* The driver refused to end three mappings, and one other has ended. */
static void mappings_that_stay_are_used_on(void **state)
{
	(void)state;
	struct writer w;
	struct gp_idle idle;
	const uint64_t base = 0x6100000000, page = 2 << 20;
	begin_history(&w, "undone.gpr", 0, true);
	for (unsigned k = 0; k < 4; k++)
		put(&w, 0,
		    (struct gp_record){ .kind = GP_MAP,
					.space = GP_SPACE_MAPPED,
					.map = { .address = base + k * page, .bytes = page } });
	put(&w, 0,
	    (struct gp_record){ .kind = GP_UNMAP,
				.unmap = { .address = base + 3 * page, .bytes = page } });
	put(&w, 0,
	    (struct gp_record){ .kind = GP_UNMAP,
				.unmap = { .address = base, .bytes = 3 * page } });
	put(&w, 0,
	    (struct gp_record){ .kind = GP_UNMAP_FAILED,
				.code = 1,
				.unmap_failed = { base, 3 * page, w.order - 1 } });
	for (unsigned k = 0; k < 4; k++) {
		struct gp_record use = { .kind = GP_USE, .use.first = base + k * page };
		put(&w, 0, launched(0));
		put(&w, 0, use);
	}
	struct gp_recording *r = open_recording(&w);
	assert_int_equal(gp_idle_build(r, 1, &idle), GP_OK);
	assert_int_equal(idle.addresses, 4);
	assert_int_equal(idle.addresses_resolved, 3);
	gp_idle_free(&idle);
	gp_recording_close(r);
}

/* --launches=off: no live memory is reported as unused. */
static void without_launches_no_memory_is_reported_unused(void **state)
{
	(void)state;
	struct writer w;
	struct gp_idle idle;
	begin_history(&w, "still.gpr", 0, true);
	model_alloc(&w, 0, 1 << 20, 1);
	struct gp_recording *r = open_recording(&w);
	assert_int_equal(gp_idle_build(r, 1, &idle), GP_OK);
	assert_true(idle.is_blind);
	assert_int_equal(idle.devices + idle.wastes, 0);
	gp_idle_free(&idle);
	gp_recording_close(r);
}

#define STREAM 0x9000u
#define GRAPH 0xa000u
#define EXEC 0xb000u

static void capture(struct writer *w, uint64_t address)
{
	put(w, 0,
	    (struct gp_record){ .kind = GP_CAPTURE_BEGIN, .capture_begin = { .stream = STREAM } });
	put(w, 0, launched(GP_LAUNCH_CAPTURED));
	put(w, 0,
	    (struct gp_record){
		    .kind = GP_USE, .aux = GP_USE_LAUNCH | GP_USE_CAPTURED, .use.first = address });
	put(w, 0, launched(GP_LAUNCH_CAPTURED));
	put(w, 0,
	    (struct gp_record){ .kind = GP_CAPTURE_END,
				.capture_end = { .stream = STREAM, .graph = GRAPH } });
	put(w, 0,
	    (struct gp_record){ .kind = GP_GRAPH_INSTANTIATE,
				.graph_instantiate = { .exec = EXEC, .graph = GRAPH } });
	put(w, 0,
	    (struct gp_record){ .kind = GP_GRAPH_DESTROY, .graph_destroy = { .graph = GRAPH } });
}

/*
 * A launch of a graph uses the memory that its kernels used when they were captured, and counts for
 * as many launches.
 */
static void graphs_use_their_captured_memory(void **state)
{
	(void)state;
	struct writer w;
	struct gp_idle idle;
	begin_history(&w, "graph.gpr", 0, true);
	model_alloc(&w, 0, 1 << 20, 1); /* used by the graph only */
	model_alloc(&w, 1, 1 << 19, 2); /* captured as well, but not launched since */
	capture(&w, SEGMENT + PLACE_BYTES);
	capture(&w, SEGMENT + 512);
	for (unsigned k = 0; k < 50; k++)
		put(&w, 0,
		    (struct gp_record){ .kind = GP_GRAPH_LAUNCH,
					.graph_launch = { .exec = EXEC } });
	model_alloc(&w, 2, 512, 3); /* the peak */
	put(&w, 0, (struct gp_record){ .kind = GP_GRAPH_LAUNCH, .graph_launch = { .exec = EXEC } });
	struct gp_recording *r = open_recording(&w);
	assert_int_equal(gp_idle_build(r, 100, &idle), GP_OK);
	assert_int_equal(idle.launches, 0);
	assert_int_equal(idle.captured_launches, 4);
	assert_int_equal(idle.resolved, 2);
	assert_int_equal(idle.graph_launches, 51);
	assert_int_equal(idle.graph_resolved, 51);
	assert_int_equal(idle.graph_unknown, 0);
	const struct gp_idle_device *d = &idle.device[0];
	assert_sum(d, GP_IDLE_BLOCK, GP_IDLE_BUSY, (1 << 20) + 512, 2);
	assert_sum(d, GP_IDLE_BLOCK, GP_IDLE_LATE, 1 << 19, 1);
	assert_int_equal(d->row[0].idle_launches, 102);
	assert_sum(d, GP_IDLE_BLOCK, GP_IDLE_NEVER, 0, 0);
	gp_idle_free(&idle);
	gp_recording_close(r);
}

static void put_node(struct writer *w, uint64_t type, uint64_t graph, uint64_t address)
{
	put(w, 0,
	    (struct gp_record){ .kind = GP_GRAPH_ADD_NODE,
				.aux = (uint32_t)type,
				.graph_add_node = { .graph = graph, .address = address } });
}

/* A launch that was not scanned, or an unknown or incomplete graph: each may use all memory. */
static void unscanned_launches_may_have_used_all(void **state)
{
	(void)state;
	enum { KNOWN, EAGER, OTHER_EXEC, NEW_IN_CAPTURE, NODE, CHILD, COPIED, BUILT, WAYS };
	for (unsigned way = 0; way < WAYS; way++) {
		struct writer w;
		struct gp_idle idle;
		begin_history(&w, "unknown.gpr", 0, true);
		model_alloc(&w, 0, 1 << 20, 1); /* no known use */
		model_alloc(&w, 1, 512, 2);
		for (unsigned k = 0; k < 150; k++)
			put(&w, 0, launched(0));
		put(&w, 0,
		    (struct gp_record){ .kind = GP_CAPTURE_BEGIN,
					.capture_begin = { .stream = STREAM } });
		struct gp_record captured = launched(GP_LAUNCH_CAPTURED);
		if (way == NEW_IN_CAPTURE || way == COPIED)
			captured.launch.block &= ~((uint64_t)GP_LAUNCH_SCANNED << 48);
		put(&w, 0, captured);
		put(&w, 0,
		    (struct gp_record){ .kind = GP_CAPTURE_END,
					.capture_end = { .stream = STREAM, .graph = GRAPH } });
		if (way == NODE)
			put_node(&w, GP_NODE_MEMCPY, GRAPH, 0);
		if (way == CHILD)
			put_node(&w, GP_NODE_CHILD, GRAPH, GRAPH + 1);
		if (way == COPIED)
			put_node(&w, GP_NODE_CLONE, GRAPH + 2, GRAPH);
		if (way == BUILT)
			put_node(&w, GP_NODE_CHILD, GRAPH + 2, GRAPH);
		const uint64_t graph = way == COPIED || way == BUILT ? GRAPH + 2 : GRAPH;
		put(&w, 0,
		    (struct gp_record){ .kind = GP_GRAPH_INSTANTIATE,
					.graph_instantiate = { .exec = EXEC, .graph = graph } });
		put(&w, 0,
		    (struct gp_record){
			    .kind = GP_GRAPH_LAUNCH,
			    .graph_launch = { .exec = way == OTHER_EXEC ? EXEC + 1 : EXEC } });
		struct gp_record eager = launched(0);
		if (way == EAGER)
			eager.launch.block &= ~((uint64_t)GP_LAUNCH_SCANNED << 48);
		put(&w, 0, eager);
		for (unsigned k = 0; k < 150; k++)
			put(&w, 0, launched(0));
		struct gp_recording *r = open_recording(&w);
		assert_int_equal(gp_idle_build(r, 200, &idle), GP_OK);
		assert_false(idle.is_blind);
		assert_int_equal(idle.graph_unknown, way != KNOWN && way != EAGER);
		assert_sum(idle.device, GP_IDLE_BLOCK, way == KNOWN ? GP_IDLE_NEVER : GP_IDLE_BUSY,
			   (1 << 20) + 512, 2);
		for (size_t k = 0; k < idle.wastes; k++)
			assert_int_equal(way, KNOWN);
		gp_idle_free(&idle);
		gp_recording_close(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_uses_no_memory_is_reported_unused),
		cmocka_unit_test(a_ring_reports_no_old_memory_as_unused),
		cmocka_unit_test(pauses_and_losses_may_have_used_all),
		cmocka_unit_test(mappings_that_stay_are_used_on),
		cmocka_unit_test(without_launches_no_memory_is_reported_unused),
		cmocka_unit_test(graphs_use_their_captured_memory),
		cmocka_unit_test(unscanned_launches_may_have_used_all),
	};
	int failed = cmocka_run_group_tests(tests, make_directory, drop_directory);
	free(model.moment);
	return failed;
}
