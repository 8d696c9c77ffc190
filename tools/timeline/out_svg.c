/*
 * The timeline as one self-contained picture: for each device the three curves as steps, with peaks
 * and OOMs marked. The background is white, so that it looks alike in a dark viewer and on paper.
 * It has no scripts and no external parts. Text of recordings is escaped.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "chart.h"
#include "svg_roles.h"

/* Pixels. From the top: title, first line; for each device a line, labels, plot, legend. */
enum {
	WIDTH = 960,
	EDGE = 20, /* where headings begin */
	LEFT = 92,
	RIGHT = WIDTH - 24,
	PLOT_WIDTH = RIGHT - LEFT,
	PLOT_HEIGHT = 300,
	HEADING = 64,
	DEVICE_LINE = 30,
	LABEL_ROW = 17,
	LINE = 128,	   /* characters of a headline */
	LEGEND_ROW = 17,   /* one for each curve */
	LEGEND_PEAK = 281, /* where peaks begin: the meanings fit in DejaVu Sans Bold, too */
	BELOW = 118,	   /* time axis and legend */
	FONT = 12,	   /* font size, and the advance of a letter in percent of it */
	ADVANCE_PERCENT = 58,
	OUTSIDE = 30, /* curves continue so far beyond the plot and are clipped */
	TENTHS = 10,  /* curves are drawn to a tenth of a pixel */
	STRIP = 60,   /* added height for --fragmentation, twice */
	STRIP_LINE = 92,
};

static const char style[] =
	"<style>\n"
	"text{font-family:Helvetica,Arial,'Liberation Sans','DejaVu Sans',sans-serif;"
	"font-size:12px;fill:#20242c}\n"
	".title{font-size:15px;font-weight:bold}\n"
	".faint{fill:#5b6472}\n"
	".flaw{fill:#b3151b;font-weight:bold}\n"
	".grid{stroke:#e6e8ec}\n"
	".axis{stroke:#5b6472}\n"
	".gone{fill:#f3f4f6}\n"
	".total{stroke:#20242c;stroke-dasharray:8 4}\n"
	".driver{fill:#e4e6ea;stroke:#8b93a1;stroke-width:2.4}\n"
	".reserved{fill:#c3d9ef;stroke:#1f6fb5;stroke-width:1.3}\n"
	".allocated{fill:#9bd3bd;stroke:#007a58;stroke-width:1.1}\n"
	".curve{stroke-linejoin:round}\n"
	".leader{fill:none;stroke-width:1;stroke-dasharray:2 2}\n"
	".peak{fill:#fff;stroke-width:1.8}\n"
	".driver-text{fill:#5b6472}\n"
	".reserved-text{fill:#175a95}\n"
	".allocated-text{fill:#006347}\n"
	".oom-text{fill:#b3151b}\n"
	".oom{fill:none;stroke:#b3151b;stroke-width:1.3;stroke-dasharray:5 3}\n"
	".failed-text{fill:#8a5a00}\n"
	".failed{fill:none;stroke:#b97a00;stroke-width:1.3;stroke-dasharray:1 3}\n"
	"</style>\n";

static const char *const meaning[GP_CURVES] = { "requested by the job", "segments of PyTorch",
						"blocks of PyTorch" };

/* Charts are drawn into memory, because the height is known only at the end. */
static struct {
	FILE *out; /* NULL: out of memory */
	char *text;
	size_t bytes;
	double height;
} page;

/* Width in pixels that a text needs in any common font. */
static double width_of(const char *text)
{
	return (double)strlen(text) * FONT * ADVANCE_PERCENT / 100;
}

/* ---- a panel: one device ---- */

struct panel {
	const struct gp_chart *chart;
	const struct gp_timeline_device *device;
	FILE *out;
	double top;	  /* of the plot */
	uint64_t highest; /* of the byte axis */
	uint64_t total;	  /* of the device, if it is shown; else 0 */
	uint64_t step;
};

/* From the left edge of the plot. Moments outside of it are clamped. */
static double x_of(const struct panel *p, int64_t at_ns)
{
	double span = (double)(p->chart->to_ns - p->chart->from_ns);
	double x = span > 0 ? (double)(at_ns - p->chart->from_ns) / span * PLOT_WIDTH : 0;
	return x < 0 ? 0 : x > PLOT_WIDTH ? PLOT_WIDTH : x;
}

/* From the top edge of the plot. */
static double y_of(const struct panel *p, uint64_t bytes)
{
	return PLOT_HEIGHT * (1 - (double)bytes / (double)p->highest);
}

static bool out_svg_is_shown(const struct panel *p, int64_t at_ns)
{
	return at_ns >= p->chart->from_ns && at_ns <= p->chart->to_ns;
}

static bool is_peak_shown(const struct panel *p, unsigned curve)
{
	return p->device->points && p->device->peak_bytes[curve] &&
	       p->device->peak_at_ns[curve] >= p->chart->kept_from_ns &&
	       out_svg_is_shown(p, p->device->peak_at_ns[curve]);
}

static uint64_t highest_of(const struct gp_timeline_device *d)
{
	uint64_t highest = 0;
	for (size_t k = 0; k < d->points; k++)
		for (unsigned c = 0; c < GP_CURVES; c++)
			if (d->point[k].bytes[c] > highest)
				highest = d->point[k].bytes[c];
	return highest;
}

static void draw_bytes_axis(const struct panel *p)
{
	for (uint64_t k = 0; k <= p->highest / p->step; k++) {
		uint64_t tick = k * p->step;
		double y = p->top + y_of(p, tick);
		fprintf(p->out, "<path class=\"%s\" d=\"M%d %.1fH%d\"/>", tick ? "grid" : "axis",
			tick ? LEFT : LEFT - 5, y, RIGHT);
		fprintf(p->out,
			"<text class=\"faint\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">"
			"%s</text>\n",
			LEFT - 9, y + 4, gp_tick_bytes_text(tick, p->step).s);
	}
}

static void draw_time_axis(const struct panel *p)
{
	const struct gp_chart *chart = p->chart;
	double bottom = p->top + PLOT_HEIGHT;
	int64_t span = chart->to_ns - chart->from_ns, step = gp_tick_ns(span, 8);
	int64_t at;
	bool has_tick = span > 0 && gp_tick_first(chart->from_ns, chart->to_ns, step, &at);
	for (; has_tick; has_tick = gp_tick_next(chart->to_ns, step, &at)) {
		double x = LEFT + x_of(p, at);
		struct gp_text text = gp_tick_ns_text(at, step, chart->to_ns);
		bool is_wide = x + width_of(text.s) / 2 > WIDTH;
		fprintf(p->out, "<path class=\"axis\" d=\"M%.1f %.1fv5\"/>", x, bottom);
		fprintf(p->out,
			"<text class=\"faint\" x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"%s\">%s</text>\n",
			x, bottom + 19, is_wide ? "end" : "middle", text.s);
	}
	fprintf(p->out,
		"<text class=\"faint\" x=\"%d\" y=\"%.1f\" text-anchor=\"middle\">"
		"time since the start of the recording</text>\n",
		LEFT + PLOT_WIDTH / 2, bottom + 38);
}

static void draw_total(const struct panel *p)
{
	double y = p->top + y_of(p, p->total);
	if (p->total)
		fprintf(p->out,
			"<path class=\"total\" d=\"M%d %.1fH%d\"/>"
			"<text class=\"faint\" x=\"%d\" y=\"%.1f\">all of the device: %s</text>\n",
			LEFT, y, RIGHT, LEFT + 6, y - 4, gp_bytes_text(p->total).s);
}

/* Marks the part that the flight recorder has overwritten: unknown, not zero. */
static void draw_gone(const struct panel *p)
{
	double until = x_of(p, p->chart->kept_from_ns);
	if (p->chart->kept_from_ns <= p->chart->from_ns)
		return;
	fprintf(p->out, "<rect class=\"gone\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>",
		LEFT, p->top, until, PLOT_HEIGHT - 1);
	if (until > 70)
		fprintf(p->out,
			"<text class=\"faint\" x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"middle\">not kept</text>",
			LEFT + until / 2, p->top + PLOT_HEIGHT / 2.0);
	fputc('\n', p->out);
}

/*
 * One path is area and line. Its other edges are outside of the plot, where the nested <svg> clips
 * them.
 */
static void draw_curve(const struct panel *p, unsigned curve)
{
	const struct gp_timeline_device *d = p->device;
	long x_drawn = 0, y_drawn = 0;
	if (!d->points || !d->peak_bytes[curve])
		return;
	fprintf(p->out, "<path class=\"curve %s\" d=\"", gp_curve_names[curve]);
	for (size_t k = 0; k < d->points; k++) {
		long x = lround(x_of(p, d->point[k].at_ns) * TENTHS);
		long y = lround(y_of(p, d->point[k].bytes[curve]) * TENTHS);
		if (k == 0) {
			x = x > 0 ? x : -OUTSIDE * TENTHS;
			fprintf(p->out, "M%.4g %d", (double)x / TENTHS, PLOT_HEIGHT + OUTSIDE);
		} else if (y == y_drawn) {
			continue;
		} else if (x != x_drawn) {
			fprintf(p->out, "H%.4g", (double)x / TENTHS);
		}
		fprintf(p->out, "V%.4g", (double)y / TENTHS);
		x_drawn = x;
		y_drawn = y;
	}
	fprintf(p->out, "H%dV%dZ\"/>\n", PLOT_WIDTH + OUTSIDE, PLOT_HEIGHT + OUTSIDE);
}

static void draw_curves(const struct panel *p)
{
	fprintf(p->out,
		"<svg x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" overflow=\"hidden\">\n", LEFT,
		p->top, PLOT_WIDTH, PLOT_HEIGHT);
	for (unsigned c = 0; c < GP_CURVES; c++)
		draw_curve(p, c);
	fputs("</svg>\n", p->out);
}

static const char *class_of(const struct gp_mark *m)
{
	return m->is_oom ? "oom" : "failed";
}

/* Omits lines too near to one of their kind. */
static void draw_ooms(const struct panel *p)
{
	const struct gp_timeline_device *d = p->device;
	double before[2] = { -2, -2 };
	for (size_t k = 0; k < d->marks; k++) {
		const struct gp_mark *m = &d->mark[k];
		double x = x_of(p, m->at_ns);
		if (!out_svg_is_shown(p, m->at_ns) || x - before[m->is_oom] < 2)
			continue;
		before[m->is_oom] = x;
		fprintf(p->out, "<path class=\"%s\" d=\"M%.1f %.1fv%d\"/>\n", class_of(m), LEFT + x,
			p->top, PLOT_HEIGHT);
	}
}

/* ---- labels of peaks and OOMs, in a band above the plot ---- */

enum { LABELS = GP_CURVES + 1 };

/* Each label has a row of its own, beside a line down to its point. */
struct band_label {
	char text[192];
	const char *class;
	double x, y; /* of its point, from the left and the top of the plot */
	double rank;
	bool is_left; /* the text ends at the line, else it begins there */
	unsigned row; /* 0 is next to the plot */
};
struct band {
	size_t labels;
	struct band_label label[LABELS];
};

/* Adds a label with the text in the band's buffer. */
static void band_add(struct band *b, const char *class, double x, double y)
{
	struct band_label *l = &b->label[b->labels++];
	l->class = class;
	l->x = x;
	l->y = y;
}

/*
 * Texts are right of their lines, the leftmost on top. Texts that would be cut off are left of
 * their lines as far as they fit there, the rightmost on top. So no line crosses a text.
 */
static void band_place(struct band *b)
{
	bool is_full = false;
	for (size_t k = 0; k < b->labels; k++)
		is_full |= b->label[k].x + width_of(b->label[k].text) > PLOT_WIDTH;
	for (size_t k = 0; k < b->labels; k++) {
		struct band_label *l = &b->label[k];
		l->is_left = is_full && l->x >= width_of(l->text);
		l->rank = l->is_left ? l->x : 2 * PLOT_WIDTH - l->x;
	}
	for (size_t k = 0; k < b->labels; k++)
		for (size_t i = 0; i < b->labels; i++)
			b->label[k].row += b->label[i].rank < b->label[k].rank ||
					   (i < k && b->label[i].rank == b->label[k].rank);
}

/* The first mark that is an OOM of the job, or the first other one. NULL: none is shown. */
static const struct gp_mark *first_mark(const struct panel *p, bool is_oom, size_t *count)
{
	const struct gp_mark *first = NULL;
	*count = 0;
	for (size_t k = p->device->marks; k-- > 0;) {
		const struct gp_mark *m = &p->device->mark[k];
		if (m->is_oom != is_oom || !out_svg_is_shown(p, m->at_ns))
			continue;
		first = m;
		++*count;
	}
	return first;
}

static void band_add_ooms(struct band *b, const struct panel *p)
{
	size_t count;
	char more[48] = "";
	const struct gp_mark *first = first_mark(p, true, &count);
	if (!first)
		return;
	if (count > 1)
		snprintf(more, sizeof more, " (first of %zu)", count);
	snprintf(b->label[b->labels].text, sizeof b->label->text,
		 "out of memory: %s requested at %s%s", gp_bytes_text(first->bytes).s,
		 gp_ns_text(first->at_ns).s, more);
	band_add(b, "oom", x_of(p, first->at_ns), 0);
}

static const char *at_least(const struct panel *p, unsigned curve)
{
	return p->chart->is_at_least[curve] ? "at least " : "";
}

static void band_fill(struct band *b, const struct panel *p)
{
	const struct gp_timeline_device *d = p->device;
	for (unsigned c = 0; c < GP_CURVES; c++) {
		if (!is_peak_shown(p, c))
			continue;
		snprintf(b->label[b->labels].text, sizeof b->label->text, "%s peak %s%s at %s",
			 gp_curve_names[c], at_least(p, c), gp_bytes_text(d->peak_bytes[c]).s,
			 gp_ns_text(d->peak_at_ns[c]).s);
		band_add(b, gp_curve_names[c], x_of(p, d->peak_at_ns[c]),
			 y_of(p, d->peak_bytes[c]));
	}
	band_add_ooms(b, p);
	band_place(b);
}

static void draw_band(const struct band *b, const struct panel *p)
{
	for (size_t k = 0; k < b->labels; k++) {
		const struct band_label *l = &b->label[k];
		double y = p->top - 8 - l->row * LABEL_ROW;
		fprintf(p->out, "<path class=\"leader %s\" d=\"M%.1f %.1fV%.1f\"/>", l->class,
			LEFT + l->x, y - 9, p->top + l->y);
		fprintf(p->out,
			"<text class=\"%s-text\" x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"%s\">%s</text>\n",
			l->class, LEFT + l->x + (l->is_left ? -5 : 5), y,
			l->is_left ? "end" : "start", l->text);
	}
	/* concentric rings: peaks often coincide */
	for (unsigned c = 0; c < GP_CURVES; c++)
		if (is_peak_shown(p, c))
			fprintf(p->out,
				"<circle class=\"%s peak\" cx=\"%.1f\" cy=\"%.1f\" "
				"r=\"%.1f\"/>\n",
				gp_curve_names[c], LEFT + x_of(p, p->device->peak_at_ns[c]),
				p->top + y_of(p, p->device->peak_bytes[c]), 6.5 - 2 * c);
}

/* ---- legend ---- */

/* Failed calls that were not an OOM have no label; they are named left of the time axis title. */
static void draw_failed(const struct panel *p)
{
	size_t count;
	double y = p->top + PLOT_HEIGHT + 38;
	const struct gp_mark *first = first_mark(p, false, &count);
	if (first)
		fprintf(p->out,
			"<path class=\"failed\" d=\"M%d %.1fv12\"/><text class=\"failed-text\" "
			"x=\"%d\" y=\"%.1f\">%s, the first at %s</text>\n",
			LEFT + 7, y - 10, LEFT + 21, y, gp_plural(count, "failed CUDA call").s,
			gp_ns_text(first->at_ns).s);
}

/* Smallest value at the driver's peak: a new segment counts as outside until it has a block. */
static uint64_t outside_of(const struct gp_timeline_device *d)
{
	uint64_t least = d->peak_bytes[GP_CURVE_RESERVED] ? d->peak_bytes[GP_CURVE_DRIVER] : 0;
	for (const struct gp_point *p = d->point; p < d->point + d->points; p++)
		if (p->bytes[GP_CURVE_DRIVER] == d->peak_bytes[GP_CURVE_DRIVER] &&
		    p->bytes[GP_CURVE_DRIVER] - p->bytes[GP_CURVE_RESERVED] < least)
			least = p->bytes[GP_CURVE_DRIVER] - p->bytes[GP_CURVE_RESERVED];
	return least;
}

static void draw_legend(const struct panel *p)
{
	const struct gp_timeline_device *d = p->device;
	for (unsigned c = 0; c < GP_CURVES; c++) {
		double y = p->top + PLOT_HEIGHT + 64 + c * LEGEND_ROW;
		fprintf(p->out,
			"<rect class=\"%s\" x=\"%d\" y=\"%.1f\" width=\"14\" "
			"height=\"10\"/>",
			gp_curve_names[c], LEFT, y - 9);
		fprintf(p->out, "<text x=\"%d\" y=\"%.1f\">%s: %s</text>", LEFT + 21, y,
			gp_curve_names[c], meaning[c]);
		fprintf(p->out, "<text class=\"faint\" x=\"%d\" y=\"%.1f\">", LEFT + LEGEND_PEAK,
			y);
		if (!d->peak_bytes[c])
			fputs("nothing", p->out);
		else if (is_peak_shown(p, c))
			fprintf(p->out, "peak %s%s bytes", at_least(p, c),
				gp_count_text(d->peak_bytes[c]).s);
		else
			fprintf(p->out, "peak %s%s bytes at %s, not kept", at_least(p, c),
				gp_count_text(d->peak_bytes[c]).s, gp_ns_text(d->peak_at_ns[c]).s);
		if (c == GP_CURVE_DRIVER && outside_of(d))
			fprintf(p->out, ", %s outside PyTorch", gp_bytes_text(outside_of(d)).s);
		fputs("</text>\n", p->out);
	}
}

/* ---- gaps ---- */

enum strip { PINNED, LARGEST_GAP, RATIO };

static double value_of(const struct gp_point *p, enum strip which)
{
	return which == PINNED	    ? (double)p->bytes[GP_HOST_PINNED] :
	       which == LARGEST_GAP ? (double)p->largest_free_bytes :
				      gp_gap_ratio(p->free_bytes, p->largest_free_bytes);
}

static void draw_strip(const struct panel *p, double top, enum strip which, const char *colors,
		       const char *text)
{
	const struct gp_timeline_device *d = p->device;
	double most = 1;
	for (size_t k = 0; k < d->points; k++)
		most = fmax(most, value_of(&d->point[k], which));
	fprintf(p->out,
		"<text x=\"%d\" y=\"%.1f\">%s</text><text class=\"faint\" x=\"%d\" y=\"%.1f\" "
		"text-anchor=\"end\">%s</text>\n<path %s stroke-width=\"1\" d=\"M%d %.1f",
		LEFT, top - 7, text, LEFT - 9, top + 8,
		which == RATIO ? "100%" : gp_bytes_text((uint64_t)most).s, colors, LEFT,
		top + STRIP);
	for (size_t k = 0; k < d->points; k++)
		if (out_svg_is_shown(p, d->point[k].at_ns) || k == 0)
			fprintf(p->out, "H%.1fV%.1f", LEFT + x_of(p, d->point[k].at_ns),
				top + STRIP * (1 - value_of(&d->point[k], which) / most));
	fprintf(p->out, "H%dV%.1fZ\"/><path class=\"axis\" d=\"M%d %.1fH%d\"/>\n", RIGHT,
		top + STRIP, LEFT - 5, top + STRIP, RIGHT);
}

static void draw_gaps(const struct panel *p)
{
	double top = page.height + 20;
	draw_strip(p, top, LARGEST_GAP, "fill=\"#fff3c4\" stroke=\"#b97a00\"",
		   "largest gap of PyTorch");
	draw_strip(p, top + STRIP_LINE, RATIO, "fill=\"#f6cfd0\" stroke=\"#b3151b\"",
		   "fragmentation: part of the free bytes outside of the largest gap");
	page.height = top + STRIP_LINE + STRIP + 24;
}

static void draw_device(const struct gp_chart *chart, size_t index)
{
	struct panel p = { .chart = chart, .device = &chart->device[index], .out = page.out };
	struct band band = { 0 };
	uint64_t highest = highest_of(p.device);
	uint64_t total = chart->about[index] ? chart->about[index]->total_bytes : 0;
	p.step = gp_tick_bytes(highest, 6);
	/* show the device's size if it is nearly full; else the curves would be flat */
	p.total = highest >= total / 4 * 3 ? total : 0;
	p.highest = highest > p.total ? highest : p.total;
	p.highest = p.highest ? p.highest + p.highest / 24 : 1;
	p.step = highest ? p.step : 2; /* without memory, only the zero */
	band_fill(&band, &p);
	page.height += DEVICE_LINE;
	p.top = page.height + (double)band.labels * LABEL_ROW + 4;
	fprintf(p.out, "<text x=\"%d\" y=\"%.1f\"><tspan font-weight=\"bold\">GPU %u</tspan>  ",
		EDGE, page.height - 14, p.device->device);
	gp_xml_put(p.out, gp_chart_name(chart, index), 60);
	if (total)
		fprintf(p.out, ", %s", gp_bytes_text(total).s);
	if (!chart->has_whole_run)
		fprintf(p.out, ", only %s to %s", gp_ns_text(chart->from_ns).s,
			gp_ns_text(chart->to_ns).s);
	fputs("</text>\n", p.out);
	draw_bytes_axis(&p);
	draw_gone(&p);
	draw_total(&p);
	draw_curves(&p);
	draw_ooms(&p);
	draw_band(&band, &p);
	draw_time_axis(&p);
	draw_failed(&p);
	draw_legend(&p);
	page.height = p.top + PLOT_HEIGHT + BELOW;
	if (p.device->has_gaps)
		draw_gaps(&p);
	const struct gp_svg_place place = { page.out, page.height, LEFT, PLOT_WIDTH };
	page.height += gp_svg_roles_draw(&place, chart, p.device->device);
}

/* ---- pinned host memory ---- */

static void describe_host(const struct gp_chart *chart, char *text, size_t room)
{
	const struct gp_timeline_device *h = chart->host;
	const uint64_t registered = h->peak_bytes[GP_HOST_REGISTERED];
	int n = snprintf(text, room, "Host, pinned memory: peak %s%s at %s",
			 chart->is_host_at_least ? "at least " : "",
			 gp_bytes_text(h->peak_bytes[GP_HOST_PINNED]).s,
			 gp_ns_text(h->peak_at_ns[GP_HOST_PINNED]).s);
	if (registered && n > 0 && (size_t)n < room)
		snprintf(text + n, room - (size_t)n, "; of these the job registered %s",
			 gp_bytes_text(registered).s);
}

static void draw_host(const struct gp_chart *chart)
{
	const struct panel p = { .chart = chart, .device = chart->host, .out = page.out };
	char text[192];
	if (!gp_chart_has_host(chart))
		return;
	describe_host(chart, text, sizeof text);
	draw_strip(&p, page.height + 20, PINNED, "fill=\"#e2d4f0\" stroke=\"#6b3fa0\"", text);
	page.height += 20 + STRIP + 24;
}

static void out_svg_begin(const struct gp_canvas *canvas)
{
	(void)canvas;
	page.height = 0;
	page.out = open_memstream(&page.text, &page.bytes);
}

/* Uses as many lines as needed; the last is at page.height - 13. */
static void draw_headline(const struct gp_chart *chart)
{
	const char *at = chart->headline;
	for (size_t n = strlen(at); n; at += n, n = strlen(at)) {
		if (n > LINE) {
			for (n = LINE; n > LINE / 2 && at[n] != ' ';)
				n--;
		}
		char line[LINE + 1];
		snprintf(line, sizeof line, "%.*s", (int)n, at);
		fprintf(page.out, "<text class=\"%s\" x=\"%d\" y=\"%.1f\">",
			chart->is_flawed ? "flaw" : "faint", EDGE, page.height - 13);
		gp_xml_put(page.out, line, LINE);
		fputs("</text>\n", page.out);
		page.height += at[n] ? LABEL_ROW : 0;
		n += at[n] == ' ';
	}
}

static void draw_chart(const struct gp_canvas *canvas, const struct gp_chart *chart)
{
	const char *title = chart->command && *chart->command ? chart->command : chart->path;
	if (!page.out)
		return;
	fprintf(page.out, "<text class=\"title\" x=\"%d\" y=\"%.1f\">", EDGE, page.height + 30);
	gp_xml_put(page.out, canvas->is_many ? chart->path : title, 96);
	fputs("</text>\n", page.out);
	page.height += HEADING;
	draw_headline(chart);
	for (size_t k = 0; k < chart->devices; k++)
		draw_device(chart, k);
	draw_host(chart);
	if (chart->devices)
		return;
	fprintf(page.out, "<text x=\"%d\" y=\"%.1f\">no memory events to show</text>\n", EDGE,
		page.height + 20);
	page.height += 44;
}

static void out_svg_end(const struct gp_canvas *canvas)
{
	if (!page.out || fclose(page.out) != 0)
		gp_error("cannot draw the picture: out of memory");
	else if (page.height > 0)
		fprintf(canvas->out,
			"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
			"viewBox=\"0 0 %d %.0f\" role=\"img\">\n"
			"<title>GPU memory over time</title>\n%s"
			"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n%s</svg>\n",
			WIDTH, page.height, WIDTH, page.height, style, page.text);
	free(page.text);
	page.text = NULL;
}

const struct gp_format gp_format_svg = { "svg", "a picture for a browser or a document",
					 out_svg_begin, draw_chart, out_svg_end };
