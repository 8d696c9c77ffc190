/* `gpuprof check`: a gate for CI. Limits and a baseline, kept, exceeded, or not to be judged. */
#include <stdlib.h>
#include <string.h>

#include "check/check_report.h"
#include "input/flags.h"
#include "input/inputs.h"
#include "io/message.h"
#include "io/sink.h"
#include "report/report.h"
#include "report/stack_print.h"

extern const struct gp_command gp_command_check;

#define NAMED_MOST 4u

struct gate {
	const char *limit_text[GP_CHECK_CONDITIONS];
	const char *baseline_path, *tolerance_text, *path;
	bool is_update, is_json, is_forced;
	struct gp_check_amount limit[GP_CHECK_CONDITIONS];
	int64_t device; /* -1: all */
	struct gp_baseline baseline;
	struct gp_sink sink;
	struct gp_json json;
	bool is_taken; /* the recording's figures are in `baseline` */
	/* of many: those that a limit or the baseline judges, and which of them did not pass */
	size_t judged, named[GP_CHECK_EXCEEDED + 1];
	const char *name[GP_CHECK_EXCEEDED + 1][NAMED_MOST];
};

/* ---- a recording ---- */

static enum gp_status look_at(struct gp_check *c)
{
	return gp_figures_build(c->recording, true, 0, false, &c->peak, &c->figures);
}

static bool has_device(const struct gp_check *c)
{
	bool is_there = c->only_device < 0;
	for (size_t k = 0; k < c->figures.devices; k++)
		is_there |= c->figures.device[k].device == c->only_device;
	if (!is_there)
		gp_report_no_device(c->path, c->info, c->only_device);
	return is_there;
}

static void say_missing(const struct gp_check *c)
{
	const struct gp_info *i = c->info;
	const char *gpu = i->devices ? i->device[0].name : NULL;
	if (!c->baseline || !c->figures.devices || gp_baseline_find(c->baseline, i))
		return;
	gp_error("'%s' has no entry for GPU '%s', CUDA API '%s', PyTorch '%s'", c->baseline_path,
		 gpu ? gpu : "unknown", i->driver ? i->driver : "unknown",
		 i->pytorch ? i->pytorch : "unknown");
}

/* `result`: of the limits. What is not whole, or not kept, becomes no baseline. */
static int check_take(struct gate *g, struct gp_check *c, int result)
{
	const char *doubt = gp_doubt_of(c->info);
	if (!doubt && !c->figures.devices)
		doubt = "no memory was recorded";
	if (!doubt && result)
		doubt = "a limit is exceeded";
	if (doubt) {
		gp_error("cannot take '%s' for a baseline: %s", c->path, doubt);
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
	g->sink.has_report = true;
	if (g->is_json)
		gp_check_write(c, &g->json);
	else
		gp_check_print(c, g->sink.out);
	say_missing(c);
	if (has_limits || c->baseline)
		count(g, c);
	int result = has_limits || c->baseline ? exits[gp_check_state_of(c)] : GP_EXIT_OK;
	return g->is_update ? check_take(g, c, result) : result;
}

static int check_one(struct gate *g, const char *path)
{
	int exit_status = GP_EXIT_USAGE, result = GP_EXIT_USAGE;
	struct gp_check *c = calloc(1, sizeof *c);
	if (!c)
		return GP_EXIT_INTERNAL;
	c->path = path;
	c->recording = gp_report_open(path, &c->info, &exit_status);
	if (!c->recording) {
		free(c);
		return exit_status;
	}
	exit_status = gp_report_exit(path, c->info);
	memcpy(c->limit, g->limit, sizeof c->limit);
	c->only_device = g->device;
	c->baseline = g->baseline_path && !g->is_update ? &g->baseline : NULL;
	c->baseline_path = g->baseline_path;
	c->is_update = g->is_update;
	enum gp_status status = look_at(c);
	if (status)
		result = gp_report_failed("report on", path, status);
	else if (has_device(c))
		result = check_judge(g, c);
	gp_leaks_free(&c->leaks);
	gp_figures_free(&c->figures);
	gp_peak_free(&c->peak);
	gp_recording_close(c->recording);
	free(c);
	return gp_report_worse(result, exit_status);
}

static int check_each(struct gate *g, int words, char **paths)
{
	int worst = GP_EXIT_OK;
	for (int k = 0; k < words; k++) {
		if (words > 1 && !g->is_json) {
			fputs(k ? "\n" : "", g->sink.out);
			gp_mask(g->sink.out, paths[k], strlen(paths[k]));
			fputs(": ", g->sink.out);
		}
		worst = gp_report_worse(worst, check_one(g, paths[k]));
	}
	return worst;
}

static void print_named(const struct gate *g, enum gp_check_state state, const char *word,
			int recordings, FILE *out)
{
	const size_t named = g->named[state], most = NAMED_MOST;
	if (!named)
		return;
	fprintf(out, "%s in %zu of %d recordings: ", word, named, recordings);
	for (size_t k = 0; k < named && k < most; k++) {
		fputs(k ? ", " : "", out);
		gp_mask(out, g->name[state][k], strlen(g->name[state][k]));
	}
	fputs(named > most ? ", ...\n" : "\n", out);
}

static void print_verdict(const struct gate *g, int recordings, FILE *out)
{
	const size_t kept = g->named[GP_CHECK_KEPT];
	if (!g->judged)
		return;
	print_named(g, GP_CHECK_EXCEEDED, "FAIL", recordings, out);
	print_named(g, GP_CHECK_NOT_JUDGED, "NOT JUDGED", recordings, out);
	if (kept == g->judged)
		fprintf(out, "pass in %zu of %d recordings\n", kept, recordings);
	fputc('\n', out);
}

/* The verdict on all of them stands before what is said of each. */
static int check_many(struct gate *g, int words, char **paths)
{
	FILE *out = g->sink.out;
	char *text = NULL;
	size_t bytes = 0;
	g->sink.out = open_memstream(&text, &bytes);
	int worst = g->sink.out ? check_each(g, words, paths) : GP_EXIT_INTERNAL;
	if (g->sink.out && fclose(g->sink.out) != 0)
		worst = GP_EXIT_INTERNAL;
	g->sink.out = out;
	print_verdict(g, words, out);
	fwrite(text, 1, text ? bytes : 0, out);
	free(text);
	return worst;
}

static int check_all(struct gate *g, int words, char **paths)
{
	gp_json_init(&g->json, g->sink.out, words > 1 ? 4 : 3);
	if (words > 1 && !g->is_json)
		return check_many(g, words, paths);
	if (words > 1)
		gp_json_array(&g->json, NULL);
	const int worst = check_each(g, words, paths);
	if (words > 1)
		gp_json_end(&g->json);
	return worst;
}

/* ---- the baseline ---- */

static int update(struct gate *g, int words, char **paths)
{
	struct gp_sink sink = { 0 };
	int exit_status = gp_sink_open(&sink, g->baseline_path, true, false, paths, words);
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

/* "10" of what may be a percentage or a size: ten bytes of headroom are always there. */
static bool is_bare(const char *text, const struct gp_check_amount *amount)
{
	return !amount->is_share && amount->number > 0 && amount->number <= 100 &&
	       text[strspn(text, "0123456789")] == '\0';
}

/* A share of what? Of reserved memory, of the device; other limits are bytes. */
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

static bool values_read(struct gate *g, int words)
{
	struct gp_check_amount tolerance;
	bool has_limit = g->baseline_path != NULL;
	for (unsigned k = 0; k < GP_CHECK_CONDITIONS; k++) {
		if (!limit_read(g, k))
			return false;
		has_limit |= g->limit[k].is_given;
	}
	if (!has_limit)
		gp_usage(&gp_command_check,
			 "no limit given: --max-peak SIZE, --baseline FILE, ...");
	else if ((g->is_update || g->tolerance_text) && !g->baseline_path)
		gp_usage(&gp_command_check, "'--%s' needs '--baseline'",
			 g->is_update ? "update" : "tolerance");
	else if (g->is_update && !gp_inputs_is_one(&gp_command_check, "--update", words))
		return false;
	else if (g->is_update && g->device >= 0)
		gp_usage(&gp_command_check, "'--update' and '--device' exclude each other");
	else if (g->baseline_path && strcmp(g->baseline_path, "-") == 0)
		gp_usage(&gp_command_check,
			 "bad value of '--baseline': '-' is not a name of a file");
	else if (g->tolerance_text && (!gp_check_amount_read(g->tolerance_text, true, &tolerance) ||
				       is_bare(g->tolerance_text, &tolerance)))
		gp_flags_wrong_value("tolerance", g->tolerance_text, SHARE_OR_SIZE);
	else
		return true;
	return false;
}

static int check(struct gate *g, int words, char **paths)
{
	if (!values_read(g, words))
		return GP_EXIT_USAGE;
	if (!open_baseline(g))
		return GP_EXIT_DAMAGED;
	int exit_status = gp_sink_open(&g->sink, g->path, g->is_forced, !g->is_json, paths, words);
	if (exit_status)
		return exit_status;
	exit_status = gp_sink_close(&g->sink, check_all(g, words, paths));
	if (!g->is_taken)
		return exit_status;
	int result = update(g, words, paths);
	return result > exit_status ? result : exit_status;
}

static int check_run(int argc, char **argv)
{
	struct gate g = { 0 };
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
		{ "device", 0, GP_FLAG_DEVICE, "N", &g.device, "only this device" },
		{ "json", 0, GP_FLAG_SWITCH, NULL, &g.is_json,
		  "for a program: docs/JSON.md lists the keys" },
		GP_FLAGS_STEPS,
		GP_FLAGS_NO_STACKS,
		GP_FLAGS_OUTPUT(&g.path, &g.is_forced),
		GP_FLAGS_SCREEN,
		{ 0 },
	};
	int words = gp_inputs_parse(&gp_command_check, flags, argc, &argv);
	if (words < 0)
		return gp_flags_exit(words);
	int exit_status = check(&g, words, argv);
	gp_baseline_free(&g.baseline);
	return exit_status;
}

const struct gp_command gp_command_check = {
	"check",
	"check [--max-peak SIZE] [--max-growth SIZE] [--max-frag PERCENT] [--min-headroom PERCENT] "
	"[--baseline FILE [--update]] [--json] [options] RECORDING...",
	"compare recordings with limits and a baseline, for CI",
	check_run,
};
