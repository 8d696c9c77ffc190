/* The terminal plot as an output format: what `gpuprof timeline` shows a person. */
#include <string.h>

#include "chart.h"
#include "message.h"
#include "plot.h"

static void begin(struct gp_canvas *canvas, const struct gp_chart *chart)
{
	fprintf(canvas->out, "%s\n", chart->headline);
	if (!chart->devices)
		fputs("no memory on any device\n", canvas->out);
}

static void device(struct gp_canvas *canvas, const struct gp_chart *chart, size_t index)
{
	const struct gp_plot plot = {
		.device = &chart->device[index],
		.from_ns = chart->from_ns,
		.to_ns = chart->to_ns,
		.columns = canvas->columns,
		.rows = canvas->rows,
		.is_ascii = canvas->is_ascii,
		.is_colored = canvas->is_colored,
	};
	fprintf(canvas->out, "\nGPU %u  ", plot.device->device);
	gp_mask(canvas->out, chart->name[index], strlen(chart->name[index]));
	fputc('\n', canvas->out);
	gp_plot_print(&plot, canvas->out);
}

static void end(struct gp_canvas *canvas, const struct gp_chart *chart)
{
	bool has_oom = false;
	for (size_t k = 0; k < chart->devices; k++)
		has_oom = has_oom || chart->device[k].ooms;
	fputs(has_oom ? "next: gpuprof dump --kind oom,alloc_failed " :
			"next: gpuprof timeline --svg -o timeline.svg ",
	      canvas->out);
	gp_mask(canvas->out, chart->path, strlen(chart->path));
	fputc('\n', canvas->out);
}

const struct gp_format gp_format_plot = { "plot", "plot on the terminal, also for many recordings",
					  begin, device, end };
