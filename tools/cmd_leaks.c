/*
 * `gpuprof leaks`: what grows from step to step and is never given back, who allocated it, and what
 * is still there at the end.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "amount.h"
#include "flags.h"
#include "message.h"
#include "report.h"
#include "stack_print.h"
#include "use_print.h"

extern const struct gp_command gp_command_leaks;

#define USER_FRAMES 3u
#define LABEL_MAX 1024u
#define TOP_DEFAULT 10u
#define STEPS_MOST 1e15	      /* more is never */
#define STEPS_TOLD 1e6	      /* more say nothing */
#define UNTIL_MOST 31557600e9 /* a year: nobody waits for it */

struct leaks {
	struct gp_sink sink;
	struct gp_json json;
	struct gp_sheet sheet;
	const char *path, *from, *to, *library, *top_text;
	int64_t device; /* -1: all */
	uint64_t top;
	bool is_json, is_many, is_forced, ends_with_found, is_native;
	bool has_found; /* in any of them */
	struct gp_recording *recording;
	const struct gp_info *info;
	const char *file;
};

/* ---- what is shown of one ---- */

/* The stack of a leak looked up once. */
struct view {
	bool has_stack;
	struct gp_stack stack;
	struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_names names;
};

static void look_up(const struct leaks *l, const struct gp_leak *leak, struct view *out)
{
	out->names = (struct gp_names){ .user = SIZE_MAX, .caller = SIZE_MAX };
	out->has_stack = leak->stack && gp_recording_stack(l->recording, leak->stack, leak->at_ns,
							   GP_STACK_SYMBOLS, &out->stack,
							   out->frame, GP_FRAMES_MAX);
	if (out->has_stack)
		gp_recording_names(l->recording, out->frame, out->stack.frames, &out->names);
}

static bool is_wanted(const struct leaks *l, const struct gp_leak *leak, const struct view *view)
{
	if (l->device >= 0 && leak->device != (unsigned)l->device)
		return false;
	return !l->library || strcasecmp(view->names.library, l->library) == 0;
}

/* ---- for a person ---- */

static void print_label(FILE *out, const struct gp_frame *frame, int indent)
{
	char label[LABEL_MAX];
	gp_frame_label(frame, NULL, label, sizeof label);
	fprintf(out, "%*s", indent, "");
	gp_mask(out, label, strlen(label));
	fputc('\n', out);
}

/* The place in the words of users, then their frames from the innermost outwards. */
static void print_place(const struct leaks *l, const struct gp_leak *leak, const struct view *view)
{
	FILE *out = l->sink.out;
	const char *what = view->names.node[0] ? view->names.node :
						 view->names.operator[0] ?
						 view->names.operator: view->names.library;
	if (!view->has_stack) {
		fprintf(out, "    no stack was recorded%s",
			leak->size ? "; allocations of " : "\n");
		if (leak->size)
			fprintf(out, "%s\n", gp_bytes_text(leak->size).s);
		return;
	}
	if (what[0]) {
		fputs("    ", out);
		gp_mask(out, what, strlen(what));
		fputc('\n', out);
	}
	size_t first = view->names.user != SIZE_MAX ? view->names.user : 0, shown = 0;
	for (size_t k = first; k < view->stack.frames && shown < USER_FRAMES; k++) {
		bool is_wanted_frame = l->is_native || k == first || view->frame[k].is_user;
		if (!is_wanted_frame)
			continue;
		print_label(out, &view->frame[k], 8);
		shown++;
	}
}

static void print_range(FILE *out, const struct gp_range_path *range)
{
	char text[LABEL_MAX];
	gp_range_path_text(range, text, sizeof text);
	fputs("    range: ", out);
	gp_mask(out, text, strlen(text));
	fputc('\n', out);
}

static void print_example(const struct leaks *l, const struct gp_leak *leak)
{
	fputs("    newest:", l->sink.out);
	for (size_t k = 0; k < leak->examples; k++)
		fprintf(l->sink.out, "%s %#llx (%s, at %s)", k ? "," : "",
			(unsigned long long)leak->example[k].address,
			gp_bytes_text(leak->example[k].bytes).s,
			gp_ns_text(leak->example[k].at_ns).s);
	fputc('\n', l->sink.out);
}

static void print_leak(const struct leaks *l, const struct gp_leaks *all,
		       const struct gp_leak *leak, const struct view *view)
{
	FILE *out = l->sink.out;
	const char *unit = all->window_ns ? "window" : "step";
	double bytes = round(leak->bytes_per_step);
	if (bytes > 0)
		fprintf(out, "  %s a %s", gp_bytes_text((uint64_t)bytes).s, unit);
	else
		fprintf(out, "  %.3g a %s", leak->count_per_step, unit);
	fprintf(out, " since %s %zu: ", unit, leak->since_step);
	if (!leak->is_object || leak->device != GP_DEVICE_UNKNOWN)
		fprintf(out, "GPU %u, ", leak->device);
	fprintf(out, "%s", gp_plural(leak->live_count, gp_leak_kind(leak)).s);
	if (leak->live_bytes)
		fprintf(out, " of %s", gp_bytes_text(leak->live_bytes).s);
	if (leak->is_replaced)
		fprintf(out, " live, as many as before and larger each %s\n    by chance: %.1g",
			unit, leak->p_value);
	else
		fprintf(out, " live, %.3g a %s\n    %zu of %zu spans left some; by chance: %.1g",
			leak->count_per_step, unit, leak->born_spans, leak->spans, leak->p_value);
	const bool is_soon = leak->ns_until_full >= 0 && leak->ns_until_full < UNTIL_MOST;
	if (is_soon)
		fprintf(out, "; the GPU is full in %s at this rate",
			gp_about_text(leak->ns_until_full).s);
	if (is_soon && !all->window_ns && leak->steps_until_full < STEPS_TOLD)
		fprintf(out, " (%s)", gp_plural((uint64_t)leak->steps_until_full, unit).s);
	fputc('\n', out);
	print_place(l, leak, view);
	if (leak->range)
		print_range(out, leak->range);
	if (leak->examples && leak->live_bytes)
		print_example(l, leak);
}

static void print_begin(const struct leaks *l, const struct gp_leaks *all)
{
	FILE *out = l->sink.out;
	fprintf(out, "%s\n", gp_headline_of(l->info).s);
	if (l->info->kept_from_ns)
		fprintf(out, "looked at from %s on: what came before is overwritten\n",
			gp_ns_text((int64_t)l->info->kept_from_ns).s);
	if (!all->window_ns) {
		fprintf(out, "%s by %s", gp_plural(all->steps.steps, "step").s,
			gp_step_source_names[all->steps.source]);
		if (all->steps.warmup)
			fprintf(out, ", %s of them warm-up", gp_count_text(all->steps.warmup).s);
		fprintf(out, "; %zu samples at their begins\n", all->samples);
		return;
	}
	if (all->usable_steps < all->steps.steps)
		fprintf(out, "too few steps (%s of %s in the span and behind the warm-up): ",
			gp_count_text(all->usable_steps).s, gp_count_text(all->steps.steps).s);
	else if (all->steps.steps)
		fprintf(out, "too few steps (%s): ", gp_count_text(all->steps.steps).s);
	else
		fprintf(out, "no steps (%s): ", all->steps.why);
	if (all->samples)
		fprintf(out, "%zu windows of %s instead\n", all->samples,
			gp_ns_text(all->window_ns).s);
	else
		fputs("and too short a time for windows\n", out);
}

static void print_part(const struct leaks *l, const struct gp_leaks *all, bool is_object)
{
	size_t shown = 0, left = 0;
	for (size_t k = 0; k < all->leaks; k++) {
		struct view view;
		if (all->leak[k].is_object != is_object)
			continue;
		look_up(l, &all->leak[k], &view);
		if (!is_wanted(l, &all->leak[k], &view))
			continue;
		if (!shown)
			fprintf(l->sink.out, "%s\n",
				is_object ? "objects of the driver that grow" :
					    "memory that leaks");
		if (l->top && shown >= l->top) {
			left++;
			continue;
		}
		print_leak(l, all, &all->leak[k], &view);
		shown++;
	}
	if (left)
		fprintf(l->sink.out, "  %s; --top 0 shows all\n", gp_plural(left, "more").s);
}

/* What is there when the recording ends: most is no leak. */
static enum gp_status visit_live(struct leaks *l,
				 void (*visit)(struct leaks *l, const struct gp_holders *h))
{
	struct gp_peak peak;
	enum gp_status status =
		gp_peak_build(l->recording, GP_AT_TIME, (int64_t)l->info->duration_ns, &peak);
	if (status)
		return status;
	for (size_t k = 0; k < peak.holders; k++) {
		const struct gp_holders *h = &peak.holder[k];
		bool is_of_device = l->device < 0 || h->device == (unsigned)l->device;
		if (is_of_device && h->of != GP_CURVE_RESERVED && h->live_bytes)
			visit(l, h);
	}
	gp_peak_free(&peak);
	return GP_OK;
}

static uint64_t count_of(const struct gp_holders *h)
{
	uint64_t count = 0;
	for (size_t k = 0; k < h->uses; k++)
		count += h->use[k].count;
	return count;
}

static void print_live(struct leaks *l, const struct gp_holders *h)
{
	bool is_block = h->of == GP_CURVE_ALLOCATED;
	fprintf(l->sink.out, "live at the end: GPU %u, %s in %s\n", h->device,
		gp_bytes_text(h->live_bytes).s,
		gp_plural(count_of(h), is_block ? "framework block" : "driver allocation").s);
}

/* ---- for a program ---- */

static void write_leak(struct leaks *l, const struct gp_leak *leak, const struct view *view)
{
	struct gp_json *json = &l->json;
	gp_json_object(json, NULL);
	gp_json_text(json, "kind",
		     leak->space == GP_SPACE_RESOURCE && leak->of < GP_RESOURCES ?
			     gp_resource_names[leak->of] :
		     leak->space < GP_SPACES ? gp_space_names[leak->space] :
					       NULL);
	if (leak->device == GP_DEVICE_UNKNOWN)
		gp_json_null(json, "device");
	else
		gp_json_number(json, "device", leak->device);
	gp_json_signed(json, "bytes_per_step", (int64_t)round(leak->bytes_per_step));
	gp_json_real(json, "count_per_step", leak->count_per_step);
	gp_json_number(json, "since_step", leak->since_step);
	gp_json_real(json, "p_value", leak->p_value);
	gp_json_number(json, "live_bytes", leak->live_bytes);
	gp_json_number(json, "live_count", leak->live_count);
	gp_json_number(json, "kept_count", leak->births);
	gp_json_number(json, "spans", leak->spans);
	gp_json_number(json, "kept_spans", leak->born_spans);
	gp_json_bool(json, "replaced", leak->is_replaced);
	if (leak->steps_until_full >= 0 && leak->steps_until_full < STEPS_MOST)
		gp_json_number(json, "steps_until_full", (uint64_t)leak->steps_until_full);
	else
		gp_json_null(json, "steps_until_full");
	if (leak->ns_until_full >= 0 && leak->ns_until_full < (double)INT64_MAX / 2)
		gp_json_signed(json, "ns_until_full", (int64_t)leak->ns_until_full);
	else
		gp_json_null(json, "ns_until_full");
	gp_json_text(json, "operator", view->names.operator[0] ? view->names.operator : NULL);
	gp_json_text(json, "node", view->names.node[0] ? view->names.node : NULL);
	gp_json_text(json, "library", view->names.library[0] ? view->names.library : NULL);
	gp_use_ranges_write(json, leak->range);
	gp_json_array(json, "examples");
	for (size_t k = 0; k < leak->examples; k++) {
		gp_json_object(json, NULL);
		gp_json_hex(json, "address", leak->example[k].address);
		gp_json_number(json, "bytes", leak->example[k].bytes);
		gp_json_signed(json, "at_ns", leak->example[k].at_ns);
		gp_json_end(json);
	}
	gp_json_end(json);
	if (view->has_stack) {
		gp_stack_write(json, l->recording, leak->stack, leak->at_ns,
			       l->is_native ? GP_STACK_SYMBOLS : GP_STACK_FOLDED);
	} else {
		gp_json_array(json, "stack");
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void write_part(struct leaks *l, const struct gp_leaks *all, bool is_object)
{
	uint64_t shown = 0;
	gp_json_array(&l->json, is_object ? "objects" : "suspects");
	for (size_t k = 0; k < all->leaks; k++) {
		struct view view;
		if (all->leak[k].is_object != is_object)
			continue;
		look_up(l, &all->leak[k], &view);
		if (is_wanted(l, &all->leak[k], &view) && (!l->top || shown++ < l->top))
			write_leak(l, &all->leak[k], &view);
	}
	gp_json_end(&l->json);
}

static void write_live(struct leaks *l, const struct gp_holders *h)
{
	gp_json_object(&l->json, NULL);
	gp_json_number(&l->json, "device", h->device);
	gp_json_text(&l->json, "of", gp_curve_keys[h->of]);
	gp_json_number(&l->json, "bytes", h->live_bytes);
	gp_json_number(&l->json, "count", count_of(h));
	gp_json_end(&l->json);
}

static enum gp_status write_all(struct leaks *l, const struct gp_leaks *all)
{
	struct gp_json *json = &l->json;
	gp_json_object(json, NULL);
	gp_use_head_write(json, l->file, l->info);
	gp_json_signed(json, "from_ns", all->from_ns);
	gp_json_signed(json, "to_ns", all->to_ns);
	gp_json_object(json, "steps");
	gp_json_number(json, "count", all->steps.steps);
	gp_json_text(json, "source", gp_step_source_names[all->steps.source]);
	gp_json_text(json, "why", all->steps.why);
	gp_json_number(json, "warmup", all->steps.warmup);
	gp_json_end(json);
	if (all->window_ns)
		gp_json_signed(json, "window_ns", all->window_ns);
	else
		gp_json_null(json, "window_ns");
	gp_json_number(json, "samples", all->samples);
	gp_json_number(json, "stacks", all->stacks);
	gp_json_bool(json, "stacks_cut", all->is_cut);
	gp_json_bool(json, "can_tell", all->can_tell);
	write_part(l, all, false);
	write_part(l, all, true);
	gp_json_array(json, "live");
	enum gp_status status = visit_live(l, write_live);
	gp_json_end(json);
	gp_json_end(json);
	return status;
}

/* ---- the recording ---- */

/* What is asked for of what leaks. */
struct wanted {
	size_t count;
	double bytes_per_step; /* of memory */
};

static struct wanted find_wanted(struct leaks *l, const struct gp_leaks *all)
{
	struct wanted wanted = { 0 };
	for (size_t k = 0; k < all->leaks; k++) {
		struct view view;
		look_up(l, &all->leak[k], &view);
		if (!is_wanted(l, &all->leak[k], &view))
			continue;
		wanted.count++;
		wanted.bytes_per_step += all->leak[k].is_object ? 0 : all->leak[k].bytes_per_step;
	}
	return wanted;
}

static void print_no_stacks(const struct leaks *l)
{
	const char *command = l->info->command ? l->info->command : "COMMAND";
	fputs("no stacks were recorded, so no line is named; this run names them: "
	      "gpuprof run --stacks=all -- ",
	      l->sink.out);
	gp_mask(l->sink.out, command, strlen(command));
	fputc('\n', l->sink.out);
}

static enum gp_status print_all(struct leaks *l, const struct gp_leaks *all, size_t wanted)
{
	print_begin(l, all);
	if (l->info->uncertains || l->info->lost_memory || l->info->has_hole)
		fputs("events are missing: what grows may have been given back unseen\n",
		      l->sink.out);
	if (all->is_cut)
		fputs("there are more stacks than were looked at\n", l->sink.out);
	if (wanted && !l->info->has_stacks)
		print_no_stacks(l);
	if (!wanted && all->samples && all->can_tell)
		fprintf(l->sink.out, "nothing grows: %s looked at\n",
			gp_plural(all->stacks, "stack").s);
	else if (!wanted && all->samples)
		fprintf(l->sink.out, "%s are too few to tell what grows among %s\n",
			gp_plural(all->samples, "sample").s, gp_plural(all->stacks, "stack").s);
	print_part(l, all, false);
	print_part(l, all, true);
	enum gp_status status = visit_live(l, print_live);
	gp_unnamed_print(l->sink.out, l->recording);
	gp_use_next_print(l->sink.out, l->info, "top --sort live", l->file);
	return status;
}

static bool add_row(struct leaks *l, const struct gp_leaks *all, const struct wanted *wanted)
{
	struct gp_sheet_row *row = gp_sheet_add(&l->sheet, l->file, "");
	if (!row)
		return false;
	row->is_damaged = l->info->is_damaged;
	snprintf(row->cell[0].text, sizeof row->cell[0].text, "%zu", all->steps.steps);
	row->cell[0].number = (double)all->steps.steps;
	snprintf(row->cell[1].text, sizeof row->cell[1].text, "%zu", wanted->count);
	row->cell[1].number = (double)wanted->count;
	snprintf(row->cell[2].text, sizeof row->cell[2].text, "%s",
		 gp_bytes_text((uint64_t)round(wanted->bytes_per_step)).s);
	row->cell[2].number = wanted->bytes_per_step;
	return true;
}

static int report_one(struct leaks *l, const char *path)
{
	struct gp_leaks all;
	int64_t from_ns = INT64_MIN, to_ns = INT64_MAX;
	int exit_status;
	l->file = path;
	l->recording = gp_report_open(path, &l->info, &exit_status);
	if (!l->recording)
		return exit_status;
	exit_status = gp_report_exit(path, l->info);
	enum gp_status status = GP_E_ARGUMENT;
	bool has_span = gp_report_has_device(path, l->info, l->device) &&
			gp_span_find(l->recording, l->from, l->to, &from_ns, &to_ns);
	if (has_span)
		status = gp_leaks_build(l->recording, from_ns, to_ns, &all);
	if (has_span && !status) {
		const struct wanted wanted = find_wanted(l, &all);
		l->sink.has_report = true;
		l->has_found |= wanted.count > 0;
		if (l->is_json)
			status = write_all(l, &all);
		else if (!l->is_many)
			status = print_all(l, &all, wanted.count);
		else if (!add_row(l, &all, &wanted))
			status = GP_E_MEMORY;
		gp_leaks_free(&all);
	}
	gp_recording_close(l->recording);
	if (!has_span)
		return GP_EXIT_USAGE;
	return status ? gp_report_failed("look for leaks in", path, status) : exit_status;
}

static int report_all(struct leaks *l, int words, char **paths)
{
	int worst = GP_EXIT_OK;
	l->is_many = words > 1;
	gp_json_init(&l->json, l->sink.out, l->is_many ? 4 : 3);
	if (l->is_json && l->is_many)
		gp_json_array(&l->json, NULL);
	for (int k = 0; k < words; k++) {
		int exit_status = report_one(l, paths[k]);
		worst = exit_status > worst ? exit_status : worst;
	}
	if (l->is_json && l->is_many)
		gp_json_end(&l->json);
	if (l->sheet.rows)
		gp_sheet_print(&l->sheet, l->sink.out);
	gp_sheet_release(&l->sheet);
	if (worst == GP_EXIT_OK && l->ends_with_found && l->has_found)
		worst = GP_EXIT_FOUND;
	return worst;
}

static bool is_number(const char *text)
{
	return text[0] && !text[strspn(text, "0123456789")];
}

static int run(int argc, char **argv)
{
	struct leaks l = { .device = -1,
			   .top = TOP_DEFAULT,
			   .sheet = { .columns = 3,
				      .next = "leaks",
				      .title = { "steps", "suspects", "bytes a step" } } };
	const struct gp_flag flags[] = {
		{ "exit-code", 0, GP_FLAG_SWITCH, NULL, &l.ends_with_found,
		  "exit 1 when something leaks" },
		{ "from", 0, GP_FLAG_TEXT, "TIME", &l.from,
		  "from this moment: 1.5s, 20ms, start, end, peak, oom, step:3" },
		{ "to", 0, GP_FLAG_TEXT, "TIME", &l.to, "up to this moment" },
		{ "device", 0, GP_FLAG_DEVICE, "N", &l.device, "only this device" },
		{ "library", 0, GP_FLAG_TEXT, "NAME", &l.library,
		  "only what this library asked for" },
		{ "top", 0, GP_FLAG_TEXT, "N", &l.top_text,
		  "at most N suspects; default 10, with --json all; 0: all" },
		{ "native", 0, GP_FLAG_SWITCH, NULL, &l.is_native, "all frames" },
		{ "json", 0, GP_FLAG_SWITCH, NULL, &l.is_json,
		  "for a program: see gpuprof-leaks(1) for the keys" },
		GP_FLAGS_OUTPUT(&l.path, &l.is_forced),
		{ 0 },
	};
	int words = gp_flags_parse(&gp_command_leaks, flags, argc, argv, false);
	if (words < 0)
		return gp_flags_exit(words);
	if (words == 0)
		return gp_usage(&gp_command_leaks, "no recording given");
	if (l.top_text && !is_number(l.top_text))
		return gp_usage(&gp_command_leaks, "bad value of '--top': '%s' is not a number",
				l.top_text);
	if (l.top_text || l.is_json)
		l.top = l.top_text ? strtoull(l.top_text, NULL, 10) : 0;
	int exit_status = gp_sink_open(&l.sink, l.path, l.is_forced, argv, words);
	return exit_status ? exit_status : gp_sink_close(&l.sink, report_all(&l, words, argv));
}

const struct gp_command gp_command_leaks = {
	"leaks",
	"leaks [--exit-code] [--from TIME] [--to TIME] [--json] [options] RECORDING...",
	"find what grows from step to step, and who allocated it",
	run,
};
