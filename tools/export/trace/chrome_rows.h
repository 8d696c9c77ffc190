/*
 * One JSON trace while it is written: texts of the recording, rows of the viewer, spans, and call
 * stacks. Trace events are written by hand with chrome_text.h, because there are millions of them.
 */
#ifndef GP_CHROME_ROWS_H
#define GP_CHROME_ROWS_H

#include "chrome_text.h"
#include "trace.h"

/* Rows that are not threads have numbers above those of Linux. */
#define GP_CHROME_TID_STEPS 0x10000000u
#define GP_CHROME_TID_UNCERTAIN 0x10000001u
#define GP_CHROME_TID_BESIDE 0x20000000u
#define GP_CHROME_TID_STARTED 0x40000000u

/* A frame in its place: frames with the same callers are one. */
struct gp_chrome_frame {
	uint32_t caller;   /* its number; 0: none */
	const char *label; /* as JSON, quotes included */
};

struct gp_chrome {
	struct gp_chrome_text text;
	struct gp_trace *trace;
	int64_t zero_ns; /* of the recording's start, from the base of the file's times */
	uint64_t base_ns;
	uint32_t pid;
	struct gp_job_rank rank;
	bool has_rank;
	char process[256];
	bool has_event;
	unsigned piece; /* from 1 */
	struct gp_pickle_rows quoted, kernels, rows;
	/* of the piece: by stack, by frame and caller; frame number k is at k - 1 */
	struct gp_pickle_rows stacks, places;
	size_t frames, frame_room;
	struct gp_chrome_frame *frame;
	uint64_t frame_bytes; /* of their text, about */
	struct gp_frame found[GP_FRAMES_MAX];
};

/* ---- texts ---- */

/* A text as JSON, quotes included. It lives until the next text. */
const char *gp_chrome_quote(struct gp_chrome *c, const char *text);
/* The same, quoted once; it lives as long as the trace. */
const char *gp_chrome_quote_kept(struct gp_chrome *c, const char *text);

/* ---- parts of events ---- */

void gp_chrome_event(struct gp_chrome *c);
void gp_chrome_place(struct gp_chrome *c, uint32_t pid, uint32_t tid, int64_t at_ns);
void gp_chrome_duration(struct gp_chrome *c, int64_t ns);
void gp_chrome_shape(struct gp_chrome *c, uint64_t grid, uint64_t block);
/* An arrow from a call to what it started. */
void gp_chrome_flow(struct gp_chrome *c, bool is_end, uint32_t pid, uint32_t tid, int64_t at_ns,
		    uint32_t id);

/* ---- rows ---- */

/* `what`: "thread_name", "process_name" */
void gp_chrome_name_row(struct gp_chrome *c, const char *what, uint32_t pid, uint32_t tid,
			const char *name);
/* True once a piece for a row of the viewer. */
bool gp_chrome_row_is_new(struct gp_chrome *c, uint32_t pid, uint64_t tid);
/* The number of a thread's row, which gets its name. */
uint32_t gp_chrome_thread(struct gp_chrome *c, uint32_t thread);

/* ---- chrome_spans.c ---- */

/* Spans have their duration at their begin. */
void gp_chrome_span(struct gp_trace *t, const struct gp_trace_span *span);

/* ---- chrome_stacks.c ---- */

/* Adds `"sf"` to an event, outside of its arguments: the number of the innermost frame. */
void gp_chrome_stack(struct gp_chrome *c, uint32_t stack, int64_t at_ns);
/* Writes `"stackFrames"`, which has each frame with its caller, and forgets them. */
void gp_chrome_stacks_end(struct gp_chrome *c);
void gp_chrome_stacks_release(struct gp_chrome *c);

#endif
