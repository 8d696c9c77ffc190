/* Opening, headlines, output files and moments: what the reading commands share. */
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "amount.h"
#include "command.h"
#include "message.h"

static void adopt_once(void)
{
	static bool is_done;
	if (!is_done)
		gp_adopt(NULL, NULL);
	is_done = true;
}

/* errno of opening `path`, 0 when it opens. */
static int open_error(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno;
	int error = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? EISDIR : 0;
	close(fd);
	return error;
}

static int open_failed(const char *path, enum gp_status status, const struct gp_damage *why)
{
	int error = open_error(path);
	if (error)
		gp_complain("cannot open '%s': %s", path, gp_cause(error));
	else if (why->what[0])
		gp_complain("cannot read '%s': %s at byte %llu: %s", path, gp_status_text(status),
			    (unsigned long long)why->offset, why->what);
	else
		gp_complain("cannot read '%s': %s", path, gp_status_text(status));
	if (!error && status == GP_E_VERSION)
		gp_hint("read it with the gpuprof that made it, or a newer one");
	return gp_exit_of(status);
}

struct gp_recording *gp_report_open(const char *path, const struct gp_info **info, int *exit_status)
{
	struct gp_recording *recording;
	struct gp_damage why = { 0 };
	adopt_once();
	enum gp_status status = gp_recording_open(path, &recording, &why);
	if (status) {
		*exit_status = open_failed(path, status, &why);
		return NULL;
	}
	status = gp_recording_info(recording, info);
	if (status) {
		*exit_status = gp_report_failed("read", path, status);
		gp_recording_close(recording);
		return NULL;
	}
	return recording;
}

int gp_report_failed(const char *what, const char *path, enum gp_status status)
{
	gp_complain("cannot %s '%s': %s", what, path, gp_status_text(status));
	return gp_exit_of(status);
}

int gp_report_exit(const struct gp_info *info)
{
	return info->is_damaged ? GP_EXIT_DAMAGED : GP_EXIT_OK;
}

static void lost_text(const struct gp_info *info, char *out, size_t capacity)
{
	uint64_t other = info->lost_other + info->nested;
	size_t n = 0;
	*out = '\0';
	if (info->lost_memory)
		n += (size_t)snprintf(out, capacity, ", %s LOST",
				      gp_plural(info->lost_memory, "memory event").s);
	if (info->lost_launch)
		n += (size_t)snprintf(out + n, capacity - n, ", %s lost",
				      gp_plural(info->lost_launch, "launch event").s);
	if (other)
		n += (size_t)snprintf(out + n, capacity - n, ", %s lost",
				      gp_plural(other, "other event").s);
	if (n == 0)
		snprintf(out, capacity, ", nothing lost");
}

struct gp_headline gp_headline_of(const struct gp_info *info)
{
	struct gp_headline line;
	uint64_t events = 0;
	char lost[160], kept[120] = "everything is kept";
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		if (gp_event_infos[kind].name && gp_event_infos[kind].class != GP_CLASS_CHECKPOINT)
			events += info->counts[kind];
	lost_text(info, lost, sizeof lost);
	if (info->kept_from_ns)
		snprintf(kept, sizeof kept,
			 "peaks and counts since the start, single events from %s",
			 gp_ns_text((int64_t)info->kept_from_ns).s);
	snprintf(line.s, sizeof line.s, "%s, %s%s, %s; %s%s%s",
		 gp_ns_text((int64_t)info->duration_ns).s, gp_plural(events, "event").s, lost,
		 gp_plural(info->devices, "device").s, kept,
		 info->is_complete ? "" : "; NOT COMPLETE", info->is_damaged ? "; DAMAGED" : "");
	return line;
}

bool gp_sink_open(struct gp_sink *sink, const char *path, bool may_replace)
{
	*sink = (struct gp_sink){ stdout, path };
	if (!path)
		return true;
	int how = O_WRONLY | O_CREAT | O_CLOEXEC | (may_replace ? O_TRUNC : O_EXCL);
	int fd = open(path, how, 0600);
	sink->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (sink->out)
		return true;
	gp_complain("cannot create '%s': %s", path, gp_cause(errno));
	if (errno == EEXIST)
		gp_hint("--force replaces it");
	return false;
}

bool gp_sink_close(struct gp_sink *sink)
{
	bool is_whole = fflush(sink->out) == 0 && !ferror(sink->out);
	int error = errno;
	if (sink->path && fclose(sink->out) != 0 && is_whole) {
		error = errno;
		is_whole = false;
	}
	if (!is_whole)
		gp_complain("cannot write '%s': %s", sink->path ? sink->path : "stdout",
			    gp_cause(error));
	return is_whole;
}

/*
 * The peak of the innermost curve that has one: what the job itself holds, else what was asked of
 * the driver.
 */
static bool peak_find(const struct gp_timeline *timeline, int64_t *out)
{
	for (int curve = GP_CURVE_ALLOCATED; curve >= GP_CURVE_DRIVER; curve -= 2) {
		uint64_t highest = 0;
		for (size_t k = 0; k < timeline->devices; k++) {
			const struct gp_timeline_device *d = &timeline->device[k];
			if (d->peak_bytes[curve] <= highest)
				continue;
			highest = d->peak_bytes[curve];
			*out = d->peak_at_ns[curve];
		}
		if (highest)
			return true;
	}
	return false;
}

static bool oom_find(const struct gp_timeline *timeline, int64_t *out)
{
	bool is_found = false;
	for (size_t k = 0; k < timeline->devices; k++) {
		const struct gp_timeline_device *d = &timeline->device[k];
		if (d->ooms && (!is_found || d->oom[0].at_ns < *out)) {
			*out = d->oom[0].at_ns;
			is_found = true;
		}
	}
	return is_found;
}

static bool event_find(struct gp_recording *recording, const char *text, int64_t *out)
{
	struct gp_timeline timeline;
	enum gp_status status = gp_timeline_build(recording, 16, 0, INT64_MAX, &timeline);
	if (status) {
		gp_complain("cannot find '%s' in the recording: %s", text, gp_status_text(status));
		return false;
	}
	bool is_found =
		strcmp(text, "peak") == 0 ? peak_find(&timeline, out) : oom_find(&timeline, out);
	gp_timeline_free(&timeline);
	if (!is_found)
		gp_complain("the recording has no %s",
			    strcmp(text, "peak") == 0 ? "peak" : "out-of-memory event");
	return is_found;
}

bool gp_moment_find(struct gp_recording *recording, const char *option, const char *text,
		    int64_t *out)
{
	const struct gp_info *info;
	if (gp_ns_parse(text, out))
		return true;
	if (strcmp(text, "start") == 0) {
		*out = 0;
		return true;
	}
	if (strcmp(text, "end") == 0 && gp_recording_info(recording, &info) == GP_OK) {
		*out = (int64_t)info->duration_ns;
		return true;
	}
	if (strcmp(text, "peak") == 0 || strcmp(text, "oom") == 0)
		return event_find(recording, text, out);
	if (strncmp(text, "step:", 5) == 0)
		gp_complain("bad value of '--%s': the recording has no steps", option);
	else
		gp_complain("bad value of '--%s': '%s' is no moment", option, text);
	gp_hint("moments are 1.5s, 20ms, 1500000 (nanoseconds), start, end, peak, oom");
	return false;
}
