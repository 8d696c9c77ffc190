/*
 * `gpuprof info`: what a recording is and what the other commands find in it, in one screen; many
 * recordings: one row each.
 */
#include <math.h>

#include "amount.h"
#include "flags.h"
#include "info_report.h"
#include "inputs.h"
#include "report.h"

static int run(int argc, char **argv);
const struct gp_command gp_command_info = {
	"info",
	"info [--steps] [--json] [-o FILE [--force]] RECORDING...",
	"summarize recordings: peaks, holders, OOMs, leaks, steps, losses",
	run,
};

/* ---- many ---- */

static void put(struct gp_cell *cell, const char *text, double number)
{
	snprintf(cell->text, sizeof cell->text, "%s", text);
	cell->number = number;
}

static bool add_row(struct gp_sheet *table, const char *path, struct gp_recording *recording,
		    const struct gp_info *info)
{
	struct gp_sheet_row *row = gp_sheet_add(table, path, "");
	uint64_t lost = info->lost_memory + info->lost_launch + info->lost_other + info->nested;
	uint64_t faults = info->mismatches + info->anomalies;
	if (!row)
		return false;
	row->is_damaged = info->is_damaged;
	put(&row->cell[0], gp_ns_text((int64_t)info->duration_ns).s, (double)info->duration_ns);
	put(&row->cell[1], gp_count_text(gp_events_of(info)).s, (double)gp_events_of(info));
	put(&row->cell[2], gp_count_text(lost).s, (double)lost);
	put(&row->cell[3], gp_count_text(faults).s, (double)faults);
	put(&row->cell[4], gp_count_text(info->devices).s, (double)info->devices);
	put(&row->cell[5], gp_bytes_text(info->file_bytes).s, (double)info->file_bytes);
	gp_sheet_put_step(row, 6, recording);
	put(&row->cell[7],
	    info->is_damaged  ? "damaged" :
	    info->is_complete ? "yes" :
				"no",
	    (double)NAN);
	return true;
}

struct report {
	struct gp_sink sink;
	struct gp_json json;
	struct gp_sheet table;
	bool is_json, is_many, has_steps;
};

static int report_one(struct report *r, const char *path)
{
	const struct gp_info *info;
	int exit_status;
	struct gp_recording *recording = gp_report_open(path, &info, &exit_status);
	if (!recording)
		return exit_status;
	exit_status = gp_report_exit(path, info);
	r->sink.has_report = true;
	struct gp_info_front front = { 0 };
	struct gp_info_report one = { .path = path,
				      .recording = recording,
				      .info = info,
				      .has_step_list = r->has_steps,
				      .out = r->sink.out,
				      .json = &r->json };
	enum gp_status status = GP_OK;
	if (r->is_json || !r->is_many)
		status = gp_info_front_build(recording, info, path, &front);
	if (status)
		exit_status = gp_report_failed("analyze", path, status);
	else
		one.front = &front;
	if (r->is_json)
		gp_info_write(&one);
	else if (!r->is_many)
		gp_info_print(&one);
	else if (!add_row(&r->table, path, recording, info))
		exit_status = GP_EXIT_INTERNAL;
	gp_info_front_release(&front);
	gp_recording_close(recording);
	return exit_status;
}

static int run(int argc, char **argv)
{
	struct report r = { .table = { .columns = 8,
				       .next = "info",
				       .title = { "span", "events", "lost", "faults", "GPUs",
						  "file", "a step", "complete" } } };
	const char *path = NULL;
	bool is_forced = false;
	const struct gp_flag flags[] = {
		{ "json", 0, GP_FLAG_SWITCH, NULL, &r.is_json,
		  "for a program: see gpuprof-info(1) for the keys" },
		{ "steps", 0, GP_FLAG_SWITCH, NULL, &r.has_steps,
		  "with --json also the moments at which its steps begin" },
		GP_FLAGS_OUTPUT(&path, &is_forced),
		GP_FLAGS_SCREEN,
		{ 0 },
	};
	int words = gp_inputs_parse(&gp_command_info, flags, argc, &argv);
	if (words < 0)
		return gp_flags_exit(words);
	int worst = gp_sink_open(&r.sink, path, is_forced, !r.is_json, argv, words);
	if (worst)
		return worst;
	r.is_many = words > 1;
	gp_json_init(&r.json, r.sink.out, r.is_many ? 3 : 2);
	if (r.is_json && r.is_many)
		gp_json_array(&r.json, NULL);
	for (int k = 0; k < words; k++) {
		int exit_status = report_one(&r, argv[k]);
		worst = exit_status > worst ? exit_status : worst;
	}
	if (r.is_json && r.is_many)
		gp_json_end(&r.json);
	else if (r.table.rows)
		gp_sheet_print(&r.table, r.sink.out);
	gp_sheet_release(&r.table);
	return gp_sink_close(&r.sink, worst);
}
