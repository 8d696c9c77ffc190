/*
 * `gpuprof frag`: where memory is at one moment, what request would be served, why free memory is
 * of no use to one, and which blocks are in the way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "flags.h"
#include "frag_report.h"
#include "message.h"
#include "report.h"
#include "sink.h"
#include "terminal_width.h"

extern const struct gp_command gp_command_frag;

#define PINS_DEFAULT 10u

struct frag {
	struct gp_frag_report r;
	struct gp_sink sink;
	struct gp_moment_of moment;
	const char *at, *fit, *device_text, *colour_text, *output;
	uint64_t fit_bytes, columns;
	size_t asks;	/* arena of the request that failed; 0: not known */
	int64_t device; /* -1: all */
	enum gp_frag_colour colour;
	bool is_json, is_summary, is_map, is_forced, is_svg;
	char not_known[1024];
};

/* ---- the moment ---- */

static bool number_read(const char *text, uint64_t *out)
{
	int64_t number = 0;
	bool is_fine = *text && !text[strspn(text, "0123456789")] && gp_ns_parse(text, &number);
	*out = (uint64_t)number;
	return is_fine;
}

static void choose(struct frag *f, size_t k)
{
	f->r.failed = f->r.ooms.oom[k];
	f->moment = (struct gp_moment_of){ .when = GP_WHEN_OOM, .number = f->r.failed.number };
	f->r.moment = "when it ran out of memory";
}

/* The first of the framework's, else the first that the driver refused. */
static bool at_oom(struct frag *f, bool is_asked)
{
	const struct gp_ooms *ooms = &f->r.ooms;
	size_t k = 0;
	while (k < ooms->ooms && !ooms->oom[k].is_framework)
		k++;
	if (!ooms->ooms && is_asked)
		gp_complain("cannot find 'oom' in '%s': no out-of-memory event", f->r.path);
	if (ooms->ooms)
		choose(f, k < ooms->ooms ? k : 0);
	return ooms->ooms;
}

/* By the numbers of `oom`'s table. */
static bool at_oom_number(struct frag *f, uint64_t number)
{
	const struct gp_ooms *ooms = &f->r.ooms;
	if (number && number <= ooms->ooms) {
		choose(f, (size_t)number - 1);
		return true;
	}
	gp_complain("cannot find '%s' in '%s': memory ran out %s", f->at, f->r.path,
		    gp_plural(ooms->ooms, "time").s);
	return false;
}

static bool find_moment(struct frag *f)
{
	const char *at = f->at;
	uint64_t number;
	f->moment = (struct gp_moment_of){ .when = GP_WHEN_PEAK,
					   .device = f->device < 0 ? GP_DEVICE_UNKNOWN :
								     (unsigned)f->device };
	f->r.moment = "at the peak";
	if ((!at && at_oom(f, false)) || (at && strcmp(at, "peak") == 0))
		return true;
	if (!at)
		return true;
	if (strcmp(at, "oom") == 0)
		return at_oom(f, true);
	if (strncmp(at, "oom:", 4) == 0 && number_read(at + 4, &number))
		return at_oom_number(f, number);
	f->r.moment = "at the end";
	f->moment.when = GP_WHEN_END;
	if (strcmp(at, "end") == 0)
		return true;
	f->r.moment = "at its snapshot";
	f->moment.when = GP_WHEN_SNAPSHOT;
	if (strncmp(at, "snapshot:", 9) == 0 && number_read(at + 9, &f->moment.number))
		return true;
	f->moment.when = GP_WHEN_ORDER;
	f->r.moment = NULL;
	if (strncmp(at, "order:", 6) == 0 && number_read(at + 6, &f->moment.number))
		return true;
	f->moment.when = GP_WHEN_TIME;
	return gp_moment_find(f->r.recording, "at", at, &f->moment.at_ns);
}

static enum gp_status build_at(struct frag *f)
{
	if (f->moment.when == GP_WHEN_OOM)
		return gp_oom_memory_build(f->r.recording, &f->r.failed, &f->r.memory, &f->asks);
	return gp_memory_build(f->r.recording, &f->moment, &f->r.memory);
}

static int build_memory(struct frag *f)
{
	gp_allocator_settings_read(f->r.info->alloc_conf, &f->r.settings);
	enum gp_status status = gp_ooms_build(f->r.recording, &f->r.settings, &f->r.ooms);
	if (status)
		return gp_report_failed("report on", f->r.path, status);
	if (!find_moment(f))
		return GP_EXIT_USAGE;
	if (f->moment.when == GP_WHEN_TIME && f->moment.at_ns < (int64_t)f->r.info->kept_from_ns) {
		gp_complain("cannot tell what was live at %s in '%s': events are kept from %s on",
			    gp_ns_text(f->moment.at_ns).s, f->r.path,
			    gp_ns_text((int64_t)f->r.info->kept_from_ns).s);
		return GP_EXIT_USAGE;
	}
	status = build_at(f);
	if (status == GP_END && !f->at) {
		f->moment.when = GP_WHEN_END;
		f->r.moment = "at the end";
		status = build_at(f);
	}
	if (status == GP_END) {
		gp_complain("cannot find '%s' in '%s': there is no such moment", f->at, f->r.path);
		return GP_EXIT_USAGE;
	}
	if (status)
		return gp_report_failed("report on", f->r.path, status);
	return GP_EXIT_OK;
}

/* ---- devices ---- */

static enum gp_status add_device(struct frag *f, unsigned device)
{
	struct gp_frag_report *r = &f->r;
	struct gp_frag_device *d = &r->device[r->devices];
	bool is_failed = r->failed.bytes && r->failed.device == device;
	struct gp_frag_question q = { .settings = &r->settings, .fit_bytes = f->fit_bytes };
	if (!q.fit_bytes && is_failed && r->failed.is_framework)
		q.fit_bytes = r->failed.bytes;
	q.arena = is_failed ? f->asks : 0;
	q.has_arena = q.arena != 0;
	enum gp_status status = gp_frag_build(&r->memory, device, &q, &d->frag);
	if (status)
		return status;
	r->devices++;
	return status;
}

/* Up to the moment. */
static enum gp_status find_peaks(struct frag *f)
{
	struct gp_timeline t;
	enum gp_status status = gp_timeline_build(f->r.recording, 16, 0, f->r.memory.at_ns, &t);
	if (status)
		return status;
	for (size_t k = 0; k < f->r.devices; k++)
		for (size_t i = 0; i < t.devices; i++)
			if (t.device[i].device == f->r.device[k].frag.device->device)
				memcpy(f->r.device[k].peak_bytes, t.device[i].peak_bytes,
				       sizeof t.device[i].peak_bytes);
	gp_timeline_free(&t);
	return status;
}

static void say_not_known(struct frag *f)
{
	const char *of_memory = f->r.memory.doubt, *of_settings = f->r.settings.not_known;
	snprintf(f->not_known, sizeof f->not_known, "%s%s%s", of_memory ? of_memory : "",
		 of_memory && *of_settings ? "; " : "", of_settings);
	f->r.not_known = *f->not_known ? f->not_known : NULL;
}

static enum gp_status add_devices(struct frag *f)
{
	struct gp_frag_report *r = &f->r;
	enum gp_status status = GP_OK;
	r->device = calloc(r->memory.devices + 1, sizeof *r->device);
	if (!r->device)
		return GP_E_MEMORY;
	say_not_known(f);
	for (size_t k = 0; k < r->memory.devices && status == GP_OK; k++) {
		const struct gp_memory_device *m = &r->memory.device[k];
		bool is_empty = !m->driver_bytes && !m->reserved_bytes && !m->segments;
		if (f->device >= 0 ? m->device == (uint64_t)f->device : !is_empty)
			status = add_device(f, m->device);
	}
	return status;
}

/* What takes a replay; behind it the names of all stacks are known. */
static enum gp_status replay(struct frag *f)
{
	struct gp_frag_report *r = &f->r;
	bool is_text = !f->is_summary && !f->is_map && !f->is_svg, is_replayed = false;
	enum gp_status status = f->is_summary ? find_peaks(f) : GP_OK;
	for (size_t k = 0; k < r->devices && is_text && status == GP_OK; k++) {
		struct gp_frag_device *d = &r->device[k];
		uint64_t fit = d->frag.fit.is_served ? 0 : d->frag.fit.rounded_bytes;
		if (!d->frag.reserved_bytes)
			continue;
		status = gp_frag_find_born(r->recording, &r->memory, d->frag.device->device, fit,
					   &d->born);
		is_replayed = true;
	}
	struct gp_event event;
	if (status == GP_OK && !is_replayed)
		status = gp_recording_rewind(r->recording);
	while (status == GP_OK && !is_replayed)
		status = gp_recording_next(r->recording, &event);
	status = status == GP_END ? GP_OK : status;
	for (size_t k = 0; k < r->devices && status == GP_OK; k++)
		status = gp_owners_build(r->recording, &r->device[k].frag, &r->device[k].owners);
	return status;
}

static int show(struct frag *f)
{
	enum gp_status status = add_devices(f);
	if (status == GP_OK)
		status = replay(f);
	if (status)
		return gp_report_failed("report on", f->r.path, status);
	if (f->device >= 0 && !f->r.devices) {
		gp_complain("cannot show GPU %lld of '%s': it has no such memory",
			    (long long)f->device, f->r.path);
		return GP_EXIT_USAGE;
	}
	f->sink.has_report = true;
	if (f->is_json)
		gp_frag_write(&f->r);
	else if (f->is_svg && !gp_frag_draw(&f->r, f->colour))
		return gp_report_failed("draw", f->r.path, GP_E_MEMORY);
	else if (f->is_svg)
		return GP_EXIT_OK;
	else if (f->is_summary)
		gp_frag_summary_print(&f->r);
	else if (f->is_map)
		gp_frag_map_print(&f->r);
	else
		gp_frag_print(&f->r);
	return GP_EXIT_OK;
}

static int report(struct frag *f, const char *path)
{
	int exit_status = GP_EXIT_USAGE;
	f->r.path = path;
	f->r.recording = gp_report_open(path, &f->r.info, &exit_status);
	if (!f->r.recording)
		return exit_status;
	exit_status = gp_report_exit(path, f->r.info);
	int result = build_memory(f);
	if (result == GP_EXIT_OK)
		result = show(f);
	for (size_t k = 0; k < f->r.devices; k++) {
		gp_frag_free(&f->r.device[k].frag);
		gp_owners_free(&f->r.device[k].owners);
	}
	free(f->r.device);
	gp_memory_free(&f->r.memory);
	gp_ooms_free(&f->r.ooms);
	gp_recording_close(f->r.recording);
	return result > exit_status ? result : exit_status;
}

/* ---- the command ---- */

static const char *const colours[] = { "age", "pool", "stack", "owner" };

static bool colour_read(struct frag *f)
{
	size_t count = sizeof colours / sizeof *colours;
	if (!f->colour_text)
		return true;
	for (size_t k = 0; k < count; k++)
		if (strcmp(colours[k], f->colour_text) == 0) {
			f->colour = (enum gp_frag_colour)k;
			return true;
		}
	const char *near = gp_nearest(f->colour_text, colours, count);
	gp_usage(&gp_command_frag, "bad value of '--colour': '%s'", f->colour_text);
	if (near)
		gp_hint("did you mean '%s'?", near);
	return false;
}

static bool values_read(struct frag *f)
{
	uint64_t device = 0;
	size_t n = f->output ? strlen(f->output) : 0;
	f->is_svg = n > 4 && strcmp(f->output + n - 4, ".svg") == 0;
	f->device = -1;
	if (f->fit && (!gp_bytes_parse(f->fit, &f->fit_bytes) || !f->fit_bytes))
		gp_usage(&gp_command_frag, "bad value of '--fit': '%s' is no size", f->fit);
	else if (f->device_text && (!number_read(f->device_text, &device) || device >= GP_DEVICES))
		gp_usage(&gp_command_frag, "bad value of '--device': '%s' is no number below %u",
			 f->device_text, GP_DEVICES);
	else if (f->columns && (f->columns < GP_COLUMNS_MIN || f->columns > GP_COLUMNS_MAX))
		gp_usage(&gp_command_frag, "bad value of '--columns': not from %u to %u",
			 GP_COLUMNS_MIN, GP_COLUMNS_MAX);
	else if (f->is_json && (f->is_summary || f->is_map))
		gp_usage(&gp_command_frag, "'--json' and '--%s' exclude each other",
			 f->is_map ? "map" : "summary");
	else if (f->is_summary && f->is_map)
		gp_usage(&gp_command_frag, "'--summary' and '--map' exclude each other");
	else if (f->is_svg && (f->is_json || f->is_summary))
		gp_usage(&gp_command_frag, "'--%s' is not drawn: '%s' is for a map",
			 f->is_json ? "json" : "summary", f->output);
	else if (f->colour_text && !f->is_svg)
		gp_usage(&gp_command_frag, "'--colour' is of a map in a file: -o FILE.svg");
	else if (colour_read(f)) {
		if (f->device_text)
			f->device = (int64_t)device;
		return true;
	}
	return false;
}

static int run(int argc, char **argv)
{
	struct frag f = { .r.top = UINT64_MAX };
	const struct gp_flag flags[] = {
		{ "at", 0, GP_FLAG_TEXT, "TIME", &f.at,
		  "at this moment: oom (default, else peak), oom:N, peak, end, snapshot:N, "
		  "order:N, 1.5s" },
		{ "fit", 0, GP_FLAG_TEXT, "SIZE", &f.fit,
		  "which blocks would have to go for this request; default the failed one" },
		{ "summary", 0, GP_FLAG_SWITCH, NULL, &f.is_summary,
		  "rows of torch.cuda.memory_summary()" },
		{ "map", 0, GP_FLAG_SWITCH, NULL, &f.is_map,
		  "segments and what lies in them; with -o FILE.svg as a picture" },
		{ "colour", 0, GP_FLAG_TEXT, "WHAT", &f.colour_text,
		  "of blocks in the picture: age (default), pool, stack, owner" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &f.r.top,
		  "at most N blocks in the way, 0: all; default 10, with --json all" },
		{ "device", 0, GP_FLAG_TEXT, "N", &f.device_text, "only this device" },
		{ "columns", 0, GP_FLAG_NUMBER, "N", &f.columns,
		  "width of the map, 50 to 400; default that of the terminal, else 100" },
		{ "json", 0, GP_FLAG_SWITCH, NULL, &f.is_json, "for a program" },
		{ "output", 'o', GP_FLAG_TEXT, "FILE", &f.output,
		  "write to a new FILE instead of stdout; FILE.svg: the map" },
		{ "force", 0, GP_FLAG_SWITCH, NULL, &f.is_forced, "replace FILE" },
		{ 0 },
	};
	int words = gp_flags_parse(&gp_command_frag, flags, argc, argv, false);
	if (words < 0)
		return gp_flags_exit(words);
	if (words != 1)
		return gp_usage(&gp_command_frag, "%s",
				words ? "one recording at a time" : "no recording given");
	if (!values_read(&f))
		return GP_EXIT_USAGE;
	if (f.r.top == UINT64_MAX)
		f.r.top = f.is_json ? 0 : PINS_DEFAULT;
	int exit_status = gp_sink_open(&f.sink, f.output, f.is_forced, argv, words);
	if (exit_status)
		return exit_status;
	f.r.out = f.sink.out;
	f.r.columns = gp_columns(f.columns, f.r.out);
	f.r.is_ascii = !gp_is_utf8();
	return gp_sink_close(&f.sink, report(&f, argv[0]));
}

const struct gp_command gp_command_frag = {
	"frag",
	"frag [--at TIME] [--fit SIZE] [--json|--summary|--map] [options] RECORDING",
	"say where memory is, what would fit, and which blocks are in the way",
	run,
};
