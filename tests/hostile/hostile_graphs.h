/*
 * Families of made_hostile.c: work that uses memory, launched by itself or in graphs. Few bytes
 * make many uses to be resolved.
 */
#ifndef HOSTILE_GRAPHS_H
#define HOSTILE_GRAPHS_H

#include "hostile_writer.h"

static void launch(bool is_scanned)
{
	struct gp_record r = { .kind = GP_LAUNCH };
	r.launch.block = (uint64_t)(is_scanned ? GP_LAUNCH_SCANNED : 0) << 48;
	add(r);
}

/* Allocations whose uses are recorded. */
static void begin_uses(uint64_t count)
{
	struct gp_record uses = { .kind = GP_FACT, .aux = GP_FACT_USES };
	uses.fact.value = 1;
	define(uses, NULL);
	flush(GP_BLOCK_DEFINE);
	for (uint64_t k = 0; k < count; k++)
		add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP + k * 512, 512));
	launch(true);
}

/* Live memory may have been used by unrecorded launches, again and again. */
static void unseen_uses(uint64_t count)
{
	const struct gp_record gap = { .kind = GP_GAP };
	struct gp_record lost = { .kind = GP_LOST };
	lost.lost.launch = 1;
	begin_uses(count);
	for (uint64_t k = 0; k < count; k++) {
		add(k % 2 ? gap : lost);
		launch(true);
	}
}

/* One unscanned launch for ten scanned ones: just below the tenth that makes reports useless. */
static void unseen_launches(uint64_t count)
{
	begin_uses(count);
	for (uint64_t k = 0; k < count; k++)
		launch(k % 11 != 0);
}

static void capture(enum gp_kind kind, uint64_t stream, uint64_t graph)
{
	struct gp_record r = { .kind = (uint16_t)kind };
	r.capture_end.stream = stream;
	r.capture_end.graph = graph;
	add(r);
}

static void instantiate(uint64_t exec, uint64_t graph)
{
	struct gp_record r = { .kind = GP_GRAPH_INSTANTIATE };
	r.graph_instantiate.exec = exec;
	r.graph_instantiate.graph = graph;
	add(r);
}

static void launch_graph(uint64_t exec)
{
	struct gp_record r = { .kind = GP_GRAPH_LAUNCH };
	r.graph_launch.exec = exec;
	add(r);
}

static void use_captured(uint64_t address)
{
	struct gp_record r = { .kind = GP_USE, .aux = GP_USE_CAPTURED };
	r.use.first = address;
	add(r);
}

static void launch_captured(uint64_t kernel)
{
	struct gp_record r = { .kind = GP_LAUNCH };
	r.launch.kernel = kernel;
	r.launch.block = (uint64_t)(GP_LAUNCH_SCANNED | GP_LAUNCH_CAPTURED) << 48;
	add(r);
}

/* A graph with many uses, captured once, of different kernels. */
static void capture_much(uint64_t count, uint64_t graph)
{
	capture(GP_CAPTURE_BEGIN, 1, graph);
	for (uint64_t k = 0; k < count; k++) {
		launch_captured(k % 5000);
		use_captured(HEAP + k * 512);
	}
	capture(GP_CAPTURE_END, 1, graph);
}

/* A graph of as many addresses as launches of it. */
static void graph_launches(uint64_t count)
{
	begin_uses(count);
	capture_much(count, 1);
	instantiate(1, 1);
	for (uint64_t k = 0; k < count; k++)
		launch_graph(1);
}

/* The same, and the owners of its addresses may change in between. */
static void graph_moves(uint64_t count)
{
	begin_uses(count);
	capture_much(count, 1);
	instantiate(1, 1);
	for (uint64_t k = 0; k < count; k++) {
		add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP + TIB, 512));
		launch_graph(1);
	}
}

/* Equal launches, with only a copy between them. */
static void graph_loop(uint64_t count)
{
	begin_uses(1);
	capture_much(5000, 1);
	instantiate(1, 1);
	for (uint64_t k = 0; k < count; k++)
		launch_graph(1);
}

/* As many execs as addresses of the graph, which changes after each. */
static void graph_execs(uint64_t count)
{
	struct gp_record node = { .kind = GP_GRAPH_ADD_NODE, .aux = GP_NODE_CHILD };
	begin_uses(1);
	capture_much(count, 1);
	node.graph_add_node.graph = 1;
	for (uint64_t k = 0; k < count; k++) {
		capture(GP_CAPTURE_BEGIN, 2, 2);
		use_captured(HEAP + TIB + k * 512);
		capture(GP_CAPTURE_END, 2, 2);
		node.graph_add_node.address = 2;
		add(node);
		instantiate(k, 1);
		launch_graph(k);
	}
}

/* Graphs that each contain the one before twice. */
static void graph_children(uint64_t count)
{
	struct gp_record node = { .kind = GP_GRAPH_ADD_NODE };
	begin_uses(1);
	capture_much(1000, 1);
	for (uint64_t k = 1; k <= count; k++) {
		node.graph_add_node.graph = k + 1;
		node.graph_add_node.address = k;
		node.aux = GP_NODE_CLONE;
		add(node);
		node.aux = GP_NODE_CHILD;
		add(node);
	}
	instantiate(1, count + 1);
	launch_graph(1);
}

/* Captures that all run at the same time, and end one after the other. */
static void captures_at_once(uint64_t count)
{
	begin_uses(1);
	for (uint64_t k = 1; k <= count; k++) {
		capture(GP_CAPTURE_BEGIN, k, 0);
		use_captured(HEAP + k * 512);
		launch_captured(k);
	}
	for (uint64_t k = 1; k <= count; k++) {
		capture(GP_CAPTURE_END, k, k);
		instantiate(k, k);
		launch_graph(k);
	}
}

/* Captures that all break, each by calls of many names that are not defined. */
static void broken_captures(uint64_t count)
{
	struct gp_record error = { .kind = GP_CAPTURE_ERROR, .code = 900 };
	for (uint64_t k = 0; k < count; k++) {
		capture(GP_CAPTURE_BEGIN, k % 100, 0);
		error.aux = (uint32_t)k;
		add(error);
		struct gp_record end = { .kind = GP_CAPTURE_END, .code = 901 };
		end.capture_end.stream = k % 100;
		if (k % 2)
			add(end);
	}
}

/* Graphs with a pool each, of which many are live when each graph is destroyed. */
static void pools_of_captures(uint64_t count)
{
	struct gp_record arena = { .kind = GP_ARENA };
	const uint64_t arenas = count < 65000 ? count : 65000;
	arena.arena.has_pool = 1;
	arena.arena.stream = 1;
	for (uint64_t k = 1; k <= arenas; k++) {
		arena.aux = (uint32_t)k;
		arena.arena.pool = k;
		define(arena, NULL);
	}
	flush(GP_BLOCK_DEFINE);
	for (uint64_t k = 0; k < count; k++) {
		struct gp_record gone = { .kind = GP_GRAPH_DESTROY };
		struct gp_record segment = memory(GP_SEGMENT_ALLOC, 0, HEAP + k * 512, 512);
		segment.code = (uint16_t)(k % arenas + 1);
		capture(GP_CAPTURE_BEGIN, 1, 0);
		add(segment);
		capture(GP_CAPTURE_END, 1, 1);
		gone.graph_destroy.graph = 1;
		add(gone);
	}
}

#endif
