/*
 * `gpuprof frag`: memory at one moment. Prints its parts, the largest request that it would serve,
 * why free memory is unusable, and which blocks prevent its use.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frag/frag_options.h"
#include "io/message.h"
#include "io/terminal_width.h"
#include "report/use_print.h"

/* ---- the moment ---- */

/* Reads "oom:2", where `name` is "oom:". */
static bool number_read(const char *text, const char *name, uint64_t *out)
{
	const size_t n = strlen(name);
	int64_t number = 0;
	bool is_fine = strncmp(text, name, n) == 0 && text[n] &&
		       !text[n + strspn(text + n, "0123456789")] && gp_ns_parse(text + n, &number);
	*out = (uint64_t)number;
	return is_fine;
}

static bool choose(struct gp_frag_command *f, enum gp_when when, const char *text, const char *key)
{
	f->moment.when = when;
	f->report.moment = text;
	snprintf(f->report.moment_key, sizeof f->report.moment_key, "%s", key);
	return true;
}

static bool choose_peak(struct gp_frag_command *f, enum gp_curve of)
{
	static const char *const texts[] = {
		[GP_CURVE_DRIVER] = "at the peak of driver memory",
		[GP_CURVE_RESERVED] = "at the peak of reserved memory",
		[GP_CURVE_ALLOCATED] = "at the peak of allocated memory",
	};
	char key[32];
	snprintf(key, sizeof key, "peak:%s", gp_curve_keys[of]);
	f->moment.of = of;
	return choose(f, GP_WHEN_PEAK, texts[of], key);
}

/* `number`: as in the table of `oom`. */
static bool choose_oom(struct gp_frag_command *f, uint64_t number)
{
	const struct gp_ooms *ooms = &f->report.ooms;
	char why[64], key[32];
	if (!number || number > ooms->ooms) {
		snprintf(why, sizeof why, "memory %.48s", gp_ran_out_text(ooms->ooms).s);
		return gp_moment_missing(f->at, f->report.path, why);
	}
	snprintf(key, sizeof key, "oom:%llu", (unsigned long long)number);
	f->report.failed = ooms->oom[number - 1];
	f->moment = (struct gp_moment_of){ .number = f->report.failed.number };
	return choose(f, GP_WHEN_OOM, "when it ran out of memory", key);
}

static bool find_moment(struct gp_frag_command *f)
{
	const char *at = f->at, *path = f->report.path;
	const size_t ooms = f->report.ooms.ooms;
	uint64_t number;
	unsigned of = GP_CURVE_RESERVED;
	f->moment = (struct gp_moment_of){ .device = f->r.device < 0 ? GP_DEVICE_UNKNOWN :
								       (unsigned)f->r.device };
	if (!at && ooms)
		return choose_oom(f, 1);
	if (!at || (gp_peak_curve_read(at, &of) && of != GP_CURVE_PINNED))
		return choose_peak(f, of == GP_CURVES ? GP_CURVE_ALLOCATED : (enum gp_curve)of);
	if (strcmp(at, "oom") == 0)
		return ooms ? choose_oom(f, 1) :
			      gp_moment_missing(at, path, "no out-of-memory event");
	if (number_read(at, "oom:", &number))
		return choose_oom(f, number);
	if (strcmp(at, "end") == 0)
		return choose(f, GP_WHEN_END, "at the end", at);
	if (strcmp(at, GP_UNUSED_PEAK) == 0)
		return choose(f, GP_WHEN_UNUSED, "at the moment of most unused memory", at);
	if (number_read(at, "snapshot:", &f->moment.number))
		return choose(f, GP_WHEN_SNAPSHOT, "at its snapshot", "");
	if (number_read(at, "order:", &f->moment.number))
		return choose(f, GP_WHEN_ORDER, NULL, "");
	f->moment.when = GP_WHEN_TIME;
	if (gp_moment_find(f->report.recording, "at", at, &f->moment.at_ns))
		return true;
	/* step:N is valid for any N from 1, also for a step that the recording lacks */
	if (!number_read(at, "step:", &number) || !number)
		gp_hint("here also oom:2, snapshot:0, order:1234");
	return false;
}

static enum gp_status build_at(struct gp_frag_command *f)
{
	if (f->moment.when == GP_WHEN_OOM)
		return gp_oom_memory_build(f->report.recording, &f->report.failed,
					   &f->report.memory, &f->failed_arena);
	return gp_memory_build(f->report.recording, &f->moment, &f->report.memory);
}

static int build_memory(struct gp_frag_command *f)
{
	gp_allocator_settings_read(f->report.info->alloc_conf, &f->report.settings);
	enum gp_status status =
		gp_ooms_build(f->report.recording, &f->report.settings, &f->report.ooms);
	if (status)
		return gp_report_failed("report on", f->report.path, status);
	if (!find_moment(f))
		return GP_EXIT_USAGE;
	if (f->moment.when == GP_WHEN_TIME &&
	    f->moment.at_ns < (int64_t)f->report.info->kept_from_ns) {
		gp_error("cannot show %s of '%s': events are kept from %s on",
			 gp_ns_text(f->moment.at_ns).s, f->report.path,
			 gp_ns_text((int64_t)f->report.info->kept_from_ns).s);
		return GP_EXIT_USAGE;
	}
	status = build_at(f);
	/* a job without a framework */
	if (status == GP_END && (!f->report.at || strcmp(f->report.at, "peak") == 0)) {
		choose_peak(f, GP_CURVE_DRIVER);
		status = build_at(f);
	}
	if (status == GP_END && !f->report.at) {
		choose(f, GP_WHEN_END, "at the end", "end");
		status = build_at(f);
	}
	if (status == GP_END) {
		gp_moment_missing(f->report.at, f->report.path, "no such moment");
		return GP_EXIT_USAGE;
	}
	if (status)
		return gp_report_failed("report on", f->report.path, status);
	return GP_EXIT_OK;
}

/* ---- devices ---- */

static enum gp_status add_device(struct gp_frag_command *f, unsigned device)
{
	struct gp_frag_report *r = &f->report;
	struct gp_frag_device *d = &r->device[r->devices];
	bool is_failed = r->failed.bytes && r->failed.device == device;
	struct gp_frag_question q = { .settings = &r->settings, .fit_bytes = f->fit_bytes };
	if (!q.fit_bytes && is_failed && r->failed.is_framework)
		q.fit_bytes = r->failed.bytes;
	q.arena = is_failed ? f->failed_arena : 0;
	q.has_arena = q.arena != 0;
	enum gp_status status = gp_frag_build(&r->memory, device, &q, &d->frag);
	if (status)
		return status;
	r->devices++;
	return status;
}

/* Why most memory of the device is unused at that moment. */
static enum gp_status find_cause(struct gp_frag_command *f, struct gp_frag_device *d)
{
	const struct gp_moment_of moment = { .when = GP_WHEN_ORDER, .number = d->most.order };
	const struct gp_frag_question question = { .settings = &f->report.settings };
	struct gp_memory memory;
	struct gp_frag frag;
	enum gp_status status = gp_memory_build(f->report.recording, &moment, &memory);
	if (status)
		return status;
	status = gp_frag_build(&memory, d->frag.device->device, &question, &frag);
	if (status == GP_OK) {
		d->most_cause = gp_frag_main_cause(&frag);
		d->most_use = gp_frag_private(&frag).use;
		gp_frag_free(&frag);
	}
	gp_memory_free(&memory);
	return status;
}

static enum gp_status find_most_unused(struct gp_frag_command *f)
{
	struct gp_unused_peak all[GP_DEVICES];
	enum gp_status status = gp_unused_peak_find(f->report.recording, all);
	for (size_t k = 0; k < f->report.devices && status == GP_OK; k++) {
		struct gp_frag_device *d = &f->report.device[k];
		if (d->frag.device->device < GP_DEVICES)
			d->most = all[d->frag.device->device];
		if (d->most.bytes)
			status = find_cause(f, d);
	}
	return status;
}

/* Up to the moment. */
static enum gp_status find_peaks(struct gp_frag_command *f)
{
	struct gp_timeline t;
	enum gp_status status =
		gp_timeline_build(f->report.recording, 16, 0, f->report.memory.at_ns, &t);
	if (status)
		return status;
	for (size_t k = 0; k < f->report.devices; k++)
		for (size_t i = 0; i < t.devices; i++)
			if (t.device[i].device == f->report.device[k].frag.device->device)
				memcpy(f->report.device[k].peak_bytes, t.device[i].peak_bytes,
				       sizeof t.device[i].peak_bytes);
	gp_timeline_free(&t);
	return status;
}

static void print_unknown(struct gp_frag_command *f)
{
	const char *of_memory = f->report.memory.caveat,
		   *of_settings = f->report.settings.not_known;
	const char *of_time = "";
	for (size_t k = 0; k < f->report.devices; k++)
		if (f->report.device[k].born.is_unsure)
			of_time = "events exceed the work limit; the start of fragmentation is "
				  "unknown";
	snprintf(f->not_known, sizeof f->not_known, "%s%s%s%s%s", of_memory ? of_memory : "",
		 of_memory && *of_settings ? "; " : "", of_settings,
		 (of_memory || *of_settings) && *of_time ? "; " : "", of_time);
	f->report.not_known = *f->not_known ? f->not_known : NULL;
}

static enum gp_status add_devices(struct gp_frag_command *f)
{
	struct gp_frag_report *r = &f->report;
	enum gp_status status = GP_OK;
	r->device = calloc(r->memory.devices + 1, sizeof *r->device);
	if (!r->device)
		return GP_E_MEMORY;
	for (size_t k = 0; k < r->memory.devices && status == GP_OK; k++) {
		const struct gp_memory_device *m = &r->memory.device[k];
		bool is_empty = !m->driver_bytes && !m->reserved_bytes && !m->segments;
		if (f->r.device >= 0 ? m->device == (uint64_t)f->r.device : !is_empty)
			status = add_device(f, m->device);
	}
	return status;
}

/* Text output needs it only for a request that fails, --json for each device. */
static enum gp_status find_born(struct gp_frag_report *r, bool is_json)
{
	struct gp_frag_born born[GP_DEVICES + 1];
	bool is_selected[GP_DEVICES + 1];
	size_t n = 0;
	for (size_t k = 0; k < r->devices; k++) {
		const struct gp_frag *g = &r->device[k].frag;
		uint64_t fit_bytes = g->fit.is_served ? 0 : g->fit.rounded_bytes;
		is_selected[k] = g->reserved_bytes && (fit_bytes || is_json);
		if (is_selected[k])
			born[n++] = (struct gp_frag_born){ .device = g->device->device,
							   .fit_bytes = fit_bytes };
	}
	enum gp_status status = n ? gp_frag_find_born(r->recording, &r->memory, born, n) : GP_END;
	for (size_t k = r->devices; k-- > 0 && status == GP_OK;)
		if (is_selected[k])
			r->device[k].born = born[--n];
	return status;
}

/* All work that needs a replay. Afterwards the names of all stacks are known. */
static enum gp_status frag_replay(struct gp_frag_command *f)
{
	struct gp_frag_report *r = &f->report;
	struct gp_event event;
	enum gp_status status = f->is_summary ? find_peaks(f) : GP_OK;
	if (status)
		return status;
	bool is_plain = !f->is_summary && !f->is_map && !f->is_svg;
	if (f->r.is_many && !f->r.is_json)
		return GP_OK;
	status = is_plain ? find_most_unused(f) : GP_OK;
	if (status)
		return status;
	status = is_plain ? find_born(r, f->r.is_json) : GP_END;
	if (status == GP_END) { /* nothing was replayed */
		status = gp_recording_rewind(r->recording);
		while (status == GP_OK)
			status = gp_recording_next(r->recording, &event);
		status = status == GP_END ? GP_OK : status;
	}
	for (size_t k = 0; k < r->devices && status == GP_OK; k++)
		status = gp_owners_build(r->recording, &r->device[k].frag, &r->device[k].owners);
	return status;
}

static enum gp_status frag_print(struct gp_frag_command *f)
{
	const struct gp_frag_report *r = &f->report;
	enum gp_status status = GP_OK;
	if (f->is_svg)
		return gp_frag_draw(r, f->colour) ? GP_OK : GP_E_MEMORY;
	if (!f->is_map)
		gp_headline_print(r->out, r->info);
	if (!f->is_map && f->has_holders)
		status = gp_frag_holders_print(r);
	if (status)
		return status;
	if (f->is_summary)
		gp_frag_summary_print(r);
	else if (f->is_map)
		gp_frag_map_print(r);
	else
		gp_frag_print(r);
	return GP_OK;
}

static int frag_show(struct gp_frag_command *f)
{
	enum gp_status status = GP_OK;
	if (f->by)
		status = gp_memory_find_roles(f->report.recording, &f->report.memory);
	if (status == GP_OK)
		status = add_devices(f);
	if (status == GP_OK)
		status = frag_replay(f);
	if (status)
		return gp_report_failed("report on", f->r.path, status);
	print_unknown(f);
	if (f->r.device >= 0 && !f->report.devices) {
		gp_report_no_device(f->r.path, f->r.info, f->r.device);
		return GP_EXIT_USAGE;
	}
	f->r.sink.has_report = true;
	status = f->r.is_json				   ? gp_frag_write(&f->report) :
		 !f->r.is_many				   ? frag_print(f) :
		 gp_frag_rows_add(&f->r.table, &f->report) ? GP_OK :
							     GP_E_MEMORY;
	return status ? gp_report_failed("report on", f->r.path, status) : GP_EXIT_OK;
}

int gp_frag_one(struct gp_reading *r)
{
	struct gp_frag_command *f = (struct gp_frag_command *)r;
	struct gp_frag_report *report = &f->report;
	*report = (struct gp_frag_report){ .recording = r->recording,
					   .info = r->info,
					   .path = r->path,
					   .at = f->at,
					   .out = r->out,
					   .json = &r->json,
					   .top = r->top,
					   .columns = gp_columns(f->columns, r->out),
					   .is_ascii = !gp_is_utf8(),
					   .has_roles = f->by != NULL,
					   .has_holders = f->has_holders };
	f->failed_arena = 0;
	int exit_status = build_memory(f);
	if (exit_status == GP_EXIT_OK)
		exit_status = frag_show(f);
	for (size_t k = 0; k < report->devices; k++) {
		gp_frag_free(&report->device[k].frag);
		gp_owners_free(&report->device[k].owners);
	}
	free(report->device);
	gp_memory_free(&report->memory);
	gp_ooms_free(&report->ooms);
	return exit_status;
}

/* ---- the command ---- */

#define COLOUR_WORDS "age|stack" /* enum gp_frag_colour */

void gp_frag_flags(struct gp_frag_command *f, struct gp_flag flags[GP_FRAG_FLAGS])
{
	const struct gp_flag rows[GP_FRAG_FLAGS] = {
		{ "fit", 0, GP_FLAG_TEXT, "SIZE", &f->fit,
		  "blocks to free for this request; default the failed one" },
		{ "summary", 0, GP_FLAG_SWITCH, NULL, &f->is_summary,
		  "rows of torch.cuda.memory_summary()" },
		{ "map", 0, GP_FLAG_SWITCH, NULL, &f->is_map,
		  "map of segments and their blocks; with -o FILE.svg as a picture" },
		{ "colour", 0, GP_FLAG_CHOICE, "WHAT=" COLOUR_WORDS, &f->colour_text,
		  "of blocks in the picture, default age" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &f->r.top,
		  "at most N blocks between gaps, 0: all; default 10, with --json all" },
		{ "columns", 0, GP_FLAG_NUMBER, GP_COLUMNS_RANGE, &f->columns,
		  "width of the map; default that of the terminal, else 100" },
		{ "output", 'o', GP_FLAG_TEXT, "FILE", &f->r.output,
		  "write to a new FILE; - is stdout; FILE.svg: the map" },
		{ "force", 0, GP_FLAG_SWITCH, NULL, &f->r.is_forced, "replace FILE" },
		{ 0 },
	};
	memcpy(flags, rows, sizeof rows);
}

static bool form_check(const struct gp_frag_command *f)
{
	const struct gp_command *command = f->r.command;
	const char *of_report = f->by ? "by" : f->fit ? "fit" : NULL;
	const char *other = f->is_svg	  ? "-o FILE.svg" :
			    f->is_map	  ? "--map" :
			    f->is_summary ? "--summary" :
					    NULL;
	if (f->r.is_json && (f->is_summary || f->is_map))
		gp_usage(command, "'--json' and '--%s' exclude each other",
			 f->is_map ? "map" : "summary");
	else if (f->is_summary && f->is_map)
		gp_usage(command, "'--summary' and '--map' exclude each other");
	else if (f->is_svg && (f->r.is_json || f->is_summary))
		gp_usage(command, "'--%s' is not drawn: '%s' is for a map",
			 f->r.is_json ? "json" : "summary", f->r.output);
	else if (f->colour_text && !f->is_svg)
		gp_usage(command, "'--colour' is of a map in a file: -o FILE.svg");
	else if (of_report && other)
		gp_usage(command, "'--%s' and '%s' exclude each other", of_report, other);
	else
		return true;
	return false;
}

int gp_frag_check(struct gp_reading *r, int recordings)
{
	struct gp_frag_command *f = (struct gp_frag_command *)r;
	const size_t n = r->output ? strlen(r->output) : 0;
	f->is_svg = n > 4 && strcmp(r->output + n - 4, ".svg") == 0;
	r->is_text = !r->is_json && !f->is_svg;
	if (f->colour_text)
		f->colour = (enum gp_frag_colour)gp_choice_find(COLOUR_WORDS, f->colour_text);
	if (f->fit && (!gp_size_parse(f->fit, &f->fit_bytes) || !f->fit_bytes)) {
		gp_flags_wrong_value("fit", f->fit, GP_FLAGS_SIZE);
		return GP_EXIT_USAGE;
	}
	/* options for one recording; many recordings get a table, which lacks these answers */
	const char *alone = f->is_summary		? "--summary" :
			    f->is_map			? "--map" :
			    f->is_svg			? "-o FILE.svg" :
			    f->fit_bytes && !r->is_json ? "--fit" :
			    f->by && !r->is_json	? "--by" :
							  NULL;
	const bool is_fine =
		form_check(f) && (!alone || gp_inputs_is_one(r->command, alone, recordings));
	return is_fine ? GP_EXIT_OK : GP_EXIT_USAGE;
}

static int frag_run(const struct gp_command *command, int argc, char **argv)
{
	struct gp_frag_command f = { .r.command = command };
	struct gp_flag flags[2 + GP_FRAG_FLAGS] = {
		{ "at", 0, GP_FLAG_TEXT, "TIME", &f.at,
		  "at this moment: oom (default, else peak:reserved), oom:N, peak, peak:allocated, "
		  "peak:reserved, peak:driver, peak:unused, start, end, step:N, snapshot:N, "
		  "order:N, 1.5s" },
		{ "by", 0, GP_FLAG_CHOICE, "WHAT=role", &f.by,
		  "also what the blocks hold that pin free memory" },
	};
	gp_frag_flags(&f, &flags[2]);
	gp_frag_rows_begin(&f.r.table);
	return gp_reading_run(&f.r, flags, argc, argv);
}

const struct gp_command gp_command_frag = {
	.name = "frag",
	.synopsis = "frag [--at TIME] [--fit SIZE] [--by role] [--json|--summary|--map] [options] "
		    "RECORDING...",
	.text = "show unused reserved memory, what fits, and the blocks that pin it",
	.run = frag_run,
	.options = GP_FRAG_OPTIONS,
	.json_levels = 5,
	.top = GP_FRAG_PINS,
	.check = gp_frag_check,
	.one = gp_frag_one,
};
