/*
 * `gpuprof info`: an overview of a recording and of the results of the other commands. One screen
 * for one recording, one row each for many.
 */
#include <stdlib.h>

#include <math.h>

#include "info/info_report.h"
#include "io/amount.h"
#include "report/reading.h"

/* ---- many ---- */

enum { PEAK, OOMS, LEAK, STEP, SPAN, EVENTS, FAULTS, GPUS, FILE_BYTES, COLUMNS };

static bool info_add_row(struct gp_report_table *table, const struct gp_info_report *one)
{
	const struct gp_info *info = one->info;
	const struct gp_info_front *f = one->front;
	struct gp_report_row *row = NULL;
	if (gp_report_table_begin(table, one->path, info))
		row = gp_report_table_add(table, "");
	if (!row)
		return false;
	gp_cell_put(&row->cell[SPAN], (double)info->duration_ns,
		    gp_ns_text((int64_t)info->duration_ns).s);
	gp_cell_put_count(&row->cell[EVENTS], gp_events_of(info));
	gp_cell_put_count(&row->cell[FAULTS], info->mismatches + info->anomalies);
	gp_cell_put_count(&row->cell[GPUS], info->devices);
	gp_cell_put(&row->cell[FILE_BYTES], NAN, gp_bytes_text(info->file_bytes).s);
	if (!f)
		return true;
	const struct gp_leak_total total = gp_leak_total_of(&f->leaks);
	if (f->most)
		gp_cell_put_least(&row->cell[PEAK], f->most->peak_bytes,
				  gp_info_is_at_least(info, f->most));
	gp_cell_put_ooms(&row->cell[OOMS], info, f->ooms, f->first_oom.at_ns);
	gp_leak_cell_put(&row->cell[LEAK], &f->leaks, &total);
	gp_cell_put_step(&row->cell[STEP], &f->leaks.leaks.steps);
	return true;
}

/* ---- one ---- */

struct info {
	struct gp_reading r;
	bool has_steps;
};

static int info_one(struct gp_reading *r)
{
	int exit_status = GP_EXIT_OK;
	r->sink.has_report = true;
	struct gp_info_front front = { 0 };
	struct gp_gpu_sum *gpu = NULL;
	struct gp_info_report one = { .path = r->path,
				      .recording = r->recording,
				      .info = r->info,
				      .has_step_list = ((struct info *)r)->has_steps,
				      .out = r->out,
				      .json = &r->json };
	const bool has_holders = r->is_json || !r->is_many;
	enum gp_status status =
		gp_info_front_build(r->recording, r->info, r->path, has_holders, &front);
	if (status)
		exit_status = gp_report_failed("analyze", r->path, status);
	else
		one.front = &front;
	if (one.front && one.has_step_list && (r->is_json || !r->is_many))
		status = gp_gpu_steps_build(r->recording, &front.leaks.leaks.steps, &gpu);
	if (one.front && status)
		exit_status = gp_report_failed("analyze", r->path, status);
	one.gpu = gpu;
	if (r->is_json)
		gp_info_write(&one);
	else if (!r->is_many)
		gp_info_print(&one);
	else if (!info_add_row(&r->table, &one))
		exit_status = GP_EXIT_INTERNAL;
	free(gpu);
	gp_info_front_release(&front);
	return exit_status;
}

static int info_run(const struct gp_command *command, int argc, char **argv)
{
	struct info i = { .r = { .command = command,
				 .table = { .columns = COLUMNS,
					    .next = "info",
					    .title = { "peak", "OOMs", "leak", "a step", "span",
						       "events", "faults", "GPUs", "file" },
					    .fault[OOMS] = { "first OOM", NULL, "oom", true },
					    .fault[LEAK] = { "leak", " a step", "leaks" } } } };
	const struct gp_flag flags[] = {
		{ "steps", 0, GP_FLAG_SWITCH, NULL, &i.has_steps,
		  "GPU time of each step; with --json also the moments at which steps begin" },
		{ 0 },
	};
	return gp_reading_run(&i.r, flags, argc, argv);
}

const struct gp_command gp_command_info = {
	.name = "info",
	.synopsis = "info [--steps] [--json] [-o FILE [--force]] RECORDING...",
	.text = "summarize recordings: peaks, holders, roles, OOMs, leaks, steps",
	.run = info_run,
	.options = GP_OPTIONS_REPORT,
	.json_levels = 2,
	.one = info_one,
};
