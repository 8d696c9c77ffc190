/*
 * `gpuprof diff`: compares the memory of recordings, or of moments of one, by its groups.
 */
#include <stdlib.h>
#include <string.h>

#include "diff/diff_report.h"
#include "io/message.h"
#include "report/use_report.h"

struct diff {
	struct gp_use_report u; /* options shared with `peak` */
	struct gp_diff_report d;
	const char *at, *from, *to, *least; /* from, to: moments of one recording */
	size_t words;			    /* number of sides on the command line */
};

/* ---- sides ---- */

/* The recording stays open until all sides are compared. */
static int diff_one(struct gp_reading *r)
{
	struct diff *f = (struct diff *)r;
	f->d.side[f->d.sides++] = (struct gp_diff_source){
		.path = r->path, .recording = r->recording, .info = r->info, .is_peak = true
	};
	f->u.has_phases |= gp_phases_by(r->info) != GP_PHASES_BY_NOTHING;
	r->recording = NULL;
	return GP_EXIT_OK;
}

/* A moment after the end: --from fails, since no growth can follow it. Others use the end. */
static bool keep_before_end(struct gp_diff_source *s, const char *option)
{
	const int64_t end_ns = (int64_t)s->info->duration_ns;
	const bool is_from = strcmp(option, "from") == 0;
	if (s->at_ns <= end_ns)
		return true;
	if (strcmp(option, "at") != 0) /* --at: printed already */
		gp_error("'--%s' (%s) is after the end of '%s' (%s)%s", option,
			 gp_ns_text(s->at_ns).s, s->path, gp_ns_text(end_ns).s,
			 is_from ? "" : ", which is shown");
	s->at_ns = end_ns;
	return !is_from;
}

static bool find_moment(struct gp_diff_source *s, const char *option, const char *text)
{
	s->is_peak = false;
	if (!gp_moment_find(s->recording, option, text, &s->at_ns) || !keep_before_end(s, option))
		return false;
	if (s->at_ns >= (int64_t)s->info->kept_from_ns)
		return true;
	gp_error("cannot find live memory at %s in '%s': events are kept from %s on",
		 gp_ns_text(s->at_ns).s, s->path, gp_ns_text((int64_t)s->info->kept_from_ns).s);
	return false;
}

static bool find_moments(struct diff *f)
{
	bool is_fine = true;
	f->d.is_of_moments = f->at || f->from;
	if (f->from)
		return find_moment(&f->d.side[0], "from", f->from) &&
		       find_moment(&f->d.side[1], "to", f->to ? f->to : "end");
	for (size_t k = 0; k < f->d.sides && f->at && is_fine; k++)
		if (strcmp(f->at, "peak") != 0)
			is_fine = find_moment(&f->d.side[k], "at", f->at);
		else
			f->d.is_of_moments = false;
	return is_fine;
}

static int look_at(const struct diff *f, struct gp_diff_source *s)
{
	enum gp_status status = GP_OK;
	if (!f->d.is_of_moments)
		status = gp_leak_answer_build(s->recording, s->info, s->path, &s->leak);
	if (!status)
		status = gp_figures_build(s->recording, s->is_peak, s->at_ns,
					  gp_use_with(&f->d.style), &s->peak, &s->figures);
	return status ? gp_report_failed("report on", s->path, status) : GP_EXIT_OK;
}

/* Folds a range name with a counter in all sides if one side folds it. */
static enum gp_status fold_ranges(struct diff *f)
{
	struct gp_range_paths *paths[GP_DIFF_SIDES];
	for (size_t k = 0; k < f->d.sides; k++)
		paths[k] = f->d.side[k].peak.ranges;
	return gp_range_paths_fold(paths, f->d.sides);
}

/* ---- tables ---- */

static struct gp_holders *holders_of(struct gp_diff_source *s, unsigned device, enum gp_curve of)
{
	if (of == GP_CURVE_PINNED)
		return s->peak.host;
	for (size_t k = 0; k < s->peak.holders; k++)
		if (s->peak.holder[k].device == device && s->peak.holder[k].of == of)
			return &s->peak.holder[k];
	return NULL;
}

static enum gp_status add_table(struct diff *f, unsigned device, enum gp_curve of)
{
	struct gp_diff_side side[GP_DIFF_SIDES] = { 0 };
	struct gp_diff_table *t = &f->d.table[f->d.tables];
	const struct gp_diff_how how = { .grouping = &f->d.style.grouping,
					 .ignores_lines = f->d.ignores_lines,
					 .matches_inner = !f->from };
	bool is_there = false;
	*t = (struct gp_diff_table){ .device = device, .of = of };
	for (size_t k = 0; k < f->d.sides; k++) {
		struct gp_holders *h = holders_of(&f->d.side[k], device, of);
		side[k].recording = f->d.side[k].recording;
		t->holders[k] = h;
		is_there |= h != NULL;
		if (!h)
			continue;
		if (!f->d.style.is_json && !f->d.style.of_text && of == GP_CURVE_DRIVER)
			gp_use_fold_segments(h);
		side[k].uses = h->uses;
		side[k].use = h->use;
	}
	enum gp_status status = is_there ? gp_diff_build(side, f->d.sides, &how, &t->diff) : GP_OK;
	if (status || !is_there)
		return status;
	f->u.matched += t->diff.matched;
	for (size_t k = 0; k < f->d.sides && f->d.style.range && !t->diff.matched; k++)
		gp_use_range_near(f->d.style.range, side[k].use, side[k].uses, f->u.near);
	if (gp_diff_phases_differ(&f->d)) {
		gp_diff_free(&t->diff);
		return status;
	}
	f->d.tables++;
	t->shown = t->diff.changed;
	while (f->d.least && t->shown && t->diff.group[t->shown - 1].greatest < f->d.least)
		t->shown--;
	f->d.is_different |= t->shown > 0;
	return status;
}

static enum gp_status add_tables(struct diff *f, unsigned device)
{
	static const enum gp_curve of_host[] = { GP_CURVE_PINNED },
				   of_device[] = { GP_CURVE_ALLOCATED, GP_CURVE_RESERVED,
						   GP_CURVE_DRIVER };
	const bool is_host = device == GP_DEVICE_UNKNOWN;
	const enum gp_curve *of = is_host ? of_host : of_device;
	enum gp_status status = GP_OK;
	for (size_t k = 0; k < (is_host ? 1 : GP_CURVES) && status == GP_OK; k++)
		if (gp_use_report_selects(&f->u, device, of[k], f->d.style.is_json))
			status = add_table(f, device, of[k]);
	return status;
}

static int diff_compare(struct diff *f)
{
	unsigned device[GP_DIFF_DEVICES];
	size_t devices = gp_diff_devices(&f->d, device);
	enum gp_status status = fold_ranges(f);
	f->d.table = calloc(devices * GP_CURVES + 1, sizeof *f->d.table);
	if (!f->d.table)
		status = GP_E_MEMORY;
	for (size_t k = 0; k < devices && !status; k++) {
		struct gp_diff_row row[GP_DIFF_ROWS];
		size_t rows = gp_diff_rows(&f->d, device[k], row);
		for (size_t i = 0; i < rows; i++)
			f->d.is_different |=
				row[i].is_memory && gp_diff_row_changed(&f->d, &row[i]);
		status = status ? status : add_tables(f, device[k]);
	}
	return status ? gp_report_failed("compare with", f->d.side[0].path, status) : GP_EXIT_OK;
}

/* ---- the report ---- */

/* No side has memory of the requested device: prints the GPUs of all sides. */
static void refuse_device(struct diff *f)
{
	const int64_t requested = f->d.style.device;
	struct gp_info_device there[GP_DIFF_DEVICES] = { 0 };
	unsigned device[GP_DIFF_DEVICES];
	char list[GP_DEVICES_TEXT], others[64] = "";
	f->d.style.device = -1;
	size_t devices = gp_diff_devices(&f->d, device);
	f->d.style.device = requested;
	while (devices && device[devices - 1] == GP_DEVICE_UNKNOWN)
		devices--;
	for (size_t k = 0; k < devices; k++)
		there[k].device = device[k];
	gp_report_devices_text(&(struct gp_info){ .devices = devices, .device = there }, list);
	if (!f->from)
		snprintf(others, sizeof others, " and %.48s", gp_plural(f->d.sides - 1, "other").s);
	gp_report_no_device_in(f->d.side[0].path, others, requested, list);
}

/* False: no side has memory of the requested device, range or library. Prints an error. */
static bool is_anything(struct diff *f)
{
	const struct gp_use_style *s = &f->d.style;
	unsigned device[GP_DIFF_DEVICES];
	bool has_device = s->device < 0 || gp_diff_devices(&f->d, device) > 0;
	if (has_device && (f->u.matched || (!s->range && !s->library)))
		return true;
	if (!has_device) {
		refuse_device(f);
	} else if (s->range) {
		gp_error("no recording has %smemory of range '%s'",
			 s->library || s->of_text || s->device >= 0 ? "such " : "", s->range);
		gp_use_range_hint(f->u.has_phases, s->range, f->u.near);
	} else {
		gp_error("no recording has %smemory of library '%s'",
			 s->of_text || s->device >= 0 ? "such " : "", s->library);
		gp_hint("gpuprof top --by library lists those of a recording");
	}
	return false;
}

/* Without a difference, memory of ranges may still be incomparable. */
static int diff_judge(const struct diff *f)
{
	if (f->d.is_different)
		return GP_EXIT_FOUND;
	if (!gp_diff_phases_differ(&f->d))
		return GP_EXIT_OK;
	gp_error("cannot compare memory of ranges: the recordings use different phase sources");
	gp_hint("without --by range and --range stacks are compared");
	return GP_EXIT_DAMAGED;
}

static int diff_report(struct diff *f)
{
	int exit_status = find_moments(f) ? GP_EXIT_OK : GP_EXIT_USAGE;
	for (size_t k = 0; k < f->d.sides && exit_status == GP_EXIT_OK; k++)
		exit_status = look_at(f, &f->d.side[k]);
	if (exit_status == GP_EXIT_OK)
		exit_status = diff_compare(f);
	if (exit_status == GP_EXIT_OK && !is_anything(f))
		exit_status = GP_EXIT_USAGE;
	if (exit_status)
		return exit_status;
	f->u.r.sink.has_report = true;
	f->d.out = f->u.r.out;
	if (f->d.style.is_json)
		gp_diff_write(&f->d);
	else
		gp_diff_print(&f->d);
	return diff_judge(f);
}

static void release(struct diff *f)
{
	for (size_t k = 0; k < f->d.tables; k++)
		gp_diff_free(&f->d.table[k].diff);
	free(f->d.table);
	for (size_t k = 0; k < f->d.sides; k++) {
		gp_figures_free(&f->d.side[k].figures);
		gp_peak_free(&f->d.side[k].peak);
		gp_recording_close(f->d.side[k].recording);
	}
}

static int diff_end(struct gp_reading *r, int worst)
{
	struct diff *f = (struct diff *)r;
	int exit_status = GP_EXIT_OK;
	if (f->from && f->d.sides == 1)
		exit_status = gp_reading_repeat(r, r->path);
	if (f->d.sides == f->words)
		exit_status = diff_report(f);
	release(f);
	return exit_status > worst ? exit_status : worst;
}

/* ---- the command ---- */

static int diff_check(struct gp_reading *r, int recordings)
{
	struct diff *f = (struct diff *)r;
	const struct gp_command *command = r->command;
	gp_use_report_read(&f->u);
	r->is_held = r->is_many = false;
	f->d.style = f->u.style;
	f->words = f->from ? 2 : (size_t)recordings;
	if (f->least && (!gp_size_parse(f->least, &f->d.least) || !f->d.least)) {
		gp_flags_wrong_value("least", f->least, GP_FLAGS_SIZE);
		return GP_EXIT_USAGE;
	}
	if (f->at && (f->from || f->to))
		return gp_usage(command, "'--at' and '--from' exclude each other");
	if (f->to && !f->from)
		return gp_usage(command, "'--to' needs '--from'");
	if (recordings == 1 && !f->from)
		return gp_usage(command, "give two recordings, or one with '--from'");
	if (f->from && !gp_inputs_is_one(command, "--from", recordings))
		return GP_EXIT_USAGE;
	if (recordings > (int)GP_DIFF_SIDES)
		return gp_usage(command, "at most %u recordings are compared", GP_DIFF_SIDES);
	return GP_EXIT_OK;
}

static int diff_run(const struct gp_command *command, int argc, char **argv)
{
	struct diff *f = calloc(1, sizeof *f);
	if (!f)
		return GP_EXIT_INTERNAL;
	f->u.r.command = command;
	struct gp_flag flags[6 + GP_USE_FLAGS] = {
		{ "from", 0, GP_FLAG_TEXT, "TIME", &f->from,
		  "of one recording: the moment to compare with" },
		{ "to", 0, GP_FLAG_TEXT, "TIME", &f->to, "and this one; default end" },
		{ "at", 0, GP_FLAG_TEXT, "TIME", &f->at,
		  "at this moment of each, default peak: " GP_FLAGS_MOMENTS },
		{ "of", 0, GP_FLAG_CHOICE, "CURVE=allocated|reserved|driver|pinned",
		  &f->u.style.of_text, "only memory of this curve" },
		{ "ignore-lines", 0, GP_FLAG_SWITCH, NULL, &f->d.ignores_lines,
		  "match stacks that differ in line numbers alone, after an edit" },
		{ "least", 0, GP_FLAG_TEXT, "SIZE", &f->least, "ignore smaller changes" },
	};
	gp_use_report_flags(&f->u, &flags[6]);
	int exit_status = gp_reading_run(&f->u.r, flags, argc, argv);
	free(f);
	return exit_status;
}

const struct gp_command gp_command_diff = {
	.name = "diff",
	.synopsis = "diff [--by WHAT] [--at TIME] [--of CURVE] [--ignore-lines] [--least SIZE] "
		    "[--json] "
		    "[options] RECORDING RECORDING... | diff --from TIME [--to TIME] [options] "
		    "RECORDING",
	.text = "show memory that grew or shrank between recordings or moments",
	.run = diff_run,
	.options = GP_USE_OPTIONS,
	.inputs = GP_INPUTS_STDIN,
	.top = GP_USE_TOP,
	.check = diff_check,
	.one = diff_one,
	.end = diff_end,
};
