/*
 * `--format chrome`: JSON trace events in the shape of PyTorch's profiler (Kineto), for HTA,
 * PyTorch's own tools, chrome://tracing and ui.perfetto.dev.
 */
#include <stdlib.h>
#include <string.h>

#include "../io/json.h"
#include "../io/message.h"
#include "trace/chrome_rows.h"
#include "trace/trace_process.h"

extern const struct gp_export_format gp_export_format_chrome;

#define NS_PER_S 1000000000

/* ---- events ---- */

static const char *kernel_name(struct gp_chrome *c, uint64_t handle)
{
	char text[1024];
	const struct gp_gpu_function function = { .name = gp_recording_kernel_name(
							  c->trace->e->recording, handle) };
	struct gp_pickle_row *row =
		gp_pickle_row_get(&c->kernels, (uintptr_t)function.name, 0, NULL);
	if (row && !row->text) {
		gp_gpu_function_name(&function, text, sizeof text);
		row->text = strdup(gp_chrome_quote(c, text));
	}
	if (!row || !row->text) {
		c->trace->is_out_of_memory = true;
		return "\"\"";
	}
	return row->text;
}

static void put_counter(struct gp_trace *t, int64_t at_ns, unsigned device, unsigned curve,
			uint64_t bytes)
{
	static const char *const names[] = { [GP_CURVE_DRIVER] = "driver",
					     [GP_CURVE_RESERVED] = "reserved",
					     [GP_CURVE_ALLOCATED] = "allocated" };
	struct gp_chrome *c = t->own;
	gp_chrome_event(c);
	gp_chrome_fixed(&c->text, "{\"ph\":\"C\",\"name\":\"");
	if (device == GP_TRACE_HOST) {
		gp_chrome_long(&c->text,
			       curve == GP_HOST_PINNED ? "host pinned" : "host registered");
	} else {
		gp_chrome_fixed(&c->text, "GPU ");
		gp_chrome_number(&c->text, device);
		gp_chrome_fixed(&c->text, " ");
		gp_chrome_long(&c->text, names[curve]);
	}
	gp_chrome_fixed(&c->text, "\",\"pid\":");
	gp_chrome_number(&c->text, c->pid);
	gp_chrome_fixed(&c->text, ",\"ts\":");
	gp_chrome_us(&c->text, c->zero_ns + at_ns);
	gp_chrome_fixed(&c->text, ",\"args\":{\"bytes\":");
	gp_chrome_number(&c->text, bytes);
	gp_chrome_fixed(&c->text, "}}");
}

/* PyTorch's memory events; of other memory with other names, so that sums stay right. */
static void put_memory(struct gp_trace *t, const struct gp_trace_memory *m)
{
	struct gp_chrome *c = t->own;
	const struct gp_event *e = m->event;
	const uint32_t tid = gp_chrome_thread(c, e->thread);
	const bool has_blocks = t->e->info->framework_events != 0;
	const bool is_host = m->of == GP_TRACE_PINNED;
	gp_chrome_event(c);
	gp_chrome_fixed(&c->text,
			"{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":");
	if (is_host)
		gp_chrome_fixed(&c->text, "\"[pinned memory]\"");
	else if (m->of == GP_TRACE_BLOCKS || !has_blocks)
		gp_chrome_fixed(&c->text, "\"[memory]\"");
	else
		gp_chrome_fixed(&c->text, "\"[driver memory]\"");
	gp_chrome_place(c, c->pid, tid, e->at_ns);
	if (is_host) {
		gp_chrome_fixed(&c->text,
				",\"args\":{\"Device Type\":0,\"Device Id\":-1,\"Addr\":");
	} else {
		gp_chrome_fixed(&c->text, ",\"args\":{\"Device Type\":1,\"Device Id\":");
		gp_chrome_number(&c->text, m->device);
		gp_chrome_fixed(&c->text, ",\"Addr\":");
	}
	gp_chrome_id(&c->text, e->record.v[0]);
	gp_chrome_fixed(&c->text, ",\"Bytes\":");
	if (m->is_free && m->bytes)
		gp_chrome_fixed(&c->text, "-");
	gp_chrome_number(&c->text, m->bytes);
	const unsigned allocated = m->of == GP_TRACE_BLOCKS ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
	const unsigned reserved = m->of == GP_TRACE_BLOCKS ? GP_CURVE_RESERVED : GP_CURVE_DRIVER;
	gp_chrome_fixed(&c->text, ",\"Total Allocated\":");
	gp_chrome_number(&c->text, m->now_bytes[is_host ? GP_HOST_PINNED : allocated]);
	gp_chrome_fixed(&c->text, ",\"Total Reserved\":");
	gp_chrome_number(&c->text, m->now_bytes[is_host ? GP_HOST_PINNED : reserved]);
	gp_chrome_fixed(&c->text, "}");
	gp_chrome_stack(c, e->record.stack, e->at_ns);
	gp_chrome_fixed(&c->text, "}");
}

static void put_call(struct gp_trace *t, const struct gp_trace_call *call)
{
	struct gp_chrome *c = t->own;
	const struct gp_record *r = &call->event->record;
	const uint32_t tid = gp_chrome_thread(c, call->event->thread);
	const char *kernel = r->kind == GP_LAUNCH ? kernel_name(c, r->launch.kernel) : NULL;
	gp_chrome_event(c);
	gp_chrome_fixed(&c->text, "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"");
	gp_chrome_long(&c->text, gp_trace_call_name(r));
	gp_chrome_fixed(&c->text, "\"");
	gp_chrome_place(c, c->pid, tid, call->begin_ns);
	gp_chrome_duration(c, call->end_ns - call->begin_ns);
	gp_chrome_fixed(&c->text, ",\"args\":{\"External id\":");
	gp_chrome_number(&c->text, call->launch ? call->launch->call : 0);
	if (call->operation) {
		gp_chrome_fixed(&c->text, ",\"correlation\":");
		gp_chrome_number(&c->text, call->operation->correlation);
	}
	if (kernel) {
		gp_chrome_fixed(&c->text, ",\"kernel\":");
		gp_chrome_long(&c->text, kernel);
		gp_chrome_shape(c, r->launch.grid, r->launch.block);
		if (gp_launched_as(r) == GP_LAUNCHED_CAPTURED)
			gp_chrome_fixed(&c->text, ",\"captured\":true");
	}
	if (r->kind == GP_COPY) {
		gp_chrome_fixed(&c->text, ",\"bytes\":");
		gp_chrome_number(&c->text, r->copy.bytes);
	}
	gp_chrome_fixed(&c->text, "}}");
	if (call->operation)
		gp_chrome_flow(c, false, c->pid, tid, call->begin_ns, call->operation->correlation);
}

static void put_mark(struct gp_trace *t, const struct gp_event *e, enum gp_trace_mark kind)
{
	struct gp_chrome *c = t->own;
	const struct gp_record *r = &e->record;
	const uint32_t tid = gp_chrome_thread(c, e->thread);
	const char *name = gp_chrome_quote_kept(c, gp_trace_mark_name(t, e, kind));
	gp_chrome_event(c);
	gp_chrome_fixed(&c->text,
			"{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"p\",\"name\":");
	gp_chrome_long(&c->text, name);
	gp_chrome_place(c, c->pid, tid, e->at_ns);
	gp_chrome_fixed(&c->text, ",\"args\":{");
	if (kind == GP_TRACE_OOM || kind == GP_TRACE_FAILED) {
		gp_chrome_fixed(&c->text, "\"Device Type\":1,\"Device Id\":");
		gp_chrome_number(&c->text, r->device);
		gp_chrome_fixed(&c->text, ",\"Bytes\":");
		gp_chrome_number(&c->text,
				 kind == GP_TRACE_OOM ? r->oom.bytes : r->alloc_failed.bytes);
	}
	if (kind == GP_TRACE_OOM) {
		gp_chrome_fixed(&c->text, ",\"Total Allocated\":");
		gp_chrome_number(&c->text, r->oom.allocated);
		gp_chrome_fixed(&c->text, ",\"Total Reserved\":");
		gp_chrome_number(&c->text, r->oom.reserved);
	}
	if (kind == GP_TRACE_LOST) {
		gp_chrome_fixed(&c->text, "\"lost memory events\":");
		gp_chrome_number(&c->text, r->lost.memory);
		gp_chrome_fixed(&c->text, ",\"lost launches\":");
		gp_chrome_number(&c->text, r->lost.launch);
		gp_chrome_fixed(&c->text, ",\"lost other events\":");
		gp_chrome_number(&c->text, r->lost.other);
	}
	gp_chrome_fixed(&c->text, "}");
	if (kind == GP_TRACE_OOM || kind == GP_TRACE_FAILED)
		gp_chrome_stack(c, r->stack, e->at_ns);
	gp_chrome_fixed(&c->text, "}");
}

/* Events of spans have their duration. */
static void chrome_span_end(struct gp_trace *t, const struct gp_trace_span *span)
{
	(void)t;
	(void)span;
}

/* ---- files ---- */

static void put_head(struct gp_chrome *c, FILE *out)
{
	const struct gp_export *e = c->trace->e;
	const struct gp_info *info = e->info;
	struct gp_json json;
	gp_json_init(&json, out, 1);
	json.is_foreign = true;
	gp_json_object(&json, NULL);
	gp_json_number(&json, "schemaVersion", 1);
	gp_json_array(&json, "deviceProperties");
	for (size_t k = 0; k < info->devices; k++) {
		gp_json_object(&json, NULL);
		gp_json_number(&json, "id", info->device[k].device);
		gp_json_text(&json, "name", info->device[k].name ? info->device[k].name : "");
		gp_json_number(&json, "totalGlobalMem", info->device[k].total_bytes);
		gp_json_end(&json);
	}
	gp_json_end(&json);
	if (c->has_rank) {
		gp_json_object(&json, "distributedInfo");
		if (c->rank.has_nccl)
			gp_json_text(&json, "backend", "nccl");
		gp_json_number(&json, "rank", c->rank.rank);
		if (c->rank.ranks)
			gp_json_number(&json, "world_size", c->rank.ranks);
		gp_json_end(&json);
	}
	gp_json_text(&json, "displayTimeUnit", "ms");
	gp_json_number(&json, "baseTimeNanoseconds", c->base_ns);
	gp_json_text(&json, "traceName", e->recording_path);
	/* the list follows; the object is ended by hand */
	fputs(", \"traceEvents\": [\n", out);
}

static void chrome_number_row(struct gp_chrome *c, const char *what, uint32_t pid, uint64_t index)
{
	gp_chrome_event(c);
	gp_chrome_fixed(&c->text, "{\"ph\":\"M\",\"name\":\"");
	gp_chrome_long(&c->text, what);
	gp_chrome_fixed(&c->text, "\"");
	gp_chrome_place(c, pid, 0, 0);
	gp_chrome_fixed(&c->text, ",\"args\":{\"sort_index\":");
	gp_chrome_number(&c->text, index);
	gp_chrome_fixed(&c->text, "}}");
}

static void put_processes(struct gp_chrome *c)
{
	char name[256];
	const struct gp_info *info = c->trace->e->info;
	gp_chrome_name_row(c, "process_name", c->pid, 0, c->process);
	for (size_t k = 0; k < info->devices; k++) {
		const unsigned device = info->device[k].device;
		if (!c->trace->gpu.operations || !gp_export_has(c->trace->e, device))
			continue;
		snprintf(name, sizeof name, "GPU %u (%s)", device,
			 info->device[k].name ? info->device[k].name : "");
		gp_chrome_name_row(c, "process_name", device, 0, name);
		chrome_number_row(c, "process_sort_index", device, 5000000u + device);
	}
}

static void begin_file(struct gp_trace *t)
{
	struct gp_chrome *c = t->own;
	char *head = NULL;
	size_t bytes;
	FILE *stream = open_memstream(&head, &bytes);
	c->text.out = t->e->out;
	c->text.written = 0;
	c->has_event = false;
	c->piece++;
	gp_pickle_rows_release(&c->rows);
	if (stream) {
		put_head(c, stream);
		fclose(stream);
	}
	t->is_out_of_memory |= !head;
	if (head)
		gp_chrome_long(&c->text, head);
	free(head);
	put_processes(c);
	for (unsigned device = 0; device <= GP_TRACE_HOST && t->pieces; device++)
		for (unsigned curve = 0; curve < GP_CURVES; curve++)
			if (t->line[device].now_bytes[curve])
				put_counter(t, t->line[device].at_ns, device, curve,
					    t->line[device].now_bytes[curve]);
}

static void end_file(struct gp_trace *t)
{
	struct gp_chrome *c = t->own;
	gp_chrome_reserve(&c->text);
	gp_chrome_fixed(&c->text, "\n]");
	gp_chrome_stacks_end(c);
	gp_chrome_fixed(&c->text, "}\n");
	gp_chrome_flush(&c->text);
}

static uint64_t count_bytes(struct gp_trace *t)
{
	struct gp_chrome *c = t->own;
	return c->text.written + c->text.used + c->frame_bytes;
}

static const struct gp_trace_sink sink = {
	.begin = begin_file,
	.end = end_file,
	.bytes = count_bytes,
	.counter = put_counter,
	.memory = put_memory,
	.call = put_call,
	.mark = put_mark,
	.span_begin = gp_chrome_span,
	.span_end = chrome_span_end,
	.has_annotations = true,
};

static enum gp_status export_chrome_write(struct gp_export *e)
{
	struct gp_chrome *c = calloc(1, sizeof *c);
	struct gp_trace *t = calloc(1, sizeof *t);
	enum gp_status status = GP_E_MEMORY;
	if (c && t) {
		c->trace = t;
		c->pid = e->info->pid;
		c->has_rank = gp_trace_rank(e, &c->rank);
		gp_trace_process_name(e, 0, c->process, sizeof c->process);
		/* a whole second, which a double holds exactly */
		c->base_ns = e->info->start_unix_ns / NS_PER_S * NS_PER_S;
		c->zero_ns = (int64_t)(e->info->start_unix_ns - c->base_ns);
		t->own = c;
		status = gp_trace_write(t, e, &sink);
		gp_pickle_rows_release(&c->quoted);
		gp_pickle_rows_release(&c->kernels);
		gp_pickle_rows_release(&c->rows);
		gp_chrome_stacks_release(c);
	}
	free(c);
	free(t);
	return status;
}

/* In one folder, in which HTA opens all files; torchtitan has the same names. */
static void chrome_rank_name(char out[GP_RANK_NAME_BYTES], uint64_t step, uint32_t rank)
{
	(void)step;
	snprintf(out, GP_RANK_NAME_BYTES, "rank%u_trace.json", rank);
}

const struct gp_export_format gp_export_format_chrome = {
	.name = "chrome",
	.unit = "trace events",
	.opens = "open it at ui.perfetto.dev, or with HTA",
	.is_text = true,
	.rank_name = chrome_rank_name,
	.write = export_chrome_write,
};
