/* The report of `graphs` for a program. */
#include "../report/stack_print.h"
#include "../report/use_report.h"
#include "graphs_report.h"

static void graphs_write_place(struct gp_json *json, const char *key, const char *why,
			       const char *file, uint32_t line)
{
	gp_json_text(json, "key", key);
	gp_json_text(json, "why", why);
	gp_json_text(json, "file", file);
	gp_json_number_if(json, "line", line != 0, line);
}

static void graphs_write_pool_id(struct gp_json *json, const struct gp_graph_pool *pool)
{
	gp_json_array(json, "pool");
	gp_json_number(json, NULL, pool->pool);
	gp_json_number(json, NULL, pool->user_pool);
	gp_json_end(json);
}

static void graphs_write_nodes(struct gp_json *json, const struct gp_graph *g)
{
	gp_json_object(json, "nodes");
	gp_json_number(json, "all", g->nodes);
	for (unsigned k = 0; k < GP_GRAPH_NODES; k++)
		gp_json_number(json, gp_graph_node_names[k], g->node[k]);
	gp_json_end(json);
	gp_json_array(json, "kernels");
	for (size_t k = 0; k < g->kernels; k++) {
		gp_json_object(json, NULL);
		gp_json_text(json, "name", g->kernel[k].name);
		gp_json_number(json, "count", g->kernel[k].count);
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void graphs_write_one(const struct gp_graphs_command *c, struct gp_json *json,
			     const struct gp_graphs_report *report, const struct gp_graph *g)
{
	const bool has_pool = g->pool != GP_GRAPH_NO_POOL, has_launches = g->launches != 0;
	gp_json_object(json, NULL);
	gp_json_text(json, "origin", gp_graph_origin_names[g->origin]);
	gp_json_hex(json, "graph", g->handle);
	gp_json_signed(json, "at_ns", g->at_ns);
	gp_json_signed_if(json, "took_ns", g->took_ns >= 0, g->took_ns);
	graphs_write_place(json, g->key, g->without, g->file, g->line);
	graphs_write_nodes(json, g);
	gp_json_bool(json, "partial", g->is_partial);
	if (has_pool)
		graphs_write_pool_id(json, &report->pool[g->pool]);
	else
		gp_json_null(json, "pool");
	gp_json_bool(json, "pool_known", gp_graph_has_known_pool(g));
	gp_json_number_if(json, "pool_bytes", has_pool, g->pool_bytes);
	gp_json_number_if(json, "pool_allocated_bytes", has_pool, g->pool_allocated_bytes);
	gp_json_number(json, "other_pools", g->other_pools);
	gp_json_number(json, "other_pool_bytes", g->other_pool_bytes);
	gp_json_number(json, "node_bytes", g->node_bytes);
	gp_json_number(json, "driver_bytes", g->driver_bytes);
	gp_json_number(json, "instantiations", g->instantiations);
	gp_json_number(json, "updates", g->updates);
	gp_json_number(json, "launches", g->launches);
	gp_json_signed_if(json, "first_launch_ns", has_launches, g->first_ns);
	gp_json_signed_if(json, "last_launch_ns", has_launches, g->last_ns);
	gp_json_signed_if(json, "host_ns", g->launches > g->untimed, g->host_ns);
	gp_json_signed_if(json, "longest_ns", g->launches > g->untimed, g->longest_ns);
	gp_json_number(json, "untimed", g->untimed);
	gp_json_number(json, "gpu_launches", g->gpu_launches);
	gp_json_number_if(json, "gpu_ns", g->gpu_launches != 0, g->gpu_ns);
	gp_json_signed_if(json, "gone_ns", g->gone_ns >= 0, g->gone_ns);
	gp_stack_write(json, c->r.recording, g->stack, g->at_ns, GP_STACK_FOLDED);
	gp_json_end(json);
}

static void graphs_write_failure(const struct gp_graphs_command *c, struct gp_json *json,
				 const struct gp_graph_failure *f)
{
	gp_json_object(json, NULL);
	gp_json_text(json, "call", f->call);
	gp_json_number(json, "code", f->code);
	gp_json_text(json, "error", gp_graph_error_name(f->code));
	gp_json_bool(json, "at_end", f->is_end);
	gp_json_bool(json, "ended", !f->is_unended);
	gp_json_signed(json, "at_ns", f->at_ns);
	gp_json_signed_if(json, "began_ns", f->began_ns >= 0, f->began_ns);
	graphs_write_place(json, f->key, f->without, f->file, f->line);
	gp_stack_write(json, c->r.recording, f->stack, f->at_ns, GP_STACK_FOLDED);
	gp_json_end(json);
}

static void graphs_write_pools(struct gp_json *json, const struct gp_graphs_report *report)
{
	gp_json_array(json, "pools");
	for (size_t k = 0; k < report->pools; k++) {
		gp_json_object(json, NULL);
		graphs_write_pool_id(json, &report->pool[k]);
		gp_json_number(json, "graphs", report->pool[k].graphs);
		gp_json_number(json, "launched_graphs", report->pool[k].launched);
		gp_json_number(json, "bytes", report->pool[k].bytes);
		gp_json_number(json, "allocated_bytes", report->pool[k].allocated_bytes);
		gp_json_end(json);
	}
	gp_json_end(json);
}

void gp_graphs_write(const struct gp_graphs_command *c, struct gp_json *json,
		     const struct gp_graphs_report *report)
{
	const size_t most = c->r.top ? (size_t)c->r.top : SIZE_MAX;
	gp_json_object(json, NULL);
	gp_use_head_write(json, c->r.path, c->r.info);
	gp_json_array(json, "graphs");
	for (size_t k = 0; k < report->graphs && k < most; k++)
		graphs_write_one(c, json, report, &report->graph[k]);
	gp_json_end(json);
	gp_json_array(json, "failed");
	for (size_t k = 0; k < report->failures && k < most; k++)
		graphs_write_failure(c, json, &report->failure[k]);
	gp_json_end(json);
	graphs_write_pools(json, report);
	gp_json_number(json, "open_captures", report->open);
	gp_json_number(json, "beyond", report->beyond);
	gp_json_number(json, "launches", report->launches);
	gp_json_number(json, "captured_launches", report->captured_launches);
	gp_json_number(json, "graph_launches", report->graph_launches);
	gp_json_number(json, "graph_kernels", report->graph_kernels);
	gp_json_number(json, "unknown_launches", report->unknown_launches);
	gp_json_real(json, "share", gp_graphs_share(report));
	gp_json_end(json);
}
