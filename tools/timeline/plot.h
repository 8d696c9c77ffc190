/*
 * A memory timeline on a terminal: three nested areas over time, axes with units, peaks and OOMs
 * marked. A pure function: points in, text out.
 */
#ifndef GP_PLOT_H
#define GP_PLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "gpuprof.h"

struct gp_plot {
	const struct gp_timeline_device *device;
	int64_t from_ns, to_ns;
	int64_t kept_from_ns; /* the curves are unknown before it */
	unsigned columns,
		rows; /* of the whole plot with axes; smaller ones are widened to 40 x 6 */
	bool is_ascii, is_colored;
	const bool *is_at_least; /* of each curve: its peak may have been higher; NULL: none */
};

/* A height of one line, of eight. `part`: 0 to 1. */
const char *gp_plot_height(bool is_ascii, double part);
void gp_plot_print(const struct gp_plot *plot, FILE *out);
/*
 * Pinned host memory as a line of eight heights and its peak. `device` is gp_timeline.host,
 * is_at_least of its curve.
 */
void gp_plot_host_print(const struct gp_plot *plot, FILE *out);

#endif
