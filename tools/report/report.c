/*
 * Opening, headlines, output files and moments for all reading commands.
 */
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../command.h"
#include "../input/flags.h"
#include "../input/leftovers.h"
#include "../io/amount.h"
#include "../io/message.h"
#include "../io/progress.h"
#include "../io/stdin_recording.h"
#include "../io/style.h"
#include "use_print.h"

/* errno of opening `path`, 0 when it opens. */
static int open_error(const char *path)
{
	struct stat st;
	int fd = open(gp_readable_path(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno;
	int error = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? EISDIR : 0;
	close(fd);
	return error;
}

/* Such as `<(cat run.gpr)` in a shell. */
static bool is_pipe(const char *path)
{
	struct stat st;
	return stat(gp_readable_path(path), &st) == 0 && S_ISFIFO(st.st_mode);
}

static char reason[512];

const char *gp_report_reason(void)
{
	return reason;
}

static int open_failed(const char *path, enum gp_status status, const struct gp_damage *why)
{
	const int error = open_error(path);
	const char *text = gp_status_text(status);
	if (error)
		snprintf(reason, sizeof reason, "%s", gp_cause(error));
	else if (why->what[0] && (status == GP_E_NOT_RECORDING || status == GP_E_VERSION))
		snprintf(reason, sizeof reason, "%s: %s", text, why->what);
	else if (why->what[0])
		snprintf(reason, sizeof reason, "%s at byte %llu: %s", text,
			 (unsigned long long)why->offset, why->what);
	else
		snprintf(reason, sizeof reason, "%s", text);
	gp_error("cannot %s '%s': %s", error ? "open" : "read", path, reason);
	if (!error && status == GP_E_VERSION)
		gp_hint("read it with the gpuprof that made it, or a newer one");
	else if (!error && is_pipe(path))
		gp_hint("a pipe is read from stdin: ... | gpuprof COMMAND -");
	return gp_exit_of(status);
}

enum gp_status gp_report_check(const char *path, struct gp_damage *why)
{
	struct gp_recording *recording;
	gp_leftovers_adopt(path);
	*why = (struct gp_damage){ 0 };
	enum gp_status status = gp_recording_open(gp_readable_path(path), &recording, why);
	if (status)
		open_failed(path, status, why);
	else
		gp_recording_close(recording);
	return status;
}

const char *gp_report_step_name;

static struct gp_recording *kept;
static const struct gp_info *kept_info;

void gp_report_keep(struct gp_recording *recording, const struct gp_info *info)
{
	kept = recording;
	kept_info = info;
}

struct gp_recording *gp_report_open_unread(const char *path, int *exit_status)
{
	struct gp_recording *recording;
	struct gp_damage why = { 0 };
	gp_leftovers_adopt(path);
	enum gp_status status = gp_recording_open(gp_readable_path(path), &recording, &why);
	if (!status)
		return recording;
	*exit_status = open_failed(path, status, &why);
	return NULL;
}

struct gp_recording *gp_report_open(const char *path, const struct gp_info **info, int *exit_status)
{
	struct gp_recording *recording = kept;
	if (kept) {
		*info = kept_info;
		kept = NULL;
		return recording;
	}
	recording = gp_report_open_unread(path, exit_status);
	if (!recording)
		return NULL;
	gp_progress_watch(recording);
	gp_steps_name(recording, gp_report_step_name);
	enum gp_status status = gp_recording_info(recording, info);
	if (status) {
		*exit_status = gp_report_failed("read", path, status);
		gp_recording_close(recording);
		return NULL;
	}
	return recording;
}

int gp_report_failed(const char *what, const char *path, enum gp_status status)
{
	snprintf(reason, sizeof reason, "%s", gp_status_text(status));
	gp_error("cannot %s '%s': %s", what, path, reason);
	return gp_exit_of(status);
}

int gp_report_exit(const char *path, const struct gp_info *info)
{
	if (info->is_damaged && info->damages)
		gp_error("'%s' is damaged at byte %llu: %s", path,
			 (unsigned long long)info->damage[0].offset, info->damage[0].what);
	if (info->names_damage) {
		gp_error("'%s': symbol names are damaged at byte %llu and ignored: %s", path,
			 (unsigned long long)info->names_damage->offset, info->names_damage->what);
		if (!gp_is_stdin(path))
			gp_hint("'gpuprof symbolize %s' stores them anew where the libraries are",
				path);
	}
	if (info->has_definitions_left_out)
		gp_error("'%s' has more names of a kind than gpuprof keeps: some are missing",
			 path);
	if (info->has_old_names)
		gp_hint("an older gpuprof stored the names of native frames in '%s'; "
			"'gpuprof symbolize' stores them again",
			path);
	return info->is_damaged || info->names_damage ? GP_EXIT_DAMAGED : GP_EXIT_OK;
}

int gp_report_worse(int a, int b)
{
	const int least = a < b ? a : b, most = a < b ? b : a;
	return least == GP_EXIT_FOUND && most == GP_EXIT_DAMAGED ? least : most;
}

void gp_report_steps_begin(struct gp_json *json, const struct gp_steps *steps)
{
	gp_json_object(json, "steps");
	gp_json_number(json, "count", steps->steps);
	gp_json_text(json, "source", gp_step_source_names[steps->source]);
	gp_json_text(json, "why", steps->why);
	gp_json_number(json, "warmup", steps->warmup);
}

void gp_launches_print(FILE *out, uint64_t launches, uint64_t captured, uint64_t graphs)
{
	fprintf(out, "%s launch%s", gp_count_text(launches).s, launches == 1 ? "" : "es");
	if (captured)
		fprintf(out, ", %s captured launch%s", gp_count_text(captured).s,
			captured == 1 ? "" : "es");
	if (graphs)
		fprintf(out, ", %s graph launch%s", gp_count_text(graphs).s,
			graphs == 1 ? "" : "es");
}

void gp_report_devices_text(const struct gp_info *info, char out[GP_DEVICES_TEXT])
{
	out[0] = '\0';
	for (size_t k = 0, used = 0; k < info->devices && used + 16 < GP_DEVICES_TEXT; k++)
		used += (size_t)sprintf(out + used, "%s%u", k ? ", " : "", info->device[k].device);
}

void gp_report_no_device_in(const char *path, const char *others, int64_t device,
			    const char *devices)
{
	gp_error("cannot show GPU %lld of '%s'%s: no such memory was recorded", (long long)device,
		 path, others);
	if (devices[0])
		gp_hint("GPUs of the recording: %s", devices);
}

void gp_report_no_device(const char *path, const struct gp_info *info, int64_t device)
{
	char list[GP_DEVICES_TEXT];
	gp_report_devices_text(info, list);
	gp_report_no_device_in(path, "", device, list);
}

bool gp_report_has_device(const char *path, const struct gp_info *info, int64_t device)
{
	for (size_t k = 0; k < info->devices; k++)
		if ((int64_t)info->device[k].device == device)
			return true;
	if (device < 0)
		return true;
	gp_report_no_device(path, info, device);
	return false;
}

/* Appends to the line. Text beyond its capacity is cut off. */
static void report_add(struct gp_headline *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void report_add(struct gp_headline *line, const char *format, ...)
{
	size_t n = strlen(line->s);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(line->s + n, sizeof line->s - n, format, arguments);
	va_end(arguments);
}

/* Flaws that make the figures wrong or incomplete come first. */
static void add_flaws(struct gp_headline *line, const struct gp_info *info)
{
	uint64_t other = info->lost_other + info->nested;
	if (info->is_damaged) {
		const struct gp_damage *first = info->damages ? &info->damage[0] : NULL;
		report_add(line, "DAMAGED");
		if (first)
			report_add(line, " at byte %llu: %s", (unsigned long long)first->offset,
				   first->what);
		if (info->damages > 1)
			report_add(line, ", and %s",
				   gp_plural(info->damages - 1, "more damaged place").s);
		report_add(line, "; ");
	}
	if (info->lost_memory)
		report_add(line, "%s LOST; ", gp_plural(info->lost_memory, "memory event").s);
	if (info->lost_launch)
		report_add(line, "%s lost; ", gp_plural(info->lost_launch, "launch event").s);
	if (other)
		report_add(line, "%s lost; ", gp_plural(other, "other event").s);
	for (size_t i = 0; i < info->uncertains && i < 2; i++)
		report_add(line, "%s from %s to %s; ", i ? "and" : "figures uncertain",
			   gp_ns_text(info->uncertain[i].from_ns).s,
			   gp_ns_text(info->uncertain[i].to_ns).s);
	if (info->uncertains > 2)
		report_add(line, "and %s; ", gp_plural(info->uncertains - 2, "more such span").s);
	if (info->has_hole && info->failed_blocks)
		report_add(line, "NOT COMPLETE: %s could not be written; ",
			   gp_plural(info->failed_blocks, "block").s);
	if (info->is_running)
		report_add(line, "the job is running: shown up to %s; ",
			   gp_ns_text((int64_t)info->duration_ns).s);
	else if (!info->is_sealed || (info->has_hole && !info->failed_blocks))
		report_add(line, "NOT COMPLETE: its end is missing%s; ",
			   info->is_anothers ? ", it is another user's and may be running" : "");
}

uint64_t gp_events_of(const struct gp_info *info)
{
	uint64_t events = 0;
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		if (gp_is_happening(kind))
			events += info->counts[kind];
	return events;
}

/* Recording was never started, or the job did not use the GPU. */
static bool is_empty(const struct gp_info *info)
{
	return !gp_events_of(info) && info->is_complete && !gp_has_losses(info);
}

/* Events before the recording and during its pauses are missing. */
static void add_gaps(struct gp_headline *line, const struct gp_info *info)
{
	if (info->is_late && info->gaps == 1)
		report_add(line,
			   "; recording began at %s: earlier allocations are not in the figures",
			   gp_ns_text(info->gap_ns[0]).s);
	else if (info->gaps)
		report_add(line, "; recording paused until %s%s: events of that time are missing",
			   gp_ns_text(info->gap_ns[0]).s, info->gaps > 1 ? " and later" : "");
	else if (info->has_gap)
		report_add(line, "; recording paused for a while: events of that time are missing");
	if (info->ended_by == GP_SCOPE_BY_MAIN)
		report_add(line, "; recording ended with the main thread, which had no /proc: "
				 "later events are "
				 "missing");
	if (info->has_framework_late)
		report_add(line, "; older PyTorch blocks are not in the figures");
	if (!gp_has_whole_figures(info))
		report_add(line, "; peaks are at least those shown");
}

/* Outside of captures, launches and stacks are missing, but not memory. */
static void add_captured(struct gp_headline *line, const struct gp_info *info)
{
	if (!info->is_captured_in_part)
		return;
	if (info->captures == 0)
		report_add(line, "; nothing was captured: only memory was recorded");
	else
		report_add(line, "; captured: %s in %s, elsewhere only memory was recorded",
			   gp_ns_text((int64_t)info->captured_ns).s,
			   gp_plural(info->captures, "span").s);
	if (info->ended_by && info->ended_by != GP_SCOPE_BY_MAIN)
		report_add(line, "; recording ended with the last span: later events are missing");
}

bool gp_has_whole_figures(const struct gp_info *info)
{
	return !info->has_gap && !info->has_framework_late && !info->has_uncertain_peaks &&
	       !info->has_hole && !info->ended_by;
}

bool gp_has_whole_pinned(const struct gp_info *info)
{
	return gp_has_whole_figures(info) && !info->has_uncertain_pinned;
}

bool gp_has_losses(const struct gp_info *info)
{
	return info->is_damaged || info->lost_memory || info->lost_launch || info->lost_other ||
	       info->nested;
}

struct gp_headline gp_headline_of(const struct gp_info *info)
{
	struct gp_headline line = { "" };
	add_flaws(&line, info);
	report_add(&line, "%s, %s, ", gp_ns_text((int64_t)info->duration_ns).s,
		   gp_plural(gp_events_of(info), "event").s);
	if (!gp_has_losses(info) && info->is_complete && !is_empty(info))
		report_add(&line, "nothing lost, ");
	report_add(&line, "%s", gp_plural(info->devices, "device").s);
	if (is_empty(info))
		report_add(&line, "; no GPU activity was recorded");
	else if (info->kept_from_ns)
		report_add(&line, "; peaks and counts since the start, single events from %s",
			   gp_ns_text((int64_t)info->kept_from_ns).s);
	add_captured(&line, info);
	add_gaps(&line, info);
	return line;
}

void gp_headline_print(FILE *out, const struct gp_info *info)
{
	const bool is_bad = info->is_damaged || gp_has_losses(info);
	fprintf(out, "%s%s%s\n", is_bad ? gp_on(GP_ROLE_BAD) : "", gp_headline_of(info).s,
		is_bad ? gp_off() : "");
}

const char *gp_scope_text(unsigned by)
{
	static const char *const texts[GP_SCOPE_BYS] = {
		[GP_SCOPE_BY_START] = "start",	     [GP_SCOPE_BY_DELAY] = "delay",
		[GP_SCOPE_BY_DURATION] = "duration", [GP_SCOPE_BY_PROFILER] = "cudaProfilerApi",
		[GP_SCOPE_BY_RANGE] = "range",	     [GP_SCOPE_BY_STEP] = "step",
		[GP_SCOPE_BY_ORDER] = "gpuprof ctl", [GP_SCOPE_BY_MAIN] = "the main thread's end",
	};
	return by < GP_SCOPE_BYS ? texts[by] : NULL;
}

void gp_report_caveats(struct gp_json *json, const struct gp_info *info)
{
	gp_json_array(json, "gaps");
	for (size_t k = 0; k < info->gaps; k++)
		gp_json_signed(json, NULL, info->gap_ns[k]);
	gp_json_end(json);
	gp_json_array(json, "uncertain");
	for (size_t k = 0; k < info->uncertains; k++) {
		gp_json_array(json, NULL);
		gp_json_signed(json, NULL, info->uncertain[k].from_ns);
		gp_json_signed(json, NULL, info->uncertain[k].to_ns);
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void print_why(FILE *out, const char *side, const char *source, const char *why)
{
	if (!why)
		return;
	fprintf(out, "%sno ranges of %s: ", side, source);
	gp_mask(out, why, strlen(why));
	fputc('\n', out);
}

void gp_no_ranges_print(FILE *out, const char *side, const struct gp_info *info)
{
	print_why(out, side, "NVTX", info->nvtx_why);
	print_why(out, side, "PyTorch", info->torch_why);
}

static const char *named(const struct gp_recording *recording)
{
	return gp_named_path(gp_recording_path(recording));
}

bool gp_peak_curve_read(const char *text, unsigned *of)
{
	*of = GP_CURVES;
	if (strncmp(text, "peak", 4) != 0 || (text[4] && text[4] != ':'))
		return false;
	for (unsigned k = 0; text[4] && k < GP_CURVE_KEYS; k++)
		if (gp_curve_keys[k] && strcmp(text + 5, gp_curve_keys[k]) == 0)
			*of = k;
	return !text[4] || *of != GP_CURVES;
}

bool gp_moment_missing(const char *text, const char *path, const char *why)
{
	gp_error("cannot find '%s' in '%s': %s", text, path, why);
	if (strncmp(text, "snapshot:", 9) == 0)
		gp_hint("gpuprof dump --kind snapshot_requested lists its snapshots");
	else
		gp_hint("other moments are " GP_FLAGS_MOMENTS);
	return false;
}

/* Of the device with the highest peak. */
static bool curve_peak_find(const struct gp_timeline *timeline, unsigned of, int64_t *out)
{
	uint64_t highest = 0;
	for (size_t k = 0; k < timeline->devices; k++) {
		const struct gp_timeline_device *d = &timeline->device[k];
		if (d->peak_bytes[of] <= highest)
			continue;
		highest = d->peak_bytes[of];
		*out = d->peak_at_ns[of];
	}
	return highest > 0;
}

static bool peak_find(const struct gp_timeline *timeline, unsigned of, int64_t *out)
{
	if (of == GP_CURVE_PINNED && timeline->host)
		*out = timeline->host->peak_at_ns[GP_HOST_PINNED];
	if (of == GP_CURVE_PINNED)
		return timeline->host;
	if (of != GP_CURVES)
		return curve_peak_find(timeline, of, out);
	return curve_peak_find(timeline, GP_CURVE_ALLOCATED, out) ||
	       curve_peak_find(timeline, GP_CURVE_DRIVER, out);
}

static bool oom_find(const struct gp_timeline *timeline, int64_t *out)
{
	bool is_found = false;
	for (size_t k = 0; k < timeline->devices; k++) {
		const struct gp_timeline_device *d = &timeline->device[k];
		for (size_t i = 0; i < d->marks; i++) {
			if (!d->mark[i].is_oom || (is_found && d->mark[i].at_ns >= *out))
				continue;
			*out = d->mark[i].at_ns;
			is_found = true;
		}
	}
	return is_found;
}

/* Of the device with most unused memory. */
static bool unused_find(struct gp_recording *recording, const char *text, int64_t *out)
{
	struct gp_unused_peak all[GP_DEVICES];
	enum gp_status status = gp_unused_peak_find(recording, all);
	const struct gp_unused_peak *peak =
		status ? NULL : gp_unused_peak_highest(all, GP_DEVICE_UNKNOWN);
	if (peak)
		*out = peak->at_ns;
	else
		gp_error("cannot find '%s' in '%s': %s", text, named(recording),
			 status ? gp_status_text(status) : "PyTorch had no unused memory");
	return peak;
}

static bool event_find(struct gp_recording *recording, const char *text, int64_t *out)
{
	struct gp_timeline timeline;
	enum gp_status status = gp_timeline_build(recording, 16, 0, INT64_MAX, &timeline);
	if (status) {
		gp_error("cannot find '%s' in '%s': %s", text, named(recording),
			 gp_status_text(status));
		return false;
	}
	unsigned of;
	const bool is_peak = gp_peak_curve_read(text, &of);
	bool is_found = is_peak ? peak_find(&timeline, of, out) : oom_find(&timeline, out);
	gp_timeline_free(&timeline);
	return is_found ||
	       gp_moment_missing(text, named(recording),
				 is_peak ? "no such memory was in use" : "no out-of-memory event");
}

/*
 * Just before the first event of step `number`, from 1, so that a span up to it and live memory
 * exclude that event. Never before the first kept event.
 */
static bool step_find(struct gp_recording *recording, const char *text, size_t number, int64_t *out)
{
	struct gp_steps steps = { 0 };
	const struct gp_info *info;
	enum gp_status status = gp_recording_info(recording, &info);
	const int64_t kept_ns = status ? 0 : (int64_t)info->kept_from_ns;
	status = status ? status : gp_steps_find(recording, &steps);
	bool is_found = !status && number <= steps.steps;
	if (is_found)
		*out = steps.step[number - 1].begin_ns -
		       (steps.step[number - 1].begin_ns > kept_ns);
	else if (status)
		gp_error("cannot find '%s' in '%s': %s", text, named(recording),
			 gp_status_text(status));
	else if (!steps.steps)
		gp_moment_missing(text, named(recording), steps.why);
	else
		gp_error("cannot find '%s' in '%s': its last is step:%zu", text, named(recording),
			 steps.steps);
	gp_steps_free(&steps);
	return is_found;
}

/* Warns that the end is shown instead of a moment after it. */
static void print_if_behind_end(struct gp_recording *recording, const char *option, int64_t at_ns)
{
	const struct gp_info *info;
	if (strcmp(option, "at") == 0 && gp_recording_info(recording, &info) == GP_OK &&
	    at_ns > (int64_t)info->duration_ns)
		gp_error("'--at' (%s) is after the end of '%s' (%s), which is shown",
			 gp_ns_text(at_ns).s, named(recording),
			 gp_ns_text((int64_t)info->duration_ns).s);
}

bool gp_moment_find(struct gp_recording *recording, const char *option, const char *text,
		    int64_t *out)
{
	const struct gp_info *info;
	if (gp_ns_parse(text, out)) {
		print_if_behind_end(recording, option, *out);
		return true;
	}
	if (strcmp(text, "start") == 0) {
		*out = 0;
		return true;
	}
	if (strcmp(text, "end") == 0 && gp_recording_info(recording, &info) == GP_OK) {
		*out = (int64_t)info->duration_ns;
		return true;
	}
	if (strcmp(text, GP_UNUSED_PEAK) == 0)
		return unused_find(recording, text, out);
	unsigned of;
	if (gp_peak_curve_read(text, &of) || strcmp(text, "oom") == 0)
		return event_find(recording, text, out);
	size_t number = 0;
	int end = 0;
	if (sscanf(text, "step:%zu%n", &number, &end) == 1 && !text[end] && number > 0)
		return step_find(recording, text, number, out);
	return gp_flags_wrong_value(option, text, "moment", "moments are " GP_FLAGS_MOMENTS);
}

bool gp_span_find(struct gp_recording *recording, const char *from, const char *to,
		  int64_t *from_ns, int64_t *to_ns)
{
	const struct gp_info *info;
	if ((from && !gp_moment_find(recording, "from", from, from_ns)) ||
	    (to && !gp_moment_find(recording, "to", to, to_ns)))
		return false;
	if (from && to && *from_ns > *to_ns) {
		gp_error("'--from' (%s) is after '--to' (%s)", gp_ns_text(*from_ns).s,
			 gp_ns_text(*to_ns).s);
		gp_hint("exchange them");
		return false;
	}
	if (from && gp_recording_info(recording, &info) == GP_OK &&
	    *from_ns > (int64_t)info->duration_ns) {
		gp_error("'--from' (%s) is after the end of the recording (%s)",
			 gp_ns_text(*from_ns).s, gp_ns_text((int64_t)info->duration_ns).s);
		gp_hint("give an earlier '--from'");
		return false;
	}
	return true;
}
