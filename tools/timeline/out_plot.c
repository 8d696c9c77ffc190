/*
 * The terminal plot as an output format: the default of `gpuprof timeline`.
 */
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../report/report.h"
#include "../report/role_print.h"
#include "chart.h"
#include "plot.h"

static void out_plot_begin(const struct gp_canvas *canvas)
{
	(void)canvas;
}

/* ---- roles: a strip each, as high as its own highest value ---- */

enum { BAND_LABEL = 28, BAND_COLUMNS = 400 };

/* The part of the bands that column `c` of `columns` stands for; at least one. */
static size_t band_of(const struct gp_role_bands *bands, unsigned c, unsigned columns)
{
	return (size_t)((uint64_t)bands->bands * c / columns);
}

static uint64_t band_highest(const struct gp_role_bands *bands, unsigned role, size_t from,
			     size_t until)
{
	uint64_t highest = 0;
	for (size_t k = from; k < bands->bands && (k < until || k == from); k++)
		if (bands->band[k].bytes[role] > highest)
			highest = bands->band[k].bytes[role];
	return highest;
}

static void draw_band(const struct gp_canvas *canvas, const struct gp_role_bands *bands,
		      unsigned role)
{
	const uint64_t highest = band_highest(bands, role, 0, bands->bands);
	unsigned columns = canvas->columns > BAND_LABEL ? canvas->columns - BAND_LABEL : 1;
	columns = columns < BAND_COLUMNS ? columns : BAND_COLUMNS;
	if (!highest)
		return;
	fprintf(canvas->out, "%10s  %-13s  ", gp_bytes_text(highest).s, gp_role_keys[role]);
	for (unsigned c = 0; c < columns; c++) {
		const uint64_t bytes = band_highest(bands, role, band_of(bands, c, columns),
						    band_of(bands, c + 1, columns));
		fputs(gp_plot_height(canvas->is_ascii, (double)bytes / (double)highest),
		      canvas->out);
	}
	fputc('\n', canvas->out);
}

static void draw_bands(const struct gp_canvas *canvas, const struct gp_chart *chart,
		       unsigned device)
{
	const struct gp_role_bands *bands = gp_chart_bands(chart, device);
	if (!bands) {
		fputs("no blocks of PyTorch\n", canvas->out);
		return;
	}
	fprintf(canvas->out, "   highest  role, allocated from %s to %s\n",
		gp_ns_text(chart->from_ns).s, gp_ns_text(chart->to_ns).s);
	for (unsigned role = 0; role < GP_MEMORY_ROLES; role++)
		draw_band(canvas, bands, role);
}

static void draw_device(const struct gp_canvas *canvas, const struct gp_chart *chart, size_t index)
{
	const struct gp_plot plot = {
		.device = &chart->device[index],
		.from_ns = chart->from_ns,
		.to_ns = chart->to_ns,
		.kept_from_ns = chart->kept_from_ns,
		.is_at_least = chart->is_at_least,
		.columns = canvas->columns,
		.rows = canvas->rows,
		.is_ascii = canvas->is_ascii,
		.is_colored = canvas->is_colored,
	};
	const char *known = gp_chart_name(chart, index);
	const char *name = *known ? known : "unknown";
	fprintf(canvas->out, "\nGPU %u  ", plot.device->device);
	gp_mask(canvas->out, name, strlen(name));
	if (!chart->has_whole_run)
		fprintf(canvas->out, ", only %s to %s", gp_ns_text(chart->from_ns).s,
			gp_ns_text(chart->to_ns).s);
	fputc('\n', canvas->out);
	if (chart->roles)
		draw_bands(canvas, chart, plot.device->device);
	else
		gp_plot_print(&plot, canvas->out);
	gp_number_line_print_known(canvas->out, "", &chart->line[index]);
}

/* Pinned memory is of the process, so it comes once, below the devices. */
static void draw_host(const struct gp_canvas *canvas, const struct gp_chart *chart)
{
	const struct gp_plot plot = {
		.device = chart->host,
		.from_ns = chart->from_ns,
		.to_ns = chart->to_ns,
		.kept_from_ns = chart->kept_from_ns,
		.is_at_least = &chart->is_host_at_least,
		.columns = canvas->columns,
		.is_ascii = canvas->is_ascii,
	};
	if (!gp_chart_has_host(chart))
		return;
	fputs("\nHost  pinned memory of the process\n", canvas->out);
	gp_plot_host_print(&plot, canvas->out);
}

static void draw_chart(const struct gp_canvas *canvas, const struct gp_chart *chart)
{
	bool has_oom = false;
	fprintf(canvas->out, "%s\n", chart->headline);
	if (!chart->devices)
		fputs("no memory events to show\n", canvas->out);
	for (size_t k = 0; k < chart->devices; k++) {
		draw_device(canvas, chart, k);
		has_oom = has_oom || chart->device[k].ooms;
	}
	if (chart->roles)
		gp_no_roles_print(canvas->out, chart->info);
	else
		draw_host(canvas, chart);
	gp_next_print(canvas->out,
		      !chart->devices	      ? "info" :
		      has_oom		      ? "oom" :
		      chart->info->has_stacks ? "peak" :
						"timeline --svg -o timeline.svg",
		      chart->path);
	if (canvas->is_many)
		fputc('\n', canvas->out);
}

static void out_plot_end(const struct gp_canvas *canvas)
{
	(void)canvas;
}

const struct gp_format gp_format_plot = { "plot", "plot on the terminal, also for many recordings",
					  out_plot_begin, draw_chart, out_plot_end };
