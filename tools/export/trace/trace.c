/*
 * The replay of a trace. Curves of devices are compared before and after each event, so an event
 * that changes a curve in any way is shown with exactly that change.
 */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#include "../../io/message.h"
#include "../../report/report.h"
#include "trace_spans.h"

/* Viewers end at 1.2 GB and more; a piece of a file has less than half of that. */
#ifndef GP_TRACE_PIECE_BYTES
#define GP_TRACE_PIECE_BYTES (500u << 20)
#endif
#define PIECES_MOST 990u

/* ---- curves ---- */

static int64_t line_time(struct gp_trace_line *line, int64_t at_ns)
{
	if (line->is_seen && at_ns < line->at_ns)
		at_ns = line->at_ns;
	line->is_seen = true;
	return line->at_ns = at_ns;
}

static void show_line(struct gp_trace *t, unsigned device, const uint64_t *now, unsigned curves,
		      int64_t at_ns)
{
	struct gp_trace_line *line = &t->line[device];
	for (unsigned c = 0; c < curves; c++) {
		if (now[c] == line->now_bytes[c])
			continue;
		line->now_bytes[c] = now[c];
		if (!t->is_begun || at_ns > t->e->to_ns)
			continue;
		t->sink->counter(t, line_time(line, at_ns), device, c, now[c]);
		t->e->entries++;
	}
}

static void show_curves(struct gp_trace *t, int64_t at_ns, uint64_t devices, bool has_host)
{
	uint64_t now[GP_CURVES];
	for (; devices; devices &= devices - 1) {
		const unsigned device = (unsigned)__builtin_ctzll(devices);
		if (gp_export_has(t->e, device) &&
		    gp_recording_curves_now(t->e->recording, device, now))
			show_line(t, device, now, GP_CURVES, at_ns);
	}
	if (has_host && t->e->device == GP_DEVICE_UNKNOWN &&
	    gp_recording_host_now(t->e->recording, now))
		show_line(t, GP_TRACE_HOST, now, 2, at_ns);
}

/* The state before the first event of the span. */
static void trace_enter(struct gp_trace *t)
{
	const int64_t kept_ns = (int64_t)t->e->info->kept_from_ns;
	const int64_t at_ns = t->e->from_ns > kept_ns ? t->e->from_ns : kept_ns;
	t->is_begun = true;
	for (unsigned device = 0; device <= GP_TRACE_HOST; device++)
		for (unsigned c = 0; c < GP_CURVES; c++) {
			struct gp_trace_line *line = &t->line[device];
			if (!line->now_bytes[c])
				continue;
			t->sink->counter(t, line_time(line, at_ns), device, c, line->now_bytes[c]);
			t->e->entries++;
		}
}

/* ---- memory ---- */

static void show_memory(struct gp_trace *t, const struct gp_event *e, enum gp_trace_of of,
			unsigned device, bool is_free, uint64_t bytes, const uint64_t *now)
{
	const struct gp_trace_memory m = { .event = e,
					   .of = of,
					   .is_free = is_free,
					   .device = device,
					   .bytes = bytes,
					   .now_bytes = now };
	t->sink->memory(t, &m);
	t->e->entries++;
}

static void show_block(struct gp_trace *t, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	uint64_t now[GP_CURVES];
	if (!gp_export_has(t->e, r->device)) {
		t->left_out += r->device >= t->e->devices;
		return;
	}
	gp_recording_curves_now(t->e->recording, r->device, now);
	if (r->kind == GP_BLOCK_ALLOC)
		show_memory(t, e, GP_TRACE_BLOCKS, r->device, false, r->block_alloc.bytes, now);
	else
		show_memory(t, e, GP_TRACE_BLOCKS, r->device, true, r->block_free.bytes, now);
}

static bool is_host(const struct gp_record *r)
{
	return r->space == GP_SPACE_HOST || r->space == GP_SPACE_HOST_REGISTER;
}

/* A call of the driver: by how much it changed a curve, before show_curves. */
static void show_driver(struct gp_trace *t, const struct gp_event *e, bool is_free,
			uint64_t devices, bool has_host)
{
	uint64_t now[GP_CURVES] = { 0 };
	const struct gp_record *r = &e->record;
	unsigned device = r->device;
	if ((is_host(r) || (has_host && !devices)) && t->e->device == GP_DEVICE_UNKNOWN) {
		const uint64_t before = t->line[GP_TRACE_HOST].now_bytes[GP_HOST_PINNED];
		gp_recording_host_now(t->e->recording, now);
		const uint64_t bytes = is_free ? before - now[0] : now[0] - before;
		show_memory(t, e, GP_TRACE_PINNED, GP_TRACE_HOST, is_free, bytes >> 63 ? 0 : bytes,
			    now);
		return;
	}
	/* the device whose curve moved; an event may have another one, or none */
	if (devices && !(device < GP_DEVICES && devices >> device & 1))
		device = (unsigned)__builtin_ctzll(devices);
	if (is_host(r) || !gp_export_has(t->e, device)) {
		t->left_out += !is_host(r) && device >= t->e->devices;
		return;
	}
	gp_recording_curves_now(t->e->recording, device, now);
	const uint64_t before = t->line[device].now_bytes[GP_CURVE_DRIVER];
	const uint64_t bytes =
		is_free ? before - now[GP_CURVE_DRIVER] : now[GP_CURVE_DRIVER] - before;
	show_memory(t, e, GP_TRACE_DRIVER, device, is_free, bytes >> 63 ? 0 : bytes, now);
}

/* ---- calls ---- */

uint32_t gp_trace_thread(struct gp_trace *t, uint32_t thread)
{
	if (t->last_thread < t->threads && t->thread[t->last_thread].thread == thread)
		return t->last_thread;
	struct gp_pickle_row *row = gp_pickle_row_get(&t->thread_rows, thread, 0, NULL);
	if (!row || !gp_trace_grow(t, &t->thread, &t->thread_room, t->threads, sizeof *t->thread)) {
		t->is_out_of_memory = true;
		return 0;
	}
	if (!row->memo) {
		t->thread[t->threads++] =
			(struct gp_trace_thread){ .thread = thread, .call_ns = INT64_MIN };
		row->memo = (uint32_t)t->threads;
	}
	return t->last_thread = row->memo - 1;
}

/* Durations are rounded; calls of a thread follow each other nevertheless. */
static void call_place(struct gp_trace *t, struct gp_trace_call *call)
{
	struct gp_trace_thread *thread = &t->thread[gp_trace_thread(t, call->event->thread)];
	if (call->begin_ns < thread->call_ns)
		call->begin_ns = thread->call_ns < call->end_ns ? thread->call_ns : call->end_ns;
	thread->call_ns = call->end_ns;
}

static void call_join(struct gp_trace *t, struct gp_trace_call *call)
{
	const struct gp_gpu *gpu = &t->gpu;
	while (t->launch_next < gpu->launches &&
	       gpu->launch[t->launch_at[t->launch_next]].event < t->seen)
		t->launch_next++;
	if (t->launch_next == gpu->launches)
		return;
	const uint32_t number = t->launch_at[t->launch_next];
	if (gpu->launch[number].event != t->seen)
		return;
	call->launch = &gpu->launch[number];
	if (t->operation_of[number] != GP_TRACE_NONE)
		call->operation = &gpu->operation[t->operation_of[number]];
}

/* `took_ns` up to the event, or from it on; 0, -1: unknown. */
static void show_call(struct gp_trace *t, const struct gp_event *e, int64_t took_ns, bool is_begin)
{
	struct gp_trace_call call = { .event = e, .begin_ns = e->at_ns, .end_ns = e->at_ns };
	if (took_ns > 0 && is_begin)
		call.end_ns += took_ns;
	else if (took_ns > 0)
		call.begin_ns -= took_ns;
	gp_trace_thread(t, e->thread);
	if (t->is_out_of_memory)
		return;
	call_place(t, &call);
	call_join(t, &call);
	t->sink->call(t, &call);
	t->e->entries++;
}

static void show_mark(struct gp_trace *t, const struct gp_event *e, enum gp_trace_mark kind)
{
	t->sink->mark(t, e, kind);
	t->e->entries++;
}

static void show_event(struct gp_trace *t, const struct gp_event *e, uint64_t devices,
		       bool has_host)
{
	const struct gp_record *r = &e->record;
	switch (r->kind) {
	case GP_BLOCK_ALLOC:
	case GP_BLOCK_FREE:
		show_block(t, e);
		break;
	case GP_LAUNCH:
		show_call(t, e, 0, true);
		break;
	case GP_GRAPH_LAUNCH:
		show_call(t, e, gp_took_ns(t->e->recording, r, r->graph_launch.took), true);
		break;
	case GP_COPY:
	case GP_WAIT:
		show_call(t, e, gp_call_took_ns(t->e->recording, r), false);
		break;
	case GP_ALLOC:
	case GP_MAP:
	case GP_FREE_FAILED:
	case GP_UNMAP_FAILED:
		show_driver(t, e, false, devices, has_host);
		break;
	case GP_FREE:
	case GP_UNMAP:
	case GP_OWNER_GONE:
		show_driver(t, e, true, devices, has_host);
		break;
	case GP_OOM:
		show_mark(t, e, GP_TRACE_OOM);
		break;
	case GP_ALLOC_FAILED:
		show_mark(t, e, GP_TRACE_FAILED);
		break;
	case GP_GAP:
		show_mark(t, e, GP_TRACE_GAP);
		break;
	case GP_SCOPE:
		show_mark(t, e, GP_TRACE_SCOPE);
		break;
	case GP_LOST:
		show_mark(t, e, GP_TRACE_LOST);
		break;
	case GP_CAPTURE_BEGIN:
	case GP_CAPTURE_END:
	case GP_CAPTURE_ERROR:
		show_mark(t, e, GP_TRACE_CAPTURE);
		break;
	case GP_MARK:
		show_mark(t, e, GP_TRACE_MARK);
		break;
	case GP_SNAPSHOT:
		show_mark(t, e, GP_TRACE_SNAPSHOT);
		break;
	default:
		break;
	}
}

/* ---- spans ---- */

static void spans_pass(struct gp_trace *t, int64_t until_ns)
{
	for (;;) {
		const struct gp_trace_span *next = t->next < t->spans ? &t->span[t->next] : NULL;
		const struct gp_trace_span *first = t->opens ? &t->span[t->open[0]] : NULL;
		if (first && first->end_ns <= until_ns &&
		    (!next || first->end_ns <= next->begin_ns)) {
			gp_trace_open_take(t);
			t->sink->span_end(t, first);
		} else if (next && next->begin_ns <= until_ns) {
			gp_trace_open_put(t, (uint32_t)t->next++);
			t->sink->span_begin(t, next);
			t->e->entries++;
		} else {
			return;
		}
	}
}

uint32_t *gp_trace_open_spans(struct gp_trace *t, size_t *count)
{
	uint32_t *list = t->opens ? malloc(t->opens * sizeof *list) : NULL;
	*count = list ? t->opens : 0;
	if (list)
		memcpy(list, t->open, t->opens * sizeof *list);
	if (list)
		gp_trace_sort_numbers(list, t->opens);
	return list;
}

/* ---- the replay ---- */

static void begin_piece_if_full(struct gp_trace *t)
{
	if (!t->e->path || t->pieces >= PIECES_MOST || t->sink->bytes(t) < GP_TRACE_PIECE_BYTES)
		return;
	t->sink->end(t);
	t->pieces++;
	gp_export_piece(t->e); /* on failure the command ends with an error */
	t->sink->begin(t);
}

static void trace_see(struct gp_trace *t, const struct gp_event *e)
{
	uint64_t devices;
	bool has_host;
	const unsigned kind = e->record.kind;
	const bool has_moment = kind == GP_LOST || gp_has_moment(kind);
	t->seen++;
	gp_recording_take_moved(t->e->recording, &devices, &has_host);
	if (has_moment && !t->is_begun && kind != GP_LOST && e->at_ns >= t->e->from_ns)
		trace_enter(t);
	if (has_moment && t->is_begun && e->at_ns <= t->e->to_ns) {
		t->now_ns = e->at_ns;
		spans_pass(t, e->at_ns);
		show_event(t, e, devices, has_host);
		begin_piece_if_full(t);
	}
	if (devices | (uint64_t)has_host)
		show_curves(t, e->at_ns, devices, has_host);
}

static enum gp_status trace_replay(struct gp_trace *t)
{
	struct gp_recording *recording = t->e->recording;
	struct gp_event e;
	uint64_t devices;
	bool has_host;
	enum gp_status status = gp_recording_rewind(recording);
	if (status == GP_OK) {
		gp_recording_take_moved(recording, &devices, &has_host);
		show_curves(t, 0, devices, has_host);
	}
	while (status == GP_OK) {
		status = gp_recording_next(recording, &e);
		if (status == GP_OK)
			trace_see(t, &e);
		if (t->is_out_of_memory)
			return GP_E_MEMORY;
	}
	if (status == GP_END && !t->is_begun)
		trace_enter(t);
	if (status == GP_END)
		spans_pass(t, INT64_MAX);
	return status == GP_END ? GP_OK : status;
}

/* ---- the whole ---- */

static enum gp_status trace_read(struct gp_trace *t)
{
	const struct gp_info *info = t->e->info;
	enum gp_status status = GP_OK;
	if (t->e->has_stacks)
		status = gp_stack_epochs_open(t->e->recording, &t->epochs);
	const bool has_ranges = info->has_named || info->has_stacks || info->has_backward;
	if (status == GP_OK && (has_ranges || info->kept[GP_GPU_KERNEL] || info->kept[GP_GPU_COPY]))
		status = gp_gpu_build(t->e->recording, has_ranges, &t->gpu);
	if (status == GP_OK && has_ranges)
		t->call = gp_range_paths_calls(t->gpu.ranges, &t->calls);
	if (status == GP_OK)
		status = gp_steps_find(t->e->recording, &t->steps);
	if (status == GP_OK)
		status = gp_trace_spans_build(t);
	gp_steps_free(&t->steps);
	return status;
}

static void print_limits(const struct gp_trace *t)
{
	const struct gp_info *info = t->e->info;
	const char *path = t->e->recording_path;
	const uint64_t ranges_beyond = t->call ? gp_range_paths_beyond(t->gpu.ranges) : 0;
	if (!t->gpu.has_operations)
		gp_error("'%s': no times of the GPU: %s", path,
			 t->gpu.why ? t->gpu.why : "gpuprof run --gpu-time records them");
	if (t->without_clock)
		gp_error("%s without a time on the recording's clock: left out",
			 gp_plural(t->without_clock, "operation of the GPU").s);
	if (t->gpu.beyond)
		gp_error("%s beyond the memory for a report: left out",
			 gp_plural(t->gpu.beyond, "operation of the GPU").s);
	if (ranges_beyond)
		gp_error("%s beyond the memory for a report: left out",
			 gp_plural(ranges_beyond, "range").s);
	if (t->annotations_beyond)
		gp_error("%s in too many ranges: some ranges on streams lack them",
			 gp_plural(t->annotations_beyond, "operation of the GPU").s);
	if (t->left_out)
		gp_error("%s of unknown devices: left out", gp_plural(t->left_out, "event").s);
	if (info->lost_launch || info->lost_other)
		gp_error(
			"%s lost: the file has marks there",
			gp_plural(info->lost_launch + info->lost_other, "launch or other event").s);
}

enum gp_status gp_trace_write(struct gp_trace *t, struct gp_export *e,
			      const struct gp_trace_sink *sink)
{
	void *own = t->own;
	*t = (struct gp_trace){ .e = e, .sink = sink, .own = own };
	enum gp_status status = trace_read(t);
	if (status == GP_OK) {
		sink->begin(t);
		status = trace_replay(t);
	}
	if (status == GP_OK) {
		sink->end(t);
		print_limits(t);
	}
	if (t->is_out_of_memory && status == GP_OK)
		status = GP_E_MEMORY;
	gp_trace_spans_release(t);
	gp_gpu_free(&t->gpu);
	gp_stack_epochs_close(t->epochs);
	return status;
}
