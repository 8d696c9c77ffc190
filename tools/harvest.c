/* The end of `gpuprof run`. Reads recordings, removes old ones when asked. */
#include "harvest.h"

#include <ctype.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "amount.h"
#include "gpuprof.h"
#include "message.h"

struct sum {
	size_t recordings, unreadable, running;
	char first[1024], last[1024];
	uint64_t bytes, events, ooms;
	uint64_t lost_memory, lost_other;
	uint64_t mismatches, anomalies;
	uint64_t peak[GP_CURVES];
	unsigned peak_device;
	char peak_path[1024];
	bool has_peak;
	bool has_many_devices;
};

/* As the user would type it: relative when it lies in or below the current directory. */
static const char *shown(const char *path)
{
	char here[1024];
	size_t n = getcwd(here, sizeof here) ? strlen(here) : 0;
	return n > 1 && strncmp(path, here, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

static void add_peaks(struct sum *s, struct gp_recording *recording, const char *path)
{
	struct gp_timeline timeline;
	if (gp_timeline_build(recording, 16, 0, INT64_MAX, &timeline) != GP_OK)
		return;
	s->has_many_devices = s->has_many_devices || timeline.devices > 1;
	for (size_t k = 0; k < timeline.devices; k++) {
		const struct gp_timeline_device *d = &timeline.device[k];
		if (s->has_peak && d->peak_bytes[GP_CURVE_DRIVER] <= s->peak[GP_CURVE_DRIVER])
			continue;
		s->has_peak = true;
		memcpy(s->peak, d->peak_bytes, sizeof s->peak);
		s->peak_device = d->device;
		snprintf(s->peak_path, sizeof s->peak_path, "%s", path);
	}
	gp_timeline_free(&timeline);
}

static void add_recording(struct sum *s, const char *path)
{
	struct gp_recording *recording;
	const struct gp_info *info;
	if (gp_recording_open(path, &recording, NULL) != GP_OK) {
		s->unreadable++;
		return;
	}
	if (gp_recording_info(recording, &info) != GP_OK) {
		s->unreadable++;
		gp_recording_close(recording);
		return;
	}
	snprintf(s->recordings ? s->last : s->first, sizeof s->first, "%s", shown(path));
	s->recordings++;
	s->running += !info->is_complete;
	s->bytes += info->file_bytes;
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		s->events += info->counts[kind];
	s->ooms += info->counts[GP_OOM] ? info->counts[GP_OOM] : info->counts[GP_ALLOC_FAILED];
	s->lost_memory += info->lost_memory;
	s->lost_other += info->lost_launch + info->lost_other + info->nested;
	s->mismatches += info->mismatches;
	s->anomalies += info->anomalies;
	add_peaks(s, recording, shown(path));
	gp_recording_close(recording);
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
		add_recording(s, line);
	}
	free(line);
	fclose(file);
}

static void print_recordings(const struct sum *s)
{
	char more[64] = "";
	if (s->running)
		snprintf(more, sizeof more, ", %zu not complete", s->running);
	if (s->recordings == 1)
		gp_complain("recorded %s in '%s' (%s%s)", gp_plural(s->events, "event").s, s->first,
			    gp_bytes_text(s->bytes).s, more);
	else
		gp_complain("recorded %s in %zu files, '%s' to '%s' (%s%s)",
			    gp_plural(s->events, "event").s, s->recordings, s->first, s->last,
			    gp_bytes_text(s->bytes).s, more);
}

static void print_peaks(const struct sum *s)
{
	char where[1100] = "";
	if (s->recordings > 1)
		snprintf(where, sizeof where, " in '%s'", s->peak_path);
	if (!s->has_peak)
		return;
	gp_complain("%s GPU %u%s: driver %s, reserved %s, allocated %s",
		    s->recordings > 1 || s->has_many_devices ? "highest peaks," : "peaks,",
		    s->peak_device, where, gp_bytes_text(s->peak[GP_CURVE_DRIVER]).s,
		    gp_bytes_text(s->peak[GP_CURVE_RESERVED]).s,
		    gp_bytes_text(s->peak[GP_CURVE_ALLOCATED]).s);
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
	if (s->mismatches + s->anomalies)
		n += (size_t)snprintf(line + n, sizeof line - n, ", %s of the self-check",
				      gp_plural(s->mismatches + s->anomalies, "fault").s);
	if (s->ooms)
		n += (size_t)snprintf(line + n, sizeof line - n, ", out of memory %s",
				      s->ooms == 1 ? "once" : gp_plural(s->ooms, "time").s);
	if (s->unreadable)
		n += (size_t)snprintf(line + n, sizeof line - n, ", %s unreadable",
				      gp_plural(s->unreadable, "recording").s);
	if (n)
		gp_complain("%s", line + 2);
}

void gp_harvest_print(const char *list, const char *command)
{
	struct sum s = { 0 };
	read_list(&s, list);
	if (s.recordings == 0) {
		if (s.unreadable)
			print_faults(&s);
		else
			gp_complain("no recording: '%s' did nothing on a GPU", command);
		gp_hint("'gpuprof doctor' says what stands in the way");
		return;
	}
	print_recordings(&s);
	print_peaks(&s);
	print_faults(&s);
	const char *next = s.has_peak && s.recordings > 1 ? s.peak_path : s.first;
	gp_complain("next: gpuprof timeline %s", next);
}

/* ---- keeping the newest ---- */

struct candidate {
	char *path;
	struct timespec changed;
};

static int newest_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->changed.tv_sec != y->changed.tv_sec)
		return x->changed.tv_sec < y->changed.tv_sec ? 1 : -1;
	return (x->changed.tv_nsec < y->changed.tv_nsec) -
	       (x->changed.tv_nsec > y->changed.tv_nsec);
}

/*
 * The pattern as a glob: what differs from run to run becomes '*', also the suffix of a taken name.
 */
static bool glob_of(const char *pattern, bool has_suffix, char *out, size_t capacity)
{
	const char *dot = strrchr(pattern, '.'), *slash = strrchr(pattern, '/');
	size_t n = 0;
	if (!dot || (slash && dot < slash))
		dot = pattern + strlen(pattern);
	for (const char *at = pattern;; at++) {
		if (n + 8 > capacity)
			return false;
		if (at == dot && has_suffix) {
			memcpy(out + n, ".[0-9]*", 7);
			n += 7;
		}
		if (!*at)
			break;
		if (*at != '%') {
			if (strchr("*?[\\", *at))
				out[n++] = '\\';
			out[n++] = *at;
			continue;
		}
		at++;
		if (*at == '%' || !*at) {
			out[n++] = '%';
			at -= !*at;
			continue;
		}
		out[n++] = '*';
		if (*at == 'q' && at[1] == '{')
			at += strcspn(at, "}") - (strchr(at, '}') == NULL);
	}
	out[n] = '\0';
	return true;
}

/* A regular file of ours that is a finished recording: nothing else is ever removed. */
static bool is_removable(const char *path, struct timespec *changed)
{
	struct stat st;
	struct gp_recording *recording;
	const struct gp_info *info;
	if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return false;
	if (gp_recording_open(path, &recording, NULL) != GP_OK)
		return false;
	bool is_finished = gp_recording_info(recording, &info) == GP_OK && info->is_complete;
	gp_recording_close(recording);
	*changed = st.st_mtim;
	return is_finished;
}

void gp_harvest_keep(const char *pattern, uint64_t keep)
{
	char plain[4096], taken[4096];
	glob_t found = { 0 };
	if (!glob_of(pattern, false, plain, sizeof plain) ||
	    !glob_of(pattern, true, taken, sizeof taken))
		return;
	glob(plain, 0, NULL, &found);
	glob(taken, found.gl_pathc ? GLOB_APPEND : 0, NULL, &found);
	struct candidate *candidate = calloc(found.gl_pathc + 1, sizeof *candidate);
	size_t n = 0;
	for (size_t k = 0; candidate && k < found.gl_pathc; k++) {
		bool is_twice = false;
		for (size_t j = 0; j < n; j++)
			is_twice = is_twice || strcmp(candidate[j].path, found.gl_pathv[k]) == 0;
		if (!is_twice && is_removable(found.gl_pathv[k], &candidate[n].changed))
			candidate[n++].path = found.gl_pathv[k];
	}
	if (n)
		qsort(candidate, n, sizeof *candidate, newest_first);
	for (size_t k = keep; k < n; k++)
		unlink(candidate[k].path);
	free(candidate);
	globfree(&found);
}
