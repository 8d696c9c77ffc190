/* `gpuprof stats`: the reports of Nsight Systems on kernels, copies and ranges of a recording. */
#include <stdlib.h>
#include <string.h>

#include "io/amount.h"
#include "io/message.h"
#include "kernels/kernels_report.h"
#include "report/again.h"
#include "report/reading.h"
#include "stats/stats_report.h"

#define REPORTS_MOST 32u

struct stats {
	struct gp_reading r;
	char *names;
	const char *format;
	enum gp_stat_format as;
	const struct gp_stat_report *report[REPORTS_MOST];
	unsigned reports;
	bool has_written; /* a report was written before */
	uint64_t beyond;  /* as of struct gp_sums, of the recording's reports */
};

static void reports_list(FILE *out)
{
	fputs("reports; gpuprof stats -r NAME RECORDING prints one:\n", out);
	for (const struct gp_stat_report *r = gp_stat_reports; r->name; r++)
		fprintf(out, "  %-22s %s\n", r->name, r->title);
}

static int wrong_name(const char *name)
{
	static const char *const missing[][2] = {
		{ "um_", "counters of unified memory are not recorded" },
		{ "cuda_api_", "durations of launches, allocations and frees are not recorded" },
	};
	const char *known[REPORTS_MOST];
	unsigned count = 0;
	for (const struct gp_stat_report *r = gp_stat_reports; r->name; r++)
		known[count++] = r->name;
	for (size_t k = 0; k < sizeof missing / sizeof *missing; k++)
		if (strncmp(name, missing[k][0], strlen(missing[k][0])) == 0) {
			gp_error("no report '%s': %s", name, missing[k][1]);
			return GP_EXIT_USAGE;
		}
	if (strchr(name, ':') != NULL) {
		gp_error("no report '%s': reports take no arguments", name);
		return GP_EXIT_USAGE;
	}
	gp_error("no report '%s'", name);
	const char *near = gp_nearest(name, known, count);
	if (near)
		gp_hint("did you mean '%s'?", near);
	else
		gp_hint("gpuprof stats lists the reports");
	return GP_EXIT_USAGE;
}

static int names_read(struct stats *c)
{
	int exit_status = GP_EXIT_OK;
	char *rest = c->names;
	for (char *name; exit_status == GP_EXIT_OK && (name = strsep(&rest, ",")) != NULL;) {
		const struct gp_stat_report *r = gp_stat_reports;
		while (r->name && strcmp(r->name, name) != 0)
			r++;
		if (r->name == NULL)
			exit_status = wrong_name(name);
		else if (c->reports < REPORTS_MOST)
			c->report[c->reports++] = r;
	}
	return exit_status;
}

static int stats_check(struct gp_reading *r, int recordings)
{
	struct stats *c = (struct stats *)r;
	char option[32];
	if (c->format != NULL)
		c->as = *c->format == 't' ? GP_STAT_TABLE :
			*c->format == 'c' ? GP_STAT_CSV :
					    GP_STAT_JSON;
	r->is_text = c->as == GP_STAT_TABLE;
	snprintf(option, sizeof option, "--format %s", c->format ? c->format : "");
	if (!r->is_text && !gp_inputs_is_one(r->command, option, recordings))
		return GP_EXIT_USAGE;
	/* folded rows of so many columns are unreadable: the pager scrolls sideways */
	gp_screen_options.is_wide = true;
	setenv("LESS", "RSX", 0);
	return names_read(c);
}

static void missing_print(struct stats *c, const struct gp_gpu *gpu)
{
	struct gp_reading *r = &c->r;
	const char *colon = gpu->why ? ": " : "", *why = gpu->why ? gpu->why : "";
	if (!r->is_text) {
		gp_error("no GPU time was recorded in '%s'%s%s", r->path, colon, why);
		return;
	}
	gp_name_print(r->out, r->path);
	fprintf(r->out, ": no GPU time was recorded%s%s\n", colon, why);
	gp_headline_print(r->out, r->info);
	if (gpu->why == NULL)
		gp_again_print(r->out, r->info, GP_LACK_GPU_TIME);
}

static void losses_print(struct stats *c, const struct gp_stats *s)
{
	const uint64_t missing =
		s->gpu.dropped + s->gpu.lost + s->gpu.beyond + c->beyond + s->calls.unread;
	if (c->r.is_text) {
		gp_gpu_doubts_print(c->r.out, &s->gpu);
		if (c->beyond != 0)
			fprintf(c->r.out, "%s in ranges beyond the memory for a report\n",
				gp_plural(c->beyond, "kernel").s);
		if (s->calls.unread != 0)
			fprintf(c->r.out, "%s not looked for in started ranges\n",
				gp_plural(s->calls.unread, "launch").s);
	} else if (missing != 0) {
		gp_error("sums of '%s' are too low: %s missing", c->r.path,
			 gp_plural(missing, "operation").s);
	}
}

static enum gp_status report_write(struct stats *c, struct gp_stats *s,
				   const struct gp_stat_report *report)
{
	if (c->has_written && c->as != GP_STAT_JSON)
		fputc('\n', c->r.out);
	c->has_written = true;
	enum gp_status status = gp_stat_begin(s, report);
	if (status == GP_OK) {
		gp_stat_write(s, report, c->as, c->r.out);
		c->beyond += s->sums.beyond;
		if (s->rows == 0 && c->r.is_text)
			fputs("no rows\n", c->r.out);
		if (s->rows == 0 && c->r.is_text && report->needs & GP_STAT_NEEDS_RANGES)
			gp_no_ranges_print(c->r.out, "", s->info);
		c->r.sink.has_report = true;
	}
	gp_stat_end(s);
	return status;
}

static enum gp_status recording_read(struct stats *c, struct gp_stats *s)
{
	bool has_ranges = false;
	for (unsigned k = 0; k < c->reports; k++)
		has_ranges |= (c->report[k]->needs & GP_STAT_NEEDS_RANGES) != 0;
	enum gp_status status = gp_gpu_build(s->recording, has_ranges, &s->gpu);
	if (status == GP_OK && has_ranges)
		status = gp_gpu_calls_build(&s->gpu, s->from_ns, s->to_ns, s->device, &s->calls);
	return status;
}

static void stats_release(struct gp_stats *s)
{
	gp_gpu_calls_free(&s->calls);
	gp_gpu_free(&s->gpu);
	free(s);
}

static int stats_one(struct gp_reading *r)
{
	struct stats *c = (struct stats *)r;
	struct gp_stats *s = calloc(1, sizeof *s);
	int exit_status = GP_EXIT_OK;
	bool has_missing = false;
	if (s == NULL)
		return gp_report_failed("report on", r->path, GP_E_MEMORY);
	s->recording = r->recording;
	s->info = r->info;
	s->device = r->device >= 0 ? (unsigned)r->device : GP_DEVICE_UNKNOWN;
	s->from_ns = INT64_MIN;
	s->to_ns = INT64_MAX;
	if (!gp_span_find(r->recording, r->from, r->to, &s->from_ns, &s->to_ns)) {
		free(s);
		return GP_EXIT_USAGE;
	}
	c->beyond = 0;
	enum gp_status status = recording_read(c, s);
	if (status == GP_OK && !gp_gpu_has_device(r->path, &s->gpu, r->device)) {
		stats_release(s);
		return GP_EXIT_USAGE;
	}
	if (r->is_many) {
		fputs(c->has_written ? "\n" : "", r->out);
		gp_name_print(r->out, r->path);
		fputc('\n', r->out);
		c->has_written = false;
	}
	for (unsigned k = 0; k < c->reports && status == GP_OK; k++) {
		const bool is_missing =
			c->report[k]->needs & GP_STAT_NEEDS_TIME && !s->gpu.has_operations;
		has_missing |= is_missing;
		/* a program gets the report without rows */
		if (!is_missing || !r->is_text)
			status = report_write(c, s, c->report[k]);
	}
	if (status == GP_OK && has_missing)
		missing_print(c, &s->gpu);
	else if (status == GP_OK)
		losses_print(c, s);
	if (status != GP_OK)
		exit_status = gp_report_failed("report on", r->path, status);
	r->sink.has_report |= status == GP_OK;
	stats_release(s);
	return exit_status;
}

static int stats_run(const struct gp_command *command, int argc, char **argv)
{
	struct stats c = { .r = { .command = command } };
	const struct gp_flag own[] = {
		{ "report", 'r', GP_FLAG_LIST, "NAME[,NAME...]", &c.names,
		  "these reports; without it a list of all" },
		{ "format", 'f', GP_FLAG_CHOICE, "FORMAT=table|csv|json", &c.format,
		  "default table" },
		{ 0 },
	};
	struct gp_flag flags[GP_READING_FLAGS];
	gp_reading_flags(&c.r, own, flags);
	int exit_status = GP_EXIT_OK;
	for (int k = 1; k < argc && strcmp(argv[k], "--") != 0; k++)
		if (strcmp(argv[k], "--json") == 0) {
			gp_error("unknown option '--json' of 'stats'");
			gp_hint("--format json");
			return GP_EXIT_USAGE;
		}
	const int recordings = gp_inputs_parse(command, flags, argc, &argv);
	if (recordings < 0) {
		exit_status = gp_flags_exit(recordings);
	} else if (c.names == NULL && recordings == 0) {
		reports_list(stdout);
	} else if (recordings == 0) {
		exit_status = gp_usage(command, "no recording given");
	} else if (c.names == NULL) {
		gp_error("no report given");
		gp_hint("'-r NAME' prints a report; gpuprof stats lists them");
		exit_status = GP_EXIT_USAGE;
	} else if ((exit_status = gp_reading_check(&c.r, recordings)) == GP_EXIT_OK) {
		exit_status = gp_reading_show(&c.r, recordings, argv);
	}
	free(c.names);
	return exit_status;
}

const struct gp_command gp_command_stats = {
	.name = "stats",
	.synopsis = "stats [-r NAME[,NAME...]] [--format FORMAT] [options] RECORDING...",
	.text = "print reports of Nsight Systems, from a recording with GPU time",
	.run = stats_run,
	.inputs = GP_INPUTS_DIRECTORIES | GP_INPUTS_STDIN | GP_INPUTS_NONE,
	.options = GP_OPTION_OUTPUT | GP_OPTION_SCREEN | GP_OPTION_SPAN | GP_OPTION_DEVICE |
		   GP_OPTION_STEPS,
	.check = stats_check,
	.one = stats_one,
};
