/*
 * What was captured into graphs: numbers that the caller gives (addresses that are used, kernels),
 * for captures, graphs and what was instantiated from them, by handle. What comes while several
 * captures are under way belongs to each of them.
 */
#ifndef GP_GRAPH_CONTENT_H
#define GP_GRAPH_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

#include "../format/event.h"

struct gp_graph_content {
	uint64_t handle; /* of a stream under capture, a graph, or an exec */
	uint64_t *value; /* as they came, or sorted, once each, when a capture has ended */
	size_t values, room;
	uint64_t launches;
	bool is_partial; /* it uses more memory than that, which is not known */
};
struct gp_graph_contents {
	struct gp_graph_content *content;
	size_t contents, room;
};
struct gp_graphs {
	struct gp_graph_contents captures, graphs, execs;
	bool is_sequence; /* the order counts: the caller's */
};

void gp_graphs_release(struct gp_graphs *graphs);
/* Into what is captured now. False: out of memory. */
bool gp_graphs_add(struct gp_graphs *graphs, uint64_t value);
/* Any event. False: out of memory. */
bool gp_graphs_follow(struct gp_graphs *graphs, const struct gp_record *record);
/* NULL: nothing is known of it. */
const struct gp_graph_content *gp_graph_content_of(const struct gp_graphs *graphs, uint64_t exec);

#endif
