/*
 * What `gpuprof timeline` hands to an output format: one struct of three callbacks in one file
 * tools/out_x.c, `--x` chooses it. The build makes the list. Text comes from recordings: formats
 * mask or escape it.
 */
#ifndef GP_CHART_H
#define GP_CHART_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "gpuprof.h"

/* The timeline of one recording. */
struct gp_chart {
	const char *path;
	const char *headline;
	const char *command;
	int64_t from_ns, to_ns; /* the span that is shown */
	bool has_whole_run;	/* peaks are since the start, else those of the span */
	size_t devices;
	const struct gp_timeline_device *device;
	char (*name)[64]; /* of each device; "" unknown */
};

/* All charts of one report. Formats may keep a state of their own between the callbacks. */
struct gp_canvas {
	FILE *out;
	size_t charts, chart;	/* how many, and which one is being written */
	size_t devices;		/* of all charts */
	unsigned columns, rows; /* of the terminal */
	bool is_ascii, is_colored;
	int64_t *state; /* for the format's own use: 4 numbers, 0 at first */
};

struct gp_format {
	const char *name; /* "csv" */
	const char *text;
	void (*begin)(struct gp_canvas *canvas, const struct gp_chart *chart);
	void (*device)(struct gp_canvas *canvas, const struct gp_chart *chart, size_t index);
	void (*end)(struct gp_canvas *canvas, const struct gp_chart *chart);
};

/* Ends with NULL. */
extern const struct gp_format *const gp_formats[];

/* "driver", "reserved", "allocated" */
extern const char *const gp_curve_names[GP_CURVES];

/*
 * Sizes that make round ticks: the smallest power of two (bytes) or 1, 2, 5 * 10^n (ns) that gives
 * at most `ticks`.
 */
uint64_t gp_tick_bytes(uint64_t highest, unsigned ticks);
int64_t gp_tick_ns(int64_t span_ns, unsigned ticks);
/* A tick's text: with as many digits as the step needs. */
struct gp_text gp_tick_bytes_text(uint64_t at, uint64_t step);
struct gp_text gp_tick_ns_text(int64_t at, int64_t step);

#endif
