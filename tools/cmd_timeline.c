/*
 * `gpuprof timeline`: three curves a device, and pinned host memory, over time. One recording: a
 * plot, or another format. Many: one row each with its peaks and the outlier marked, unless a
 * format for programs is requested.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/message.h"
#include "io/terminal_width.h"
#include "report/reading.h"
#include "timeline/chart.h"

#define ROWS_DEFAULT 20u
#define FORMATS_MAX 16u

struct timeline {
	struct gp_reading r;
	const struct gp_format *format;
	struct gp_canvas canvas;
	const char *at, *by;
	uint64_t points, columns, rows;
	bool is_table, has_gaps;
	struct gp_role_timeline roles;
	bool is_chosen[FORMATS_MAX]; /* by index in gp_formats */
};

/* ---- one recording ---- */

static void keep_device(struct gp_timeline *all, int64_t device)
{
	size_t kept = 0;
	for (size_t k = 0; k < all->devices; k++) {
		if (device < 0 || all->device[k].device == (unsigned)device) {
			struct gp_timeline_device moved = all->device[kept];
			all->device[kept++] = all->device[k];
			all->device[k] = moved; /* freed with the others */
		}
	}
	all->devices = kept;
}

static const struct gp_info_device *find_device(const struct gp_info *info, unsigned device)
{
	for (size_t i = 0; i < info->devices; i++)
		if (info->device[i].device == device)
			return &info->device[i];
	return NULL;
}

/*
 * The framework's totals correct its curves after a gap. If events were lost, so may be its peaks.
 */
static bool is_at_least(const struct gp_info *info, unsigned curve)
{
	if (curve == GP_CURVE_DRIVER)
		return !gp_has_whole_figures(info);
	return info->has_uncertain_peaks || info->has_gap || info->has_hole || info->ended_by;
}

static enum gp_status draw(struct timeline *t, const struct gp_timeline *all, int64_t from_ns,
			   int64_t to_ns)
{
	const struct gp_info *info = t->r.info;
	struct gp_number_line *line = calloc(all->devices + 1, sizeof *line);
	enum gp_status status = line ? GP_OK : GP_E_MEMORY;
	const struct gp_info_device *about[GP_DEVICES];
	struct gp_headline headline = gp_headline_of(info);
	const size_t used = strlen(headline.s);
	if (all->has_late_gaps)
		snprintf(headline.s + used, sizeof headline.s - used,
			 "; gaps are shown late: some events need more work than the limit");
	struct gp_chart chart = {
		.path = t->r.path,
		.headline = headline.s,
		.command = info->command,
		.from_ns = from_ns < 0 ? 0 : from_ns,
		.to_ns = to_ns > (int64_t)info->duration_ns ? (int64_t)info->duration_ns : to_ns,
		.kept_from_ns = (int64_t)info->kept_from_ns,
		.has_whole_run = from_ns <= 0 && to_ns == INT64_MAX,
		.info = info,
		.is_flawed = gp_has_losses(info) || info->has_hole || all->has_late_gaps,
		.has_gaps = t->has_gaps,
		.has_late_gaps = all->has_late_gaps,
		.devices = all->devices,
		.device = all->device,
		.about = about,
		.host = t->r.device < 0 ? all->host : NULL,
		.is_host_at_least = !gp_has_whole_pinned(info),
		.roles = t->by ? &t->roles : NULL,
	};
	for (unsigned c = 0; c < GP_CURVES; c++)
		chart.is_at_least[c] = is_at_least(info, c);
	for (size_t k = 0; k < all->devices && !status; k++) {
		about[k] = find_device(info, all->device[k].device);
		if (all->device[k].device < GP_DEVICES)
			status = gp_number_line_build(t->r.recording, all->device[k].device,
						      &line[k]);
	}
	chart.line = line;
	if (!status)
		t->format->chart(&t->canvas, &chart);
	for (size_t k = 0; line && k < all->devices; k++)
		gp_number_line_free(&line[k]);
	free(line);
	return status;
}

/* ---- many: a row a device ---- */

enum { ALLOCATED, DRIVER, OOMS, STEP, RESERVED, PINNED, FAILED_CALLS, AT, COLUMNS };

static int64_t first_oom_ns(const struct gp_timeline_device *d)
{
	for (size_t k = 0; k < d->marks; k++)
		if (d->mark[k].is_oom)
			return d->mark[k].at_ns;
	return 0;
}

static bool timeline_add_row(struct timeline *t, const struct gp_timeline_device *d)
{
	const struct gp_info *info = t->r.info;
	static const size_t columns[GP_CURVES] = { [GP_CURVE_DRIVER] = DRIVER,
						   [GP_CURVE_RESERVED] = RESERVED,
						   [GP_CURVE_ALLOCATED] = ALLOCATED };
	char part[32];
	snprintf(part, sizeof part, "GPU %u", d->device);
	struct gp_report_row *row = gp_report_table_add(&t->r.table, part);
	if (!row)
		return false;
	for (unsigned c = 0; c < GP_CURVES; c++)
		if (d->peak_bytes[c])
			gp_cell_put_least(&row->cell[columns[c]], d->peak_bytes[c],
					  is_at_least(info, c));
	if (d->peak_bytes[GP_CURVE_DRIVER])
		gp_cell_put(&row->cell[AT], NAN, gp_ns_text(d->peak_at_ns[GP_CURVE_DRIVER]).s);
	gp_cell_put_ooms(&row->cell[OOMS], info, d->ooms, first_oom_ns(d));
	gp_cell_put_count(&row->cell[FAILED_CALLS], d->failed_calls);
	return true;
}

/* Figures of the process stand in its first row. */
static bool add_rows(struct timeline *t, const struct gp_timeline *all)
{
	bool is_fine = gp_report_table_begin(&t->r.table, t->r.path, t->r.info);
	const size_t first = t->r.table.rows - 1;
	for (size_t k = 0; k < all->devices && is_fine; k++)
		is_fine = timeline_add_row(t, &all->device[k]);
	if (!is_fine)
		return false;
	struct gp_cell *cell = t->r.table.row[first].cell;
	if (all->host)
		gp_cell_put_least(&cell[PINNED], all->host->peak_bytes[GP_HOST_PINNED],
				  !gp_has_whole_pinned(t->r.info));
	struct gp_steps steps = { 0 };
	if (gp_steps_find(t->r.recording, &steps) == GP_OK)
		gp_cell_put_step(&cell[STEP], &steps);
	gp_steps_free(&steps);
	return true;
}

static bool span_find(const struct timeline *t, int64_t *from_ns, int64_t *to_ns)
{
	*from_ns = 0;
	*to_ns = INT64_MAX;
	/* at a moment: the curve ends there, so its last point is what was live */
	if (t->at)
		return gp_moment_find(t->r.recording, "at", t->at, to_ns);
	return gp_span_find(t->r.recording, t->r.from, t->r.to, from_ns, to_ns);
}

static int timeline_one(struct gp_reading *r)
{
	struct timeline *t = (struct timeline *)r;
	struct gp_timeline all;
	int64_t from_ns, to_ns;
	int exit_status = GP_EXIT_OK;
	if (!span_find(t, &from_ns, &to_ns))
		return GP_EXIT_USAGE;
	enum gp_status status =
		t->has_gaps ?
			gp_timeline_build_gaps(r->recording, t->points, from_ns, to_ns, &all) :
			gp_timeline_build(r->recording, t->points, from_ns, to_ns, &all);
	if (!status && t->by)
		status = gp_role_timeline_build(r->recording, t->points, from_ns, to_ns, &t->roles);
	if (status) {
		gp_timeline_free(&all);
		return gp_report_failed("replay", r->path, status);
	}
	size_t devices = all.devices;
	keep_device(&all, r->device);
	bool is_missing = r->device >= 0 && !all.devices;
	r->sink.has_report |= !is_missing;
	if (is_missing) {
		gp_report_no_device(r->path, r->info, r->device);
		exit_status = GP_EXIT_USAGE;
	}
	if (!t->is_table)
		status = draw(t, &all, from_ns, to_ns);
	if (status)
		exit_status = gp_report_failed("replay", r->path, status);
	else if (t->is_table && !add_rows(t, &all))
		exit_status = GP_EXIT_INTERNAL;
	all.devices = devices;
	gp_timeline_free(&all);
	gp_role_timeline_free(&t->roles);
	return exit_status;
}

/* ---- the command ---- */

static const struct gp_format *format_named(const char *name)
{
	for (size_t k = 0; gp_formats[k]; k++)
		if (strcmp(gp_formats[k]->name, name) == 0)
			return gp_formats[k];
	return NULL;
}

/* One switch a format; at most one is given. */
static size_t format_flags(struct timeline *t, struct gp_flag *flags)
{
	size_t count = 0;
	for (; gp_formats[count] && count < FORMATS_MAX; count++)
		flags[count] = (struct gp_flag){
			gp_formats[count]->name, 0, GP_FLAG_SWITCH, NULL, &t->is_chosen[count],
			gp_formats[count]->text,
		};
	return count;
}

static int timeline_check(struct gp_reading *r, int recordings)
{
	struct timeline *t = (struct timeline *)r;
	if (t->at && (r->from || r->to))
		return gp_usage(r->command, "'--at' and '--%s' exclude each other",
				r->from ? "from" : "to");
	for (size_t k = 0; gp_formats[k] && k < FORMATS_MAX; k++) {
		if (t->is_chosen[k] && t->format)
			return gp_usage(r->command, "'--%s' and '--%s' exclude each other",
					t->format->name, gp_formats[k]->name);
		if (t->is_chosen[k])
			t->format = gp_formats[k];
	}
	const struct gp_format *plot = format_named("plot");
	t->is_table = !t->format && r->is_many;
	t->format = t->format ? t->format : plot;
	r->is_text = t->is_table || t->format == plot;
	if (t->by && t->is_table && !gp_inputs_is_one(r->command, "--by", recordings))
		return GP_EXIT_USAGE;
	if (t->by && t->format == format_named("csv"))
		return gp_usage(r->command, "'--by' and '--csv' exclude each other");
	if (t->by && t->has_gaps && t->format == plot)
		return gp_usage(r->command, "'--by' and '--fragmentation' exclude each other "
					    "without '--json' or '--svg'");
	if (t->has_gaps && t->is_table &&
	    !gp_inputs_is_one(r->command, "--fragmentation", recordings))
		return GP_EXIT_USAGE;
	return GP_EXIT_OK;
}

static void timeline_begin(struct gp_reading *r)
{
	struct timeline *t = (struct timeline *)r;
	t->canvas = (struct gp_canvas){ .out = r->out,
					.columns = gp_columns(t->columns, r->out),
					.rows = (unsigned)t->rows,
					.is_ascii = !gp_is_utf8(),
					.is_colored = gp_report_is_coloured(),
					.is_many = r->is_many,
					.has_gaps = t->has_gaps };
	if (!t->is_table)
		t->format->begin(&t->canvas);
}

static int timeline_end(struct gp_reading *r, int worst)
{
	struct timeline *t = (struct timeline *)r;
	if (!t->is_table)
		t->format->end(&t->canvas);
	return worst;
}

static int timeline_run(const struct gp_command *command, int argc, char **argv)
{
	struct timeline t = {
		.r = { .command = command,
		       .table = { .columns = COLUMNS,
				  .next = "timeline",
				  .title = { "allocated peak", "driver peak", "OOMs", "a step",
					     "reserved peak", "pinned peak", "failed calls",
					     "driver's at" },
				  .fault[OOMS] = { "first OOM", NULL, "oom", true } } },
		.points = GP_TIMELINE_POINTS,
		.rows = ROWS_DEFAULT,
	};
	const struct gp_flag own[] = {
		{ "fragmentation", 0, GP_FLAG_SWITCH, NULL, &t.has_gaps,
		  "also the largest gap of PyTorch's memory, and its fragmentation" },
		{ "by", 0, GP_FLAG_CHOICE, "WHAT=role", &t.by,
		  "allocated memory by what it holds; as strips, or with --json" },
		{ "points", 0, GP_FLAG_NUMBER, "16..1000000", &t.points,
		  "points of a device at most; default 2000" },
		{ "at", 0, GP_FLAG_TEXT, "TIME", &t.at,
		  "up to this moment: the last point is what was live then" },
		{ "columns", 0, GP_FLAG_NUMBER, GP_COLUMNS_RANGE, &t.columns,
		  "width of the plot; default that of the terminal, else 100" },
		{ "rows", 0, GP_FLAG_NUMBER, "6..100", &t.rows, "height of the plot; default 20" },
		{ 0 },
	};
	struct gp_flag flags[FORMATS_MAX + sizeof own / sizeof *own];
	memcpy(flags + format_flags(&t, flags), own, sizeof own);
	return gp_reading_run(&t.r, flags, argc, argv);
}

const struct gp_command gp_command_timeline = {
	.name = "timeline",
	.synopsis = "timeline [--csv|--json|--svg] [--by role] [options] RECORDING...",
	.text = "plot memory over time: driver, reserved, allocated, pinned",
	.run = timeline_run,
	.options = GP_OPTION_SPAN | GP_OPTION_DEVICE | GP_OPTION_STEPS | GP_OPTION_OUTPUT |
		   GP_OPTION_SCREEN,
	.check = timeline_check,
	.begin = timeline_begin,
	.one = timeline_one,
	.end = timeline_end,
};
