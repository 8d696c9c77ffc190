/*
 * The end of `gpuprof run`: reads the recordings of the job.
 */
#include "run_summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../input/leftovers.h"
#include "../io/amount.h"
#include "../io/message.h"
#include "../report/report.h"
#include "retention.h"
#include "run_names.h"
#include "uncaptured.h"

struct sum {
	size_t recordings, unreadable, running, failed;
	char why[1536]; /* text of the first process that could not record */
	struct gp_made *made;
	char first[1024], last[1024];
	uint64_t bytes, events, ooms;
	uint64_t lost_memory, lost_other;
	uint64_t mismatches, anomalies;
	uint64_t peak[GP_CURVES], pinned_peak; /* of one recording */
	unsigned peak_device;
	char peak_path[1024], oom_path[1024]; /* of the first that ran out */
	bool has_peak;
	bool has_partial_figures; /* of any recording */
	bool has_gap;
	bool has_many_devices;
	bool has_stacks, has_native; /* of any recording */
	bool is_quiet;
	/*
	 * recordings limited to captures, and those with captures; all spans; the longest captured
	 * time
	 */
	size_t partial, captured;
	uint64_t captures, captured_ns;
	size_t ended; /* those whose last span ended before their process */
};

/* As a user would type it: relative if it is in the current directory or below. */
static const char *shown(const char *path)
{
	char here[1024];
	size_t n = getcwd(here, sizeof here) ? strlen(here) : 0;
	return n > 1 && strncmp(path, here, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

/* Returns the number of OOMs in the part that is kept. */
static uint64_t add_peaks(struct sum *s, struct gp_recording *recording, const char *path)
{
	uint64_t ooms = 0;
	struct gp_timeline timeline;
	if (gp_timeline_build(recording, 16, 0, INT64_MAX, &timeline) != GP_OK)
		return 0;
	const uint64_t pinned = timeline.host ? timeline.host->peak_bytes[GP_HOST_PINNED] : 0;
	s->has_many_devices = s->has_many_devices || timeline.devices > 1;
	for (size_t k = 0; k < timeline.devices; k++) {
		const struct gp_timeline_device *d = &timeline.device[k];
		ooms += d->ooms;
		if (s->has_peak && d->peak_bytes[GP_CURVE_DRIVER] <= s->peak[GP_CURVE_DRIVER])
			continue;
		s->has_peak = true;
		memcpy(s->peak, d->peak_bytes, sizeof s->peak);
		s->peak_device = d->device;
		s->pinned_peak = pinned;
		snprintf(s->peak_path, sizeof s->peak_path, "%s", path);
	}
	gp_timeline_free(&timeline);
	return ooms;
}

/* For --keep. False: out of memory. */
static bool add_made(struct sum *s, const char *path, const char *command)
{
	struct gp_made *made = realloc(s->made, (s->recordings + 1) * sizeof *made);
	if (!made)
		return false;
	s->made = made;
	made += s->recordings;
	*made = (struct gp_made){ strdup(path), strdup(command ? command : "") };
	if (made->path && made->command)
		return true;
	free(made->path);
	free(made->command);
	return false;
}

static void add_recording(struct sum *s, const char *path)
{
	struct gp_recording *recording;
	const struct gp_info *info;
	gp_leftovers_adopt_own(path, s->is_quiet);
	if (gp_recording_open(path, &recording, NULL) != GP_OK) {
		s->unreadable++;
		return;
	}
	if (gp_recording_info(recording, &info) != GP_OK || !add_made(s, path, info->command)) {
		s->unreadable++;
		gp_recording_close(recording);
		return;
	}
	snprintf(s->recordings ? s->last : s->first, sizeof s->first, "%s", shown(path));
	s->recordings++;
	s->running += !info->is_complete;
	s->bytes += info->file_bytes;
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		s->events += gp_is_happening(kind) ? info->counts[kind] : 0;
	s->lost_memory += info->lost_memory;
	s->lost_other += info->lost_launch + info->lost_other + info->nested;
	s->mismatches += info->mismatches;
	s->anomalies += info->anomalies;
	s->has_partial_figures = s->has_partial_figures || !gp_has_whole_figures(info);
	s->has_gap = s->has_gap || info->has_gap;
	s->partial += info->is_captured_in_part;
	s->captured += info->is_captured_in_part && info->captures > 0;
	s->captures += info->is_captured_in_part ? info->captures : 0;
	s->ended += info->ended_by != 0;
	if (info->is_captured_in_part && info->captured_ns > s->captured_ns)
		s->captured_ns = info->captured_ns;
	s->has_stacks = s->has_stacks || info->has_stacks;
	s->has_native = s->has_native || info->has_native;
	uint64_t ooms = add_peaks(s, recording, shown(path)) + gp_overwritten_ooms(info);
	if (ooms && !s->ooms)
		snprintf(s->oom_path, sizeof s->oom_path, "%s", shown(path));
	s->ooms += ooms;
	gp_recording_close(recording);
}

/* Reads a line of the library. gp_list_add of the recorder documents the lines. */
static void add_line(struct sum *s, const char *line)
{
	static const char failed[] = "failed: ", late[] = "late: ";
	bool is_failed = strncmp(line, failed, sizeof failed - 1) == 0;
	bool is_late = strncmp(line, late, sizeof late - 1) == 0;
	s->failed += is_failed;
	if (is_failed && s->failed == 1)
		snprintf(s->why, sizeof s->why, "%s", line + sizeof failed - 1);
	if (is_late && !s->why[0])
		snprintf(s->why, sizeof s->why, "'%s' was not opened in time",
			 line + sizeof late - 1);
	if (!is_failed && !is_late)
		add_recording(s, line);
}

static void read_list(struct sum *s, const char *list)
{
	char *line = NULL;
	size_t capacity = 0;
	ssize_t n;
	FILE *file = *list ? fopen(list, "re") : NULL;
	if (!file)
		return;
	while ((n = getline(&line, &capacity, file)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		add_line(s, line);
	}
	free(line);
	fclose(file);
}

/* Captures by ranges, time or orders. Outside of captures only memory was recorded. */
static void add_captured(const struct sum *s, const struct gp_run_summary *h, char *line,
			 size_t capacity)
{
	size_t n = strlen(line);
	if (!s->partial)
		return;
	if (!s->captured) {
		char why[3 * GP_SCOPE_NAME_MAX + 80];
		gp_uncaptured_fill(h->scope, s->made, s->recordings, why, sizeof why);
		snprintf(line + n, capacity - n, ", nothing captured%s%s", *why ? ": " : "", why);
	} else if (s->recordings == 1)
		snprintf(line + n, capacity - n, ", captured: %s in %s",
			 gp_ns_text((int64_t)s->captured_ns).s, gp_plural(s->captures, "span").s);
	else
		snprintf(line + n, capacity - n, ", captured: %s in %zu of them, at most %s",
			 gp_plural(s->captures, "span").s, s->captured,
			 gp_ns_text((int64_t)s->captured_ns).s);
	n = strlen(line);
	if (s->ended && s->recordings == 1)
		snprintf(line + n, capacity - n, ", with which it ended");
	else if (s->ended)
		snprintf(line + n, capacity - n, ", with which %zu ended", s->ended);
}

static void print_recordings(const struct sum *s, const struct gp_run_summary *h)
{
	char more[800] = "";
	if (s->running)
		snprintf(more, sizeof more, ", %zu not complete", s->running);
	add_captured(s, h, more, sizeof more);
	if (s->recordings == 1)
		gp_error("recorded %s in '%s' (%s%s)", gp_plural(s->events, "event").s, s->first,
			 gp_bytes_text(s->bytes).s, more);
	else
		gp_error("recorded %s in %zu files, '%s' to '%s' (%s%s)",
			 gp_plural(s->events, "event").s, s->recordings, s->first, s->last,
			 gp_bytes_text(s->bytes).s, more);
}

/* Omits curves without memory, and small amounts of pinned memory. */
static void print_peaks(const struct sum *s)
{
	const struct {
		const char *name;
		uint64_t bytes, least;
	} curve[] = { { "driver", s->peak[GP_CURVE_DRIVER], 1 },
		      { "reserved", s->peak[GP_CURVE_RESERVED], 1 },
		      { "allocated", s->peak[GP_CURVE_ALLOCATED], 1 },
		      { "pinned", s->pinned_peak, GP_PINNED_LEAST } };
	char where[1100] = "", peaks[256] = "";
	size_t n = 0;
	if (s->recordings > 1)
		snprintf(where, sizeof where, " in '%s'", s->peak_path);
	for (size_t k = 0; k < sizeof curve / sizeof *curve; k++)
		if (curve[k].bytes >= curve[k].least)
			n += (size_t)snprintf(peaks + n, sizeof peaks - n, "%s%s %s", n ? ", " : "",
					      curve[k].name, gp_bytes_text(curve[k].bytes).s);
	if (!s->has_peak || !n)
		return;
	gp_error("%s GPU %u%s: %s%s",
		 s->recordings > 1 || s->has_many_devices ? "highest peaks," : "peaks,",
		 s->peak_device, where, s->has_partial_figures ? "at least " : "", peaks);
}

static void print_faults(const struct sum *s)
{
	char line[400];
	size_t n = 0;
	if (s->lost_memory)
		n += (size_t)snprintf(line + n, sizeof line - n, ", %s LOST: figures are too low",
				      gp_plural(s->lost_memory, "memory event").s);
	if (s->lost_other)
		n += (size_t)snprintf(line + n, sizeof line - n, ", %s lost",
				      gp_plural(s->lost_other, "other event").s);
	if (s->has_gap)
		n += (size_t)snprintf(line + n, sizeof line - n,
				      ", not recorded all the time: figures are too low");
	if (s->mismatches + s->anomalies)
		n += (size_t)snprintf(line + n, sizeof line - n, ", %s of the self-check",
				      gp_plural(s->mismatches + s->anomalies, "fault").s);
	if (s->ooms)
		n += (size_t)snprintf(line + n, sizeof line - n, ", %s",
				      gp_plural(s->ooms, "OOM").s);
	if (s->unreadable)
		n += (size_t)snprintf(line + n, sizeof line - n, ", %s unreadable",
				      gp_plural(s->unreadable, "recording").s);
	if (s->failed)
		n += (size_t)snprintf(line + n, sizeof line - n, ", %s process%s not recorded",
				      gp_count_text(s->failed).s, s->failed == 1 ? "" : "es");
	if (n)
		gp_error("%s", line + 2);
}

/* Prints only what is certain: a program may have cleared its environment. */
static void print_nothing(const struct sum *s, const struct gp_run_summary *h)
{
	const bool is_unseen = !s->unreadable && !s->why[0] && h->list->path[0];
	if (s->unreadable)
		print_faults(s);
	else if (s->why[0])
		gp_error("no recording: %s", s->why);
	else if (!h->list->path[0])
		gp_error("cannot list the recordings: no list in '/tmp': %s",
			 gp_cause(h->list->error));
	else if (*h->only)
		gp_error("no recording: no CUDA call of a program named '%s' was seen", h->only);
	else
		gp_error("no recording: no CUDA call of '%s' was seen", h->command);
	gp_hint(is_unseen ? "if it uses a GPU, 'gpuprof doctor' finds the cause" :
			    "'gpuprof doctor' finds the cause");
}

static void run_summary_print_next(const struct sum *s, const char *next, const char *path)
{
	fputs("gpuprof: ", stderr);
	if (s->ooms)
		gp_next_print(stderr, "oom", s->oom_path);
	else
		gp_next_print(stderr, next ? next : s->has_stacks ? "peak" : "timeline", path);
}

/* True: the last line is printed, with the command for the missing names. */
static bool store_names(const struct sum *s, const struct gp_run_summary *h)
{
	struct gp_run_names names = { 0 };
	if (!h->is_symbolizing || !s->has_native)
		return false;
	gp_run_names(s->made, s->recordings, &names);
	if (names.frames && h->is_verbose && !h->is_quiet)
		gp_error("stored the names of %s of %s", gp_count_text(names.named).s,
			 gp_plural(names.frames, "native frame").s);
	if (!names.unfinished || h->is_quiet)
		return false;
	fprintf(stderr, "gpuprof: names are missing in %s, %s; ",
		gp_plural(names.unfinished, "recording").s, names.why);
	gp_next_print(stderr, "symbolize", shown(names.first));
	return true;
}

void gp_run_summary(const struct gp_run_summary *h)
{
	struct sum s = { .is_quiet = h->is_quiet };
	char removed[3072];
	read_list(&s, h->list->path);
	size_t removals = 0;
	if (h->keep)
		removals = gp_retain_newest(h->pattern, h->keep, s.made, s.recordings, removed,
					    sizeof removed);
	if (s.recordings && !h->is_quiet) {
		print_recordings(&s, h);
		print_peaks(&s);
		print_faults(&s);
	} else if (!h->is_quiet) {
		print_nothing(&s, h);
	}
	if (removals && !h->is_quiet)
		gp_error("removed %s: --keep %llu", removed, (unsigned long long)h->keep);
	bool is_last = store_names(&s, h);
	if (s.recordings && !h->is_quiet && !is_last)
		run_summary_print_next(&s, h->next,
				       s.has_peak && s.recordings > 1 ? s.peak_path : s.first);
	for (size_t k = 0; k < s.recordings; k++) {
		free(s.made[k].path);
		free(s.made[k].command);
	}
	free(s.made);
}
