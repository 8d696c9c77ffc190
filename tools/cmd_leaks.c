/*
 * `gpuprof leaks`: memory that grows from step to step, its stacks, and what is live at the end.
 */
#include <math.h>

#include "io/message.h"
#include "leaks/leaks_report.h"
#include "report/reading.h"

#define TOP_DEFAULT 10u

struct leaks {
	struct gp_reading r;
	struct gp_leaks_report report;
	bool ends_with_found;
	bool has_found, has_certain, has_caveat; /* in any recording */
	size_t reports, lackings;		 /* of them without the requested library */
};

enum { LEAK, SUSPECTS, STEPS, COLUMNS };

static bool leaks_add_row(struct leaks *l)
{
	struct gp_report_table *table = &l->r.table;
	const struct gp_leaks_report *report = &l->report;
	const struct gp_leak_total total = gp_leak_total_of(report);
	struct gp_report_row *row = NULL;
	if (gp_report_table_begin(table, report->path, report->info))
		row = gp_report_table_add(table, "");
	if (!row)
		return false;
	gp_leak_cell_put(&row->cell[LEAK], report, &total);
	l->has_certain |= gp_leak_answer_of(report, &total).verdict == GP_LEAK_FOUND;
	/* `next:` names the first one without a verdict, unless another recording leaks */
	if (isnan(row->cell[LEAK].number) && !table->next_path) {
		table->next = "leaks";
		table->next_path = report->path;
	}
	/* no number, so that the table marks no outlier: leaks have a line of their own */
	if (!isnan(row->cell[LEAK].number))
		gp_cell_put(&row->cell[SUSPECTS], NAN, gp_count_text(total.leaks).s);
	if (report->leaks.steps.steps)
		gp_cell_put_count(&row->cell[STEPS], report->leaks.steps.steps);
	return true;
}

/* A gate must not pass if fewer than half of the steps were judged. */
static void print_caveat(struct leaks *l)
{
	const struct gp_leaks_report *report = &l->report;
	char text[GP_LEAK_CAVEAT_MAX];
	const char *caveat = gp_leak_caveat(report, text), *hint;
	if (!l->ends_with_found || gp_leak_total_of(report).leaks)
		return;
	if (caveat) {
		gp_error("cannot judge whether '%s' leaks: %s", report->path, caveat);
		hint = gp_leak_caveat_hint(report, text);
	} else if (!gp_leak_judges_half(report)) {
		gp_error("cannot judge whether '%s' leaks: a leak that begins in step %zu "
			 "of %zu or later would be missed",
			 report->path, report->leaks.detectable_to_step + 1,
			 report->leaks.steps.steps);
		hint = "a longer run, or span, has more steps";
	} else {
		return;
	}
	l->has_caveat = true;
	if (hint)
		gp_hint("%s", hint);
}

/* With many recordings, one that lacks the library does not end the report: another may have it. */
static enum gp_status leaks_show(struct leaks *l)
{
	enum gp_status status;
	bool has_library = gp_leak_has_library(&l->report, &status);
	if (status)
		return status;
	l->reports++;
	l->lackings += !has_library;
	if (!has_library && !l->r.is_many)
		return GP_OK;
	l->r.sink.has_report = true;
	/* the lost part of a damaged recording may contain the frees */
	l->has_found |= gp_leak_total_of(&l->report).leaks > 0 && !l->r.info->is_damaged;
	print_caveat(l);
	if (l->r.is_json)
		return gp_leaks_write(&l->report);
	if (!l->r.is_many) {
		gp_leaks_print(&l->report);
		return GP_OK;
	}
	return leaks_add_row(l) ? GP_OK : GP_E_MEMORY;
}

static int leaks_one(struct gp_reading *r)
{
	struct leaks *l = (struct leaks *)r;
	struct gp_leaks_report *report = &l->report;
	int64_t from_ns = INT64_MIN, to_ns = INT64_MAX;
	report->recording = r->recording;
	report->info = r->info;
	report->path = r->path;
	report->device = r->device;
	report->top = r->top;
	report->out = r->out;
	report->json = &r->json;
	if (!gp_report_has_device(r->path, r->info, r->device) ||
	    !gp_span_find(r->recording, r->from, r->to, &from_ns, &to_ns))
		return GP_EXIT_USAGE;
	enum gp_status status = gp_leaks_build(r->recording, from_ns, to_ns, &report->leaks);
	if (!status) {
		status = gp_leak_roles_find(report);
		status = status ? status : leaks_show(l);
		gp_peak_free(&report->held);
		gp_leaks_free(&report->leaks);
	}
	return status ? gp_report_failed("look for leaks in", r->path, status) : GP_EXIT_OK;
}

static int leaks_end(struct gp_reading *r, int worst)
{
	const struct leaks *l = (const struct leaks *)r;
	if (!l->has_certain)
		r->table.fault[LEAK].label = "suspected leak";
	if (l->lackings && l->lackings == l->reports) {
		r->sink.has_report = false;
		worst = worst > GP_EXIT_USAGE ? worst : GP_EXIT_USAGE;
	}
	if (l->has_caveat)
		worst = gp_report_worse(worst, GP_EXIT_DAMAGED);
	return l->ends_with_found && l->has_found ? gp_report_worse(worst, GP_EXIT_FOUND) : worst;
}

static int leaks_run(const struct gp_command *command, int argc, char **argv)
{
	struct leaks l = { .r = { .command = command,
				  .table = { .columns = COLUMNS,
					     .next = "peak",
					     .title = { "leak a step", "suspects", "steps" },
					     .fault[LEAK] = { "leak", " a step", "leaks" } } } };
	const struct gp_flag flags[] = {
		{ "exit-code", 0, GP_FLAG_SWITCH, NULL, &l.ends_with_found,
		  "exit 1 at a leak or a suspected one, 3 where most steps cannot be judged" },
		{ "filling", 0, GP_FLAG_SWITCH, NULL, &l.report.has_fillings,
		  "report growth that slows down, as of a cache, as a leak" },
		{ "by", 0, GP_FLAG_CHOICE, "WHAT=role", &l.report.by,
		  "also what each suspect holds, and the sums" },
		{ "library", 0, GP_FLAG_TEXT, "NAME", &l.report.library,
		  "only memory of this library" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &l.r.top,
		  "at most N suspects; default 10, with --json all; 0: all" },
		{ "native", 0, GP_FLAG_SWITCH, NULL, &l.report.is_native, "all frames" },
		{ 0 },
	};
	return gp_reading_run(&l.r, flags, argc, argv);
}

const struct gp_command gp_command_leaks = {
	.name = "leaks",
	.synopsis = "leaks [--exit-code] [--from TIME] [--to TIME] [--json] [options] RECORDING...",
	.text = "find memory that grows from step to step, and its code",
	.run = leaks_run,
	.options = GP_OPTIONS_REPORT | GP_OPTION_SPAN | GP_OPTION_DEVICE | GP_OPTION_STEPS |
		   GP_OPTION_NO_STACKS,
	.json_levels = 3,
	.top = TOP_DEFAULT,
	.one = leaks_one,
	.end = leaks_end,
};
