/*
 * `gpuprof export`: writes a recording in the format of another tool. Formats are
 * tools/export/export_*.c.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "export/export.h"
#include "io/message.h"
#include "report/reading.h"

struct export
{
	struct gp_reading r;
	const char *format_name;
	bool is_without_stacks;
	const struct gp_export_format *format;
	struct gp_export e;
	struct gp_history history;
	void *state;
	uint64_t entries, left_out; /* trace entries of the file; events without a known device */
	bool is_out_of_memory;
};

/* "NAME=one|other" */
static void formats_list(char *out, size_t capacity)
{
	size_t n = (size_t)snprintf(out, capacity, "NAME=");
	for (size_t k = 0; gp_export_formats[k] && n < capacity; k++)
		n += (size_t)snprintf(out + n, capacity - n, "%s%s", k ? "|" : "",
				      gp_export_formats[k]->name);
}

static bool write_act(void *context, const struct gp_act *act)
{
	struct export *x = context;
	if (!gp_export_has(&x->e, act->device)) {
		/* a snapshot may be of all devices */
		x->left_out += act->device >= x->e.devices && act->kind != GP_ACT_SNAPSHOT;
		return true;
	}
	x->is_out_of_memory = !x->format->act(x->state, act);
	return !x->is_out_of_memory;
}

/* Warnings that the exported format cannot contain. */
static void print_limits(const struct export *x)
{
	const char *path = x->r.path;
	const struct gp_info *info = x->e.info;
	const struct gp_history *h = &x->history;
	if (info->framework_events && h->memory.caveat)
		gp_error("'%s': %s", path, h->memory.caveat);
	if (info->framework_events && !h->memory.has_allocator_details)
		gp_hint("memory_viz shows each block by its own size, and all on stream 0");
	if (h->is_cut)
		gp_error("events are missing before %s: the trace begins there",
			 gp_ns_text(h->from_ns).s);
	if (info->is_running)
		gp_error("'%s': the job is running: the trace ends at %s", path,
			 gp_ns_text((int64_t)info->duration_ns).s);
	else if (!info->is_sealed || info->has_hole)
		gp_error("'%s': not complete: the trace ends early", path);
	if (info->lost_memory)
		gp_error("%s lost: the trace is wrong there",
			 gp_plural(info->lost_memory, "memory event").s);
	if (h->orphaned)
		gp_error("%s outside all known segments: left out",
			 gp_plural(h->orphaned, "block").s);
	if (x->left_out)
		gp_error("%s of unknown devices: left out", gp_plural(x->left_out, "event").s);
}

static void print_done(const struct export *x, const struct timespec *began)
{
	const char *path = x->r.sink.path;
	struct timespec now;
	long bytes = ftell(x->e.out);
	clock_gettime(CLOCK_MONOTONIC, &now);
	double s =
		(double)(now.tv_sec - began->tv_sec) + (double)(now.tv_nsec - began->tv_nsec) / 1e9;
	if (!path || bytes < 0)
		return;
	/* counts entries, not events: a free is two entries, a launch is none */
	gp_error("wrote '%s': %s trace entries, %s, %.1f bytes each, %.2f s; open it at "
		 "pytorch.org/memory_viz",
		 path, gp_count_text(x->entries).s, gp_bytes_text((uint64_t)bytes).s,
		 x->entries ? (double)bytes / (double)x->entries : 0, s);
}

static enum gp_status export_span(struct export *x)
{
	x->state = x->format->begin(&x->e);
	if (!x->state)
		return GP_E_MEMORY;
	enum gp_status status = gp_history_visit(&x->history, write_act, x);
	if (x->is_out_of_memory)
		status = GP_E_MEMORY;
	if (!x->format->end(x->state, status == GP_OK, &x->entries))
		status = GP_E_MEMORY;
	return status;
}

static unsigned count_devices(const struct gp_info *info)
{
	unsigned count = 1;
	for (size_t k = 0; k < info->devices; k++)
		if (info->device[k].device < GP_DEVICES && info->device[k].device >= count)
			count = info->device[k].device + 1;
	return count;
}

static int export_one(struct gp_reading *r)
{
	struct export *x = (struct export *)r;
	const struct gp_info *info = r->info;
	struct timespec began;
	int64_t from_ns = INT64_MIN, to_ns = INT64_MAX;
	clock_gettime(CLOCK_MONOTONIC, &began);
	if (r->device >= (int64_t)count_devices(info)) {
		gp_report_no_device(r->path, info, r->device);
		return GP_EXIT_USAGE;
	}
	if (!gp_span_find(r->recording, r->from, r->to, &from_ns, &to_ns))
		return GP_EXIT_USAGE;
	x->e = (struct gp_export){
		.recording = r->recording,
		.info = info,
		.history = &x->history,
		.out = r->out,
		.device = r->device >= 0 ? (unsigned)r->device : GP_DEVICE_UNKNOWN,
		.devices = count_devices(info),
		.has_stacks = info->has_stacks && !x->is_without_stacks,
	};
	enum gp_status status = gp_history_open(r->recording, from_ns, to_ns, &x->history);
	if (status == GP_OK)
		status = export_span(x);
	if (status == GP_OK) {
		r->sink.has_report = true;
		print_limits(x);
		fflush(r->out);
		print_done(x, &began);
	}
	gp_history_close(&x->history);
	return status ? gp_report_failed("export", r->path, status) : GP_EXIT_OK;
}

static int export_check(struct gp_reading *r, int recordings)
{
	struct export *x = (struct export *)r;
	if (!x->format_name)
		return gp_usage(r->command, "no format given");
	for (size_t k = 0; gp_export_formats[k]; k++)
		if (strcmp(gp_export_formats[k]->name, x->format_name) == 0)
			x->format = gp_export_formats[k];
	if (!gp_inputs_is_one(r->command, "export", recordings))
		return GP_EXIT_USAGE;
	r->is_text = false;
	if ((r->output && strcmp(r->output, "-") != 0) || !isatty(STDOUT_FILENO))
		return GP_EXIT_OK;
	gp_error("cannot write to a terminal: not a text format");
	gp_hint("-o FILE");
	return GP_EXIT_USAGE;
}

static int export_run(const struct gp_command *command, int argc, char **argv)
{
	struct export x = { .r.command = command };
	char formats[256];
	formats_list(formats, sizeof formats);
	const struct gp_flag flags[] = {
		{ "format", 0, GP_FLAG_CHOICE, formats, &x.format_name,
		  "format of the file (for other tools: gpuprof dump --json)" },
		{ "from", 0, GP_FLAG_TEXT, "TIME", &x.r.from,
		  "events from this moment: " GP_FLAGS_MOMENTS },
		{ "to", 0, GP_FLAG_TEXT, "TIME", &x.r.to,
		  "events up to this moment, and the state at it" },
		{ "no-stacks", 0, GP_FLAG_SWITCH, NULL, &x.is_without_stacks, "without stacks" },
		{ 0 },
	};
	return gp_reading_run(&x.r, flags, argc, argv);
}

const struct gp_command gp_command_export = {
	.name = "export",
	.synopsis = "export --format torch [--from TIME] [--to TIME] [--device N] [--no-stacks] "
		    "[-o FILE [--force]] RECORDING",
	.text = "write a file for another tool: PyTorch's memory_viz",
	.run = export_run,
	.options = GP_OPTION_DEVICE | GP_OPTION_OUTPUT,
	.check = export_check,
	.one = export_one,
};
