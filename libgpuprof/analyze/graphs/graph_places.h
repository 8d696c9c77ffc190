/* The lines of code of graphs and of captures that failed. */
#ifndef GP_GRAPH_PLACES_H
#define GP_GRAPH_PLACES_H

#include "../../read/file/recording.h"

struct gp_graph_place {
	uint32_t stack;
	int64_t at_ns;
	char **key; /* results; `key` is from malloc */
	const char **file, **without;
	uint32_t *line;
	uint32_t row;
};

/*
 * Places with equal stacks get equal keys, others different ones: a key also has the caller in
 * which the stacks differ.
 */
enum gp_status gp_graph_places_name(struct gp_recording *recording, struct gp_graph_place *place,
				    size_t places);

#endif
