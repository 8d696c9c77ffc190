/*
 * `gpuprof check`: a gate for CI. Compares a recording with limits and a baseline. Each condition
 * is kept, exceeded or cannot be judged.
 */
#include <stdlib.h>
#include <string.h>

#include "check/check_report.h"
#include "io/message.h"
#include "report/reading.h"

#define NAMED_MOST 4u

struct gate {
	struct gp_reading r;
	const char *limit_text[GP_CHECK_CONDITIONS];
	const char *baseline_path, *tolerance_text;
	bool is_update;
	struct gp_check_amount limit[GP_CHECK_CONDITIONS];
	struct gp_baseline baseline;
	int recordings, looked_at; /* recordings checked so far */
	bool is_taken;		   /* the baseline has the recording's figures */
	/* with many recordings: how many were judged, and the names of those that did not pass */
	size_t judged, named[GP_CHECK_EXCEEDED + 1];
	const char *name[GP_CHECK_EXCEEDED + 1][NAMED_MOST];
};

/* ---- a recording ---- */

static bool has_device(const struct gp_check *c)
{
	bool is_there = c->only_device < 0;
	for (size_t k = 0; k < c->figures.devices; k++)
		is_there |= c->figures.device[k].device == c->only_device;
	if (!is_there)
		gp_report_no_device(c->path, c->info, c->only_device);
	return is_there;
}

static void print_missing(const struct gp_check *c)
{
	const struct gp_info *i = c->info;
	const char *gpu = i->devices ? i->device[0].name : NULL;
	if (!c->baseline || !c->figures.devices || gp_baseline_find(c->baseline, i))
		return;
	gp_error("'%s' has no entry for GPU '%s', CUDA API '%s', PyTorch '%s'", c->baseline_path,
		 gpu ? gpu : "unknown", i->driver ? i->driver : "unknown",
		 i->pytorch ? i->pytorch : "unknown");
}

/*
 * `result`: the exit status of the limits. Refuses recordings that are incomplete or exceed a
 * limit.
 */
static int check_take(struct gate *g, struct gp_check *c, int result)
{
	const char *caveat = gp_caveat_of(c->info);
	if (!caveat && !c->figures.devices)
		caveat = "no memory was recorded";
	if (!caveat && result)
		caveat = "a limit is exceeded";
	if (caveat) {
		gp_error("cannot take '%s' for a baseline: %s", c->path, caveat);
		return result ? result : GP_EXIT_DAMAGED;
	}
	enum gp_status status = gp_baseline_take(&g->baseline, c);
	g->is_taken = !status;
	return status ? gp_report_failed("take figures of", c->path, status) : GP_EXIT_OK;
}

static void count(struct gate *g, const struct gp_check *c)
{
	const enum gp_check_state state = gp_check_state_of(c);
	g->judged++;
	if (g->named[state] < NAMED_MOST)
		g->name[state][g->named[state]] = c->path;
	g->named[state]++;
}

static int check_judge(struct gate *g, struct gp_check *c)
{
	static const int exits[] = { [GP_CHECK_KEPT] = GP_EXIT_OK,
				     [GP_CHECK_NOT_JUDGED] = GP_EXIT_DAMAGED,
				     [GP_CHECK_EXCEEDED] = GP_EXIT_FOUND };
	bool has_limits = false;
	for (unsigned k = 0; k < GP_CHECK_CONDITIONS; k++)
		has_limits |= g->limit[k].is_given;
	gp_check_limits(c);
	if (c->limit[GP_CHECK_GROWTH].is_given)
		gp_check_growth(c);
	if (c->baseline)
		gp_check_baseline(c);
	g->r.sink.has_report = true;
	if (g->r.is_json)
		gp_check_write(c, &g->r.json);
	else
		gp_check_print(c, g->r.out);
	print_missing(c);
	if (has_limits || c->baseline)
		count(g, c);
	int result = has_limits || c->baseline ? exits[gp_check_state_of(c)] : GP_EXIT_OK;
	return g->is_update ? check_take(g, c, result) : result;
}

static int check_one(struct gp_reading *r)
{
	struct gate *g = (struct gate *)r;
	int exit_status = GP_EXIT_USAGE;
	struct gp_check *c = calloc(1, sizeof *c);
	if (!c)
		return GP_EXIT_INTERNAL;
	if (r->is_held) {
		fputs(g->looked_at++ ? "\n" : "", r->out);
		gp_mask(r->out, r->path, strlen(r->path));
		fputs(": ", r->out);
	}
	c->path = r->path;
	c->recording = r->recording;
	c->info = r->info;
	memcpy(c->limit, g->limit, sizeof c->limit);
	c->only_device = r->device;
	c->baseline = g->baseline_path && !g->is_update ? &g->baseline : NULL;
	c->baseline_path = g->baseline_path;
	c->is_update = g->is_update;
	enum gp_status status =
		gp_figures_build(c->recording, true, 0, false, &c->peak, &c->figures);
	if (status)
		exit_status = gp_report_failed("report on", r->path, status);
	else if (has_device(c))
		exit_status = check_judge(g, c);
	gp_leaks_free(&c->leaks);
	gp_figures_free(&c->figures);
	gp_peak_free(&c->peak);
	free(c);
	return exit_status;
}

static void print_named(const struct gate *g, enum gp_check_state state, const char *word,
			FILE *out)
{
	const size_t named = g->named[state], most = NAMED_MOST;
	if (!named)
		return;
	fprintf(out, "%s in %zu of %d recordings: ", word, named, g->recordings);
	for (size_t k = 0; k < named && k < most; k++) {
		fputs(k ? ", " : "", out);
		gp_mask(out, g->name[state][k], strlen(g->name[state][k]));
	}
	fputs(named > most ? ", ...\n" : "\n", out);
}

/* Prints the verdict on all recordings before the text on each. */
static int check_end(struct gp_reading *r, int worst)
{
	const struct gate *g = (const struct gate *)r;
	const size_t kept = g->named[GP_CHECK_KEPT];
	FILE *out = r->sink.out;
	if (!r->is_held || !g->judged)
		return worst;
	print_named(g, GP_CHECK_EXCEEDED, "FAIL", out);
	print_named(g, GP_CHECK_NOT_JUDGED, "NOT JUDGED", out);
	if (kept == g->judged)
		fprintf(out, "pass in %zu of %d recordings\n", kept, g->recordings);
	fputc('\n', out);
	return worst;
}

/* ---- the baseline ---- */

static int update(struct gate *g)
{
	struct gp_sink sink = { 0 };
	char *path[] = { (char *)g->r.path };
	int exit_status = gp_sink_open(&sink, g->baseline_path, true, false, path, 1);
	if (exit_status)
		return exit_status;
	gp_baseline_write(&g->baseline, sink.out);
	sink.has_report = true;
	return gp_sink_close(&sink, GP_EXIT_OK);
}

static bool open_baseline(struct gate *g)
{
	struct gp_check_amount tolerance;
	if (!g->baseline_path)
		return true;
	if (!gp_baseline_read(g->baseline_path, g->is_update, &g->baseline))
		return false;
	if (g->tolerance_text && gp_check_amount_read(g->tolerance_text, true, &tolerance))
		for (unsigned k = 0; k < GP_CURVES; k++)
			g->baseline.tolerance[k] = tolerance;
	return true;
}

/* ---- the command ---- */

static const char *const limit_names[] = { "max-peak", "max-reserved", "max-allocated",
					   "max-frag", "min-headroom", "max-growth" };

#define SHARE_OR_SIZE "percentage or size", "a percentage is 10%, a size is 4GiB or 512M"

/* "10": may be meant as a percentage or a size. Ten bytes of headroom would always be free. */
static bool is_bare(const char *text, const struct gp_check_amount *amount)
{
	return !amount->is_share && amount->number > 0 && amount->number <= 100 &&
	       text[strspn(text, "0123456789")] == '\0';
}

/*
 * --max-frag is a share of reserved memory, --min-headroom of the device; other limits are bytes.
 */
static bool limit_read(struct gate *g, unsigned which)
{
	const char *text = g->limit_text[which];
	struct gp_check_amount *limit = &g->limit[which];
	if (!text)
		return true;
	bool is_fine = gp_check_amount_read(text, which != GP_CHECK_FRAG, limit);
	if (which != GP_CHECK_FRAG && which != GP_CHECK_HEADROOM)
		is_fine = is_fine && !limit->is_share;
	else
		is_fine = is_fine && !is_bare(text, limit);
	if (is_fine)
		return true;
	if (which == GP_CHECK_FRAG)
		return gp_flags_wrong_value(limit_names[which], text, "percentage",
					    "a percentage is 10%, at most 100%");
	if (which == GP_CHECK_HEADROOM)
		return gp_flags_wrong_value(limit_names[which], text, SHARE_OR_SIZE);
	return gp_flags_wrong_value(limit_names[which], text, GP_FLAGS_SIZE);
}

static bool values_read(struct gate *g)
{
	struct gp_check_amount tolerance;
	const struct gp_command *command = g->r.command;
	bool has_limit = g->baseline_path != NULL;
	for (unsigned k = 0; k < GP_CHECK_CONDITIONS; k++) {
		if (!limit_read(g, k))
			return false;
		has_limit |= g->limit[k].is_given;
	}
	if (!has_limit)
		gp_usage(command, "no limit given: --max-peak SIZE, --baseline FILE, ...");
	else if ((g->is_update || g->tolerance_text) && !g->baseline_path)
		gp_usage(command, "'--%s' needs '--baseline'",
			 g->is_update ? "update" : "tolerance");
	else if (g->is_update && !gp_inputs_is_one(command, "--update", g->recordings))
		return false;
	else if (g->is_update && g->r.device >= 0)
		gp_usage(command, "'--update' and '--device' exclude each other");
	else if (g->baseline_path && strcmp(g->baseline_path, "-") == 0)
		gp_usage(command, "bad value of '--baseline': '-' is not a name of a file");
	else if (g->tolerance_text && (!gp_check_amount_read(g->tolerance_text, true, &tolerance) ||
				       is_bare(g->tolerance_text, &tolerance)))
		gp_flags_wrong_value("tolerance", g->tolerance_text, SHARE_OR_SIZE);
	else
		return true;
	return false;
}

static int check_check(struct gp_reading *r, int recordings)
{
	struct gate *g = (struct gate *)r;
	g->recordings = recordings;
	r->is_held = r->is_many && r->is_text;
	if (!values_read(g))
		return GP_EXIT_USAGE;
	return open_baseline(g) ? GP_EXIT_OK : GP_EXIT_DAMAGED;
}

static int check_run(const struct gp_command *command, int argc, char **argv)
{
	struct gate g = { .r.command = command };
	const struct gp_flag flags[] = {
		{ "max-peak", 0, GP_FLAG_TEXT, "SIZE", &g.limit_text[GP_CHECK_PEAK],
		  "driver memory at its peak, on each device" },
		{ "max-reserved", 0, GP_FLAG_TEXT, "SIZE", &g.limit_text[GP_CHECK_RESERVED],
		  "memory that PyTorch reserved, at its peak" },
		{ "max-allocated", 0, GP_FLAG_TEXT, "SIZE", &g.limit_text[GP_CHECK_ALLOCATED],
		  "memory that PyTorch allocated, at its peak" },
		{ "max-frag", 0, GP_FLAG_TEXT, "PERCENT", &g.limit_text[GP_CHECK_FRAG],
		  "share of the reserved peak that exceeds the allocated peak" },
		{ "min-headroom", 0, GP_FLAG_TEXT, "PERCENT", &g.limit_text[GP_CHECK_HEADROOM],
		  "free memory at the peak: share of the device, or bytes" },
		{ "max-growth", 0, GP_FLAG_TEXT, "SIZE", &g.limit_text[GP_CHECK_GROWTH],
		  "growth of memory from step to step; 0: no growth" },
		{ "baseline", 0, GP_FLAG_TEXT, "FILE", &g.baseline_path,
		  "file with the figures of earlier runs on this GPU, CUDA API and PyTorch" },
		{ "update", 0, GP_FLAG_SWITCH, NULL, &g.is_update,
		  "write this run into the baseline instead" },
		{ "tolerance", 0, GP_FLAG_TEXT, "PERCENT", &g.tolerance_text,
		  "allowed above the baseline, or bytes; default: the file's own" },
		{ 0 },
	};
	int exit_status = gp_reading_run(&g.r, flags, argc, argv);
	if (g.is_taken) {
		const int result = update(&g);
		exit_status = result > exit_status ? result : exit_status;
	}
	gp_baseline_free(&g.baseline);
	return exit_status;
}

const struct gp_command gp_command_check = {
	.name = "check",
	.synopsis = "check [--max-peak SIZE] [--max-growth SIZE] [--max-frag PERCENT] "
		    "[--min-headroom PERCENT] "
		    "[--baseline FILE [--update]] [--json] [options] RECORDING...",
	.text = "compare recordings with limits and a baseline, for CI",
	.run = check_run,
	.options = GP_OPTIONS_REPORT | GP_OPTION_DEVICE | GP_OPTION_STEPS | GP_OPTION_NO_STACKS,
	.json_levels = 3,
	.check = check_check,
	.one = check_one,
	.end = check_end,
};
