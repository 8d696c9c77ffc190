/*
 * `--format perfetto`: a trace of TrackEvents for ui.perfetto.dev and trace_processor. Each
 * recording is a process with a packet sequence of its own. Its tracks and interned texts are
 * repeated in each piece of the file.
 */
#include <stdlib.h>
#include <string.h>

#include "../io/message.h"
#include "../report/report.h"
#include "trace/perfetto_packets.h"

extern const struct gp_export_format gp_export_format_perfetto;

/* Of all recordings of the command. */
static struct gp_perfetto_hosts hosts;

static void put_counter(struct gp_trace *t, int64_t at_ns, unsigned device, unsigned curve,
			uint64_t bytes)
{
	struct gp_perfetto *p = t->own;
	const uint64_t track = gp_perfetto_counter_track(p, device, curve);
	const size_t packet = gp_perfetto_packet(p, at_ns);
	const size_t event = gp_protobuf_begin(&p->out, PACKET_TRACK_EVENT);
	gp_protobuf_number(&p->out, EVENT_TYPE, TYPE_COUNTER);
	gp_protobuf_number(&p->out, EVENT_TRACK, track);
	gp_protobuf_number(&p->out, EVENT_COUNTER_VALUE, bytes);
	gp_protobuf_end(&p->out, event);
	gp_perfetto_packet_end(p, packet);
}

static void put_memory(struct gp_trace *t, const struct gp_trace_memory *m)
{
	struct gp_perfetto *p = t->own;
	const struct gp_record *r = &m->event->record;
	const uint64_t track = gp_perfetto_memory_track(p, m);
	const uint64_t name = gp_perfetto_kind_name(p, r->kind);
	const uint64_t stack = gp_perfetto_stack(p, r->stack, m->event->at_ns);
	const size_t packet = gp_perfetto_packet(p, m->event->at_ns);
	const size_t event = gp_perfetto_event(p, TYPE_INSTANT, track, CATEGORY_MEMORY);
	gp_protobuf_number(&p->out, EVENT_NAME, name);
	if (stack)
		gp_protobuf_number(&p->out, EVENT_CALLSTACK, stack);
	gp_protobuf_number(&p->out, EVENT_CALLSTACK_WEIGHT, m->bytes);
	gp_perfetto_note(p, NOTE_BYTES, m->bytes);
	gp_perfetto_note_pointer(p, NOTE_ADDRESS, r->v[0]);
	gp_perfetto_note(p, NOTE_THREAD, m->event->tid ? m->event->tid : m->event->thread);
	gp_protobuf_end(&p->out, event);
	gp_perfetto_packet_end(p, packet);
}

static void put_launch_notes(struct gp_perfetto *p, const struct gp_record *r)
{
	if (r->kind != GP_LAUNCH)
		return;
	gp_perfetto_note(p, NOTE_GRID_X, r->launch.grid & 0xffffffff);
	gp_perfetto_note(p, NOTE_GRID_Y, r->launch.grid >> 32 & 0xffff);
	gp_perfetto_note(p, NOTE_GRID_Z, r->launch.grid >> 48);
	gp_perfetto_note(p, NOTE_BLOCK_X, r->launch.block & 0xffff);
	gp_perfetto_note(p, NOTE_BLOCK_Y, r->launch.block >> 16 & 0xffff);
	gp_perfetto_note(p, NOTE_BLOCK_Z, r->launch.block >> 32 & 0xffff);
	gp_perfetto_note(p, NOTE_SHARED, r->aux);
}

static void put_call(struct gp_trace *t, const struct gp_trace_call *call)
{
	struct gp_perfetto *p = t->own;
	const struct gp_record *r = &call->event->record;
	const bool is_slice = call->begin_ns < call->end_ns;
	const uint64_t track = gp_perfetto_thread_track(p, call->event->thread);
	const uint64_t name = r->kind == GP_LAUNCH ? gp_perfetto_kernel(p, r->launch.kernel) :
						     gp_perfetto_name(p, gp_trace_call_name(r));
	const uint64_t stack = gp_perfetto_stack(p, r->stack, call->event->at_ns);
	const size_t packet = gp_perfetto_packet(p, call->begin_ns);
	const size_t event = gp_perfetto_event(p, is_slice ? TYPE_SLICE_BEGIN : TYPE_INSTANT, track,
					       r->kind == GP_WAIT ? CATEGORY_WAIT :
					       r->kind == GP_COPY ? CATEGORY_COPY :
								    CATEGORY_LAUNCH);
	gp_protobuf_number(&p->out, EVENT_NAME, name);
	if (stack)
		gp_protobuf_number(&p->out, EVENT_CALLSTACK, stack);
	put_launch_notes(p, r);
	if (r->kind == GP_LAUNCH && gp_launched_as(r) == GP_LAUNCHED_CAPTURED)
		gp_perfetto_note(p, NOTE_CAPTURED, 1);
	if (r->kind == GP_COPY)
		gp_perfetto_note(p, NOTE_BYTES, r->copy.bytes);
	if (r->kind != GP_WAIT)
		gp_perfetto_note_pointer(p, NOTE_STREAM,
					 r->kind == GP_COPY   ? r->copy.stream :
					 r->kind == GP_LAUNCH ? r->launch.stream :
								r->graph_launch.stream);
	if (call->operation) {
		gp_perfetto_note(p, NOTE_CORRELATION, call->operation->correlation);
		gp_protobuf_fixed64(&p->out, EVENT_FLOW,
				    p->base | (call->operation->launch + UINT64_C(1)));
	}
	gp_protobuf_end(&p->out, event);
	gp_perfetto_packet_end(p, packet);
	if (is_slice)
		gp_perfetto_slice_end(p, call->end_ns, track);
}

static void put_mark(struct gp_trace *t, const struct gp_event *e, enum gp_trace_mark kind)
{
	struct gp_perfetto *p = t->own;
	const struct gp_record *r = &e->record;
	const bool is_of_thread = kind == GP_TRACE_CAPTURE || kind == GP_TRACE_MARK;
	const uint64_t track =
		is_of_thread ? gp_perfetto_thread_track(p, e->thread) : gp_perfetto_mark_track(p);
	const uint64_t iid = gp_perfetto_name(p, gp_trace_mark_name(t, e, kind));
	const uint64_t stack = gp_perfetto_stack(p, r->stack, e->at_ns);
	const size_t packet = gp_perfetto_packet(p, e->at_ns);
	const size_t event = gp_perfetto_event(p, TYPE_INSTANT, track, CATEGORY_MARK);
	gp_protobuf_number(&p->out, EVENT_NAME, iid);
	if (stack)
		gp_protobuf_number(&p->out, EVENT_CALLSTACK, stack);
	if (kind == GP_TRACE_OOM || kind == GP_TRACE_FAILED) {
		gp_perfetto_note(p, NOTE_BYTES,
				 kind == GP_TRACE_OOM ? r->oom.bytes : r->alloc_failed.bytes);
		gp_perfetto_note(p, NOTE_DEVICE, r->device);
	}
	if (kind == GP_TRACE_FAILED || r->kind == GP_CAPTURE_ERROR)
		gp_perfetto_note(p, NOTE_CODE, r->code);
	if (kind == GP_TRACE_LOST) {
		gp_perfetto_note(p, NOTE_LOST_MEMORY, r->lost.memory);
		gp_perfetto_note(p, NOTE_LOST_LAUNCHES, r->lost.launch);
		gp_perfetto_note(p, NOTE_LOST_OTHER, r->lost.other);
	}
	gp_protobuf_end(&p->out, event);
	gp_perfetto_packet_end(p, packet);
}

/* ---- spans ---- */

static void put_operation(struct gp_perfetto *p, const struct gp_gpu_operation *op)
{
	const struct gp_gpu *gpu = &p->trace->gpu;
	gp_perfetto_note(p, NOTE_CORRELATION, op->correlation);
	if (op->kind != GP_GPU_IS_KERNEL) {
		gp_perfetto_note(p, NOTE_BYTES, op->bytes);
	} else if (op->function < gpu->functions) {
		const struct gp_gpu_function *f = &gpu->function[op->function];
		if (gp_gpu_has_shape(f)) {
			gp_perfetto_note(p, NOTE_GRID_X, f->grid & 0xffffffff);
			gp_perfetto_note(p, NOTE_GRID_Y, f->grid >> 32 & 0xffff);
			gp_perfetto_note(p, NOTE_GRID_Z, f->grid >> 48);
			gp_perfetto_note(p, NOTE_BLOCK_X, f->block & 0xffff);
			gp_perfetto_note(p, NOTE_BLOCK_Y, f->block >> 16 & 0xffff);
			gp_perfetto_note(p, NOTE_BLOCK_Z, f->block >> 32 & 0xffff);
			gp_perfetto_note(p, NOTE_REGISTERS, f->registers);
			gp_perfetto_note(p, NOTE_SHARED,
					 (uint64_t)f->static_shared + f->dynamic_shared);
		}
	}
	if (op->launch != GP_GPU_NO_LAUNCH)
		gp_protobuf_fixed64(&p->out, EVENT_TERMINATING_FLOW,
				    p->base | (op->launch + UINT64_C(1)));
}

/* 0: `text` has the name. Each step has another name, so interning them would only take memory. */
static uint64_t span_name(struct gp_perfetto *p, const struct gp_trace_span *span, char *text,
			  size_t room)
{
	const struct gp_trace *t = p->trace;
	switch (span->of) {
	case GP_TRACE_RANGE:
	case GP_TRACE_STARTED:
		gp_trace_range_name(gp_trace_range(t, span), text, room);
		break;
	case GP_TRACE_STEP:
		snprintf(text, room, "step %u", span->number + 1);
		return 0;
	case GP_TRACE_OPERATION:
		return gp_perfetto_operation(p, &t->gpu.operation[span->number]);
	default:
		snprintf(text, room, "events are missing");
		break;
	}
	return gp_perfetto_name(p, text);
}

static void put_span(struct gp_perfetto *p, const struct gp_trace_span *span, int64_t at_ns)
{
	static const unsigned categories[GP_TRACE_SPAN_KINDS] = {
		[GP_TRACE_RANGE] = CATEGORY_RANGE,	   [GP_TRACE_STARTED] = CATEGORY_RANGE,
		[GP_TRACE_STEP] = CATEGORY_STEP,	   [GP_TRACE_UNCERTAIN] = CATEGORY_MARK,
		[GP_TRACE_OPERATION] = CATEGORY_OPERATION,
	};
	const struct gp_trace *t = p->trace;
	char text[1024];
	const uint64_t track = gp_perfetto_span_track(p, span),
		       name = span_name(p, span, text, sizeof text);
	unsigned category = categories[span->of];
	if (span->of == GP_TRACE_OPERATION)
		category += t->gpu.operation[span->number].kind;
	const size_t packet = gp_perfetto_packet(p, at_ns);
	const size_t event = gp_perfetto_event(p, TYPE_SLICE_BEGIN, track, category);
	if (name)
		gp_protobuf_number(&p->out, EVENT_NAME, name);
	else
		gp_protobuf_text(&p->out, EVENT_NAME_TEXT, text, strlen(text));
	if (span->of == GP_TRACE_OPERATION)
		put_operation(p, &t->gpu.operation[span->number]);
	if (at_ns > span->begin_ns)
		gp_perfetto_note(p, NOTE_CONTINUED, 1);
	if (span->of == GP_TRACE_RANGE || span->of == GP_TRACE_STARTED)
		gp_perfetto_note_text(p, NOTE_SOURCE,
				      gp_range_source_name(gp_trace_range(t, span)->source));
	gp_protobuf_end(&p->out, event);
	gp_perfetto_packet_end(p, packet);
}

static void put_span_begin(struct gp_trace *t, const struct gp_trace_span *span)
{
	put_span(t->own, span, span->begin_ns);
}

static void put_span_end(struct gp_trace *t, const struct gp_trace_span *span)
{
	struct gp_perfetto *p = t->own;
	gp_perfetto_slice_end(p, span->end_ns, gp_perfetto_span_track(p, span));
}

/* ---- files ---- */

static void begin_file(struct gp_trace *t)
{
	struct gp_perfetto *p = t->own;
	size_t opens;
	uint32_t *open = gp_trace_open_spans(t, &opens);
	gp_perfetto_begin(p);
	for (unsigned device = 0; device <= GP_TRACE_HOST && t->pieces; device++)
		for (unsigned c = 0; c < GP_CURVES; c++)
			if (t->line[device].now_bytes[c])
				put_counter(t, t->line[device].at_ns, device, c,
					    t->line[device].now_bytes[c]);
	for (size_t k = 0; k < opens; k++)
		put_span(p, &t->span[open[k]], t->now_ns);
	free(open);
}

static void end_file(struct gp_trace *t)
{
	struct gp_perfetto *p = t->own;
	gp_protobuf_flush(&p->out, true);
}

static uint64_t count_bytes(struct gp_trace *t)
{
	struct gp_perfetto *p = t->own;
	return p->out.written + p->out.used;
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

static enum gp_status export_perfetto_write(struct gp_export *e)
{
	struct gp_perfetto *p = calloc(1, sizeof *p);
	struct gp_trace *t = calloc(1, sizeof *t);
	enum gp_status status = GP_E_MEMORY;
	if (p && t && gp_perfetto_open(p, t, e, &hosts)) {
		t->own = p;
		status = gp_trace_write(t, e, &sink);
		if (status == GP_OK && p->out.is_out_of_memory)
			status = GP_E_MEMORY;
	}
	if (p)
		gp_perfetto_close(p);
	free(p);
	free(t);
	return status;
}

const struct gp_export_format gp_export_format_perfetto = {
	.name = "perfetto",
	.unit = "trace events",
	.opens = "open it at ui.perfetto.dev",
	.takes_many = true,
	.write = export_perfetto_write,
};
