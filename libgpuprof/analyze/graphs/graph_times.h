/* GPU time of the launches of graphs: from the first begin to the last end of the operations. */
#ifndef GP_GRAPH_TIMES_H
#define GP_GRAPH_TIMES_H

#include "graph_rows.h"

/* Starts as zeros: empty. */
struct gp_graph_times {
	struct gp_graph_launch {
		uint64_t event; /* its number in the recording */
		uint32_t row;
	} * launch; /* by event */
	size_t launches, room;
};

/* A launch of the row's graph, which is the newest event. False: out of memory. */
bool gp_graph_times_add(struct gp_graph_times *times, uint64_t event, uint32_t row);
/* Adds the times of all launches to their rows. One replay, if there are launches. */
enum gp_status gp_graph_times_sum(const struct gp_graph_times *times, struct gp_graph_rows *rows);
void gp_graph_times_release(struct gp_graph_times *times);

#endif
