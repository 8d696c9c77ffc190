/*
 * Captures under way in a replay: which of them an event belongs to, and which call broke one that
 * fails.
 */
#ifndef GP_GRAPH_CAPTURES_H
#define GP_GRAPH_CAPTURES_H

#include "graph_rows.h"

/* A process captures on few streams at once. Beyond this number the oldest capture is given up. */
#define GP_GRAPH_CAPTURES_MOST 64u
#define GP_GRAPH_FAILURES_MOST (1u << 14) /* a capacity: 2 MiB */

/* How likely an error broke a capture: lower ranks first. */
enum gp_graph_suspicion {
	GP_SUSPECT_LIKELY, /* by the capturing thread, or the capture is in global mode */
	GP_SUSPECT_OTHER,
	GP_SUSPECT_AFTERWARDS, /* the capture was invalid already */
	GP_SUSPECT_NONE,
};

struct gp_graph_capture_open {
	uint64_t stream, mode;
	uint32_t thread, stack, row;
	int64_t at_ns;
	enum gp_graph_suspicion suspicion;
	struct gp_graph_failure error; /* of the most likely error */
};

struct gp_graph_captures {
	struct gp_graph_rows *rows;
	struct gp_graph_capture_open open[GP_GRAPH_CAPTURES_MOST]; /* oldest first */
	size_t opens;
};

/* CAPTURE_BEGIN, CAPTURE_END and CAPTURE_ERROR. */
void gp_graph_captures_see(struct gp_graph_captures *captures, const struct gp_event *event);
/* The stream was destroyed, which ends a capture on it. */
void gp_graph_captures_forget(struct gp_graph_captures *captures, uint64_t stream);
/* Events were lost: what is under way is partial. */
void gp_graph_captures_doubt(struct gp_graph_captures *captures);
/* At the end of the recording. */
void gp_graph_captures_end(struct gp_graph_captures *captures);
/*
 * The row of the capture on this stream, else of that of this thread. With `can_guess` else of the
 * only one. GP_GRAPH_NO_ROW: none, or unknown.
 */
uint32_t gp_graph_captures_row(struct gp_graph_captures *captures, uint64_t stream, uint32_t thread,
			       bool can_guess);

#endif
