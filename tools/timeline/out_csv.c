/* Points as comma-separated values, one header line, for spreadsheets and pandas. */
#include <inttypes.h>

#include "../io/csv.h"
#include "chart.h"

static void out_csv_begin(const struct gp_canvas *canvas)
{
	fprintf(canvas->out,
		"file,device,at_ns,driver_bytes,reserved_bytes,allocated_bytes,"
		"pinned_bytes,registered_bytes%s\n",
		canvas->has_gaps ? ",largest_free_bytes,fragmentation" : "");
}

static void put_points(FILE *out, const char *path, const struct gp_timeline_device *d)
{
	for (size_t k = 0; k < d->points; k++) {
		const struct gp_point *p = &d->point[k];
		gp_csv_put(out, path);
		fprintf(out, ",%u,%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",,", d->device,
			p->at_ns, p->bytes[GP_CURVE_DRIVER], p->bytes[GP_CURVE_RESERVED],
			p->bytes[GP_CURVE_ALLOCATED]);
		if (d->has_gaps)
			fprintf(out, ",%" PRIu64 ",%.6f", p->largest_free_bytes,
				gp_gap_ratio(p->free_bytes, p->largest_free_bytes));
		fputc('\n', out);
	}
}

/* Rows of the host have no columns of devices, and rows of devices none of the host. */
static void put_host(const struct gp_canvas *canvas, const struct gp_chart *chart)
{
	const struct gp_timeline_device *h = chart->host;
	for (size_t k = 0; h && k < h->points; k++) {
		gp_csv_put(canvas->out, chart->path);
		fprintf(canvas->out, ",host,%" PRId64 ",,,,%" PRIu64 ",%" PRIu64 "%s\n",
			h->point[k].at_ns, h->point[k].bytes[GP_HOST_PINNED],
			h->point[k].bytes[GP_HOST_REGISTERED], canvas->has_gaps ? ",," : "");
	}
}

static void write_chart(const struct gp_canvas *canvas, const struct gp_chart *chart)
{
	for (size_t k = 0; k < chart->devices; k++)
		put_points(canvas->out, chart->path, &chart->device[k]);
	put_host(canvas, chart);
}

static void out_csv_end(const struct gp_canvas *canvas)
{
	(void)canvas;
}

const struct gp_format gp_format_csv = { "csv", "points as comma-separated values", out_csv_begin,
					 write_chart, out_csv_end };
