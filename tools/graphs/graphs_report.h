/* The report of `graphs`: text and JSON. */
#ifndef GRAPHS_REPORT_H
#define GRAPHS_REPORT_H

#include "../report/reading.h"

struct gp_graphs_command {
	struct gp_reading r;
	bool has_stacks, has_kernels;
	bool has_graphs; /* in one of many recordings at least */
};

/* Bytes of the pools that a graph uses, at the end of the recording. */
uint64_t gp_graphs_pool_bytes(const struct gp_graphs_report *report, size_t *pools);
/* The part of the kernels that launches of graphs started, from 0 to 1. */
double gp_graphs_share(const struct gp_graphs_report *report);

void gp_graphs_print(const struct gp_graphs_command *c, const struct gp_graphs_report *report);
void gp_graphs_write(const struct gp_graphs_command *c, struct gp_json *json,
		     const struct gp_graphs_report *report);

#endif
