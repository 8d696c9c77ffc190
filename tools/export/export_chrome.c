/*
 * `--format chrome`: JSON trace events in the shape of PyTorch's profiler (Kineto), for HTA,
 * PyTorch's own tools, chrome://tracing and ui.perfetto.dev.
 */
#include <stdlib.h>
#include <string.h>

#include "../io/json.h"
#include "../io/message.h"
#include "trace/chrome_text.h"
#include "trace/trace_process.h"

extern const struct gp_export_format gp_export_format_chrome;

#define NS_PER_S 1000000000
/* Rows that are not threads have numbers above those of Linux. */
#define TID_STEPS 0x10000000u
#define TID_UNCERTAIN 0x10000001u
#define TID_BESIDE 0x20000000u
#define TID_STARTED 0x40000000u

struct chrome {
	struct gp_chrome_text text;
	struct gp_trace *trace;
	int64_t zero_ns; /* of the recording's start, from the base of the file's times */
	uint64_t base_ns;
	uint32_t pid;
	uint32_t rank, ranks;
	bool has_rank;
	char process[256];
	bool has_event;
	unsigned piece; /* from 1 */
	struct gp_pickle_rows quoted, kernels, rows;
};

/* ---- texts ---- */

/* A text as JSON, quotes included. It lives until the next text. */
static const char *quote(struct chrome *c, const char *text)
{
	static char *kept;
	size_t bytes;
	free(kept);
	kept = NULL;
	FILE *stream = open_memstream(&kept, &bytes);
	if (!stream) {
		c->trace->is_out_of_memory = true;
		return "\"\"";
	}
	struct gp_json json;
	gp_json_init(&json, stream, 0);
	json.is_foreign = true;
	gp_json_text(&json, NULL, text);
	if (fclose(stream) || !kept) {
		c->trace->is_out_of_memory = true;
		return "\"\"";
	}
	return kept;
}

/* The same of a text at a place that stays, quoted once. */
static const char *quote_kept(struct chrome *c, const char *text)
{
	struct gp_pickle_row *row = gp_pickle_row_get(&c->quoted, gp_hash_text(text), 0, NULL);
	if (row && !row->text)
		row->text = strdup(quote(c, text));
	if (!row || !row->text) {
		c->trace->is_out_of_memory = true;
		return "\"\"";
	}
	return row->text;
}

static const char *kernel_name(struct chrome *c, uint64_t handle)
{
	char text[1024];
	const struct gp_gpu_function function = { .name = gp_recording_kernel_name(
							  c->trace->e->recording, handle) };
	struct gp_pickle_row *row =
		gp_pickle_row_get(&c->kernels, (uintptr_t)function.name, 0, NULL);
	if (row && !row->text) {
		gp_gpu_function_name(&function, text, sizeof text);
		row->text = strdup(quote(c, text));
	}
	if (!row || !row->text) {
		c->trace->is_out_of_memory = true;
		return "\"\"";
	}
	return row->text;
}

/* ---- events ---- */

static void event_begin(struct chrome *c)
{
	gp_chrome_reserve(&c->text);
	if (c->has_event)
		gp_chrome_fixed(&c->text, ",\n");
	c->has_event = true;
}

static void put_place(struct chrome *c, uint32_t pid, uint32_t tid, int64_t at_ns)
{
	gp_chrome_fixed(&c->text, ",\"pid\":");
	gp_chrome_number(&c->text, pid);
	gp_chrome_fixed(&c->text, ",\"tid\":");
	gp_chrome_number(&c->text, tid);
	gp_chrome_fixed(&c->text, ",\"ts\":");
	gp_chrome_us(&c->text, c->zero_ns + at_ns);
}

static void put_duration(struct chrome *c, int64_t ns)
{
	gp_chrome_fixed(&c->text, ",\"dur\":");
	gp_chrome_us(&c->text, ns);
}

static void put_name_of_row(struct chrome *c, const char *what, uint32_t pid, uint32_t tid,
			    const char *name)
{
	event_begin(c);
	gp_chrome_fixed(&c->text, "{\"ph\":\"M\",\"name\":\"");
	gp_chrome_long(&c->text, what);
	gp_chrome_fixed(&c->text, "\"");
	put_place(c, pid, tid, 0);
	gp_chrome_fixed(&c->text, ",\"args\":{\"name\":");
	gp_chrome_long(&c->text, quote(c, name));
	gp_chrome_fixed(&c->text, "}}");
}

static void put_number_of_row(struct chrome *c, const char *what, uint32_t pid, uint64_t index)
{
	event_begin(c);
	gp_chrome_fixed(&c->text, "{\"ph\":\"M\",\"name\":\"");
	gp_chrome_long(&c->text, what);
	gp_chrome_fixed(&c->text, "\"");
	put_place(c, pid, 0, 0);
	gp_chrome_fixed(&c->text, ",\"args\":{\"sort_index\":");
	gp_chrome_number(&c->text, index);
	gp_chrome_fixed(&c->text, "}}");
}

/* True once a piece for a row of the viewer. */
static bool row_is_new(struct chrome *c, uint32_t pid, uint64_t tid)
{
	struct gp_pickle_row *row = gp_pickle_row_get(&c->rows, pid, tid, NULL);
	if (!row) {
		c->trace->is_out_of_memory = true;
		return false;
	}
	const bool is_new = row->memo == 0;
	row->memo = 1;
	return is_new;
}

/* The number of a thread's row, which gets its name. */
static uint32_t thread_row(struct chrome *c, uint32_t thread)
{
	struct gp_trace *t = c->trace;
	struct gp_trace_thread *of = NULL;
	char name[256];
	const uint32_t index = gp_trace_thread(t, thread);
	if (t->is_out_of_memory)
		return 0;
	of = &t->thread[index];
	if (of->piece == c->piece)
		return of->tid;
	const uint32_t tid = gp_recording_tid(t->e->recording, thread);
	of->piece = c->piece;
	of->tid = tid ? tid : thread;
	gp_trace_thread_name(t->e->recording, thread, tid, name, sizeof name);
	put_name_of_row(c, "thread_name", c->pid, of->tid, name);
	return of->tid;
}

static void put_counter(struct gp_trace *t, int64_t at_ns, unsigned device, unsigned curve,
			uint64_t bytes)
{
	static const char *const names[] = { [GP_CURVE_DRIVER] = "driver",
					     [GP_CURVE_RESERVED] = "reserved",
					     [GP_CURVE_ALLOCATED] = "allocated" };
	struct chrome *c = t->own;
	event_begin(c);
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
	struct chrome *c = t->own;
	const struct gp_event *e = m->event;
	const uint32_t tid = thread_row(c, e->thread);
	const bool has_blocks = t->e->info->framework_events != 0;
	const bool is_host = m->of == GP_TRACE_PINNED;
	event_begin(c);
	gp_chrome_fixed(&c->text,
			"{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":");
	if (is_host)
		gp_chrome_fixed(&c->text, "\"[pinned memory]\"");
	else if (m->of == GP_TRACE_BLOCKS || !has_blocks)
		gp_chrome_fixed(&c->text, "\"[memory]\"");
	else
		gp_chrome_fixed(&c->text, "\"[driver memory]\"");
	put_place(c, c->pid, tid, e->at_ns);
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
	gp_chrome_fixed(&c->text, "}}");
}

static void put_three(struct chrome *c, uint64_t x, uint64_t y, uint64_t z)
{
	gp_chrome_fixed(&c->text, "[");
	gp_chrome_number(&c->text, x);
	gp_chrome_fixed(&c->text, ",");
	gp_chrome_number(&c->text, y);
	gp_chrome_fixed(&c->text, ",");
	gp_chrome_number(&c->text, z);
	gp_chrome_fixed(&c->text, "]");
}

static void put_shape(struct chrome *c, uint64_t grid, uint64_t block)
{
	gp_chrome_fixed(&c->text, ",\"grid\":");
	put_three(c, grid & 0xffffffff, grid >> 32 & 0xffff, grid >> 48);
	gp_chrome_fixed(&c->text, ",\"block\":");
	put_three(c, block & 0xffff, block >> 16 & 0xffff, block >> 32 & 0xffff);
}

/* An arrow from a call to what it started. */
static void put_flow(struct chrome *c, bool is_end, uint32_t pid, uint32_t tid, int64_t at_ns,
		     uint32_t id)
{
	event_begin(c);
	if (is_end)
		gp_chrome_fixed(&c->text, "{\"ph\":\"f\",\"bp\":\"e\",\"id\":");
	else
		gp_chrome_fixed(&c->text, "{\"ph\":\"s\",\"id\":");
	gp_chrome_number(&c->text, id);
	gp_chrome_fixed(&c->text, ",\"cat\":\"ac2g\",\"name\":\"ac2g\"");
	put_place(c, pid, tid, at_ns);
	gp_chrome_fixed(&c->text, "}");
}

static void put_call(struct gp_trace *t, const struct gp_trace_call *call)
{
	struct chrome *c = t->own;
	const struct gp_record *r = &call->event->record;
	const uint32_t tid = thread_row(c, call->event->thread);
	const char *kernel = r->kind == GP_LAUNCH ? kernel_name(c, r->launch.kernel) : NULL;
	event_begin(c);
	gp_chrome_fixed(&c->text, "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"");
	gp_chrome_long(&c->text, gp_trace_call_name(r));
	gp_chrome_fixed(&c->text, "\"");
	put_place(c, c->pid, tid, call->begin_ns);
	put_duration(c, call->end_ns - call->begin_ns);
	gp_chrome_fixed(&c->text, ",\"args\":{\"External id\":");
	gp_chrome_number(&c->text, call->launch ? call->launch->call : 0);
	if (call->operation) {
		gp_chrome_fixed(&c->text, ",\"correlation\":");
		gp_chrome_number(&c->text, call->operation->correlation);
	}
	if (kernel) {
		gp_chrome_fixed(&c->text, ",\"kernel\":");
		gp_chrome_long(&c->text, kernel);
		put_shape(c, r->launch.grid, r->launch.block);
		if (gp_launched_as(r) == GP_LAUNCHED_CAPTURED)
			gp_chrome_fixed(&c->text, ",\"captured\":true");
	}
	if (r->kind == GP_COPY) {
		gp_chrome_fixed(&c->text, ",\"bytes\":");
		gp_chrome_number(&c->text, r->copy.bytes);
	}
	gp_chrome_fixed(&c->text, "}}");
	if (call->operation)
		put_flow(c, false, c->pid, tid, call->begin_ns, call->operation->correlation);
}

static void put_mark(struct gp_trace *t, const struct gp_event *e, enum gp_trace_mark kind)
{
	struct chrome *c = t->own;
	const struct gp_record *r = &e->record;
	const uint32_t tid = thread_row(c, e->thread);
	const char *name = quote_kept(c, gp_trace_mark_name(t, e, kind));
	event_begin(c);
	gp_chrome_fixed(&c->text,
			"{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"p\",\"name\":");
	gp_chrome_long(&c->text, name);
	put_place(c, c->pid, tid, e->at_ns);
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
	gp_chrome_fixed(&c->text, "}}");
}

/* ---- spans ---- */

static void put_operation(struct chrome *c, const struct gp_trace_span *span)
{
	char name[1024];
	const struct gp_trace *t = c->trace;
	const struct gp_gpu_operation *op = &t->gpu.operation[span->number];
	const struct gp_gpu_launch *launch =
		op->launch == GP_GPU_NO_LAUNCH ? NULL : &t->gpu.launch[op->launch];
	/* lanes of a stream beyond the first have rows of their own */
	const uint32_t tid = op->stream + (span->lane & 7) * TID_STEPS;
	if (row_is_new(c, op->device, tid)) {
		snprintf(name, sizeof name, "stream %u%s", op->stream,
			 span->lane ? ", beside it" : "");
		put_name_of_row(c, "thread_name", op->device, tid, name);
	}
	gp_trace_operation_name(t, op, name, sizeof name);
	event_begin(c);
	gp_chrome_fixed(&c->text, "{\"ph\":\"X\",\"cat\":\"");
	gp_chrome_long(&c->text, gp_trace_operation_category(op));
	gp_chrome_fixed(&c->text, "\",\"name\":");
	gp_chrome_long(&c->text, quote_kept(c, name));
	put_place(c, op->device, tid, span->begin_ns);
	put_duration(c, span->end_ns - span->begin_ns);
	gp_chrome_fixed(&c->text, ",\"args\":{\"External id\":");
	gp_chrome_number(&c->text, launch ? launch->call : 0);
	gp_chrome_fixed(&c->text, ",\"device\":");
	gp_chrome_number(&c->text, op->device);
	gp_chrome_fixed(&c->text, ",\"context\":");
	gp_chrome_number(&c->text, op->context);
	gp_chrome_fixed(&c->text, ",\"stream\":");
	gp_chrome_number(&c->text, op->stream);
	gp_chrome_fixed(&c->text, ",\"correlation\":");
	gp_chrome_number(&c->text, op->correlation);
	if (op->kind != GP_GPU_IS_KERNEL) {
		gp_chrome_fixed(&c->text, ",\"bytes\":");
		gp_chrome_number(&c->text, op->bytes);
	} else if (op->function < t->gpu.functions &&
		   gp_gpu_has_shape(&t->gpu.function[op->function])) {
		const struct gp_gpu_function *f = &t->gpu.function[op->function];
		gp_chrome_fixed(&c->text, ",\"registers per thread\":");
		gp_chrome_number(&c->text, f->registers);
		gp_chrome_fixed(&c->text, ",\"shared memory\":");
		gp_chrome_number(&c->text, (uint64_t)f->static_shared + f->dynamic_shared);
		put_shape(c, f->grid, f->block);
	}
	gp_chrome_fixed(&c->text, "}}");
	if (launch)
		put_flow(c, true, op->device, tid, span->begin_ns, op->correlation);
}

static void put_annotation(struct chrome *c, const struct gp_trace_span *span, uint32_t tid,
			   const char *name, const char *source)
{
	event_begin(c);
	gp_chrome_fixed(&c->text, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":");
	gp_chrome_long(&c->text, name);
	put_place(c, c->pid, tid, span->begin_ns);
	put_duration(c, span->end_ns - span->begin_ns);
	gp_chrome_fixed(&c->text, ",\"args\":{\"External id\":");
	gp_chrome_number(&c->text, span->of == GP_TRACE_STEP ? 0 : span->number);
	if (source) {
		gp_chrome_fixed(&c->text, ",\"source\":\"");
		gp_chrome_long(&c->text, source);
		gp_chrome_fixed(&c->text, "\"");
	}
	gp_chrome_fixed(&c->text, "}}");
}

static void put_range(struct chrome *c, const struct gp_trace_span *span)
{
	char name[1200];
	const struct gp_range_path *path = gp_range_calls_path(&c->trace->calls, span->number);
	uint32_t tid = thread_row(c, span->place);
	if (span->of == GP_TRACE_STARTED || span->lane) {
		const bool is_started = span->of == GP_TRACE_STARTED;
		tid = (tid & 0x3fffff) | (span->lane & 63) << 22 |
		      (is_started ? TID_STARTED : TID_BESIDE);
		if (row_is_new(c, c->pid, tid))
			put_name_of_row(c, "thread_name", c->pid, tid,
					is_started ? "started ranges" : "overlapping ranges");
	}
	gp_trace_range_name(path, name, sizeof name);
	put_annotation(c, span, tid, quote_kept(c, name), gp_range_source_name(path->source));
}

static void put_span_begin(struct gp_trace *t, const struct gp_trace_span *span)
{
	char name[64];
	struct chrome *c = t->own;
	switch (span->of) {
	case GP_TRACE_OPERATION:
		put_operation(c, span);
		break;
	case GP_TRACE_STEP:
		if (row_is_new(c, c->pid, TID_STEPS))
			put_name_of_row(c, "thread_name", c->pid, TID_STEPS, "steps");
		snprintf(name, sizeof name, "\"ProfilerStep#%u\"", span->number + 1);
		put_annotation(c, span, TID_STEPS, name, NULL);
		break;
	case GP_TRACE_UNCERTAIN:
		if (row_is_new(c, c->pid, TID_UNCERTAIN))
			put_name_of_row(c, "thread_name", c->pid, TID_UNCERTAIN, "uncertain");
		put_annotation(c, span, TID_UNCERTAIN, "\"events are missing\"", NULL);
		break;
	default:
		put_range(c, span);
		break;
	}
}

/* Events of spans have their duration. */
static void put_span_end(struct gp_trace *t, const struct gp_trace_span *span)
{
	(void)t;
	(void)span;
}

/* ---- files ---- */

static void put_head(struct chrome *c, FILE *out)
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
		gp_json_text(&json, "backend", "nccl");
		gp_json_number(&json, "rank", c->rank);
		gp_json_number(&json, "world_size", c->ranks);
		gp_json_end(&json);
	}
	gp_json_text(&json, "displayTimeUnit", "ms");
	gp_json_number(&json, "baseTimeNanoseconds", c->base_ns);
	gp_json_text(&json, "traceName", e->recording_path);
	/* the list follows; the object is ended by hand */
	fputs(", \"traceEvents\": [\n", out);
}

static void put_processes(struct chrome *c)
{
	char name[256];
	const struct gp_info *info = c->trace->e->info;
	put_name_of_row(c, "process_name", c->pid, 0, c->process);
	for (size_t k = 0; k < info->devices; k++) {
		const unsigned device = info->device[k].device;
		if (!c->trace->gpu.operations || !gp_export_has(c->trace->e, device))
			continue;
		snprintf(name, sizeof name, "GPU %u (%s)", device,
			 info->device[k].name ? info->device[k].name : "");
		put_name_of_row(c, "process_name", device, 0, name);
		put_number_of_row(c, "process_sort_index", device, 5000000u + device);
	}
}

static void begin_file(struct gp_trace *t)
{
	struct chrome *c = t->own;
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
	struct chrome *c = t->own;
	gp_chrome_reserve(&c->text);
	gp_chrome_fixed(&c->text, "\n]}\n");
	gp_chrome_flush(&c->text);
}

static uint64_t count_bytes(struct gp_trace *t)
{
	struct chrome *c = t->own;
	return c->text.written + c->text.used;
}

static const struct gp_trace_sink sink = {
	.begin = begin_file,
	.end = end_file,
	.bytes = count_bytes,
	.counter = put_counter,
	.memory = put_memory,
	.call = put_call,
	.mark = put_mark,
	.span_begin = put_span_begin,
	.span_end = put_span_end,
};

static enum gp_status export_chrome_write(struct gp_export *e)
{
	struct chrome *c = calloc(1, sizeof *c);
	struct gp_trace *t = calloc(1, sizeof *t);
	enum gp_status status = GP_E_MEMORY;
	if (c && t) {
		c->trace = t;
		c->pid = e->info->pid;
		c->has_rank = gp_trace_rank(e->recording, e->info, &c->rank, &c->ranks);
		gp_trace_process_name(e, 0, c->process, sizeof c->process);
		/* a whole second, which a double holds exactly */
		c->base_ns = e->info->start_unix_ns / NS_PER_S * NS_PER_S;
		c->zero_ns = (int64_t)(e->info->start_unix_ns - c->base_ns);
		t->own = c;
		status = gp_trace_write(t, e, &sink);
		gp_pickle_rows_release(&c->quoted);
		gp_pickle_rows_release(&c->kernels);
		gp_pickle_rows_release(&c->rows);
	}
	free(c);
	free(t);
	return status;
}

const struct gp_export_format gp_export_format_chrome = {
	.name = "chrome",
	.unit = "trace events",
	.opens = "open it at ui.perfetto.dev, or with HTA",
	.is_text = true,
	.write = export_chrome_write,
};
