/*
 * `gpuprof export`: writes recordings in the format of another tool. Formats are
 * tools/export/export_*.c.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "export/write/export.h"
#include "export/write/part_files.h"
#include "export/write/rank_names.h"
#include "io/message.h"
#include "report/rank_clock.h"
#include "report/reading.h"

#define PIECES_MOST 1000u

struct export
{
	struct gp_reading r;
	const char *format_name, *select;
	bool is_without_stacks;
	uint64_t most_entries; /* UINT64_MAX: not given */
	const struct gp_export_format *format;
	struct gp_export e;
	struct gp_rank_start first;
	struct timespec began;
	unsigned pieces; /* ended files, before the last one */
	uint64_t piece_bytes;
	bool has_failed; /* to begin a further piece */
};

/* ---- pieces ---- */

/* "job-2.pickle" of "job.pickle"; 1: the name as it is. False: too long. */
static bool piece_name(const char *output, unsigned number, char *out, size_t room)
{
	const char *folder = strrchr(output, '/'), *base = folder ? folder + 1 : output;
	const char *dot = strrchr(base, '.');
	const int stem = (int)(dot && dot != base ? dot - output : (long)strlen(output));
	const int n = number == 1 ?
			      snprintf(out, room, "%s", output) :
			      snprintf(out, room, "%.*s-%u%s", stem, output, number, output + stem);
	return n >= 0 && (size_t)n < room;
}

static void export_point_at_file(struct export *x)
{
	x->r.out = x->e.out = x->r.sink.out;
	x->e.path = x->r.sink.written[0] ? x->r.sink.written : NULL;
}

/* The names of all pieces live until the command ends, as a sink needs its own. */
static bool export_piece(struct gp_export *e)
{
	struct export *x = (struct export *)((char *)e - offsetof(struct export, e));
	static char name[4096];
	const long bytes = ftell(e->out);
	if (!e->path || x->has_failed || x->pieces + 1 >= PIECES_MOST)
		return false;
	x->has_failed = true;
	if (!piece_name(x->r.output, x->pieces + 2, name, sizeof name)) {
		gp_error("cannot create a further file for '%s': its name is too long",
			 x->r.output);
		return false;
	}
	if (gp_sink_check(name, x->r.is_forced, (char *const *)&x->r.path, 1))
		return false;
	x->r.sink.has_report = true;
	if (gp_sink_close(&x->r.sink, GP_EXIT_OK))
		return false;
	x->pieces++;
	x->piece_bytes += bytes > 0 ? (uint64_t)bytes : 0;
	if (gp_sink_open(&x->r.sink, name, x->r.is_forced, false, (char *const *)&x->r.path, 1))
		return false;
	export_point_at_file(x);
	x->has_failed = false;
	return true;
}

/* Removes the pieces of an export that failed. */
static void pieces_remove(const struct export *x)
{
	char name[4096];
	for (unsigned k = 1; k <= x->pieces; k++)
		if (piece_name(x->r.output, k, name, sizeof name))
			unlink(name);
}

/* ---- one recording ---- */

/* Warnings that the exported format cannot contain. */
static void print_limits(const struct export *x)
{
	const char *path = x->r.path;
	const struct gp_info *info = x->e.info;
	if (info->is_running)
		gp_error("'%s': the job is running: the file ends at %s", path,
			 gp_ns_text((int64_t)info->duration_ns).s);
	else if (!info->is_sealed || info->has_hole)
		gp_error("'%s': not complete: the file ends early", path);
	if (info->lost_memory)
		gp_error("%s lost: the file is wrong there",
			 gp_plural(info->lost_memory, "memory event").s);
}

static unsigned count_devices(const struct gp_info *info)
{
	unsigned count = 1;
	for (size_t k = 0; k < info->devices; k++)
		if (info->device[k].device < GP_DEVICES && info->device[k].device >= count)
			count = info->device[k].device + 1;
	return count;
}

static int export_one(struct gp_reading *r)
{
	struct export *x = (struct export *)r;
	const struct gp_info *info = r->info;
	const struct gp_rank_start start = gp_rank_start_of(info);
	struct gp_export *e = &x->e;
	if (r->device >= (int64_t)count_devices(info)) {
		gp_report_no_device(r->path, info, r->device);
		return GP_EXIT_USAGE;
	}
	e->from_ns = INT64_MIN;
	e->to_ns = INT64_MAX;
	if (!gp_span_find(r->recording, r->from, r->to, &e->from_ns, &e->to_ns))
		return GP_EXIT_USAGE;
	if (e->number == 0)
		x->first = start;
	e->apart_ns = gp_rank_apart_ns(&x->first, &start, gp_rank_is_one_clock(&x->first, &start));
	e->recording = r->recording;
	e->recording_path = r->path;
	e->info = info;
	e->device = r->device >= 0 ? (unsigned)r->device : GP_DEVICE_UNKNOWN;
	e->devices = count_devices(info);
	e->has_stacks = info->has_stacks && !x->is_without_stacks;
	e->most_entries = x->most_entries != UINT64_MAX ? x->most_entries : x->format->most_entries;
	const enum gp_status status = x->format->write(e);
	e->number++;
	if (x->format->is_own_file && status == GP_E_SPACE && !x->has_failed) {
		gp_error("cannot write '%s': no space left", x->r.output);
		x->has_failed = true;
	}
	if (x->has_failed)
		return GP_EXIT_INTERNAL;
	if (status)
		return gp_report_failed("export", r->path, status);
	r->sink.has_report = true;
	print_limits(x);
	return GP_EXIT_OK;
}

/* ---- the command ---- */

static void export_begin(struct gp_reading *r)
{
	struct export *x = (struct export *)r;
	clock_gettime(CLOCK_MONOTONIC, &x->began);
	x->e.piece = export_piece;
	export_point_at_file(x);
}

static void print_written(const struct export *x, const char *path, unsigned further,
			  uint64_t bytes)
{
	struct timespec now;
	char files[64] = "";
	clock_gettime(CLOCK_MONOTONIC, &now);
	const double s = (double)(now.tv_sec - x->began.tv_sec) +
			 (double)(now.tv_nsec - x->began.tv_nsec) / 1e9;
	if (further)
		snprintf(files, sizeof files, " and %s", gp_plural(further, "further file").s);
	/* counts entries, not events: a free may be two entries, a launch none */
	gp_error("wrote '%s'%s: %s %s, %s, %.1f bytes each, %.2f s; %s", path, files,
		 gp_count_text(x->e.entries).s, x->format->unit, gp_bytes_text(bytes).s,
		 x->e.entries ? (double)bytes / (double)x->e.entries : 0, s, x->format->opens);
}

static void print_done(const struct export *x)
{
	const long last = ftell(x->e.out);
	if (x->r.sink.path && last >= 0)
		print_written(x, x->r.output, x->pieces, x->piece_bytes + (uint64_t)last);
}

static int export_end(struct gp_reading *r, int worst)
{
	struct export *x = (struct export *)r;
	fflush(r->out);
	if (x->format->is_own_file)
		fseek(r->out, 0, SEEK_END);
	if (worst == GP_EXIT_INTERNAL || x->has_failed)
		r->sink.has_report = false;
	if (r->sink.has_report && !ferror(r->out))
		print_done(x);
	return worst;
}

/* "NAME=one|other" */
static void formats_list(char *out, size_t capacity)
{
	size_t n = (size_t)snprintf(out, capacity, "NAME=");
	for (size_t k = 0; gp_export_formats[k] && n < capacity; k++)
		n += (size_t)snprintf(out + n, capacity - n, "%s%s", k ? "|" : "",
				      gp_export_formats[k]->name);
}

static int select_check(struct export *x)
{
	const char *const *words = x->format->selections;
	size_t count = 0;
	while (words && words[count])
		if (!x->select || strcmp(words[count++], x->select) == 0) {
			x->e.select = x->select ? x->select : words[0];
			return GP_EXIT_OK;
		}
	if (x->select && !words) {
		gp_error("--format %s has no --select", x->format->name);
		return GP_EXIT_USAGE;
	}
	return x->select ? gp_flags_wrong_word("select", x->select, words, count) : GP_EXIT_OK;
}

/* "-o DIR/", of a format that names the files in it */
static bool export_is_folder(const struct export *x)
{
	const bool has_names = x->format->rank_name || x->format->part_ending;
	const char *end = x->r.output && has_names ? strchr(x->r.output, '\0') : NULL;
	return end && end != x->r.output && end[-1] == '/';
}

static int export_check(struct gp_reading *r, int recordings)
{
	struct export *x = (struct export *)r;
	if (!x->format_name)
		return gp_usage(r->command, "no format given");
	for (size_t k = 0; gp_export_formats[k]; k++)
		if (strcmp(gp_export_formats[k]->name, x->format_name) == 0)
			x->format = gp_export_formats[k];
	if (!x->format->takes_many && !export_is_folder(x) &&
	    !gp_inputs_is_one(r->command, "export", recordings)) {
		if (x->format->rank_name)
			gp_hint("-o DIR/ writes a file for each recording");
		return GP_EXIT_USAGE;
	}
	if (x->most_entries != UINT64_MAX && !x->format->most_entries) {
		gp_error("--format %s has no --entries", x->format->name);
		return GP_EXIT_USAGE;
	}
	const int exit_status = select_check(x);
	if (exit_status)
		return exit_status;
	if (x->select && x->format->part_ending && export_is_folder(x)) {
		gp_error("-o DIR/ writes all parts: no --select");
		return GP_EXIT_USAGE;
	}
	x->e.recordings = (unsigned)recordings;
	r->is_text = false;
	const bool is_file = r->output && strcmp(r->output, "-") != 0;
	if (x->format->is_own_file && !is_file) {
		gp_error("--format %s writes to a file only", x->format->name);
		gp_hint("-o FILE");
		return GP_EXIT_USAGE;
	}
	if (is_file || x->format->is_text || !isatty(STDOUT_FILENO))
		return GP_EXIT_OK;
	gp_error("cannot write to a terminal: not a text format");
	gp_hint("-o FILE");
	return GP_EXIT_USAGE;
}

static int export_show(struct export *x, int recordings, char *const *paths)
{
	const int exit_status = gp_reading_show(&x->r, recordings, paths);
	if (!x->r.sink.has_report || exit_status == GP_EXIT_INTERNAL)
		pieces_remove(x);
	return exit_status;
}

/* A file for each recording. A recording that fails costs only its own file. */
static int export_show_ranks(const struct export *asked, int recordings, char *const *paths)
{
	struct gp_rank_names names;
	int worst = GP_EXIT_OK;
	if (!gp_rank_names_make(asked->format, asked->r.output, recordings, paths, &names))
		worst = GP_EXIT_INTERNAL;
	for (int k = 0; worst != GP_EXIT_INTERNAL && k < recordings; k++) {
		struct export x = *asked;
		x.r.output = names.path[k];
		x.e.recordings = 1;
		x.e.rank = &names.rank[k];
		worst = gp_report_worse(worst, export_show(&x, 1, &paths[k]));
	}
	gp_rank_names_free(&names);
	return worst;
}

/* A file for each part, of all recordings. */
static int export_show_parts(struct export *x, int recordings, char *const *paths)
{
	struct gp_part_files files;
	int exit_status = gp_part_files_open(&files, x->format, x->r.output, x->r.is_forced, paths,
					     recordings);
	if (exit_status)
		return exit_status;
	x->e.part = files.file;
	x->r.output = NULL; /* nothing is written to stdout */
	exit_status = export_show(x, recordings, paths);
	const bool is_kept = x->r.sink.has_report && exit_status != GP_EXIT_INTERNAL;
	const int closed = gp_part_files_close(&files, is_kept, paths, recordings);
	if (is_kept && !closed)
		print_written(x, files.folder, 0, files.bytes);
	return gp_report_worse(exit_status, closed);
}

static int export_run(const struct gp_command *command, int argc, char **argv)
{
	struct export x = { .r.command = command, .most_entries = UINT64_MAX };
	struct gp_flag all[GP_READING_FLAGS];
	char formats[256];
	formats_list(formats, sizeof formats);
	const struct gp_flag flags[] = {
		{ "format", 0, GP_FLAG_CHOICE, formats, &x.format_name,
		  "format of the file (for other tools: gpuprof dump --json)" },
		{ "select", 0, GP_FLAG_TEXT, "PART", &x.select,
		  "the part to write, of a format that holds one" },
		{ "from", 0, GP_FLAG_TEXT, "TIME", &x.r.from,
		  "events from this moment: " GP_FLAGS_MOMENTS },
		{ "to", 0, GP_FLAG_TEXT, "TIME", &x.r.to,
		  "events up to this moment, and the state at it" },
		{ "no-stacks", 0, GP_FLAG_SWITCH, NULL, &x.is_without_stacks, "without stacks" },
		{ "entries", 0, GP_FLAG_NUMBER, "N", &x.most_entries,
		  "entries of a device in a file, of which more begin a further file; 0: all" },
		{ 0 },
	};
	gp_reading_flags(&x.r, flags, all);
	const int recordings = gp_inputs_parse(command, all, argc, &argv);
	if (recordings < 0)
		return gp_flags_exit(recordings);
	const int exit_status = gp_reading_check(&x.r, recordings);
	if (exit_status)
		return exit_status;
	if (!export_is_folder(&x))
		return export_show(&x, recordings, argv);
	return x.format->rank_name ? export_show_ranks(&x, recordings, argv) :
				     export_show_parts(&x, recordings, argv);
}

const struct gp_command gp_command_export = {
	.name = "export",
	.synopsis = "export --format NAME [--select PART] [--from TIME] [--to TIME] [--device N] "
		    "[--no-stacks] [--entries N] [-o FILE [--force]] RECORDING...",
	.text = "write a file for another tool",
	.run = export_run,
	.options = GP_OPTION_DEVICE | GP_OPTION_OUTPUT,
	.check = export_check,
	.begin = export_begin,
	.one = export_one,
	.end = export_end,
};
