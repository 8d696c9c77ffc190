/*
 * `gpuprof dump`: every event in exact order, as text or JSON lines.
 */
#include <inttypes.h>
#include <string.h>

#include "io/message.h"
#include "io/screen.h"
#include "report/reading.h"
#include "report/stack_print.h"
#include "report/use_print.h"

#define RANGE_MAX 120u /* limit of a range path on a line; outer ranges are left out first */

struct dump {
	struct gp_reading r;
	const char *kinds, *range;
	uint64_t limit;
	int64_t from_ns, to_ns;
	struct gp_stack_style style;
	bool is_selected[GP_KINDS];
	struct gp_range_paths *ranges; /* NULL: the recording has no ranges */
};

/* ---- for a person ---- */

static void print_value(struct dump *d, enum gp_defined meaning, uint64_t value)
{
	switch (meaning) {
	case GP_ADDRESS:
	case GP_HANDLE:
		fprintf(d->r.out, "0x%" PRIx64, value);
		break;
	case GP_BYTES:
	case GP_TOTAL:
		fprintf(d->r.out, "%" PRIu64, value);
		if (value >= 10240)
			fprintf(d->r.out, " (%s)", gp_bytes_text(value).s);
		break;
	case GP_GRID:
		fprintf(d->r.out, "%" PRIu64 "x%" PRIu64 "x%" PRIu64, value & 0xffffffff,
			value >> 32 & 0xffff, value >> 48);
		break;
	case GP_BLOCK:
		fprintf(d->r.out, "%" PRIu64 "x%" PRIu64 "x%" PRIu64, value & 0xffff,
			value >> 16 & 0xffff, value >> 32 & 0xffff);
		break;
	case GP_NUMBER:
	case GP_UNUSED:
	case GP_CALL:
		fprintf(d->r.out, "%" PRIu64, value);
		break;
	case GP_TICKS: /* print_took */
		break;
	}
}

static const char *call_name(const struct gp_record *r)
{
	const enum gp_call call = gp_call_kind(r->aux);
	if (r->kind == GP_COPY)
		return call < GP_COPIES ? gp_copy_names[call] : "unknown";
	return call < GP_WAITS ? gp_wait_names[call] : "unknown";
}

static void print_call(struct dump *d, const struct gp_record *r)
{
	fprintf(d->r.out, " %s%s%s took=%s", call_name(r), r->aux & GP_CALL_ASYNC ? " async" : "",
		r->aux & GP_CALL_CAPTURED ? " captured" : "",
		gp_ns_text(gp_call_took_ns(d->r.recording, r)).s);
}

static void print_took(struct dump *d, const struct gp_record *r, const struct gp_field *field,
		       uint64_t ticks)
{
	if (ticks != 0)
		fprintf(d->r.out, " %s=%s", field->name,
			gp_ns_text(gp_took_ns(d->r.recording, r, ticks)).s);
}

/* Its `code` is the duration of the call. */
static bool is_timed(const struct gp_record *r)
{
	return r->kind == GP_ALLOC || r->kind == GP_MAP;
}
static const struct gp_field took_field = { "took", GP_TICKS };

static void print_field(struct dump *d, const struct gp_field *field, uint64_t value)
{
	bool is_none = value == 0 && (field->meaning == GP_HANDLE || field->meaning == GP_NUMBER);
	if (!field->name || is_none)
		return;
	fprintf(d->r.out, " %s=", field->name);
	print_value(d, field->meaning, value);
}

/* Older recorders wrote device 0 for events without a device. */
static bool has_device(const struct gp_record *r)
{
	return r->device < GP_DEVICES && r->kind != GP_THREAD && r->kind != GP_FACT;
}

/* True for refused launches, too. */
static bool is_captured(const struct gp_record *r)
{
	return r->kind == GP_LAUNCH && (r->launch.block >> 48 & GP_LAUNCH_CAPTURED) != 0;
}

/* The name of its kernel, or of the range that it begins. */
static const char *dump_name_of(struct dump *d, const struct gp_record *r)
{
	switch (r->kind) {
	case GP_LAUNCH:
		return gp_recording_kernel_name(d->r.recording, r->launch.kernel);
	case GP_RANGE_PUSH:
	case GP_RANGE_START:
	case GP_RANGE_RESUMED:
	case GP_RANGE_STARTED:
	case GP_MARK:
	case GP_CAPTURE_ERROR: /* the name of a driver function */
		return gp_recording_text(d->r.recording, GP_RANGE_NAME, r->aux);
	default:
		return NULL;
	}
}

/* NULL: not an event of memory, not a launch, or the recording has no ranges. */
static const struct gp_range_path *range_of(struct dump *d, const struct gp_event *e)
{
	unsigned class = gp_event_infos[e->record.kind].class;
	bool has_range = d->ranges && (class == GP_CLASS_MEMORY || class == GP_CLASS_LAUNCH);
	return has_range ? gp_range_paths_of(d->ranges, e->thread) : NULL;
}

static void print_range(struct dump *d, const struct gp_event *e)
{
	char text[RANGE_MAX];
	const struct gp_range_path *range = range_of(d, e);
	if (!range || range->known == GP_RANGE_OUTSIDE)
		return;
	gp_range_path_text(range, text, sizeof text);
	fputs(" in ", d->r.out);
	gp_mask(d->r.out, text, strlen(text));
}

/* Fields that are valid only with a value in another field of the event. */
static bool is_unknown(const struct gp_record *r, unsigned place)
{
	switch (r->kind) {
	case GP_OOM:
		return place == 3 && !r->aux;
	case GP_DEVICE_MEMORY:
		return place == 2 && !r->aux;
	case GP_MODULE_LOAD:
		return place == 1 && !r->v[1];
	case GP_ALLOC_FAILED:
		return place >= 2 && !r->v[3];
	case GP_ARENA:
		return (place == 1 || place == 2) && !r->v[3];
	default:
		return false;
	}
}

static void print_event(struct dump *d, const struct gp_event *e, const struct gp_event_info *info)
{
	const struct gp_record *r = &e->record;
	fprintf(d->r.out, "%14.6f ms  t%-3" PRIu32, (double)e->at_ns / 1e6, e->thread);
	if (has_device(r))
		fprintf(d->r.out, " gpu%-2u", r->device);
	else
		fputs(" -    ", d->r.out);
	fprintf(d->r.out, " %s", info->name);
	if (r->space && r->space < GP_SPACES)
		fprintf(d->r.out, " %s", gp_space_names[r->space]);
	if (r->code && !is_timed(r))
		fprintf(d->r.out, " code=%u", r->code);
	if (info->aux.meaning == GP_CALL)
		print_call(d, r);
	else
		print_field(d, &info->aux, r->aux);
	for (unsigned k = 0; k < 4; k++)
		if (info->v[k].meaning == GP_TICKS)
			print_took(d, r, &info->v[k], r->v[k]);
		else if (d->style.is_bare || !is_unknown(r, k))
			print_field(d, &info->v[k], r->v[k]);
	if (is_timed(r))
		print_took(d, r, &took_field, gp_alloc_took(r->code));
	if (is_captured(r))
		fputs(" captured", d->r.out);
	const char *name = dump_name_of(d, r);
	const char *text = name ? name : e->text;
	if (text) {
		fputs(" \"", d->r.out);
		gp_mask(d->r.out, text, name ? strlen(name) : e->text_bytes);
		fputc('"', d->r.out);
	}
	print_range(d, e);
	fputc('\n', d->r.out);
	if (r->stack)
		gp_stack_print(d->r.out, d->r.recording, r->stack, e->at_ns,
			       gp_stack_style_how(&d->style));
}

/* ---- for a program ---- */

/* "model.layers.3": whose forward runs */
static void write_module(struct dump *d, uint32_t stack)
{
	char path[GP_MODULES_MAX];
	const uint32_t module = gp_recording_stack_module(d->r.recording, stack);
	if (!module)
		return;
	gp_recording_module_path(d->r.recording, module, path, sizeof path);
	gp_json_text(&d->r.json, "torch_module", path);
}

static void write_dimensions(struct gp_json *json, const char *name, const uint64_t size[3])
{
	gp_json_array(json, name);
	for (unsigned k = 0; k < 3; k++)
		gp_json_number(json, NULL, size[k]);
	gp_json_end(json);
}

static void write_field(struct gp_json *json, const struct gp_field *field, uint64_t v)
{
	if (!field->name)
		return;
	switch (field->meaning) {
	case GP_ADDRESS:
	case GP_HANDLE:
		gp_json_hex(json, field->name, v);
		break;
	case GP_GRID:
		write_dimensions(json, field->name,
				 (uint64_t[]){ v & 0xffffffff, v >> 32 & 0xffff, v >> 48 });
		break;
	case GP_BLOCK:
		write_dimensions(json, field->name,
				 (uint64_t[]){ v & 0xffff, v >> 16 & 0xffff, v >> 32 & 0xffff });
		break;
	case GP_BYTES:
	case GP_TOTAL:
	case GP_NUMBER:
	case GP_UNUSED:
	case GP_CALL:
		gp_json_number(json, field->name, v);
		break;
	case GP_TICKS: /* write_took */
		break;
	}
}

/* As "took_ns"; null: unknown. */
static void write_took(struct dump *d, const struct gp_record *r, const struct gp_field *field,
		       uint64_t ticks)
{
	char name[32];
	snprintf(name, sizeof name, "%s_ns", field->name);
	if (ticks != 0)
		gp_json_signed(&d->r.json, name, gp_took_ns(d->r.recording, r, ticks));
	else
		gp_json_null(&d->r.json, name);
}

static void write_event(struct dump *d, const struct gp_event *e, const struct gp_event_info *info)
{
	const struct gp_record *r = &e->record;
	struct gp_json *json = &d->r.json;
	gp_json_object(json, NULL);
	gp_json_signed(json, "at_ns", e->at_ns);
	gp_json_number(json, "order", r->order);
	gp_json_number(json, "thread", e->thread);
	gp_json_text(json, "kind", info->name);
	gp_json_number_if(json, "device", has_device(r), r->device);
	gp_json_text(json, "space",
		     r->space && r->space < GP_SPACES ? gp_space_names[r->space] : NULL);
	gp_json_number(json, "code", is_timed(r) ? 0 : r->code);
	if (info->aux.meaning == GP_CALL) {
		gp_json_text(json, "call", call_name(r));
		gp_json_bool(json, "async", (r->aux & GP_CALL_ASYNC) != 0);
		gp_json_bool(json, "call_captured", (r->aux & GP_CALL_CAPTURED) != 0);
		gp_json_signed(json, "took_ns", gp_call_took_ns(d->r.recording, r));
	} else {
		write_field(json, &info->aux, r->aux);
	}
	for (unsigned k = 0; k < 4; k++)
		if (info->v[k].meaning == GP_TICKS)
			write_took(d, r, &info->v[k], r->v[k]);
		else if (!d->style.is_bare && is_unknown(r, k))
			gp_json_null(json, info->v[k].name);
		else
			write_field(json, &info->v[k], r->v[k]);
	if (is_timed(r))
		write_took(d, r, &took_field, gp_alloc_took(r->code));
	const char *name = dump_name_of(d, r);
	if (r->kind == GP_LAUNCH || name)
		gp_json_text(json, "name", name);
	if (r->kind == GP_LAUNCH)
		gp_json_bool(json, "captured", is_captured(r));
	if (range_of(d, e))
		gp_use_ranges_write(json, range_of(d, e));
	if (e->text)
		gp_json_bytes(json, "text", e->text, e->text_bytes);
	write_module(d, r->stack);
	if (r->stack)
		gp_stack_write(json, d->r.recording, r->stack, e->at_ns,
			       gp_stack_style_how(&d->style));
	gp_json_end(json);
}

/* ---- which events ---- */

static size_t kinds_list(const char *names[GP_KINDS])
{
	size_t count = 0;
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		if (gp_event_infos[kind].name)
			names[count++] = gp_event_infos[kind].name;
	return count;
}

/* For the help. */
static void kinds_describe(char *out, size_t capacity)
{
	const char *names[GP_KINDS];
	size_t count = kinds_list(names),
	       n = (size_t)snprintf(out, capacity, "only events of these kinds:");
	for (size_t k = 0; k < count && n < capacity; k++)
		n += (size_t)snprintf(out + n, capacity - n, "%s %s", k ? "," : "", names[k]);
}

static bool kinds_choose(struct dump *d)
{
	const char *names[GP_KINDS];
	const size_t count = kinds_list(names);
	for (const char *at = d->kinds; at && *at;) {
		char word[64];
		size_t n = strcspn(at, ",");
		bool is_found = false;
		snprintf(word, sizeof word, "%.*s", (int)n, at);
		for (unsigned kind = 0; kind < GP_KINDS; kind++)
			if (gp_event_infos[kind].name &&
			    strcmp(word, gp_event_infos[kind].name) == 0)
				is_found = d->is_selected[kind] = true;
		if (!is_found) {
			gp_flags_wrong_word("kind", word, names, count);
			return false;
		}
		at += n + (at[n] == ',');
	}
	return true;
}

static bool is_chosen(struct dump *d, const struct gp_event *e)
{
	const int64_t device = d->r.device;
	if (e->at_ns < d->from_ns || e->at_ns > d->to_ns || e->record.kind >= GP_KINDS)
		return false;
	if (d->kinds && !d->is_selected[e->record.kind])
		return false;
	if (d->range && !gp_range_path_has(range_of(d, e), d->range))
		return false;
	return device < 0 || (has_device(&e->record) && e->record.device == device);
}

static int dump_events(struct dump *d)
{
	const char *path = d->r.path;
	struct gp_event e;
	uint64_t shown = 0;
	enum gp_status status = GP_OK;
	while (shown < d->limit && !gp_screen_is_left() &&
	       (status = gp_recording_next(d->r.recording, &e)) == GP_OK) {
		if (d->ranges)
			gp_range_paths_see(d->ranges, e.thread, &e.record);
		if (!is_chosen(d, &e))
			continue;
		const struct gp_event_info *info = &gp_event_infos[e.record.kind];
		if (!info->name)
			continue;
		shown++;
		if (d->r.is_json)
			write_event(d, &e, info);
		else
			print_event(d, &e, info);
	}
	if (d->ranges && gp_range_paths_status(d->ranges))
		status = gp_range_paths_status(d->ranges);
	if (status != GP_OK && status != GP_END)
		return gp_report_failed("read on in", path, status);
	if (!d->range || shown)
		return GP_EXIT_OK;
	gp_error("no such event in range '%s' in '%s'", d->range, path);
	gp_hint(d->ranges ? "gpuprof phases --recorded-only lists the ranges of a recording" :
			    "no ranges were recorded: gpuprof phases may have the reason");
	return GP_EXIT_USAGE;
}

static int dump_one(struct gp_reading *r)
{
	struct dump *d = (struct dump *)r;
	d->to_ns = INT64_MAX;
	d->from_ns = INT64_MIN;
	if (!gp_span_find(r->recording, r->from, r->to, &d->from_ns, &d->to_ns))
		return GP_EXIT_USAGE;
	if (!r->is_json)
		gp_headline_print(r->out, r->info);
	if (!r->is_json && r->info->launch_every > 1)
		fprintf(r->out, "of a thread's launches 1 in %s has a stack, a sample\n",
			gp_count_text(r->info->launch_every).s);
	enum gp_status status = gp_recording_rewind(r->recording);
	if (!status && r->info->has_ranges && !d->style.is_bare)
		status = gp_range_paths_open(r->recording, &d->ranges);
	const int exit_status = status ? gp_report_failed("read", r->path, status) : dump_events(d);
	r->sink.has_report = exit_status != GP_EXIT_USAGE;
	if (!r->is_json) {
		gp_unnamed_print(r->out, r->recording);
		gp_next_print(r->out, gp_next_of(r->recording, r->info, NULL), r->path);
	}
	gp_range_paths_close(d->ranges);
	return exit_status;
}

static int dump_check(struct gp_reading *r, int recordings)
{
	struct dump *d = (struct dump *)r;
	if (!gp_inputs_is_one(r->command, "dump", recordings))
		return GP_EXIT_USAGE;
	if (d->range && d->style.is_bare)
		return gp_usage(r->command, "'--range' and '--bare' exclude each other");
	return kinds_choose(d) ? GP_EXIT_OK : GP_EXIT_USAGE;
}

static int dump_run(const struct gp_command *command, int argc, char **argv)
{
	struct dump d = { .r.command = command, .limit = UINT64_MAX };
	char kinds[1024];
	kinds_describe(kinds, sizeof kinds);
	const struct gp_flag flags[] = {
		{ "json", 0, GP_FLAG_SWITCH, NULL, &d.r.is_json, "one JSON object a line" },
		{ "kind", 0, GP_FLAG_TEXT, "NAME,...", &d.kinds, kinds },
		{ "device", 0, GP_FLAG_DEVICE, "N", &d.r.device, "only events of this device" },
		{ "range", 0, GP_FLAG_TEXT, "NAME", &d.range,
		  "only memory events and launches in such a range" },
		{ "limit", 0, GP_FLAG_NUMBER, "N", &d.limit, "at most N events" },
		{ "native", 0, GP_FLAG_SWITCH, NULL, &d.style.is_native,
		  "stacks with the interpreter's own frames" },
		{ "bare", 0, GP_FLAG_SWITCH, NULL, &d.style.is_bare,
		  "events as recorded: native frames by address alone, no ranges" },
		{ 0 },
	};
	return gp_reading_run(&d.r, flags, argc, argv);
}

const struct gp_command gp_command_dump = {
	.name = "dump",
	.synopsis = "dump [--json] [--kind NAME[,NAME...]] [--device N] [--range NAME] [--from "
		    "TIME] [--to "
		    "TIME] "
		    "[--limit N] [--native] [--bare] [-o FILE [--force]] RECORDING",
	.text = "print single events in exact order",
	.run = dump_run,
	.options = GP_OPTION_SPAN | GP_OPTION_NO_STACKS | GP_OPTION_OUTPUT | GP_OPTION_SCREEN,
	.check = dump_check,
	.one = dump_one,
};
