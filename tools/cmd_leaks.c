/*
 * `gpuprof leaks`: what grows from step to step and is never given back, who allocated it, and what
 * is still there at the end.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "input/flags.h"
#include "input/inputs.h"
#include "io/amount.h"
#include "io/message.h"
#include "leaks/leaks_report.h"
#include "report/report.h"
#include "report/stack_print.h"

extern const struct gp_command gp_command_leaks;

#define TOP_DEFAULT 10u

struct leaks {
	struct gp_leaks_report r;
	struct gp_sink sink;
	struct gp_json json;
	struct gp_report_table sheet;
	const char *path, *from, *to;
	bool is_json, is_many, is_forced, ends_with_found;
	bool has_found, has_certain, has_doubt; /* in any of them */
	size_t reports, lackings;		/* of these the library is not there */
};

enum { LEAK, SUSPECTS, STEPS, COLUMNS };

static bool leaks_add_row(struct leaks *l)
{
	const struct gp_leak_total total = gp_leak_total_of(&l->r);
	struct gp_report_row *row = NULL;
	if (gp_report_table_begin(&l->sheet, l->r.path, l->r.info))
		row = gp_report_table_add(&l->sheet, "");
	if (!row)
		return false;
	gp_leak_cell_put(&row->cell[LEAK], &l->r, &total);
	l->has_certain |= gp_leak_answer_of(&l->r, &total).verdict == GP_LEAK_FOUND;
	/* the first one without a verdict is looked at next, should none of them leak */
	if (isnan(row->cell[LEAK].number) && !l->sheet.next_path) {
		l->sheet.next = "leaks";
		l->sheet.next_path = l->r.path;
	}
	/* an outlier among them is a leak, which has a line of its own */
	if (!isnan(row->cell[LEAK].number))
		gp_cell_put(&row->cell[SUSPECTS], NAN, gp_count_text(total.leaks).s);
	if (l->r.leaks.steps.steps)
		gp_cell_put_count(&row->cell[STEPS], l->r.leaks.steps.steps);
	return true;
}

/* A gate must not be open where nothing was judged, or the smaller part of the steps. */
static void say_doubt(struct leaks *l)
{
	char text[GP_LEAK_DOUBT_MAX];
	const char *doubt = gp_leak_doubt(&l->r, text), *hint;
	if (!l->ends_with_found || gp_leak_total_of(&l->r).leaks)
		return;
	if (doubt) {
		gp_error("cannot judge whether '%s' leaks: %s", l->r.path, doubt);
		hint = gp_leak_doubt_hint(&l->r, text);
	} else if (!gp_leak_judges_half(&l->r)) {
		gp_error("cannot judge whether '%s' leaks: a leak that begins in step %zu "
			 "of %zu or later would be missed",
			 l->r.path, l->r.leaks.told_to_step + 1, l->r.leaks.steps.steps);
		hint = "a longer run, or span, has more steps";
	} else {
		return;
	}
	l->has_doubt = true;
	if (hint)
		gp_hint("%s", hint);
}

/* Many recordings are told of all the same: another rank may have what this one has not. */
static enum gp_status leaks_show(struct leaks *l)
{
	enum gp_status status;
	bool has_library = gp_leak_has_library(&l->r, &status);
	if (status)
		return status;
	l->reports++;
	l->lackings += !has_library;
	if (!has_library && !l->is_many)
		return GP_OK;
	l->sink.has_report = true;
	/* of a damaged one what grows may have been given back */
	l->has_found |= gp_leak_total_of(&l->r).leaks > 0 && !l->r.info->is_damaged;
	say_doubt(l);
	if (l->is_json)
		return gp_leaks_write(&l->r);
	if (!l->is_many) {
		gp_leaks_print(&l->r);
		return GP_OK;
	}
	return leaks_add_row(l) ? GP_OK : GP_E_MEMORY;
}

static int leaks_report_one(struct leaks *l, const char *path)
{
	int64_t from_ns = INT64_MIN, to_ns = INT64_MAX;
	int exit_status;
	l->r.path = path;
	l->r.recording = gp_report_open(path, &l->r.info, &exit_status);
	if (!l->r.recording)
		return exit_status;
	exit_status = gp_report_exit(path, l->r.info);
	enum gp_status status = GP_E_ARGUMENT;
	bool has_span = gp_report_has_device(path, l->r.info, l->r.device) &&
			gp_span_find(l->r.recording, l->from, l->to, &from_ns, &to_ns);
	if (has_span)
		status = gp_leaks_build(l->r.recording, from_ns, to_ns, &l->r.leaks);
	if (has_span && !status) {
		status = leaks_show(l);
		gp_leaks_free(&l->r.leaks);
	}
	gp_recording_close(l->r.recording);
	if (!has_span)
		return GP_EXIT_USAGE;
	return status ? gp_report_failed("look for leaks in", path, status) : exit_status;
}

static int leaks_report_all(struct leaks *l, int words, char **paths)
{
	int worst = GP_EXIT_OK;
	l->is_many = words > 1;
	l->r.out = l->sink.out;
	l->r.json = &l->json;
	gp_json_init(&l->json, l->sink.out, l->is_many ? 4 : 3);
	if (l->is_json && l->is_many)
		gp_json_array(&l->json, NULL);
	for (int k = 0; k < words; k++) {
		int exit_status = leaks_report_one(l, paths[k]);
		worst = exit_status > worst ? exit_status : worst;
	}
	if (l->is_json && l->is_many)
		gp_json_end(&l->json);
	const bool has_none = l->lackings && l->lackings == l->reports;
	if (!l->has_certain)
		l->sheet.fault[LEAK].label = "suspected leak";
	if (l->sheet.rows && !has_none)
		gp_report_table_print(&l->sheet, l->sink.out);
	gp_report_table_release(&l->sheet);
	if (has_none) {
		l->sink.has_report = false;
		worst = worst > GP_EXIT_USAGE ? worst : GP_EXIT_USAGE;
	}
	if (l->has_doubt)
		worst = gp_report_worse(worst, GP_EXIT_DAMAGED);
	return l->ends_with_found && l->has_found ? gp_report_worse(worst, GP_EXIT_FOUND) : worst;
}

static int leaks_run(int argc, char **argv)
{
	struct leaks l = { .r = { .device = -1, .top = TOP_DEFAULT },
			   .sheet = { .columns = COLUMNS,
				      .next = "peak",
				      .title = { "leak a step", "suspects", "steps" },
				      .fault[LEAK] = { "leak", " a step", "leaks" } } };
	uint64_t top = UINT64_MAX;
	const struct gp_flag flags[] = {
		{ "exit-code", 0, GP_FLAG_SWITCH, NULL, &l.ends_with_found,
		  "exit 1 at a leak or a suspected one, 3 where most steps cannot be judged" },
		{ "filling", 0, GP_FLAG_SWITCH, NULL, &l.r.has_fillings,
		  "report growth that slows down, as of a cache, as a leak" },
		{ "from", 0, GP_FLAG_TEXT, "TIME", &l.from, "from this moment: " GP_FLAGS_MOMENTS },
		{ "to", 0, GP_FLAG_TEXT, "TIME", &l.to, "up to this moment" },
		{ "device", 0, GP_FLAG_DEVICE, "N", &l.r.device, "only this device" },
		{ "library", 0, GP_FLAG_TEXT, "NAME", &l.r.library, "only memory of this library" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &top,
		  "at most N suspects; default 10, with --json all; 0: all" },
		{ "native", 0, GP_FLAG_SWITCH, NULL, &l.r.is_native, "all frames" },
		{ "json", 0, GP_FLAG_SWITCH, NULL, &l.is_json,
		  "for a program: docs/JSON.md lists the keys" },
		GP_FLAGS_STEPS,
		GP_FLAGS_NO_STACKS,
		GP_FLAGS_OUTPUT(&l.path, &l.is_forced),
		GP_FLAGS_SCREEN,
		{ 0 },
	};
	int words = gp_inputs_parse(&gp_command_leaks, flags, argc, &argv);
	if (words < 0)
		return gp_flags_exit(words);
	if (top != UINT64_MAX || l.is_json)
		l.r.top = top != UINT64_MAX ? top : 0;
	int exit_status = gp_sink_open(&l.sink, l.path, l.is_forced, !l.is_json, argv, words);
	return exit_status ? exit_status :
			     gp_sink_close(&l.sink, leaks_report_all(&l, words, argv));
}

const struct gp_command gp_command_leaks = {
	"leaks",
	"leaks [--exit-code] [--from TIME] [--to TIME] [--json] [options] RECORDING...",
	"find memory that grows from step to step, and its code",
	leaks_run,
};
