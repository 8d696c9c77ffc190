/*
 * The contents of graphs by capture: numbers from the caller (used addresses, kernels), for graphs
 * and their execs, by handle. While several captures are active, an event belongs to each of them.
 * Memory and work are bounded for any recording: a content above the bound is kept as partial.
 */
#ifndef GP_GRAPH_CONTENT_H
#define GP_GRAPH_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

#include "../format/event.h"
#include "../read/tables/row_table.h"
#include "../state/looks.h"

/* A process captures on few streams at once. Beyond this number the oldest capture is given up. */
#define GP_CAPTURES_MOST 64u
/* Bound of graphs, and of execs, with a content; later ones stay unknown. At most 24 MiB each. */
#define GP_GRAPHS_MOST (1u << 19)
/*
 * Bound of the values in all contents, and of those in active captures: 32 MiB each, and as much
 * for memos.
 */
#define GP_GRAPH_VALUES_MOST (1u << 22)

/* Immutable: shared by a graph and all that was made from it. */
struct gp_graph_values {
	size_t users, values;
	void *memo; /* the caller's, from malloc, about 8 bytes a value; NULL at first */
	uint64_t value[];
};
struct gp_graph_content {
	uint64_t handle;		/* of a graph or an exec */
	struct gp_graph_values *values; /* in order, or a sorted set; NULL: none */
	uint32_t launches;
	bool is_partial; /* it uses more memory, which is unknown */
};
struct gp_graph_capture {
	uint64_t stream;
	size_t from; /* the index of its first value in the log */
	/* counts of all captured launches before it began */
	uint64_t launches, unscanned;
};
struct gp_graphs {
	struct gp_row_table graphs, execs;		   /* struct gp_graph_content rows */
	struct gp_graph_capture capture[GP_CAPTURES_MOST]; /* oldest first */
	size_t captures;
	/* values since the first active capture began */
	uint64_t *log;
	size_t logged, log_room;
	uint64_t launches, unscanned; /* counts of captured launches */
	size_t held;		      /* number of values in all contents */
	struct gp_looks looks;	      /* a limit on work that is not proportional to events */
	size_t sequence;	      /* > 0: at most so many values, in order; 0: a set */
};

/* `bytes` of the recording's file: the bound of work. */
void gp_graphs_open(struct gp_graphs *graphs, size_t sequence, uint64_t bytes);
/* Resets it to the opened state, except for the remaining looks. */
void gp_graphs_release(struct gp_graphs *graphs);
/* Adds a value to the active captures. False: out of memory. */
bool gp_graphs_add(struct gp_graphs *graphs, uint64_t value);
/* Call it for each event. False: out of memory. */
bool gp_graphs_follow(struct gp_graphs *graphs, const struct gp_record *record);
/* NULL: the content is unknown. Valid until the next event. */
const struct gp_graph_content *gp_graph_content_of(const struct gp_graphs *graphs, uint64_t exec);

#endif
