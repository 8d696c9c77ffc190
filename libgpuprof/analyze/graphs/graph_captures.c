/* Captures under way, and those that failed. */
#include "graph_captures.h"

#include <string.h>

#include "../../read/tables/array.h"

/* CUresult. */
enum {
	ERROR_INVALID_VALUE = 1,
	ERROR_INVALID_HANDLE = 400,
	ERROR_UNSUPPORTED = 900,
	ERROR_INVALIDATED,
	ERROR_MERGE,
	ERROR_UNMATCHED,
	ERROR_UNJOINED,
	ERROR_ISOLATION,
	ERROR_IMPLICIT,
	ERROR_CAPTURED_EVENT,
	ERROR_WRONG_THREAD,
};
#define MODE_GLOBAL 0u /* CU_STREAM_CAPTURE_MODE_GLOBAL */
#define END_CALL "cuStreamEndCapture"

const char *gp_graph_error_name(unsigned code)
{
	static const char *const names[] = {
		"cudaErrorStreamCaptureUnsupported", "cudaErrorStreamCaptureInvalidated",
		"cudaErrorStreamCaptureMerge",	     "cudaErrorStreamCaptureUnmatched",
		"cudaErrorStreamCaptureUnjoined",    "cudaErrorStreamCaptureIsolation",
		"cudaErrorStreamCaptureImplicit",    "cudaErrorCapturedEvent",
		"cudaErrorStreamCaptureWrongThread",
	};
	return code >= ERROR_UNSUPPORTED && code <= ERROR_WRONG_THREAD ?
		       names[code - ERROR_UNSUPPORTED] :
		       NULL;
}

/* The capture goes on if the driver refuses its end with one of these. */
static bool capture_is_end_refused(unsigned code)
{
	return code == ERROR_INVALID_VALUE || code == ERROR_INVALID_HANDLE ||
	       code == ERROR_UNMATCHED || code == ERROR_WRONG_THREAD;
}

/* Two threads may capture on their own default streams, which have one handle. */
static struct gp_graph_capture_open *capture_find(struct gp_graph_captures *c, uint64_t stream,
						  uint32_t thread)
{
	struct gp_graph_capture_open *found = NULL;
	for (size_t k = 0; k < c->opens; k++)
		if (c->open[k].stream == stream && (found == NULL || c->open[k].thread == thread))
			found = &c->open[k];
	return found;
}

static void capture_close(struct gp_graph_captures *c, struct gp_graph_capture_open *open)
{
	const size_t at = (size_t)(open - c->open);
	c->opens--;
	memmove(open, open + 1, (c->opens - at) * sizeof *open);
}

static struct gp_graph *capture_graph(const struct gp_graph_captures *c, uint32_t row)
{
	return row != GP_GRAPH_NO_ROW ? &c->rows->row[row].graph : NULL;
}

/* ---- failures ---- */

static void capture_fail(struct gp_graph_captures *c, const struct gp_graph_failure *failure)
{
	struct gp_graphs_report *out = c->rows->out;
	if (out->failures == GP_GRAPH_FAILURES_MOST) {
		out->beyond++;
		return;
	}
	struct gp_graph_failure *made =
		gp_array_append(&out->failure, &out->failures, sizeof *made);
	c->rows->is_out_of_memory |= made == NULL;
	if (made != NULL)
		*made = *failure;
}

/* The result of an end is in its CAPTURE_END, unless the capture goes on. */
static bool capture_is_of_end(const struct gp_graph_failure *error)
{
	return error->call != NULL && strncmp(error->call, END_CALL, sizeof END_CALL - 1) == 0 &&
	       !capture_is_end_refused(error->code);
}

static void capture_error(struct gp_graph_captures *c, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	const struct gp_graph_failure error = {
		.at_ns = e->at_ns,
		.call = gp_recording_text(c->rows->recording, GP_RANGE_NAME, r->aux),
		.code = r->code,
		.stack = r->stack,
	};
	if (capture_is_of_end(&error))
		return;
	for (size_t k = 0; k < c->opens; k++) {
		struct gp_graph_capture_open *open = &c->open[k];
		enum gp_graph_suspicion suspicion = GP_SUSPECT_OTHER;
		if (r->code == ERROR_INVALIDATED)
			suspicion = GP_SUSPECT_AFTERWARDS;
		else if (open->thread == e->thread || open->mode == MODE_GLOBAL)
			suspicion = GP_SUSPECT_LIKELY;
		if (suspicion >= open->suspicion)
			continue;
		open->suspicion = suspicion;
		open->error = error;
	}
}

static void capture_broke(struct gp_graph_captures *c, const struct gp_graph_capture_open *open,
			  const struct gp_event *end)
{
	struct gp_graph_failure failure = { .began_ns = -1 };
	if (open != NULL)
		failure = open->error;
	/* errors of an end that name their own cause are not of an earlier call */
	const bool has_cause = end != NULL && end->record.code == ERROR_UNJOINED;
	if (end != NULL && (open == NULL || open->suspicion == GP_SUSPECT_NONE || has_cause)) {
		failure.at_ns = end->at_ns;
		failure.call = END_CALL;
		failure.code = end->record.code;
		failure.stack = end->record.stack;
		failure.is_end = true;
	}
	failure.is_unended = end == NULL;
	failure.began_ns = open != NULL ? open->at_ns : -1;
	failure.begin_stack = open != NULL ? open->stack : 0;
	capture_fail(c, &failure);
}

/* ---- begin and end ---- */

static void capture_begin(struct gp_graph_captures *c, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	if (r->code != 0)
		return;
	struct gp_graph_capture_open *old = capture_find(c, r->capture_begin.stream, e->thread);
	if (old != NULL && old->thread == e->thread) /* its end was not recorded */
		capture_close(c, old);
	if (c->opens == GP_GRAPH_CAPTURES_MOST)
		capture_close(c, c->open);
	const uint64_t handle = r->capture_begin.graph;
	uint32_t row = handle != 0 ? gp_graph_row_find(&c->rows->graphs, handle) : GP_GRAPH_NO_ROW;
	if (row == GP_GRAPH_NO_ROW) {
		row = gp_graph_row_add(c->rows, GP_GRAPH_CAPTURED, e->at_ns);
		if (row != GP_GRAPH_NO_ROW)
			c->rows->row[row].is_dropped = true;
	}
	struct gp_graph *g = capture_graph(c, row);
	if (g != NULL) {
		g->origin = GP_GRAPH_CAPTURED;
		g->at_ns = e->at_ns;
		g->stack = r->stack;
	}
	c->open[c->opens++] = (struct gp_graph_capture_open){ .stream = r->capture_begin.stream,
							      .mode = r->aux,
							      .thread = e->thread,
							      .stack = r->stack,
							      .row = row,
							      .at_ns = e->at_ns,
							      .suspicion = GP_SUSPECT_NONE };
}

/* The driver does not count while another capture is under way: 0 may be unknown. */
static bool capture_lacks_nodes(const struct gp_graph_captures *c, const struct gp_graph *g)
{
	uint64_t known = g->nodes;
	for (unsigned k = 0; k < GP_GRAPH_NODES; k++)
		known |= g->node[k];
	return known == 0 &&
	       (c->opens != 1 || c->rows->recording->file.header.minor < GP_FORMAT_NODES);
}

static void capture_made(struct gp_graph_captures *c, uint32_t row, const struct gp_event *e,
			 bool is_whole)
{
	const struct gp_record *r = &e->record;
	if (row == GP_GRAPH_NO_ROW)
		return;
	struct gp_graph_row *made = &c->rows->row[row];
	made->is_dropped = made->is_destroyed = false;
	made->graph.handle = r->capture_end.graph;
	made->graph.nodes = r->aux;
	made->graph.is_partial |= !is_whole || capture_lacks_nodes(c, &made->graph);
	if (is_whole)
		made->graph.took_ns = e->at_ns - made->graph.at_ns;
	gp_graph_row_set(c->rows, &c->rows->graphs, r->capture_end.graph, row);
}

static void capture_end(struct gp_graph_captures *c, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	if (capture_is_end_refused(r->code))
		return;
	struct gp_graph_capture_open *open = capture_find(c, r->capture_end.stream, e->thread);
	if (r->code != 0) {
		/* another error is that of an end without a begin */
		if (open != NULL || gp_graph_error_name(r->code) != NULL)
			capture_broke(c, open, e);
	} else if (open != NULL) {
		capture_made(c, open->row, e, true);
	} else if (r->capture_end.graph != 0) { /* it began before the recording */
		capture_made(c, gp_graph_row_add(c->rows, GP_GRAPH_CAPTURED, e->at_ns), e, false);
	}
	if (open != NULL)
		capture_close(c, open);
}

void gp_graph_captures_see(struct gp_graph_captures *captures, const struct gp_event *event)
{
	if (event->record.kind == GP_CAPTURE_BEGIN)
		capture_begin(captures, event);
	else if (event->record.kind == GP_CAPTURE_END)
		capture_end(captures, event);
	else
		capture_error(captures, event);
}

void gp_graph_captures_doubt(struct gp_graph_captures *captures)
{
	for (size_t k = 0; k < captures->opens; k++)
		if (captures->open[k].row != GP_GRAPH_NO_ROW)
			capture_graph(captures, captures->open[k].row)->is_partial = true;
}

static void capture_leave(struct gp_graph_captures *c, const struct gp_graph_capture_open *open)
{
	if (open->suspicion < GP_SUSPECT_AFTERWARDS)
		capture_broke(c, open, NULL);
	else
		c->rows->out->open++;
}

void gp_graph_captures_forget(struct gp_graph_captures *captures, uint64_t stream)
{
	for (size_t k = captures->opens; k-- > 0;)
		if (captures->open[k].stream == stream) {
			capture_leave(captures, &captures->open[k]);
			capture_close(captures, &captures->open[k]);
		}
}

void gp_graph_captures_end(struct gp_graph_captures *captures)
{
	for (size_t k = 0; k < captures->opens; k++)
		capture_leave(captures, &captures->open[k]);
}

uint32_t gp_graph_captures_row(struct gp_graph_captures *captures, uint64_t stream, uint32_t thread,
			       bool can_guess)
{
	const struct gp_graph_capture_open *open = capture_find(captures, stream, thread);
	for (size_t k = 0; k < captures->opens && open == NULL; k++)
		if (captures->open[k].thread == thread)
			open = &captures->open[k];
	if (open == NULL && can_guess && captures->opens == 1)
		open = captures->open;
	if (open == NULL && can_guess)
		gp_graph_captures_doubt(captures);
	return open != NULL ? open->row : GP_GRAPH_NO_ROW;
}
