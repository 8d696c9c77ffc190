/*
 * `gpuprof graphs`: CUDA graphs with their content, memory and launches, and the calls that broke
 * captures.
 */
#include "graphs/graphs_report.h"
#include "io/amount.h"
#include "report/again.h"
#include "report/stack_print.h"

#define TOP_DEFAULT 10u

enum { GRAPHS, POOLS, IDLE, FAILED, INSIDE, COLUMNS };

static bool graphs_row_add(struct gp_graphs_command *c, const struct gp_graphs_report *g)
{
	size_t pools, idle = 0;
	const uint64_t bytes = gp_graphs_pool_bytes(g, &pools);
	if (!gp_report_table_begin(&c->r.table, c->r.path, c->r.info))
		return false;
	struct gp_report_row *row = gp_report_table_add(&c->r.table, "");
	if (!row)
		return false;
	for (size_t k = 0; k < g->graphs; k++)
		idle += gp_graph_is_idle(g, &g->graph[k]);
	c->has_graphs |= g->graphs + g->failures != 0;
	gp_cell_put(&row->cell[GRAPHS], (double)g->graphs, gp_count_text(g->graphs).s);
	gp_cell_put(&row->cell[POOLS], (double)bytes, gp_bytes_text(bytes).s);
	gp_cell_put(&row->cell[IDLE], (double)idle, gp_count_text(idle).s);
	gp_cell_put(&row->cell[FAILED], (double)g->failures, gp_count_text(g->failures).s);
	struct gp_text share;
	snprintf(share.s, sizeof share.s, "%.1f%%", 100 * gp_graphs_share(g));
	gp_cell_put(&row->cell[INSIDE], gp_graphs_share(g), share.s);
	return true;
}

static int graphs_one(struct gp_reading *r)
{
	struct gp_graphs_command *c = (struct gp_graphs_command *)r;
	struct gp_graphs_report report;
	int exit_status = GP_EXIT_OK;
	enum gp_status status = gp_graphs_report_build(r->recording, &report);
	if (status)
		return gp_report_failed("report on", r->path, status);
	r->sink.has_report = true;
	if (r->is_json)
		gp_graphs_write(c, &r->json, &report);
	else if (r->is_many)
		exit_status = graphs_row_add(c, &report) ? GP_EXIT_OK : GP_EXIT_DAMAGED;
	else
		gp_graphs_print(c, &report);
	gp_graphs_report_free(&report);
	return exit_status;
}

static int graphs_end(struct gp_reading *r, int worst)
{
	r->none = ((struct gp_graphs_command *)r)->has_graphs ? NULL : "no CUDA graphs";
	return worst;
}

static int graphs_run(const struct gp_command *command, int argc, char **argv)
{
	struct gp_graphs_command c = {
		.r = { .command = command,
		       .table = { .columns = COLUMNS,
				  .title = { "graphs", "pools", "idle", "failed", "in graphs" },
				  .next = "graphs" } }
	};
	const struct gp_flag flags[] = {
		{ "top", 0, GP_FLAG_NUMBER, "N", &c.r.top,
		  "at most N graphs, 0: all; default 10, with --json all" },
		{ "kernels", 0, GP_FLAG_SWITCH, NULL, &c.has_kernels, "kernels below each graph" },
		{ "stacks", 0, GP_FLAG_SWITCH, NULL, &c.has_stacks, "frames below each line" },
		{ 0 },
	};
	return gp_reading_run(&c.r, flags, argc, argv);
}

const struct gp_command gp_command_graphs = {
	.name = "graphs",
	.synopsis = "graphs [--json] [options] RECORDING...",
	.text = "show CUDA graphs, their memory and launches, and failed captures",
	.run = graphs_run,
	.options = GP_OPTIONS_REPORT | GP_OPTION_NO_STACKS,
	.json_levels = 4,
	.top = TOP_DEFAULT,
	.one = graphs_one,
	.end = graphs_end,
};
