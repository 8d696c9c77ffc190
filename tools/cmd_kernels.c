/*
 * `gpuprof kernels`: which kernels take the time of the GPU, by name, by the launching code or by
 * range. Needs GPU time.
 */
#include <string.h>

#include "io/amount.h"
#include "io/message.h"
#include "kernels/kernels_report.h"
#include "report/reading.h"

#define TOP_DEFAULT 20u

struct kernels {
	struct gp_reading r;
	struct gp_kernels_report report;
	const char *by;
	uint64_t ncu;	/* row, from 1; 0: not requested */
	bool has_times; /* in one of many recordings at least */
};

#define BY_WORDS "name|library|operator|line|module|range|phase"
static const char *const by_words[] = {
	[GP_KERNELS_BY_NAME] = "name",	       [GP_KERNELS_BY_LIBRARY] = "library",
	[GP_KERNELS_BY_OPERATOR] = "operator", [GP_KERNELS_BY_LINE] = "line",
	[GP_KERNELS_BY_MODULE] = "module",     [GP_KERNELS_BY_RANGE] = "range",
	[GP_KERNELS_BY_PHASE] = "phase",
};

enum { TOTAL, BUSY, SHARE, COLUMNS };

static bool kernels_row_add(struct kernels *c)
{
	const struct gp_kernels *k = &c->report.kernels;
	char text[32];
	if (!gp_report_table_begin(&c->r.table, c->r.path, c->r.info))
		return false;
	struct gp_report_row *row = gp_report_table_add(
		&c->r.table, k->gpu.has_operations ? "" : "no GPU time recorded");
	if (!row || !k->gpu.has_operations)
		return row != NULL;
	c->has_times = true;
	const uint64_t total_ns = k->total_ns[GP_GPU_IS_KERNEL];
	gp_cell_put(&row->cell[TOTAL], (double)total_ns, gp_ns_text((int64_t)total_ns).s);
	gp_cell_put(&row->cell[BUSY], (double)k->busy_ns, gp_ns_text((int64_t)k->busy_ns).s);
	if (k->rows == 0)
		return true;
	const double share = gp_kernel_share(k, &k->row[0]);
	snprintf(text, sizeof text, "%.1f%%", 100 * share);
	gp_cell_put(&row->cell[SHARE], share, text);
	return gp_report_table_note(row, k->row[0].key);
}

static int kernels_one(struct gp_reading *r)
{
	struct kernels *c = (struct kernels *)r;
	struct gp_kernels_report *report = &c->report;
	int64_t from_ns = INT64_MIN, to_ns = INT64_MAX;
	int exit_status = GP_EXIT_OK;
	if (!gp_span_find(r->recording, r->from, r->to, &from_ns, &to_ns))
		return GP_EXIT_USAGE;
	report->path = r->path;
	report->recording = r->recording;
	report->info = r->info;
	report->top = r->top;
	report->out = r->out;
	report->json = &r->json;
	enum gp_status status = gp_kernels_build(
		r->recording, report->by, from_ns, to_ns,
		r->device >= 0 ? (unsigned)r->device : GP_DEVICE_UNKNOWN, &report->kernels);
	if (status)
		return gp_report_failed("report on", r->path, status);
	const bool has_device = gp_gpu_has_device(r->path, &report->kernels.gpu, r->device);
	r->sink.has_report |= has_device;
	if (!has_device)
		exit_status = GP_EXIT_USAGE;
	else if (r->is_json)
		gp_kernels_write(report);
	else if (r->is_many)
		exit_status = kernels_row_add(c) ? GP_EXIT_OK : GP_EXIT_DAMAGED;
	else if (c->ncu != 0 && report->kernels.gpu.has_operations)
		exit_status = gp_kernels_ncu(report, c->ncu);
	else
		gp_kernels_print(report);
	gp_kernels_free(&report->kernels);
	return exit_status;
}

static int kernels_end(struct gp_reading *r, int worst)
{
	r->none = ((struct kernels *)r)->has_times ? NULL : "no GPU time";
	r->none_tail = "; gpuprof run --gpu-time records it";
	return worst;
}

static int kernels_check(struct gp_reading *r, int recordings)
{
	struct kernels *c = (struct kernels *)r;
	for (unsigned k = 0; c->by != NULL && k < sizeof by_words / sizeof *by_words; k++)
		if (strcmp(c->by, by_words[k]) == 0)
			c->report.by = (enum gp_kernels_by)k;
	c->report.by_word = by_words[c->report.by];
	if (c->ncu != 0 && r->is_json) {
		gp_error("--ncu prints a command, and no JSON");
		return GP_EXIT_USAGE;
	}
	return c->ncu != 0 && !gp_inputs_is_one(r->command, "--ncu", recordings) ? GP_EXIT_USAGE :
										   GP_EXIT_OK;
}

static int kernels_run(const struct gp_command *command, int argc, char **argv)
{
	struct kernels c = { .r = { .command = command,
				    .table = { .columns = COLUMNS,
					       .title = { "kernels", "busy", "costliest" },
					       .next = "kernels" } } };
	const struct gp_flag flags[] = {
		{ "by", 0, GP_FLAG_CHOICE, "WHAT=" BY_WORDS, &c.by,
		  "one row for each; default name. library, operator, line and module need "
		  "stacks of launches" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &c.r.top,
		  "at most N rows, 0: all; default 20, with --json all" },
		{ "stacks", 0, GP_FLAG_SWITCH, NULL, &c.report.has_stacks,
		  "frames of the launch below each row" },
		{ "ncu", 0, GP_FLAG_NUMBER, "1..N", &c.ncu,
		  "only print the command with which Nsight Compute profiles the row's kernel" },
		{ 0 },
	};
	return gp_reading_run(&c.r, flags, argc, argv);
}

const struct gp_command gp_command_kernels = {
	.name = "kernels",
	.synopsis = "kernels [--by WHAT] [--json] [options] RECORDING...",
	.text = "show the kernels that take the time of the GPU",
	.run = kernels_run,
	.options = GP_OPTIONS_REPORT | GP_OPTION_SPAN | GP_OPTION_DEVICE | GP_OPTION_NO_STACKS |
		   GP_OPTION_STEPS,
	.json_levels = 4,
	.top = TOP_DEFAULT,
	.check = kernels_check,
	.one = kernels_one,
	.end = kernels_end,
};
