/*
 * The interface of the output formats of `gpuprof timeline`: one struct of three callbacks in one
 * file tools/timeline/out_x.c, chosen by `--x`. The build makes the list. Text comes from
 * recordings, so formats mask or escape it.
 */
#ifndef GP_CHART_H
#define GP_CHART_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../report/number_line.h"
#include "gpuprof.h"

/* The timeline of one recording. */
struct gp_chart {
	const char *path;
	const char *headline;
	const char *command;
	int64_t from_ns, to_ns;	     /* the span that is shown */
	int64_t kept_from_ns;	     /* before it only the peaks are known; 0: all is kept */
	bool has_whole_run;	     /* peaks are since the start, else those of the span */
	bool is_at_least[GP_CURVES]; /* the peak may have been higher: events are missing */
	const struct gp_info *info;
	bool is_flawed;	    /* events are missing, so figures may be wrong */
	bool has_gaps;	    /* the points have gaps of the framework's segments */
	bool has_late_gaps; /* and they lag behind: gp_timeline.has_late_gaps */
	size_t devices;
	const struct gp_timeline_device *device;
	const struct gp_info_device *const *about; /* of each device; NULL: unknown */
	const struct gp_number_line *line;	   /* of each device */
	const struct gp_timeline_device *host;	   /* gp_timeline.host; NULL: not shown */
	bool is_host_at_least;			   /* as is_at_least */
	const struct gp_role_timeline *roles;	   /* NULL: not requested */
};

/* The output of all charts of one report. */
struct gp_canvas {
	FILE *out;
	bool is_many;		/* more than one recording is requested */
	unsigned columns, rows; /* of the terminal */
	bool is_ascii, is_colored;
	bool has_gaps; /* of all charts */
};

/*
 * begin and end are called once for a report, chart once for each readable recording. There may be
 * none.
 */
struct gp_format {
	const char *name; /* "csv" */
	const char *text;
	void (*begin)(const struct gp_canvas *canvas);
	void (*chart)(const struct gp_canvas *canvas, const struct gp_chart *chart);
	void (*end)(const struct gp_canvas *canvas);
};

/* Ends with NULL. */
extern const struct gp_format *const gp_formats[];

/* Name of a device of a chart; "": unknown. */
const char *gp_chart_name(const struct gp_chart *chart, size_t index);
/* Whether text output shows the host. Beside a device it needs a peak of GP_PINNED_LEAST. */
bool gp_chart_has_host(const struct gp_chart *chart);

/* The bands of a device by role; NULL: not requested, or it has no blocks. */
const struct gp_role_bands *gp_chart_bands(const struct gp_chart *chart, unsigned device);

/* "driver", "reserved", "allocated" */
extern const char *const gp_curve_names[GP_CURVES];

/*
 * The step for round ticks: the smallest power of two (bytes), or 1, 2, 5 * 10^n (ns), that gives
 * at most `ticks`. From a minute on, parts of hours and days.
 */
uint64_t gp_tick_bytes(uint64_t highest, unsigned ticks);
int64_t gp_tick_ns(int64_t span_ns, unsigned ticks);
/*
 * The ticks of [from, to], multiples of `step`: the first one, then each next one. False: none, or
 * no more.
 */
bool gp_tick_first(int64_t from, int64_t to, int64_t step, int64_t *at);
bool gp_tick_next(int64_t to, int64_t step, int64_t *at);
/*
 * A tick's text, with as many digits as the step needs. Moments use the unit that suits the last
 * one of their axis.
 */
struct gp_text gp_tick_bytes_text(uint64_t at, uint64_t step);
struct gp_text gp_tick_ns_text(int64_t at, int64_t step, int64_t last);

#endif
