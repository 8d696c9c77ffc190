/* The report of `graphs` for a person. */
#include <inttypes.h>

#include "../io/amount.h"
#include "../report/again.h"
#include "../report/stack_print.h"
#include "graphs_report.h"

#define INVALIDATED 901u /* CUDA_ERROR_STREAM_CAPTURE_INVALIDATED */

uint64_t gp_graphs_pool_bytes(const struct gp_graphs_report *report, size_t *pools)
{
	uint64_t bytes = 0;
	*pools = 0;
	for (size_t k = 0; k < report->pools; k++)
		if (report->pool[k].graphs != 0 && report->pool[k].bytes != 0) {
			bytes += report->pool[k].bytes;
			++*pools;
		}
	return bytes;
}

double gp_graphs_share(const struct gp_graphs_report *report)
{
	const double inside = (double)report->graph_kernels;
	const double all = inside + (double)report->launches;
	return all > 0 ? inside / all : 0;
}

static size_t graphs_shown(const struct gp_graphs_command *c, size_t graphs)
{
	return c->r.top && graphs > c->r.top ? (size_t)c->r.top : graphs;
}

static void graphs_print_stack(const struct gp_graphs_command *c, uint32_t stack, int64_t at_ns)
{
	if (c->has_stacks && stack)
		gp_stack_print(c->r.out, c->r.recording, stack, at_ns, GP_STACK_FOLDED);
}

/* ---- the answer ---- */

static void graphs_print_answer(const struct gp_graphs_command *c, const struct gp_graphs_report *g)
{
	FILE *out = c->r.out;
	size_t pools;
	const uint64_t bytes = gp_graphs_pool_bytes(g, &pools);
	gp_name_print(out, c->r.path);
	fprintf(out, ": %s", gp_plural(g->graphs, "CUDA graph").s);
	if (pools)
		fprintf(out, ", %s in %s", gp_bytes_text(bytes).s,
			gp_plural(pools, "private pool").s);
	if (g->failures)
		fprintf(out, "; %s failed", gp_plural(g->failures, "capture").s);
	if (g->graph_launches)
		fprintf(out, "; %s%.1f%% of kernel launches are in graphs",
			g->unknown_launches ? "at least " : "", 100 * gp_graphs_share(g));
	fputc('\n', out);
	gp_headline_print(out, c->r.info);
	if (g->open)
		fprintf(out, "%s not ended\n", gp_plural(g->open, "capture").s);
	if (g->beyond)
		fprintf(out, "%s beyond the bounds of the report: figures are too low\n",
			gp_plural(g->beyond, "item").s);
}

/* ---- captures that failed ---- */

static void graphs_print_failures(const struct gp_graphs_command *c,
				  const struct gp_graphs_report *g)
{
	FILE *out = c->r.out;
	bool has_end = false;
	if (g->failures == 0)
		return;
	fprintf(out, "\n%10s  %-26s %5s  %s\n", "at", "call that broke a capture", "error", "line");
	for (size_t k = 0; k < graphs_shown(c, g->failures); k++) {
		const struct gp_graph_failure *f = &g->failure[k];
		const char *name = gp_graph_error_name(f->code);
		fprintf(out, "%10s  ", gp_ns_text(f->at_ns).s);
		fprintf(out, "%-26s %5u  ", f->call ? f->call : "unknown", f->code);
		gp_name_print(out, f->key);
		fputc('\n', out);
		if (name)
			fprintf(out, "%46s %s%s\n", "", name,
				f->is_unended ? "; the capture was not ended" : "");
		has_end |= f->is_end && f->code == INVALIDATED;
		graphs_print_stack(c, f->stack, f->at_ns);
	}
	if (g->failures > graphs_shown(c, g->failures))
		fprintf(out, "  %s; --top 0 shows all\n",
			gp_plural(g->failures - graphs_shown(c, g->failures), "more capture").s);
	if (has_end)
		fputs("cuStreamEndCapture: a call without a wrapper broke the capture\n", out);
}

/* ---- graphs ---- */

static struct gp_text graphs_mean(int64_t sum_ns, uint64_t count)
{
	struct gp_text none = { "-" };
	return count ? gp_ns_text(sum_ns / (int64_t)count) : none;
}

static void graphs_print_nodes(FILE *out, const struct gp_graph *graph)
{
	static const char *const nouns[GP_GRAPH_NODES] = { "kernel",	 "copy node", "fill",
							   "allocation", "free",      "child graph",
							   "host call",	 "other node" };
	const char *comma = "";
	for (unsigned k = 0; k < GP_GRAPH_NODES; k++)
		if (graph->node[k]) {
			fprintf(out, "%s%s", comma, gp_plural(graph->node[k], nouns[k]).s);
			comma = ", ";
		}
	if (!*comma)
		fputs(graph->is_partial ? "unknown nodes" : "no nodes", out);
	else if (graph->is_partial)
		fputs(" (not all are certain)", out);
}

static void graphs_print_memory(FILE *out, const struct gp_graphs_report *g,
				const struct gp_graph *graph)
{
	if (graph->pool != GP_GRAPH_NO_POOL) {
		const struct gp_graph_pool *pool = &g->pool[graph->pool];
		fprintf(out, "; pool %" PRIu64 ".%" PRIu64, pool->pool, pool->user_pool);
		if (pool->graphs > 1)
			fprintf(out, " of %s", gp_plural(pool->graphs, "graph").s);
	} else if (graph->driver_bytes) {
		fprintf(out, "; %s requested from the driver in it",
			gp_bytes_text(graph->driver_bytes).s);
	}
	if (graph->other_pools)
		fprintf(out, "; %s in %s", gp_bytes_text(graph->other_pool_bytes).s,
			gp_plural(graph->other_pools, "other pool").s);
	if (graph->node_bytes)
		fprintf(out, "; %s of its own nodes", gp_bytes_text(graph->node_bytes).s);
}

static void graphs_print_one(const struct gp_graphs_command *c, const struct gp_graphs_report *g,
			     const struct gp_graph *graph)
{
	FILE *out = c->r.out;
	const bool has_pool = graph->pool != GP_GRAPH_NO_POOL;
	fprintf(out, "%10s %8s ",
		has_pool		       ? gp_bytes_text(graph->pool_bytes).s :
		gp_graph_has_known_pool(graph) ? "none" :
						 "unknown",
		graph->nodes || !graph->is_partial ? gp_count_text(graph->nodes).s : "unknown");
	fprintf(out, "%9s ", graph->launches ? gp_count_text(graph->launches).s : "never");
	fprintf(out, "%10s ", graphs_mean(graph->host_ns, graph->launches - graph->untimed).s);
	if (g->has_gpu_time)
		fprintf(out, "%10s ", graphs_mean((int64_t)graph->gpu_ns, graph->gpu_launches).s);
	fputc(' ', out);
	gp_name_print(out, graph->key);
	fprintf(out, "\n%12s%s", "", gp_graph_origin_names[graph->origin]);
	if (graph->origin == GP_GRAPH_CAPTURED)
		fprintf(out, " at %s", gp_ns_text(graph->at_ns).s);
	fputs(": ", out);
	graphs_print_nodes(out, graph);
	graphs_print_memory(out, g, graph);
	if (graph->instantiations != 1)
		fprintf(out, "; %s", gp_plural(graph->instantiations, "instantiation").s);
	if (graph->updates)
		fprintf(out, "; %s", gp_plural(graph->updates, "update").s);
	fprintf(out, "%s\n", graph->gone_ns >= 0 ? "; destroyed" : "");
	for (size_t k = 0; c->has_kernels && k < graph->kernels; k++) {
		fprintf(out, "%12s%8s  ", "", gp_count_text(graph->kernel[k].count).s);
		gp_name_print(out,
			      graph->kernel[k].name ? graph->kernel[k].name : "(unknown kernel)");
		fputc('\n', out);
	}
	graphs_print_stack(c, graph->stack, graph->at_ns);
}

static void graphs_print_idle(FILE *out, const struct gp_graphs_report *g)
{
	size_t idle = 0;
	uint64_t bytes = 0;
	for (size_t k = 0; k < g->graphs; k++)
		if (gp_graph_is_idle(g, &g->graph[k])) {
			idle++;
			bytes += g->graph[k].node_bytes;
		}
	for (size_t k = 0; k < g->pools; k++)
		if (g->pool[k].graphs != 0 && g->pool[k].launched == 0)
			bytes += g->pool[k].bytes;
	if (idle)
		fprintf(out, "never launched: %s with %s that no launched graph uses\n",
			gp_plural(idle, "graph").s, gp_bytes_text(bytes).s);
}

static void graphs_print_all(const struct gp_graphs_command *c, const struct gp_graphs_report *g)
{
	FILE *out = c->r.out;
	if (g->graphs == 0)
		return;
	fprintf(out, "\n%10s %8s %9s %10s ", "pool", "nodes", "launches", "a call");
	if (g->has_gpu_time)
		fprintf(out, "%10s ", "on the GPU");
	fputs(" line\n", out);
	for (size_t k = 0; k < graphs_shown(c, g->graphs); k++)
		graphs_print_one(c, g, &g->graph[k]);
	if (g->graphs > graphs_shown(c, g->graphs))
		fprintf(out, "  %s; --top 0 shows all\n",
			gp_plural(g->graphs - graphs_shown(c, g->graphs), "more graph").s);
	graphs_print_idle(out, g);
}

static void graphs_print_next(const struct gp_graphs_command *c, const struct gp_graphs_report *g)
{
	size_t pools;
	const bool has_bytes = gp_graphs_pool_bytes(g, &pools) != 0;
	const char *next = g->failures && !c->has_stacks ? "graphs --stacks" :
			   has_bytes			 ? "frag" :
							   NULL;
	gp_next_print(c->r.out, gp_next_of(c->r.recording, c->r.info, next), c->r.path);
}

void gp_graphs_print(const struct gp_graphs_command *c, const struct gp_graphs_report *g)
{
	graphs_print_answer(c, g);
	graphs_print_failures(c, g);
	graphs_print_all(c, g);
	const unsigned lacks = gp_again_lacks(c->r.info, GP_LACK_STACKS | GP_LACK_DETAILS);
	if (lacks && g->graphs + g->failures != 0)
		gp_again_print(c->r.out, c->r.info, lacks);
	else
		graphs_print_next(c, g);
}
