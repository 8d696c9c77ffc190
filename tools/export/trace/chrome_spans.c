/* Spans of a JSON trace: ranges, steps, times without events, and operations of the GPU. */
#include "chrome_rows.h"

/* The row of a lane: those beyond the first of a stream have rows of their own. */
static uint32_t chrome_stream(struct gp_chrome *c, uint32_t device, uint32_t stream, uint32_t lane)
{
	char name[64];
	const uint32_t tid = stream + (lane & 7) * GP_CHROME_TID_STEPS;
	if (gp_chrome_row_is_new(c, device, tid)) {
		snprintf(name, sizeof name, "stream %u%s", stream, lane ? ", beside it" : "");
		gp_chrome_name_row(c, "thread_name", device, tid, name);
	}
	return tid;
}

static void chrome_operation(struct gp_chrome *c, const struct gp_trace_span *span)
{
	char name[1024];
	const struct gp_trace *t = c->trace;
	const struct gp_gpu_operation *op = &t->gpu.operation[span->number];
	const struct gp_gpu_launch *launch =
		op->launch == GP_GPU_NO_LAUNCH ? NULL : &t->gpu.launch[op->launch];
	const uint32_t tid = chrome_stream(c, op->device, op->stream, span->lane);
	gp_trace_operation_name(t, op, name, sizeof name);
	gp_chrome_event(c);
	gp_chrome_fixed(&c->text, "{\"ph\":\"X\",\"cat\":\"");
	gp_chrome_long(&c->text, gp_trace_operation_category(op));
	gp_chrome_fixed(&c->text, "\",\"name\":");
	gp_chrome_long(&c->text, gp_chrome_quote_kept(c, name));
	gp_chrome_place(c, op->device, tid, span->begin_ns);
	gp_chrome_duration(c, span->end_ns - span->begin_ns);
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
		gp_chrome_shape(c, f->grid, f->block);
	}
	gp_chrome_fixed(&c->text, "}}");
	if (launch)
		gp_chrome_flow(c, true, op->device, tid, span->begin_ns, op->correlation);
}

static void chrome_annotation(struct gp_chrome *c, const struct gp_trace_span *span, uint32_t tid,
			      const char *name, const char *source)
{
	gp_chrome_event(c);
	gp_chrome_fixed(&c->text, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":");
	gp_chrome_long(&c->text, name);
	gp_chrome_place(c, c->pid, tid, span->begin_ns);
	gp_chrome_duration(c, span->end_ns - span->begin_ns);
	gp_chrome_fixed(&c->text, ",\"args\":{\"External id\":");
	gp_chrome_number(&c->text, span->of == GP_TRACE_STEP ? 0 : span->number);
	if (source) {
		gp_chrome_fixed(&c->text, ",\"source\":\"");
		gp_chrome_long(&c->text, source);
		gp_chrome_fixed(&c->text, "\"");
	}
	gp_chrome_fixed(&c->text, "}}");
}

static void chrome_range(struct gp_chrome *c, const struct gp_trace_span *span)
{
	char name[1200];
	const struct gp_range_path *path = gp_trace_range(c->trace, span);
	uint32_t tid = gp_chrome_thread(c, span->place);
	if (span->of == GP_TRACE_STARTED || span->lane) {
		const bool is_started = span->of == GP_TRACE_STARTED;
		tid = (tid & 0x3fffff) | (span->lane & 63) << 22 |
		      (is_started ? GP_CHROME_TID_STARTED : GP_CHROME_TID_BESIDE);
		if (gp_chrome_row_is_new(c, c->pid, tid))
			gp_chrome_name_row(c, "thread_name", c->pid, tid,
					   is_started ? "started ranges" : "overlapping ranges");
	}
	gp_trace_range_name(path, name, sizeof name);
	chrome_annotation(c, span, tid, gp_chrome_quote_kept(c, name),
			  gp_range_source_name(path->source));
}

/* A range on a stream, as Kineto shows it: without "stream", which is for operations alone. */
static void chrome_gpu_annotation(struct gp_chrome *c, const struct gp_trace_span *span)
{
	char name[1200];
	const struct gp_trace_stream *stream = &c->trace->stream[span->place];
	const uint32_t tid = chrome_stream(c, stream->device, stream->stream, span->lane);
	gp_trace_range_name(gp_trace_range(c->trace, span), name, sizeof name);
	gp_chrome_event(c);
	gp_chrome_fixed(&c->text, "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":");
	gp_chrome_long(&c->text, gp_chrome_quote_kept(c, name));
	gp_chrome_place(c, stream->device, tid, span->begin_ns);
	gp_chrome_duration(c, span->end_ns - span->begin_ns);
	gp_chrome_fixed(&c->text, ",\"args\":{\"External id\":");
	gp_chrome_number(&c->text, span->number);
	gp_chrome_fixed(&c->text, "}}");
}

void gp_chrome_span(struct gp_trace *t, const struct gp_trace_span *span)
{
	char name[64];
	struct gp_chrome *c = t->own;
	switch (span->of) {
	case GP_TRACE_OPERATION:
		chrome_operation(c, span);
		break;
	case GP_TRACE_ANNOTATION:
		chrome_gpu_annotation(c, span);
		break;
	case GP_TRACE_STEP:
		if (gp_chrome_row_is_new(c, c->pid, GP_CHROME_TID_STEPS))
			gp_chrome_name_row(c, "thread_name", c->pid, GP_CHROME_TID_STEPS, "steps");
		snprintf(name, sizeof name, "\"ProfilerStep#%u\"", span->number + 1);
		chrome_annotation(c, span, GP_CHROME_TID_STEPS, name, NULL);
		break;
	case GP_TRACE_UNCERTAIN:
		if (gp_chrome_row_is_new(c, c->pid, GP_CHROME_TID_UNCERTAIN))
			gp_chrome_name_row(c, "thread_name", c->pid, GP_CHROME_TID_UNCERTAIN,
					   "uncertain");
		chrome_annotation(c, span, GP_CHROME_TID_UNCERTAIN, "\"events are missing\"", NULL);
		break;
	default:
		chrome_range(c, span);
		break;
	}
}
