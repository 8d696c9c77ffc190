/*
 * `gpuprof idle`: memory that was live at the peak and not used, and memory wasted over the run.
 * Needs a recording with --track-access.
 */
#include <string.h>

#include "idle/idle_report.h"
#include "report/reading.h"

#define TOP_DEFAULT 10u
#define LEAST_DEFAULT 100u /* launches */

struct idle {
	struct gp_reading r;
	struct gp_idle_report idle;
	uint64_t least;
	bool has_known; /* at least one of many recordings has uses */
};

/* ---- many recordings ---- */

enum { UNUSED, SHARE, PEAK, NEVER, COLUMNS };

static bool row_add_device(struct idle *c, const struct gp_idle_device *d)
{
	char text[32];
	snprintf(text, sizeof text, "GPU %u", d->device);
	struct gp_report_row *row = gp_report_table_add(&c->r.table, text);
	if (!row)
		return false;
	c->has_known = true;
	const uint64_t all = gp_idle_total(d, true).bytes;
	const uint64_t unused = gp_idle_unused_bytes(d, true);
	const double share = all ? (double)unused / (double)all : 0;
	snprintf(text, sizeof text, "%.1f%%", 100 * share);
	gp_cell_put_bytes(&row->cell[UNUSED], unused);
	gp_cell_put(&row->cell[SHARE], share, text);
	gp_cell_put_bytes(&row->cell[PEAK], all);
	gp_cell_put_bytes(&row->cell[NEVER], gp_idle_state_sum(d, true, GP_IDLE_NEVER).bytes);
	return true;
}

/* A recording without uses gets a row, too: its figures are unknown. */
static bool rows_add(struct idle *c)
{
	const struct gp_idle *i = &c->idle.idle;
	if (!gp_report_table_begin(&c->r.table, c->r.path, c->r.info))
		return false;
	if (!i->has_uses || i->is_blind)
		return gp_report_table_add(&c->r.table, i->has_uses ? "too few uses recorded" :
								      "no uses recorded");
	for (size_t k = 0; k < i->devices; k++)
		if (gp_idle_selects(&c->idle, i->device[k].device) &&
		    !row_add_device(c, &i->device[k]))
			return false;
	return true;
}

/* ---- one ---- */

static bool has_device(const struct gp_idle_report *r)
{
	if (r->device < 0 || !r->idle.has_uses || r->idle.is_blind)
		return true;
	for (size_t k = 0; k < r->idle.devices; k++)
		if (gp_idle_selects(r, r->idle.device[k].device))
			return true;
	gp_report_no_device(r->path, r->info, r->device);
	return false;
}

static int idle_one(struct gp_reading *r)
{
	struct idle *c = (struct idle *)r;
	struct gp_idle_report *report = &c->idle;
	int exit_status = GP_EXIT_OK;
	*report = (struct gp_idle_report){ .recording = r->recording,
					   .info = r->info,
					   .path = r->path,
					   .top = r->top,
					   .device = r->device,
					   .has_stacks = report->has_stacks,
					   .out = r->out,
					   .json = &r->json };
	enum gp_status status = gp_idle_build(r->recording, c->least, &report->idle);
	gp_idle_fold(&report->idle);
	if (status) {
		exit_status = gp_report_failed("report on", r->path, status);
	} else if (!has_device(report)) {
		exit_status = GP_EXIT_USAGE;
	} else {
		r->sink.has_report = true;
		if (r->is_json)
			gp_idle_write(report);
		else if (!r->is_many)
			gp_idle_print(report);
		else if (!rows_add(c))
			exit_status = GP_EXIT_DAMAGED;
	}
	gp_idle_free(&report->idle);
	return exit_status;
}

static int idle_end(struct gp_reading *r, int worst)
{
	r->none = ((struct idle *)r)->has_known ? NULL : "no uses";
	r->none_tail = "; gpuprof run --track-access records them";
	return worst;
}

static int idle_check(struct gp_reading *r, int recordings)
{
	const bool is_fine = !((struct idle *)r)->idle.has_stacks ||
			     gp_inputs_is_one(r->command, "--stacks", recordings);
	return is_fine ? GP_EXIT_OK : GP_EXIT_USAGE;
}

static int idle_run(const struct gp_command *command, int argc, char **argv)
{
	struct idle c = {
		.r = { .command = command,
		       .table = { .columns = COLUMNS,
				  .title = { "unused", "of peak", "at the peak", "never used" },
				  .next = "idle" } },
		.least = LEAST_DEFAULT,
	};
	const struct gp_flag flags[] = {
		{ "least", 0, GP_FLAG_NUMBER, "LAUNCHES", &c.least,
		  "launches without a use after which memory is idle; default 100" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &c.r.top,
		  "at most N rows of each table, 0: all; default 10, with --json all" },
		{ "stacks", 0, GP_FLAG_SWITCH, NULL, &c.idle.has_stacks, "frames below each row" },
		{ 0 },
	};
	return gp_reading_run(&c.r, flags, argc, argv);
}

const struct gp_command gp_command_idle = {
	.name = "idle",
	.synopsis = "idle [--least LAUNCHES] [--json] [options] RECORDING...",
	.text = "show unused memory, at the peak and over the run",
	.run = idle_run,
	.options = GP_OPTIONS_REPORT | GP_OPTION_DEVICE | GP_OPTION_NO_STACKS,
	.json_levels = 4,
	.top = TOP_DEFAULT,
	.check = idle_check,
	.one = idle_one,
	.end = idle_end,
};
