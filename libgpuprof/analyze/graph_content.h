/*
 * What was captured into graphs: numbers that the caller gives (addresses that are used, kernels),
 * for graphs and what was instantiated from them, by handle. What comes while several captures are
 * under way belongs to each of them. Memory and work are bounded whatever a recording holds: a
 * content that would take more is kept as one of which not all is known.
 */
#ifndef GP_GRAPH_CONTENT_H
#define GP_GRAPH_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

#include "../format/event.h"
#include "../read/tables/row_table.h"
#include "../state/looks.h"

/* A process captures on few streams at once. Of more captures the oldest is given up. */
#define GP_CAPTURES_MOST 64u
/* Graphs of which something is known, and execs: of later ones nothing is. 24 MiB each at most. */
#define GP_GRAPHS_MOST (1u << 19)
/* Values of all contents, and of captures under way: 32 MiB each, and as much for memos. */
#define GP_GRAPH_VALUES_MOST (1u << 22)

/* Never changed once made: a graph and all that was made of it share them. */
struct gp_graph_values {
	size_t users, values;
	void *memo; /* the caller's, from malloc, some 8 bytes a value at most; NULL at first */
	uint64_t value[];
};
struct gp_graph_content {
	uint64_t handle;		/* of a graph, or an exec */
	struct gp_graph_values *values; /* as they came, or sorted, once each; NULL: none */
	uint32_t launches;
	bool is_partial; /* it uses more memory than that, which is not known */
};
struct gp_graph_capture {
	uint64_t stream;
	size_t from; /* the first of its values in the log */
	/* of all captured launches, those before it began */
	uint64_t launches, unscanned;
};
struct gp_graphs {
	struct gp_row_table graphs, execs;		   /* of struct gp_graph_content */
	struct gp_graph_capture capture[GP_CAPTURES_MOST]; /* oldest first */
	size_t captures;
	/* values that came since the first capture under way began */
	uint64_t *log;
	size_t logged, log_room;
	uint64_t launches, unscanned; /* captured ones */
	size_t held;		      /* values of all contents */
	struct gp_looks looks;	      /* for work that no event paid for */
	size_t sequence;	      /* the order counts, and so many are kept; 0: once each */
};

/* `bytes` of the recording's file, by which work is bounded. */
void gp_graphs_open(struct gp_graphs *graphs, size_t sequence, uint64_t bytes);
/* It is as when it was opened, but for the looks that are left. */
void gp_graphs_release(struct gp_graphs *graphs);
/* Into what is captured now. False: out of memory. */
bool gp_graphs_add(struct gp_graphs *graphs, uint64_t value);
/* Any event. False: out of memory. */
bool gp_graphs_follow(struct gp_graphs *graphs, const struct gp_record *record);
/* NULL: nothing is known of it. It holds until the next event. */
const struct gp_graph_content *gp_graph_content_of(const struct gp_graphs *graphs, uint64_t exec);

#endif
