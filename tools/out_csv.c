/* Points as comma-separated values, one header line, for spreadsheets and pandas. */
#include <inttypes.h>
#include <string.h>

#include "chart.h"

/* RFC 4180: quoted when it must be, quotes doubled. */
static void put_field(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void begin(struct gp_canvas *canvas, const struct gp_chart *chart)
{
	(void)chart;
	if (canvas->chart == 0)
		fputs("file,device,at_ns,driver_bytes,reserved_bytes,allocated_bytes\n",
		      canvas->out);
}

static void device(struct gp_canvas *canvas, const struct gp_chart *chart, size_t index)
{
	const struct gp_timeline_device *d = &chart->device[index];
	for (size_t k = 0; k < d->points; k++) {
		const struct gp_point *p = &d->point[k];
		put_field(canvas->out, chart->path);
		fprintf(canvas->out, ",%u,%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
			d->device, p->at_ns, p->bytes[GP_CURVE_DRIVER], p->bytes[GP_CURVE_RESERVED],
			p->bytes[GP_CURVE_ALLOCATED]);
	}
}

static void end(struct gp_canvas *canvas, const struct gp_chart *chart)
{
	(void)canvas;
	(void)chart;
}

const struct gp_format gp_format_csv = { "csv", "points as comma-separated values", begin, device,
					 end };
