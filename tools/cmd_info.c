/*
 * `gpuprof info`: what a recording is and what it holds, in one screen; many recordings: one row
 * each.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "flags.h"
#include "json.h"
#include "message.h"
#include "report.h"

static int run(int argc, char **argv);
const struct gp_command gp_command_info = {
	"info",
	"info [--steps] [--json] [-o FILE [--force]] RECORDING...",
	"say what recordings hold: job, devices, events, losses, self-check",
	run,
};

static double bytes_per_event(const struct gp_info *info)
{
	static const enum gp_kind kinds[] = { GP_ALLOC, GP_FREE, GP_BLOCK_ALLOC, GP_BLOCK_FREE,
					      GP_LAUNCH };
	uint64_t events = 0;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		events += info->kept_from_ns ? info->kept[kinds[k]] : info->counts[kinds[k]];
	return events ? (double)info->kept_bytes / (double)events : (double)NAN;
}

/* ---- for a person ---- */

static void print_line(FILE *out, const char *label, const char *text)
{
	const char *shown = text && *text ? text : "unknown";
	fprintf(out, "%-12s ", label);
	gp_mask(out, shown, strlen(shown));
	fputc('\n', out);
}

static void print_devices(const struct gp_info *info, FILE *out)
{
	for (size_t k = 0; k < info->devices; k++) {
		const struct gp_info_device *d = &info->device[k];
		const char *name = d->name ? d->name : "unknown";
		fprintf(out, "GPU %-8u ", d->device);
		gp_mask(out, name, strlen(name));
		if (d->total_bytes)
			fprintf(out, ", %s", gp_bytes_text(d->total_bytes).s);
		fprintf(out, "%s%s\n", d->uuid[0] ? ", " : "", d->uuid);
	}
}

static void print_counts(const struct gp_info *info, FILE *out, bool is_happening)
{
	unsigned column = 0;
	fputs(is_happening ? "events      " : "definitions ", out);
	for (unsigned kind = 0; kind < GP_KINDS; kind++) {
		if (!info->counts[kind] || !gp_event_infos[kind].name ||
		    gp_is_happening(kind) != is_happening)
			continue;
		const char *before = column == 0 ? " " : column % 4 ? ", " : ",\n             ";
		fprintf(out, "%s%s %s", before, gp_event_infos[kind].name,
			gp_count_text(info->counts[kind]).s);
		column++;
	}
	fputs(column ? "\n" : " none\n", out);
}

static void print_stacks(const struct gp_info *info, FILE *out)
{
	if (!info->stacks && !info->stacks_cut)
		return;
	fprintf(out, "stacks       %s", gp_plural(info->stacks, "different one").s);
	if (info->stacks_cut)
		fprintf(out, "; no room for those of %s", gp_plural(info->stacks_cut, "event").s);
	if (info->launch_every > 1)
		fprintf(out, "; of a thread's launches 1 in %s has one, a sample",
			gp_count_text(info->launch_every).s);
	if (info->has_frame_pointers)
		fputs("; native frames along frame pointers", out);
	const char *const why[] = { info->no_python, info->no_native };
	for (size_t k = 0; k < sizeof why / sizeof *why; k++) {
		if (!why[k])
			continue;
		fputs("; ", out);
		gp_mask(out, why[k], strlen(why[k]));
	}
	fputc('\n', out);
	if (info->native_frames)
		fprintf(out, "names        of %s of %s are stored, %s\n",
			gp_count_text(info->named_frames).s,
			gp_plural(info->native_frames, "native frame").s,
			gp_bytes_text(info->names_bytes).s);
	else if (info->has_native)
		fputs("names        none of native frames are stored: 'gpuprof symbolize'\n", out);
}

static void print_ranges(const struct gp_info *info, FILE *out)
{
	const char *before = "ranges       ";
	if (info->nvtx_why) {
		fprintf(out, "%snone of NVTX: ", before);
		gp_mask(out, info->nvtx_why, strlen(info->nvtx_why));
		before = "; ";
	}
	if (info->torch_why) {
		fprintf(out, "%snone of PyTorch: ", before);
		gp_mask(out, info->torch_why, strlen(info->torch_why));
		before = "; ";
	}
	if (info->names_cut) {
		fprintf(out, "%s%s not in full", before, gp_plural(info->names_cut, "name").s);
		before = "; ";
	}
	if (info->ranges_unnamed) {
		fprintf(out, "%sno room for the names of %s", before,
			gp_count_text(info->ranges_unnamed).s);
		before = "; ";
	}
	if (*before == ';')
		fputc('\n', out);
}

static void print_allocator(const struct gp_info *info, FILE *out)
{
	if (info->is_allocator_asked) {
		fprintf(out, "allocator    %s requested sizes, streams and pools",
			info->has_allocator_details ? "tells" : "does not tell");
		if (info->allocator_why && *info->allocator_why) {
			fputs(": ", out);
			gp_mask(out, info->allocator_why, strlen(info->allocator_why));
		}
		fputc('\n', out);
	}
	if (info->alloc_conf)
		print_line(out, "settings", info->alloc_conf);
}

#define SPANS_SHOWN 5

/* Which spans, and what opened and closed each. */
static void print_captured(const struct gp_info *info, FILE *out)
{
	if (!info->is_captured_in_part)
		return;
	if (info->capture_rule)
		print_line(out, "asked for", info->capture_rule);
	if (info->captureds == 0)
		fprintf(out, "captured     %s\n",
			info->captures ? "nothing of what is kept" : "nothing");
	for (size_t k = 0; k < info->captureds && k < SPANS_SHOWN; k++) {
		const struct gp_scope_span *c = &info->captured[k];
		const char *by = gp_scope_text(c->opened_by), *end = gp_scope_text(c->closed_by);
		fprintf(out, "%-12s %s to %s", k ? "" : "captured", gp_ns_text(c->from_ns).s,
			gp_ns_text(c->to_ns).s);
		fprintf(out, " (%s to %s)\n", by ? by : "unknown",
			c->is_open ? "the end" :
			end	   ? end :
				     "unknown");
	}
	if (info->captureds > SPANS_SHOWN)
		fprintf(out, "             and %s\n",
			gp_plural(info->captureds - SPANS_SHOWN, "more span").s);
	if (info->ended_by && info->ended_by != GP_SCOPE_BY_MAIN)
		fputs("ended        with the last span, as asked for; the job went on\n", out);
}

static void print_check(const struct gp_info *info, FILE *out)
{
	fprintf(out,
		"self-check   %s of the framework compared with its own totals: %s %s, %s %s\n",
		gp_count_text(info->framework_events).s, gp_count_text(info->mismatches).s,
		info->mismatches == 1 ? "mismatch" : "mismatches", gp_count_text(info->anomalies).s,
		info->anomalies == 1 ? "anomaly" : "anomalies");
	if (info->missed_routes)
		fprintf(out, "             %s that the driver answered past the recorder\n",
			gp_plural(info->missed_routes, "look-up").s);
}

static void print_damages(const struct gp_info *info, FILE *out)
{
	for (size_t k = 0; k < info->damages; k++) {
		fprintf(out, "damage       byte %llu, block %llu: ",
			(unsigned long long)info->damage[k].offset,
			(unsigned long long)info->damage[k].block);
		gp_mask(out, info->damage[k].what, strlen(info->damage[k].what));
		fputc('\n', out);
	}
}

static void print_size(const struct gp_info *info, FILE *out)
{
	double each = bytes_per_event(info);
	fprintf(out, "file         %s", gp_bytes_text(info->file_bytes).s);
	if (!isnan(each))
		fprintf(out, ", %.2f bytes an event", each);
	fprintf(out, ", %s, %s\n", gp_plural(info->segments, "segment").s,
		gp_plural(info->blocks, "block").s);
}

/* A later recorder of the same directory may have moved it out of the ring place. */
static void print_rest(const struct gp_info *info, FILE *out)
{
	const char *slash = info->ring_left ? strrchr(info->ring_left, '/') : NULL;
	if (!slash)
		return;
	print_line(out, "rest", slash + 1);
	fputs("             if it is still in ", out);
	gp_mask(out, info->ring_left, (size_t)(slash - info->ring_left));
	fputs(" or where the job recorded: move that file beside\n"
	      "             this recording and read it again\n",
	      out);
}

/* One alone says nothing of what lies between two. */
static bool has_times(const struct gp_steps *steps)
{
	return steps->p50_ns >= 0;
}

/* NULL: not asked for. */
static void print_steps(const struct gp_info *info, const struct gp_steps *steps, FILE *out)
{
	if (!steps)
		return;
	if (!steps->steps) {
		fprintf(out, "steps        none: %s\n", steps->why);
		return;
	}
	fprintf(out, "steps        %s, by %s%s", gp_count_text(steps->steps).s,
		gp_step_source_names[steps->source],
		steps->source == GP_STEPS_REPETITION ? " (inferred)" : "");
	if (has_times(steps))
		fprintf(out, ": %s a second, half within %s, 99%% within %s",
			gp_rate_text(steps->per_second, 4).s, gp_ns_text(steps->p50_ns).s,
			gp_ns_text(steps->p99_ns).s);
	if (steps->warmup)
		fprintf(out, "; without the first %s, warm-up", gp_count_text(steps->warmup).s);
	if (info->lost_memory + info->lost_launch + info->lost_other > 0)
		fputs("; what was lost may hold more", out);
	fputc('\n', out);
}

static void print_person(const char *path, struct gp_recording *recording,
			 const struct gp_info *info, const struct gp_steps *steps, FILE *out)
{
	char process[128];
	snprintf(process, sizeof process, "%u on %s, %s", info->pid,
		 info->hostname ? info->hostname : "?", gp_plural(info->threads, "thread").s);
	fprintf(out, "%s\n", gp_headline_of(info).s);
	print_line(out, "recording", path);
	print_line(out, "command", info->command);
	print_line(out, "process", process);
	print_devices(info, out);
	print_line(out, "CUDA API", info->driver);
	print_line(out, "pytorch", info->pytorch ? info->pytorch : "not seen");
	print_allocator(info, out);
	print_line(out, "rings", info->ring_place);
	print_counts(info, out, true);
	print_counts(info, out, false);
	print_stacks(info, out);
	print_ranges(info, out);
	print_steps(info, steps, out);
	print_captured(info, out);
	print_check(info, out);
	print_size(info, out);
	print_rest(info, out);
	print_damages(info, out);
	gp_next_print(out, gp_next_of(recording, info, NULL), path);
}

/* ---- for a program ---- */

static void write_events(const struct gp_info *info, struct gp_json *json)
{
	gp_json_object(json, "events");
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		if (info->counts[kind] && gp_event_infos[kind].name)
			gp_json_number(json, gp_event_infos[kind].name, info->counts[kind]);
	gp_json_end(json);
	gp_json_object(json, "lost");
	gp_json_number(json, "memory", info->lost_memory);
	gp_json_number(json, "launch", info->lost_launch);
	gp_json_number(json, "other", info->lost_other + info->nested);
	gp_json_end(json);
	if (info->stacks || info->stacks_cut) {
		gp_json_object(json, "stacks");
		gp_json_number(json, "different", info->stacks);
		gp_json_number(json, "events_without_room", info->stacks_cut);
		if (info->launch_every)
			gp_json_number(json, "launch_every", info->launch_every);
		else
			gp_json_null(json, "launch_every");
		gp_json_bool(json, "frame_pointers", info->has_frame_pointers);
		gp_json_text(json, "no_python", info->no_python);
		gp_json_text(json, "no_native", info->no_native);
		gp_json_number(json, "native_frames_looked_up", info->native_frames);
		gp_json_number(json, "native_frames_named", info->named_frames);
		gp_json_number(json, "names_bytes", info->names_bytes);
		gp_json_end(json);
	}
	if (info->has_ranges || info->nvtx_why || info->torch_why) {
		gp_json_object(json, "ranges");
		gp_json_text(json, "nvtx", info->nvtx_why);
		gp_json_text(json, "torch", info->torch_why);
		gp_json_number(json, "without_name", info->ranges_unnamed);
		gp_json_number(json, "names_cut", info->names_cut);
		gp_json_end(json);
	}
	gp_json_object(json, "self_check");
	gp_json_number(json, "framework_events", info->framework_events);
	gp_json_number(json, "mismatches", info->mismatches);
	gp_json_number(json, "anomalies", info->anomalies);
	gp_json_number(json, "missed_routes", info->missed_routes);
	gp_json_end(json);
}

static void write_devices(const struct gp_info *info, struct gp_json *json)
{
	gp_json_array(json, "devices");
	for (size_t k = 0; k < info->devices; k++) {
		const struct gp_info_device *d = &info->device[k];
		gp_json_object(json, NULL);
		gp_json_number(json, "device", d->device);
		gp_json_text(json, "uuid", d->uuid[0] ? d->uuid : NULL);
		gp_json_text(json, "name", d->name);
		if (d->total_bytes)
			gp_json_number(json, "total_bytes", d->total_bytes);
		else
			gp_json_null(json, "total_bytes");
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void write_captured(const struct gp_info *info, struct gp_json *json)
{
	if (!info->is_captured_in_part) {
		gp_json_null(json, "captured");
		return;
	}
	gp_json_object(json, "captured");
	gp_json_text(json, "rule", info->capture_rule);
	gp_json_number(json, "spans", info->captures);
	gp_json_number(json, "ns", info->captured_ns);
	gp_json_text(json, "ended_by", info->ended_by ? gp_scope_text(info->ended_by) : NULL);
	gp_json_array(json, "kept");
	for (size_t k = 0; k < info->captureds; k++) {
		const struct gp_scope_span *c = &info->captured[k];
		gp_json_object(json, NULL);
		gp_json_signed(json, "from_ns", c->from_ns);
		if (c->is_open)
			gp_json_null(json, "to_ns");
		else
			gp_json_signed(json, "to_ns", c->to_ns);
		gp_json_text(json, "opened_by", gp_scope_text(c->opened_by));
		gp_json_text(json, "closed_by", gp_scope_text(c->closed_by));
		gp_json_end(json);
	}
	gp_json_end(json);
	gp_json_end(json);
}

static void write_has(const struct gp_info *info, struct gp_json *json)
{
	const struct {
		const char *name;
		bool is_there;
	} parts[] = {
		{ "stacks", info->has_stacks },
		{ "python", info->has_python },
		{ "allocator_details", info->has_allocator_details },
		{ "uses", info->has_uses },
		{ "device_used", info->has_device_used },
		{ "ranges", info->has_ranges },
		{ "steps", info->has_steps },
	};
	gp_json_array(json, "has");
	for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
		if (parts[k].is_there)
			gp_json_text(json, NULL, parts[k].name);
	gp_json_end(json);
	gp_json_object(json, "origin");
	gp_json_text(json, "device", info->devices ? info->device[0].name : NULL);
	gp_json_text(json, "driver", info->driver);
	gp_json_text(json, "pytorch", info->pytorch);
	gp_json_end(json);
}

static void write_damages(const struct gp_info *info, struct gp_json *json)
{
	gp_json_array(json, "damages");
	for (size_t k = 0; k < info->damages; k++) {
		gp_json_object(json, NULL);
		gp_json_number(json, "offset", info->damage[k].offset);
		gp_json_number(json, "block", info->damage[k].block);
		gp_json_text(json, "what", info->damage[k].what);
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void write_steps(const struct gp_steps *steps, struct gp_json *json)
{
	if (!steps)
		return;
	gp_report_steps_begin(json, steps);
	if (has_times(steps)) {
		gp_json_signed(json, "p50_ns", steps->p50_ns);
		gp_json_signed(json, "p99_ns", steps->p99_ns);
	} else {
		gp_json_null(json, "p50_ns");
		gp_json_null(json, "p99_ns");
	}
	gp_json_real(json, "per_second", has_times(steps) ? steps->per_second : (double)NAN);
	gp_json_array(json, "begin_ns");
	for (size_t k = 0; k < steps->steps; k++)
		gp_json_signed(json, NULL, steps->step[k].begin_ns);
	gp_json_end(json);
	gp_json_end(json);
}

static void write_program(const char *path, const struct gp_info *info,
			  const struct gp_steps *steps, struct gp_json *json)
{
	char format[32];
	snprintf(format, sizeof format, "%u.%u", info->format_major, info->format_minor);
	gp_json_object(json, NULL);
	gp_json_text(json, "file", path);
	gp_json_text(json, "format", format);
	gp_json_number(json, "pid", info->pid);
	gp_json_text(json, "command", info->command);
	gp_json_text(json, "hostname", info->hostname);
	gp_json_number(json, "start_unix_ns", info->start_unix_ns);
	gp_json_number(json, "duration_ns", info->duration_ns);
	gp_json_number(json, "kept_from_ns", info->kept_from_ns);
	gp_json_bool(json, "complete", info->is_complete);
	gp_json_bool(json, "damaged", info->is_damaged);
	write_devices(info, json);
	gp_json_number(json, "threads", info->threads);
	write_events(info, json);
	gp_json_number(json, "file_bytes", info->file_bytes);
	gp_json_real(json, "bytes_per_event", bytes_per_event(info));
	write_has(info, json);
	write_damages(info, json);
	gp_json_text(json, "rest", info->ring_left);
	write_captured(info, json);
	gp_json_text(json, "ring_place", info->ring_place);
	gp_json_text(json, "allocator_settings", info->alloc_conf);
	gp_json_text(json, "allocator_why", info->allocator_why);
	gp_report_doubts(json, info);
	write_steps(steps, json);
	gp_json_end(json);
}

/* ---- many ---- */

static void put(struct gp_cell *cell, const char *text, double number)
{
	snprintf(cell->text, sizeof cell->text, "%s", text);
	cell->number = number;
}

static bool add_row(struct gp_sheet *table, const char *path, const struct gp_info *info)
{
	struct gp_sheet_row *row = gp_sheet_add(table, path, "");
	uint64_t lost = info->lost_memory + info->lost_launch + info->lost_other + info->nested;
	uint64_t faults = info->mismatches + info->anomalies;
	if (!row)
		return false;
	row->is_damaged = info->is_damaged;
	put(&row->cell[0], gp_ns_text((int64_t)info->duration_ns).s, (double)info->duration_ns);
	put(&row->cell[1], gp_count_text(gp_events_of(info)).s, (double)gp_events_of(info));
	put(&row->cell[2], gp_count_text(lost).s, (double)lost);
	put(&row->cell[3], gp_count_text(faults).s, (double)faults);
	put(&row->cell[4], gp_count_text(info->devices).s, (double)info->devices);
	put(&row->cell[5], gp_bytes_text(info->file_bytes).s, (double)info->file_bytes);
	put(&row->cell[6],
	    info->is_damaged  ? "damaged" :
	    info->is_complete ? "yes" :
				"no",
	    (double)NAN);
	return true;
}

struct report {
	struct gp_sink sink;
	struct gp_json json;
	struct gp_sheet table;
	bool is_json, is_many, has_steps;
};

static int report_one(struct report *r, const char *path)
{
	const struct gp_info *info;
	int exit_status;
	struct gp_recording *recording = gp_report_open(path, &info, &exit_status);
	if (!recording)
		return exit_status;
	exit_status = gp_report_exit(path, info);
	r->sink.has_report = true;
	struct gp_steps steps;
	enum gp_status status = r->has_steps ? gp_steps_find(recording, &steps) : GP_OK;
	const struct gp_steps *asked = r->has_steps && !status ? &steps : NULL;
	if (status)
		exit_status = gp_report_failed("find steps of", path, status);
	if (r->is_json)
		write_program(path, info, asked, &r->json);
	else if (!r->is_many)
		print_person(path, recording, info, asked, r->sink.out);
	else if (!add_row(&r->table, path, info))
		exit_status = GP_EXIT_INTERNAL;
	if (asked)
		gp_steps_free(&steps);
	gp_recording_close(recording);
	return exit_status;
}

static int run(int argc, char **argv)
{
	struct report r = { .table = { .columns = 7,
				       .next = "info",
				       .title = { "span", "events", "lost", "faults", "GPUs",
						  "file", "complete" } } };
	const char *path = NULL;
	bool is_forced = false;
	const struct gp_flag flags[] = {
		{ "json", 0, GP_FLAG_SWITCH, NULL, &r.is_json,
		  "for a program: see gpuprof-info(1) for the keys" },
		{ "steps", 0, GP_FLAG_SWITCH, NULL, &r.has_steps,
		  "also find the steps of its loop, and how long they take" },
		GP_FLAGS_OUTPUT(&path, &is_forced),
		{ 0 },
	};
	int words = gp_flags_parse(&gp_command_info, flags, argc, argv, false);
	if (words < 0)
		return gp_flags_exit(words);
	if (words == 0)
		return gp_usage(&gp_command_info, "no recording given");
	int worst = gp_sink_open(&r.sink, path, is_forced, argv, words);
	if (worst)
		return worst;
	r.is_many = words > 1;
	gp_json_init(&r.json, r.sink.out, r.is_many ? 3 : 2);
	if (r.is_json && r.is_many)
		gp_json_array(&r.json, NULL);
	for (int k = 0; k < words; k++) {
		int exit_status = report_one(&r, argv[k]);
		worst = exit_status > worst ? exit_status : worst;
	}
	if (r.is_json && r.is_many)
		gp_json_end(&r.json);
	else if (r.table.rows)
		gp_sheet_print(&r.table, r.sink.out);
	gp_sheet_release(&r.table);
	return gp_sink_close(&r.sink, worst);
}
