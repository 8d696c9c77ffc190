/*
 * CUDA graphs of a recording: one row for each capture, or graph that was built otherwise. Each
 * exec belongs to the row of the graph that it was made from or last updated with.
 */
#include <stdlib.h>
#include <string.h>

#include "../memory/memory_view.h"
#include "graph_captures.h"
#include "graph_places.h"
#include "graph_times.h"

const char *const gp_graph_origin_names[GP_GRAPH_ORIGINS] = { "captured", "built", "cloned",
							      "unseen" };
const char *const gp_graph_node_names[GP_GRAPH_NODES] = { "kernel", "copy",  "fill", "alloc",
							  "free",   "child", "host", "other" };

struct graphs_building {
	struct gp_recording *recording;
	struct gp_graphs_report *out;
	struct gp_graph_rows rows;
	struct gp_graph_captures captures;
	bool has_gpu_time;
	struct gp_graph_times times;
};

static void graphs_sum(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

/* ---- memory ---- */

static void graphs_use_pool(struct graphs_building *b, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	if (b->captures.opens == 0)
		return;
	const struct gp_arena arena = gp_memory_arena(b->recording, r->code);
	const uint64_t stream = arena.is_known ? arena.stream : UINT64_MAX;
	const uint32_t row = gp_graph_captures_row(&b->captures, stream, e->thread, false);
	if (!arena.is_known && row != GP_GRAPH_NO_ROW)
		b->rows.row[row].graph.lacks_pool = true;
	gp_graph_pool_use(&b->rows, row, r->code);
}

static void graphs_see_pool(struct graphs_building *b, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	const struct gp_graph_segment segment = { .arena = r->code,
						  .device = r->device,
						  .bytes = r->segment_alloc.bytes,
						  .at_ns = e->at_ns };
	switch (r->kind) {
	case GP_BLOCK_ALLOC:
		graphs_use_pool(b, e);
		gp_graph_pool_move(&b->rows, r->code, true, false, r->block_alloc.bytes);
		return;
	case GP_BLOCK_FREE:
		gp_graph_pool_move(&b->rows, r->code, true, true, r->block_free.bytes);
		return;
	case GP_SEGMENT_ALLOC:
	case GP_SEGMENT_MAP:
		if (r->aux == 0)
			graphs_use_pool(b, e);
		gp_graph_segment_move(&b->rows, &segment, false);
		return;
	default:
		gp_graph_segment_move(&b->rows, &segment, true);
	}
}

/* The kept part of a flight recorder begins with blocks and segments. */
static void graphs_see_live(void *context, const struct gp_live_entry *entry)
{
	struct graphs_building *b = context;
	const struct gp_graph_segment segment = { .arena = (uint32_t)entry->stream,
						  .device = entry->device,
						  .bytes = entry->bytes,
						  .at_ns = gp_tick_ns(&b->recording->tick,
								      entry->time) };
	if (entry->stream > UINT16_MAX)
		return;
	if (entry->space == GP_SPACE_SEGMENT)
		gp_graph_segment_move(&b->rows, &segment, false);
	else if (entry->space == GP_SPACE_BLOCK && (entry->flags & GP_LIVE_PENDING) == 0)
		gp_graph_pool_move(&b->rows, segment.arena, true, false, entry->bytes);
}

static void graphs_see_alloc(struct graphs_building *b, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	const bool is_node = r->space == GP_SPACE_GRAPH;
	if (b->captures.opens == 0 || (is_node && (r->aux & GP_ALLOC_CAPTURED) == 0))
		return;
	const uint32_t row =
		gp_graph_captures_row(&b->captures, r->alloc.stream, e->thread, is_node);
	if (row == GP_GRAPH_NO_ROW)
		return;
	struct gp_graph *g = &b->rows.row[row].graph;
	if (is_node) {
		gp_graph_node_add(&b->rows, row, GP_GRAPH_ALLOC, 0);
		graphs_sum(&g->node_bytes, r->alloc.bytes);
	} else if (r->space == GP_SPACE_DEVICE || r->space == GP_SPACE_ASYNC ||
		   r->space == GP_SPACE_MANAGED ||
		   (r->space == GP_SPACE_PHYSICAL && (r->aux & GP_ALLOC_IMPORT) == 0)) {
		graphs_sum(&g->driver_bytes, r->alloc.bytes);
	}
}

/* cuMemFreeAsync on the stream of a capture. */
static void graphs_see_free(struct graphs_building *b, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	for (size_t k = 0; k < b->captures.opens && r->space == GP_SPACE_ASYNC; k++)
		if (b->captures.open[k].stream == r->free.stream) {
			gp_graph_node_add(&b->rows, b->captures.open[k].row, GP_GRAPH_FREE, 0);
			return;
		}
}

/* ---- nodes ---- */

static void graphs_see_launch(struct graphs_building *b, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	if (gp_launched_as(r) == GP_LAUNCHED_CAPTURED && b->captures.opens != 0)
		gp_graph_node_add(
			&b->rows,
			gp_graph_captures_row(&b->captures, r->launch.stream, e->thread, true),
			GP_GRAPH_KERNEL, r->launch.kernel);
}

static void graphs_see_copy(struct graphs_building *b, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	const enum gp_call kind = gp_call_kind(r->aux);
	if (r->code != 0 || (r->aux & GP_CALL_CAPTURED) == 0 || kind == GP_COPY_PREFETCH ||
	    b->captures.opens == 0)
		return;
	gp_graph_node_add(&b->rows,
			  gp_graph_captures_row(&b->captures, r->copy.stream, e->thread, true),
			  kind == GP_COPY_FILL ? GP_GRAPH_FILL : GP_GRAPH_COPY, 0);
}

static enum gp_graph_node graphs_node_of(unsigned type)
{
	switch (type) {
	case GP_NODE_KERNEL:
		return GP_GRAPH_KERNEL;
	case GP_NODE_MEMCPY:
		return GP_GRAPH_COPY;
	case GP_NODE_MEMSET:
		return GP_GRAPH_FILL;
	case GP_NODE_HOST:
		return GP_GRAPH_HOST;
	case GP_NODE_CHILD:
		return GP_GRAPH_CHILD;
	case GP_NODE_MEM_ALLOC:
		return GP_GRAPH_ALLOC;
	case GP_NODE_MEM_FREE:
		return GP_GRAPH_FREE;
	default:
		return GP_GRAPH_OTHER;
	}
}

/* The row of a graph; if it is new, one of this origin. */
static uint32_t graphs_row(struct graphs_building *b, uint64_t graph, enum gp_graph_origin origin,
			   int64_t at_ns)
{
	uint32_t row = gp_graph_row_find(&b->rows.graphs, graph);
	if (row != GP_GRAPH_NO_ROW)
		return row;
	row = gp_graph_row_add(&b->rows, origin, at_ns);
	if (row != GP_GRAPH_NO_ROW)
		b->rows.row[row].graph.handle = graph;
	gp_graph_row_set(&b->rows, &b->rows.graphs, graph, row);
	return row;
}

static void graphs_see_node(struct graphs_building *b, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	const uint64_t graph = r->graph_add_node.graph, other = r->graph_add_node.address;
	const uint32_t from = gp_graph_row_find(&b->rows.graphs, other);
	if (r->code != 0)
		return;
	if (r->aux == GP_NODE_CLONE) {
		gp_graph_row_take(&b->rows.graphs, graph);
		gp_graph_row_copy(&b->rows, graphs_row(b, graph, GP_GRAPH_CLONED, e->at_ns), from,
				  true);
		return;
	}
	const uint32_t row = graphs_row(b, graph, GP_GRAPH_BUILT, e->at_ns);
	if (row == GP_GRAPH_NO_ROW)
		return;
	gp_graph_node_add(&b->rows, row, graphs_node_of(r->aux), other);
	b->rows.row[row].graph.nodes += b->rows.row[row].graph.nodes != 0;
	if (r->aux == GP_NODE_CHILD)
		gp_graph_row_copy(&b->rows, row, from, false);
	if (r->aux == GP_NODE_MEM_ALLOC)
		graphs_sum(&b->rows.row[row].graph.node_bytes, r->graph_add_node.bytes);
}

/* ---- lives ---- */

static void graphs_leave(struct graphs_building *b, uint32_t row, int64_t at_ns)
{
	if (row == GP_GRAPH_NO_ROW)
		return;
	struct gp_graph_row *r = &b->rows.row[row];
	if (r->execs != 0 || !r->is_destroyed || r->graph.gone_ns >= 0)
		return;
	gp_graph_row_name(&b->rows, row);
	gp_graph_pool_settle(&b->rows, row);
	r->graph.gone_ns = at_ns;
}

static void graphs_drop_exec(struct graphs_building *b, uint64_t exec, int64_t at_ns)
{
	const uint32_t row = gp_graph_row_take(&b->rows.execs, exec);
	if (row == GP_GRAPH_NO_ROW)
		return;
	b->rows.row[row].execs -= b->rows.row[row].execs != 0;
	graphs_leave(b, row, at_ns);
}

/* An exec is made from, or updated with, a graph. NULL: out of bounds. */
static struct gp_graph *graphs_make_exec(struct graphs_building *b, uint64_t exec, uint64_t graph,
					 int64_t at_ns)
{
	const uint32_t row = graphs_row(b, graph, GP_GRAPH_UNSEEN, at_ns);
	graphs_drop_exec(b, exec, at_ns);
	if (row == GP_GRAPH_NO_ROW)
		return NULL;
	gp_graph_row_set(&b->rows, &b->rows.execs, exec, row);
	b->rows.row[row].execs++;
	gp_graph_row_name(&b->rows, row);
	return &b->rows.row[row].graph;
}

static void graphs_see_exec(struct graphs_building *b, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	if (r->code != 0)
		return;
	struct gp_graph *g = graphs_make_exec(b, r->v[0], r->v[1], e->at_ns);
	if (g == NULL)
		return;
	if (r->kind == GP_GRAPH_UPDATE) {
		g->updates++;
		return;
	}
	g->instantiations++;
	if (g->origin != GP_GRAPH_CAPTURED && g->stack == 0) {
		g->stack = r->stack;
		g->at_ns = e->at_ns;
	}
}

static void graphs_see_graph_launch(struct graphs_building *b, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	const uint64_t exec = r->graph_launch.exec;
	if (gp_launched_as(r) != GP_LAUNCHED_GRAPH)
		return;
	b->out->graph_launches++;
	uint32_t row = gp_graph_row_find(&b->rows.execs, exec);
	if (row == GP_GRAPH_NO_ROW) {
		row = gp_graph_row_add(&b->rows, GP_GRAPH_UNSEEN, e->at_ns);
		gp_graph_row_set(&b->rows, &b->rows.execs, exec, row);
		if (row != GP_GRAPH_NO_ROW)
			b->rows.row[row].execs = b->rows.row[row].is_destroyed = 1;
	}
	struct gp_graph *g = row != GP_GRAPH_NO_ROW ? &b->rows.row[row].graph : NULL;
	b->out->unknown_launches += g == NULL || g->is_partial;
	if (g == NULL)
		return;
	const int64_t took_ns = gp_took_ns(b->recording, r, r->graph_launch.took);
	if (g->launches++ == 0) {
		g->first_ns = e->at_ns;
		gp_graph_row_name(&b->rows, row);
	}
	g->last_ns = e->at_ns;
	g->untimed += took_ns < 0;
	if (took_ns > 0 && __builtin_add_overflow(g->host_ns, took_ns, &g->host_ns))
		g->host_ns = INT64_MAX;
	g->longest_ns = took_ns > g->longest_ns ? took_ns : g->longest_ns;
	graphs_sum(&b->out->graph_kernels, g->kernel_launches);
	if (b->has_gpu_time && !gp_graph_times_add(&b->times, b->recording->seen, row))
		b->rows.is_out_of_memory = true;
}

static void graphs_destroy(struct graphs_building *b, uint64_t graph, int64_t at_ns)
{
	const uint32_t row = gp_graph_row_take(&b->rows.graphs, graph);
	if (row == GP_GRAPH_NO_ROW)
		return;
	b->rows.row[row].is_destroyed = true;
	graphs_leave(b, row, at_ns);
}

static void graphs_see(struct graphs_building *b, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	gp_looks_add(&b->rows.looks);
	switch (r->kind) {
	case GP_CAPTURE_BEGIN:
	case GP_CAPTURE_END:
	case GP_CAPTURE_ERROR:
		gp_graph_captures_see(&b->captures, e);
		break;
	case GP_LAUNCH:
		graphs_see_launch(b, e);
		break;
	case GP_COPY:
		graphs_see_copy(b, e);
		break;
	case GP_ALLOC:
		graphs_see_alloc(b, e);
		break;
	case GP_FREE:
		graphs_see_free(b, e);
		break;
	case GP_BLOCK_ALLOC:
	case GP_BLOCK_FREE:
	case GP_SEGMENT_ALLOC:
	case GP_SEGMENT_FREE:
	case GP_SEGMENT_MAP:
	case GP_SEGMENT_UNMAP:
		graphs_see_pool(b, e);
		break;
	case GP_GRAPH_ADD_NODE:
		graphs_see_node(b, e);
		break;
	case GP_GRAPH_INSTANTIATE:
	case GP_GRAPH_UPDATE:
		graphs_see_exec(b, e);
		break;
	case GP_GRAPH_LAUNCH:
		graphs_see_graph_launch(b, e);
		break;
	case GP_GRAPH_DESTROY:
		graphs_destroy(b, r->graph_destroy.graph, e->at_ns);
		break;
	case GP_GRAPH_EXEC_DESTROY:
		graphs_drop_exec(b, r->graph_exec_destroy.exec, e->at_ns);
		break;
	case GP_STREAM_DESTROY:
		gp_graph_captures_forget(&b->captures, r->stream_destroy.handle);
		break;
	case GP_LOST:
	case GP_GAP:
	case GP_SCOPE:
		gp_graph_captures_doubt(&b->captures);
		break;
	default:
		break;
	}
}

static enum gp_status graphs_replay(struct graphs_building *b)
{
	struct gp_event e;
	enum gp_status status = gp_recording_rewind(b->recording);
	if (status != GP_OK)
		return status;
	gp_live_walk_begin(b->recording->live, graphs_see_live, b);
	while (!gp_live_walk_more(b->recording->live, UINT32_MAX))
		;
	while (!b->rows.is_out_of_memory && (status = gp_recording_next(b->recording, &e)) == GP_OK)
		graphs_see(b, &e);
	gp_graph_captures_end(&b->captures);
	if (b->rows.is_out_of_memory)
		return GP_E_MEMORY;
	return status == GP_END ? GP_OK : status;
}

static bool graphs_has_events(const struct gp_info *info)
{
	static const enum gp_kind kinds[] = { GP_CAPTURE_BEGIN,	    GP_CAPTURE_END,
					      GP_CAPTURE_ERROR,	    GP_GRAPH_ADD_NODE,
					      GP_GRAPH_INSTANTIATE, GP_GRAPH_UPDATE,
					      GP_GRAPH_LAUNCH,	    GP_GRAPH_DESTROY,
					      GP_GRAPH_EXEC_DESTROY };
	uint64_t kept = 0;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		kept += info->kept[kinds[k]];
	return kept != 0;
}

/* ---- the report ---- */

static int graphs_order(const void *left, const void *right)
{
	const struct gp_graph *a = left, *b = right;
	if (a->pool_bytes != b->pool_bytes)
		return a->pool_bytes < b->pool_bytes ? 1 : -1;
	if (a->launches != b->launches)
		return a->launches < b->launches ? 1 : -1;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static int graphs_failure_order(const void *left, const void *right)
{
	const struct gp_graph_failure *a = left, *b = right;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

/* Nodes that the driver has counted and no recorded call has added. */
static void graphs_settle_nodes(struct gp_graph *g)
{
	uint64_t known = 0;
	for (unsigned k = 0; k < GP_GRAPH_NODES; k++)
		graphs_sum(&known, g->node[k]);
	if (g->nodes > known)
		g->node[GP_GRAPH_OTHER] += g->nodes - known;
	else if (g->nodes != 0 && g->nodes < known)
		g->is_partial = true; /* some belong to another capture, or did not run in it */
	else
		g->nodes = known;
}

static enum gp_status graphs_name_all(struct graphs_building *b)
{
	struct gp_graphs_report *out = b->out;
	struct gp_graph_place *place = calloc(out->graphs + out->failures + 1, sizeof *place);
	if (place == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < out->graphs; k++) {
		struct gp_graph *g = &out->graph[k];
		place[k] = (struct gp_graph_place){ g->stack,	 g->at_ns, &g->key, &g->file,
						    &g->without, &g->line, 0 };
	}
	for (size_t k = 0; k < out->failures; k++) {
		struct gp_graph_failure *f = &out->failure[k];
		place[out->graphs + k] =
			(struct gp_graph_place){ f->stack,    f->at_ns, &f->key, &f->file,
						 &f->without, &f->line, 0 };
	}
	enum gp_status status = gp_graph_places_name(b->recording, place, out->graphs);
	if (status == GP_OK)
		status = gp_graph_places_name(b->recording, place + out->graphs, out->failures);
	free(place);
	return status;
}

/* Moves the rows that are graphs into the report. */
static enum gp_status graphs_take_rows(struct graphs_building *b)
{
	struct gp_graphs_report *out = b->out;
	gp_graph_pools_settle(&b->rows);
	out->graph = calloc(b->rows.rows + 1, sizeof *out->graph);
	if (out->graph == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < b->rows.rows; k++) {
		struct gp_graph_row *row = &b->rows.row[k];
		if (row->is_dropped)
			continue;
		if (row->graph.gone_ns < 0) {
			gp_graph_row_name(&b->rows, (uint32_t)k);
			gp_graph_pool_settle(&b->rows, (uint32_t)k);
		}
		if (gp_graph_row_kernels(&b->rows, (uint32_t)k) != GP_OK)
			return GP_E_MEMORY;
		graphs_settle_nodes(&row->graph);
		gp_graph_pools_count(&b->rows, (uint32_t)k);
		out->graph[out->graphs++] = row->graph;
		row->graph.key = NULL;
		row->graph.kernel = NULL;
	}
	return GP_OK;
}

enum gp_status gp_graphs_report_build(struct gp_recording *recording, struct gp_graphs_report *out)
{
	struct graphs_building *b = calloc(1, sizeof *b);
	const struct gp_info *info = NULL;
	*out = (struct gp_graphs_report){ 0 };
	if (b == NULL)
		return GP_E_MEMORY;
	b->recording = recording;
	b->out = out;
	gp_graph_rows_open(&b->rows, recording, out);
	b->captures.rows = &b->rows;
	enum gp_status status = gp_recording_info(recording, &info);
	if (status == GP_OK) {
		b->has_gpu_time = info->kept[GP_GPU_KERNEL] != 0 || info->kept[GP_GPU_COPY] != 0;
		out->has_gpu_time = b->has_gpu_time;
		out->launches = info->launches;
		out->captured_launches = info->captured_launches;
		status = graphs_has_events(info) ? graphs_replay(b) : gp_recording_end(recording);
	}
	if (status == GP_OK && b->has_gpu_time)
		status = gp_graph_times_sum(&b->times, &b->rows);
	if (status == GP_OK)
		status = graphs_take_rows(b);
	if (status == GP_OK)
		status = graphs_name_all(b);
	if (status == GP_OK && out->graphs > 1)
		qsort(out->graph, out->graphs, sizeof *out->graph, graphs_order);
	if (status == GP_OK && out->failures > 1)
		qsort(out->failure, out->failures, sizeof *out->failure, graphs_failure_order);
	gp_graph_rows_release(&b->rows);
	gp_graph_times_release(&b->times);
	free(b);
	if (status != GP_OK)
		gp_graphs_report_free(out);
	return status;
}

bool gp_graph_is_idle(const struct gp_graphs_report *report, const struct gp_graph *graph)
{
	const struct gp_graph_pool *pool =
		graph->pool != GP_GRAPH_NO_POOL ? &report->pool[graph->pool] : NULL;
	if (graph->launches != 0 || graph->gone_ns >= 0)
		return false;
	return graph->node_bytes != 0 || (pool != NULL && pool->bytes != 0 && pool->launched == 0);
}

bool gp_graph_has_known_pool(const struct gp_graph *graph)
{
	return graph->pool != GP_GRAPH_NO_POOL || !(graph->is_partial || graph->lacks_pool);
}

void gp_graphs_report_free(struct gp_graphs_report *report)
{
	for (size_t k = 0; k < report->graphs; k++) {
		free(report->graph[k].key);
		free(report->graph[k].kernel);
	}
	for (size_t k = 0; k < report->failures; k++)
		free(report->failure[k].key);
	for (size_t k = 0; k < report->names; k++)
		free(report->name[k]);
	free(report->graph);
	free(report->failure);
	free(report->pool);
	free(report->name);
	*report = (struct gp_graphs_report){ 0 };
}
