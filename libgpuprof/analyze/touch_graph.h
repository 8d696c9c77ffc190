/*
 * What launches of a graph use: the addresses that were captured into it. Captures, graphs and
 * what was instantiated from them, by handle. Uses that come while several captures are under way
 * belong to each of them.
 */
#ifndef GP_TOUCH_GRAPH_H
#define GP_TOUCH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "../format/event.h"

struct gp_touch_set {
	uint64_t handle;   /* of a stream under capture, a graph, or an exec */
	uint64_t *address; /* sorted, once each, when a capture has ended */
	size_t addresses, room;
	uint64_t launches;
	bool is_partial; /* it uses more than that, which is not known */
};
struct gp_touch_sets {
	struct gp_touch_set *set;
	size_t sets, room;
};
struct gp_touch_graphs {
	struct gp_touch_sets captures, graphs, execs;
};

void gp_touch_graphs_release(struct gp_touch_graphs *graphs);
/* Any event. False: out of memory. */
bool gp_touch_graphs_follow(struct gp_touch_graphs *graphs, const struct gp_record *record);
/* NULL: nothing is known of it. */
const struct gp_touch_set *gp_touch_graph_of(const struct gp_touch_graphs *graphs, uint64_t exec);

#endif
