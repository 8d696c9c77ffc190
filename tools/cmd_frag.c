/*
 * `gpuprof frag`: where memory is at one moment, what request would be served, why free memory is
 * of no use to one, and which blocks are in the way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frag/frag_options.h"
#include "input/flags.h"
#include "input/inputs.h"
#include "io/amount.h"
#include "io/message.h"
#include "io/sink.h"
#include "io/terminal_width.h"
#include "report/report.h"
#include "report/use_print.h"

extern const struct gp_command gp_command_frag;

struct frag {
	struct gp_frag_report r;
	struct gp_sink sink;
	struct gp_json json;
	struct gp_report_table sheet;
	bool is_many;
	struct gp_moment_of moment;
	const struct gp_frag_options *options;
	size_t asks; /* arena of the request that failed; 0: not known */
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

static void frag_choose(struct frag *f, size_t k)
{
	f->r.failed = f->r.ooms.oom[k];
	f->moment = (struct gp_moment_of){ .when = GP_WHEN_OOM, .number = f->r.failed.number };
	f->r.moment = "when it ran out of memory";
	snprintf(f->r.moment_key, sizeof f->r.moment_key, "oom:%zu", k + 1);
}

static void choose_end(struct frag *f)
{
	f->moment.when = GP_WHEN_END;
	f->r.moment = "at the end";
	snprintf(f->r.moment_key, sizeof f->r.moment_key, "end");
}

static void choose_peak(struct frag *f, enum gp_curve of)
{
	static const char *const texts[] = {
		[GP_CURVE_DRIVER] = "at the peak of driver memory",
		[GP_CURVE_RESERVED] = "at the peak of reserved memory",
		[GP_CURVE_ALLOCATED] = "at the peak of allocated memory",
	};
	f->moment.when = GP_WHEN_PEAK;
	f->moment.of = of;
	f->r.moment = texts[of];
	snprintf(f->r.moment_key, sizeof f->r.moment_key, "peak:%s", gp_curve_keys[of]);
}

static void choose_unused(struct frag *f)
{
	f->moment.when = GP_WHEN_UNUSED;
	f->r.moment = "at the moment of most unused memory";
	snprintf(f->r.moment_key, sizeof f->r.moment_key, GP_UNUSED_PEAK);
}

static bool at_oom(struct frag *f, bool is_asked)
{
	const struct gp_ooms *ooms = &f->r.ooms;
	if (!ooms->ooms && is_asked)
		gp_moment_missing("oom", f->r.path, "no out-of-memory event");
	if (ooms->ooms)
		frag_choose(f, 0);
	return ooms->ooms;
}

/* By the numbers of `oom`'s table. */
static bool at_oom_number(struct frag *f, uint64_t number)
{
	const struct gp_ooms *ooms = &f->r.ooms;
	if (number && number <= ooms->ooms) {
		frag_choose(f, (size_t)number - 1);
		return true;
	}
	char why[64];
	snprintf(why, sizeof why, "memory %.48s", gp_ran_out_text(ooms->ooms).s);
	return gp_moment_missing(f->r.at, f->r.path, why);
}

static bool find_moment(struct frag *f)
{
	const char *at = f->r.at;
	uint64_t number;
	unsigned of = GP_CURVE_RESERVED;
	f->moment = (struct gp_moment_of){ .device = f->options->device < 0 ?
							     GP_DEVICE_UNKNOWN :
							     (unsigned)f->options->device };
	f->r.moment_key[0] = 0;
	if (!at && at_oom(f, false))
		return true;
	if (!at || (gp_peak_curve_read(at, &of) && of != GP_CURVE_PINNED)) {
		choose_peak(f, of == GP_CURVES ? GP_CURVE_ALLOCATED : (enum gp_curve)of);
		return true;
	}
	if (strcmp(at, "oom") == 0)
		return at_oom(f, true);
	if (strncmp(at, "oom:", 4) == 0 && number_read(at + 4, &number))
		return at_oom_number(f, number);
	if (strcmp(at, "end") == 0) {
		choose_end(f);
		return true;
	}
	if (strcmp(at, GP_UNUSED_PEAK) == 0) {
		choose_unused(f);
		return true;
	}
	f->r.moment = "at its snapshot";
	f->moment.when = GP_WHEN_SNAPSHOT;
	if (strncmp(at, "snapshot:", 9) == 0 && number_read(at + 9, &f->moment.number))
		return true;
	f->moment.when = GP_WHEN_ORDER;
	f->r.moment = NULL;
	if (strncmp(at, "order:", 6) == 0 && number_read(at + 6, &f->moment.number))
		return true;
	f->moment.when = GP_WHEN_TIME;
	if (gp_moment_find(f->r.recording, "at", at, &f->moment.at_ns))
		return true;
	/* a number of a step is a moment, though there may be no such step */
	if (strncmp(at, "step:", 5) != 0 || !number_read(at + 5, &number) || !number)
		gp_hint("here also oom:2, snapshot:0, order:1234");
	return false;
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
		gp_error("cannot show %s of '%s': events are kept from %s on",
			 gp_ns_text(f->moment.at_ns).s, f->r.path,
			 gp_ns_text((int64_t)f->r.info->kept_from_ns).s);
		return GP_EXIT_USAGE;
	}
	status = build_at(f);
	/* a job without a framework */
	if (status == GP_END && (!f->r.at || strcmp(f->r.at, "peak") == 0)) {
		choose_peak(f, GP_CURVE_DRIVER);
		status = build_at(f);
	}
	if (status == GP_END && !f->r.at) {
		choose_end(f);
		status = build_at(f);
	}
	if (status == GP_END) {
		gp_moment_missing(f->r.at, f->r.path, "no such moment");
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
	struct gp_frag_question q = { .settings = &r->settings,
				      .fit_bytes = f->options->fit_bytes };
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

/* Why most of it is unused at that moment of the device. */
static enum gp_status find_cause(struct frag *f, struct gp_frag_device *d)
{
	const struct gp_moment_of moment = { .when = GP_WHEN_ORDER, .number = d->most.order };
	const struct gp_frag_question question = { .settings = &f->r.settings };
	struct gp_memory memory;
	struct gp_frag frag;
	enum gp_status status = gp_memory_build(f->r.recording, &moment, &memory);
	if (status)
		return status;
	status = gp_frag_build(&memory, d->frag.device->device, &question, &frag);
	if (status == GP_OK) {
		d->most_cause = gp_frag_main_cause(&frag);
		gp_frag_free(&frag);
	}
	gp_memory_free(&memory);
	return status;
}

static enum gp_status find_most_unused(struct frag *f)
{
	struct gp_unused_peak all[GP_DEVICES];
	enum gp_status status = gp_unused_peak_find(f->r.recording, all);
	for (size_t k = 0; k < f->r.devices && status == GP_OK; k++) {
		struct gp_frag_device *d = &f->r.device[k];
		if (d->frag.device->device < GP_DEVICES)
			d->most = all[d->frag.device->device];
		if (d->most.bytes)
			status = find_cause(f, d);
	}
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
	const char *of_time = "";
	for (size_t k = 0; k < f->r.devices; k++)
		if (f->r.device[k].born.is_unsure)
			of_time = "events exceed the work limit; the start of fragmentation is "
				  "unknown";
	snprintf(f->not_known, sizeof f->not_known, "%s%s%s%s%s", of_memory ? of_memory : "",
		 of_memory && *of_settings ? "; " : "", of_settings,
		 (of_memory || *of_settings) && *of_time ? "; " : "", of_time);
	f->r.not_known = *f->not_known ? f->not_known : NULL;
}

static enum gp_status add_devices(struct frag *f)
{
	struct gp_frag_report *r = &f->r;
	enum gp_status status = GP_OK;
	r->device = calloc(r->memory.devices + 1, sizeof *r->device);
	if (!r->device)
		return GP_E_MEMORY;
	for (size_t k = 0; k < r->memory.devices && status == GP_OK; k++) {
		const struct gp_memory_device *m = &r->memory.device[k];
		bool is_empty = !m->driver_bytes && !m->reserved_bytes && !m->segments;
		if (f->options->device >= 0 ? m->device == (uint64_t)f->options->device : !is_empty)
			status = add_device(f, m->device);
	}
	return status;
}

/* As text only of a request that fails; with --json of each device. */
static enum gp_status find_born(struct gp_frag_report *r, bool is_json)
{
	struct gp_frag_born born[GP_DEVICES + 1];
	bool is_asked[GP_DEVICES + 1];
	size_t n = 0;
	for (size_t k = 0; k < r->devices; k++) {
		const struct gp_frag *g = &r->device[k].frag;
		uint64_t fit_bytes = g->fit.is_served ? 0 : g->fit.rounded_bytes;
		is_asked[k] = g->reserved_bytes && (fit_bytes || is_json);
		if (is_asked[k])
			born[n++] = (struct gp_frag_born){ .device = g->device->device,
							   .fit_bytes = fit_bytes };
	}
	enum gp_status status = n ? gp_frag_find_born(r->recording, &r->memory, born, n) : GP_END;
	for (size_t k = r->devices; k-- > 0 && status == GP_OK;)
		if (is_asked[k])
			r->device[k].born = born[--n];
	return status;
}

/* What takes a replay; behind it the names of all stacks are known. */
static enum gp_status frag_replay(struct frag *f)
{
	struct gp_frag_report *r = &f->r;
	const struct gp_frag_options *o = f->options;
	struct gp_event event;
	enum gp_status status = o->is_summary ? find_peaks(f) : GP_OK;
	if (status)
		return status;
	bool is_plain = !o->is_summary && !o->is_map && !o->is_svg;
	if (f->is_many && !o->is_json)
		return GP_OK;
	status = is_plain ? find_most_unused(f) : GP_OK;
	if (status)
		return status;
	status = is_plain ? find_born(r, o->is_json) : GP_END;
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

static int frag_show(struct frag *f)
{
	enum gp_status status = add_devices(f);
	if (status == GP_OK)
		status = frag_replay(f);
	if (status)
		return gp_report_failed("report on", f->r.path, status);
	say_not_known(f);
	if (f->options->device >= 0 && !f->r.devices) {
		gp_report_no_device(f->r.path, f->r.info, f->options->device);
		return GP_EXIT_USAGE;
	}
	f->sink.has_report = true;
	bool is_text = !f->options->is_json && !f->options->is_svg && !f->options->is_map;
	if (is_text && !f->is_many)
		gp_headline_print(f->r.out, f->r.info);
	if (f->options->is_json)
		status = gp_frag_write(&f->r);
	else if (is_text && f->options->has_holders)
		status = gp_frag_holders_print(&f->r);
	if (status)
		return gp_report_failed("report on", f->r.path, status);
	if (f->options->is_json)
		return GP_EXIT_OK;
	if (f->is_many)
		return gp_frag_rows_add(&f->sheet, &f->r) ? GP_EXIT_OK : GP_EXIT_DAMAGED;
	if (f->options->is_svg && !gp_frag_draw(&f->r, f->options->colour))
		return gp_report_failed("draw", f->r.path, GP_E_MEMORY);
	else if (f->options->is_svg)
		return GP_EXIT_OK;
	else if (f->options->is_summary)
		gp_frag_summary_print(&f->r);
	else if (f->options->is_map)
		gp_frag_map_print(&f->r);
	else
		gp_frag_print(&f->r);
	return GP_EXIT_OK;
}

static void frag_forget(struct gp_frag_report *r)
{
	for (size_t k = 0; k < r->devices; k++) {
		gp_frag_free(&r->device[k].frag);
		gp_owners_free(&r->device[k].owners);
	}
	free(r->device);
	gp_memory_free(&r->memory);
	gp_ooms_free(&r->ooms);
	gp_recording_close(r->recording);
	*r = (struct gp_frag_report){ .at = r->at,
				      .out = r->out,
				      .json = r->json,
				      .top = r->top,
				      .columns = r->columns,
				      .is_ascii = r->is_ascii,
				      .has_holders = r->has_holders };
}

static int frag_report(struct frag *f, const char *path)
{
	int exit_status = GP_EXIT_USAGE;
	f->r.path = path;
	f->asks = 0;
	f->r.recording = gp_report_open(path, &f->r.info, &exit_status);
	if (!f->r.recording)
		return exit_status;
	exit_status = gp_report_exit(path, f->r.info);
	int result = build_memory(f);
	if (result == GP_EXIT_OK)
		result = frag_show(f);
	frag_forget(&f->r);
	return result > exit_status ? result : exit_status;
}

static int frag_report_all(struct frag *f, int recordings, char *const *paths)
{
	int worst = GP_EXIT_OK;
	f->is_many = recordings > 1;
	f->r.json = &f->json;
	gp_json_init(&f->json, f->r.out, f->is_many ? 6 : 5);
	gp_frag_rows_begin(&f->sheet);
	if (f->is_many && f->options->is_json)
		gp_json_array(&f->json, NULL);
	for (int k = 0; k < recordings; k++)
		worst = gp_report_worse(worst, frag_report(f, paths[k]));
	if (f->is_many && f->options->is_json)
		gp_json_end(&f->json);
	if (f->sheet.rows)
		gp_report_table_print(&f->sheet, f->r.out);
	gp_report_table_release(&f->sheet);
	return worst;
}

/* ---- the command ---- */

int gp_frag_show(const struct gp_frag_options *options, const char *at, int recordings,
		 char *const *inputs)
{
	struct frag f = { .r.top = options->top,
			  .r.at = at,
			  .r.has_holders = options->has_holders,
			  .options = options };
	int exit_status = gp_sink_open(&f.sink, options->output, options->is_forced,
				       !options->is_json && !options->is_svg, inputs, recordings);
	if (exit_status)
		return exit_status;
	f.r.out = f.sink.out;
	f.r.columns = gp_columns(options->columns, f.r.out);
	f.r.is_ascii = !gp_is_utf8();
	return gp_sink_close(&f.sink, frag_report_all(&f, recordings, inputs));
}

static int frag_run(int argc, char **argv)
{
	struct gp_frag_options options;
	const char *at = NULL;
	struct gp_flag flags[1 + GP_FRAG_FLAGS] = {
		{ "at", 0, GP_FLAG_TEXT, "TIME", &at,
		  "at this moment: oom (default, else peak:reserved), oom:N, peak, peak:allocated, "
		  "peak:reserved, peak:driver, peak:unused, start, end, step:N, snapshot:N, "
		  "order:N, 1.5s" },
	};
	gp_frag_options_add(&options, &flags[1]);
	int words = gp_inputs_parse(&gp_command_frag, flags, argc, &argv);
	if (words < 0)
		return gp_flags_exit(words);
	if (!gp_frag_options_read(&options, &gp_command_frag))
		return GP_EXIT_USAGE;
	/* of many there is a table, which answers for no request */
	const char *alone = options.is_summary			  ? "--summary" :
			    options.is_map			  ? "--map" :
			    options.is_svg			  ? "-o FILE.svg" :
			    options.fit_bytes && !options.is_json ? "--fit" :
								    NULL;
	if (alone && !gp_inputs_is_one(&gp_command_frag, alone, words))
		return GP_EXIT_USAGE;
	return gp_frag_show(&options, at, words, argv);
}

const struct gp_command gp_command_frag = {
	"frag",
	"frag [--at TIME] [--fit SIZE] [--json|--summary|--map] [options] RECORDING...",
	"show unused reserved memory, what fits, and the blocks that pin it",
	frag_run,
};
