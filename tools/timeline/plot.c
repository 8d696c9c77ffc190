/*
 * Each character cell shows the innermost area that reaches its middle. Points are steps: a value
 * holds until the next point. In a column the areas reach to their highest value. The cell shows if
 * `allocated` was there only at times. Otherwise a training step shorter than a column would look
 * like a flat line.
 */
#include "plot.h"

#include <stdlib.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/style.h"
#include "chart.h"

enum glyph { BLANK, DRIVER, RESERVED, AT_TIMES, ALLOCATED, GLYPHS };

static const char *const glyphs[2][GLYPHS] = {
	{ " ", "░", "▒", "▓", "█" },
	{ " ", ".", "+", "*", "#" },
};
static const enum gp_role roles[GLYPHS] = {
	[DRIVER] = GP_ROLE_DRIVER,
	[RESERVED] = GP_ROLE_RESERVED,
	[AT_TIMES] = GP_ROLE_AT_TIMES,
	[ALLOCATED] = GP_ROLE_ALLOCATED,
};

/* Eight heights of a strip, one line high. */
enum { HEIGHTS = 9 };
static const char *const heights[2][HEIGHTS] = {
	{ " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" },
	{ " ", "1", "2", "3", "4", "5", "6", "7", "8" },
};

struct column {
	uint64_t low_allocated;
	uint64_t high[GP_CURVES];
	uint64_t least_gap; /* smallest value of the largest gap: the critical one */
	double most_ratio;
};

enum { LABEL = 9, LEAST_COLUMNS = 40, LEAST_ROWS = 6, MOST_COLUMNS = 512, MARKS = GP_CURVES + 2 };

static const char not_kept[] = "not kept";

/* Column of a moment, clamped into the plot. */
static unsigned column_of(const struct gp_plot *plot, unsigned columns, int64_t at_ns)
{
	double span = (double)(plot->to_ns - plot->from_ns);
	double place = span > 0 ? (double)(at_ns - plot->from_ns) / span * columns : 0;
	if (place < 0)
		return 0;
	return place >= columns ? columns - 1 : (unsigned)place;
}

static void column_hold(struct column *c, const struct gp_point *point)
{
	const uint64_t *bytes = point->bytes;
	double ratio = gp_gap_ratio(point->free_bytes, point->largest_free_bytes);
	c->most_ratio = ratio > c->most_ratio ? ratio : c->most_ratio;
	if (point->largest_free_bytes < c->least_gap)
		c->least_gap = point->largest_free_bytes;
	for (unsigned k = 0; k < GP_CURVES; k++)
		if (bytes[k] > c->high[k])
			c->high[k] = bytes[k];
	if (bytes[GP_CURVE_ALLOCATED] < c->low_allocated)
		c->low_allocated = bytes[GP_CURVE_ALLOCATED];
}

/* A value counts in each column from its own to that of the next point. */
static void columns_fill(const struct gp_plot *plot, struct column *column, unsigned columns)
{
	const struct gp_timeline_device *d = plot->device;
	for (unsigned c = 0; c < columns; c++)
		column[c] = (struct column){ .low_allocated = UINT64_MAX, .least_gap = UINT64_MAX };
	for (size_t k = 0; k < d->points; k++) {
		unsigned first = column_of(plot, columns, d->point[k].at_ns);
		int64_t until = k + 1 < d->points ? d->point[k + 1].at_ns : plot->to_ns;
		unsigned last = column_of(plot, columns, until);
		if (d->point[k].at_ns > plot->to_ns || until < plot->from_ns)
			continue;
		for (unsigned c = first; c <= last; c++)
			column_hold(&column[c], &d->point[k]);
	}
}

static enum glyph glyph_at(const struct column *c, double level)
{
	if (c->low_allocated != UINT64_MAX && (double)c->low_allocated >= level)
		return ALLOCATED;
	if ((double)c->high[GP_CURVE_ALLOCATED] >= level)
		return AT_TIMES;
	if ((double)c->high[GP_CURVE_RESERVED] >= level)
		return RESERVED;
	return (double)c->high[GP_CURVE_DRIVER] >= level ? DRIVER : BLANK;
}

static void put_glyph(const struct gp_plot *plot, FILE *out, enum glyph glyph)
{
	const char *text = glyphs[plot->is_ascii][glyph];
	if (plot->is_colored && glyph != BLANK)
		fprintf(out, "%s%s" GP_ROLE_END, gp_role_sequence(roles[glyph]), text);
	else
		fputs(text, out);
}

static uint64_t highest_of(const struct column *column, unsigned columns)
{
	uint64_t highest = 1;
	for (unsigned c = 0; c < columns; c++)
		for (unsigned k = 0; k < GP_CURVES; k++)
			if (column[c].high[k] > highest)
				highest = column[c].high[k];
	return highest;
}

static bool plot_is_shown(const struct gp_plot *plot, int64_t at_ns)
{
	return at_ns >= plot->from_ns && at_ns <= plot->to_ns;
}

/* The lines of marks above the plot, the lowest first. Marks in one column are stacked. */
struct marks {
	char line[MARKS][MOST_COLUMNS + 1];
	unsigned lines;
};

static void mark_add(struct marks *marks, unsigned column, char mark)
{
	unsigned line = 0;
	while (line < MARKS && marks->line[line][column] != ' ') {
		if (marks->line[line][column] == mark)
			return;
		line++;
	}
	if (line == MARKS)
		return;
	marks->line[line][column] = mark;
	marks->lines = line >= marks->lines ? line + 1 : marks->lines;
}

/* A peak before kept_from_ns is known, but not on the curves. */
static bool is_peak_shown(const struct gp_plot *plot, unsigned curve)
{
	const struct gp_timeline_device *d = plot->device;
	return d->peak_bytes[curve] && d->peak_at_ns[curve] >= plot->kept_from_ns &&
	       plot_is_shown(plot, d->peak_at_ns[curve]);
}

/* D, R, A: peak of a curve. x: OOM. r: another failed CUDA call. */
static void print_marks(const struct gp_plot *plot, FILE *out, unsigned columns)
{
	struct marks marks = { .lines = 0 };
	const struct gp_timeline_device *d = plot->device;
	for (unsigned line = 0; line < MARKS; line++)
		memset(marks.line[line], ' ', columns);
	for (size_t k = 0; k < d->marks; k++)
		if (plot_is_shown(plot, d->mark[k].at_ns))
			mark_add(&marks, column_of(plot, columns, d->mark[k].at_ns),
				 d->mark[k].is_oom ? 'x' : 'r');
	for (unsigned k = GP_CURVES; k-- > 0;)
		if (is_peak_shown(plot, k))
			mark_add(&marks, column_of(plot, columns, d->peak_at_ns[k]), "DRA"[k]);
	for (unsigned line = marks.lines; line-- > 0;) {
		unsigned n = columns;
		while (n && marks.line[line][n - 1] == ' ')
			n--;
		fprintf(out, "%*s%.*s\n", LABEL + 2, "", (int)n, marks.line[line]);
	}
}

static const char *axis(const struct gp_plot *plot, bool has_tick)
{
	if (plot->is_ascii)
		return has_tick ? "+" : "|";
	return has_tick ? "┤" : "│";
}

/*
 * The part that the flight recorder has overwritten was not empty. Writes so in the middle of it.
 */
static unsigned gap_text(const struct gp_plot *plot, unsigned columns, unsigned *from)
{
	unsigned until = column_of(plot, columns, plot->kept_from_ns), n = sizeof not_kept - 1;
	if (plot->kept_from_ns <= plot->from_ns || until < n + 2)
		return 0;
	*from = (until - n) / 2;
	return n;
}

static void plot_print_row(const struct gp_plot *plot, FILE *out, const struct column *column,
			   unsigned columns, double level, bool has_gap)
{
	unsigned n = columns, from = 0, gap_columns = has_gap ? gap_text(plot, columns, &from) : 0;
	while (n && glyph_at(&column[n - 1], level) == BLANK)
		n--;
	n = n < from + gap_columns ? from + gap_columns : n;
	for (unsigned c = 0; c < n; c++) {
		if (c >= from && c < from + gap_columns)
			fputc(not_kept[c - from], out);
		else
			put_glyph(plot, out, glyph_at(&column[c], level));
	}
	fputc('\n', out);
}

static void print_area(const struct gp_plot *plot, FILE *out, const struct column *column,
		       unsigned columns, unsigned rows)
{
	uint64_t highest = highest_of(column, columns), step = gp_tick_bytes(highest, rows / 3);
	for (unsigned row = rows; row-- > 0;) {
		double low = (double)highest * row / rows,
		       high = (double)highest * (row + 1) / rows;
		uint64_t tick = (uint64_t)(high / (double)step) * step;
		bool has_tick = (double)tick > low && highest > 1;
		fprintf(out, "%*s %s", LABEL, has_tick ? gp_tick_bytes_text(tick, step).s : "",
			axis(plot, has_tick));
		plot_print_row(plot, out, column, columns, (low + high) / 2, row == rows / 2);
	}
}

static void print_time_axis(const struct gp_plot *plot, FILE *out, unsigned columns)
{
	char line[MOST_COLUMNS + 64];
	int64_t span = plot->to_ns - plot->from_ns, step = gp_tick_ns(span, columns / 14 + 1);
	int64_t at;
	size_t used = 0;
	memset(line, ' ', sizeof line);
	fprintf(out, "%*s %s", LABEL, "0", plot->is_ascii ? "+" : "└");
	unsigned next = 0;
	bool has_tick = span > 0 && gp_tick_first(plot->from_ns, plot->to_ns, step, &at);
	for (; has_tick; has_tick = gp_tick_next(plot->to_ns, step, &at)) {
		unsigned c = column_of(plot, columns, at);
		struct gp_text text = gp_tick_ns_text(at, step, plot->to_ns);
		size_t n = strlen(text.s), from = c > n / 2 ? c - n / 2 : 0;
		from = from + n > columns ? columns - n : from;
		if (from < used && used - from <= n / 2)
			from = used;
		if (from < used || from + n > columns)
			continue;
		memcpy(line + from, text.s, n);
		used = from + n + 1;
		for (; next < c; next++)
			fputs(plot->is_ascii ? "-" : "─", out);
		fputs(plot->is_ascii ? "+" : "┬", out);
		next = c + 1;
	}
	for (; next < columns; next++)
		fputs(plot->is_ascii ? "-" : "─", out);
	fprintf(out, "\n%*s%.*s\n", LABEL + 2, "", (int)(used ? used - 1 : 0), line);
}

const char *gp_plot_height(bool is_ascii, double part)
{
	part = part < 1 ? part : 1;
	return heights[is_ascii][part > 0 ? 1 + (unsigned)(part * (HEIGHTS - 2) + 0.5) : 0];
}

static void print_height(const struct gp_plot *plot, FILE *out, double part)
{
	fputs(gp_plot_height(plot->is_ascii, part), out);
}

/* In each column the smallest value of the largest gap, and the worst ratio. */
static void print_gaps(const struct gp_plot *plot, FILE *out, const struct column *column,
		       unsigned columns)
{
	uint64_t largest = 1;
	for (unsigned c = 0; c < columns; c++)
		if (column[c].least_gap != UINT64_MAX && column[c].least_gap > largest)
			largest = column[c].least_gap;
	fprintf(out, "%*s ", LABEL + 1, "gap");
	for (unsigned c = 0; c < columns; c++)
		print_height(plot, out,
			     column[c].least_gap == UINT64_MAX ?
				     0 :
				     (double)column[c].least_gap / (double)largest);
	fprintf(out, "\n%*s ", LABEL + 1, "fragm.");
	for (unsigned c = 0; c < columns; c++)
		print_height(plot, out, column[c].most_ratio);
	fprintf(out,
		"\n%*s largest gap of PyTorch, the least of each column, up to %s; "
		"fragmentation, the most, up to 100%%\n",
		LABEL + 1, "", gp_bytes_text(largest).s);
}

static void print_ooms(const struct gp_timeline_device *d, FILE *out)
{
	size_t ooms = 0;
	const struct gp_mark *first = NULL; /* failed call */
	bool is_all_ooms = true;
	for (size_t k = 0; k < d->marks; k++) {
		const struct gp_mark *m = &d->mark[k];
		if (m->is_oom && ++ooms <= 3)
			fprintf(out, "%*c   out of memory at %s: %s requested from %s\n", LABEL,
				'x', gp_ns_text(m->at_ns).s, gp_bytes_text(m->bytes).s,
				m->is_framework ? "PyTorch" : "the driver");
		if (!m->is_framework && !first)
			first = m;
		is_all_ooms = is_all_ooms && m->is_oom;
	}
	if (ooms > 3)
		fprintf(out, "%*c   and %zu more\n", LABEL, 'x', ooms - 3);
	if (!is_all_ooms)
		fprintf(out, "%*c   %s, the first at %s for %s\n", LABEL, 'r',
			gp_plural(d->failed_calls, "failed CUDA call").s,
			gp_ns_text(first->at_ns).s, gp_bytes_text(first->bytes).s);
}

static void print_legend(const struct gp_plot *plot, FILE *out)
{
	static const enum glyph shown[GP_CURVES] = { DRIVER, RESERVED, ALLOCATED };
	const struct gp_timeline_device *d = plot->device;
	for (unsigned k = 0; k < GP_CURVES; k++) {
		fprintf(out, "%*c ", LABEL, "DRA"[k]);
		put_glyph(plot, out, shown[k]);
		fprintf(out, " %-9s ", gp_curve_names[k]);
		if (d->peak_bytes[k])
			fprintf(out, "peak %s%s (%llu bytes) at %s%s",
				plot->is_at_least && plot->is_at_least[k] ? "at least " : "",
				gp_bytes_text(d->peak_bytes[k]).s,
				(unsigned long long)d->peak_bytes[k],
				gp_ns_text(d->peak_at_ns[k]).s,
				d->peak_at_ns[k] < plot->kept_from_ns ? ", not kept" : "");
		else
			fputs("nothing", out);
		if (k == GP_CURVE_ALLOCATED && d->peak_bytes[k]) {
			fputs("; ", out);
			put_glyph(plot, out, AT_TIMES);
			fputs(" only at times", out);
		}
		if (k == GP_CURVE_RESERVED && d->most_unmapped_bytes)
			fprintf(out, "; up to %s not mapped (%s)",
				gp_bytes_text(d->most_unmapped_bytes).s,
				gp_ns_text(d->most_unmapped_at_ns).s);
		fputc('\n', out);
	}
	print_ooms(d, out);
}

static unsigned columns_of(const struct gp_plot *plot)
{
	unsigned width = plot->columns < LEAST_COLUMNS ? LEAST_COLUMNS : plot->columns;
	unsigned columns = width - LABEL - 2;
	return columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
}

/* The peak, below the labels of the other curves. */
static void print_host_legend(const struct gp_plot *plot, FILE *out)
{
	const struct gp_timeline_device *h = plot->device;
	const uint64_t *peak = h->peak_bytes;
	fprintf(out, "%*c   %-9s ", LABEL, 'P', "pinned");
	if (peak[GP_HOST_PINNED])
		fprintf(out, "peak %s%s (%llu bytes) at %s%s",
			*plot->is_at_least ? "at least " : "",
			gp_bytes_text(peak[GP_HOST_PINNED]).s,
			(unsigned long long)peak[GP_HOST_PINNED],
			gp_ns_text(h->peak_at_ns[GP_HOST_PINNED]).s,
			h->peak_at_ns[GP_HOST_PINNED] < plot->kept_from_ns ? ", not kept" : "");
	else
		fputs("nothing", out);
	if (peak[GP_HOST_REGISTERED])
		fprintf(out, "; of these the job registered %s",
			gp_bytes_text(peak[GP_HOST_REGISTERED]).s);
	fputc('\n', out);
}

void gp_plot_host_print(const struct gp_plot *plot, FILE *out)
{
	struct column column[MOST_COLUMNS];
	unsigned columns = columns_of(plot);
	uint64_t highest = 1;
	columns_fill(plot, column, columns);
	for (unsigned c = 0; c < columns; c++)
		if (column[c].high[GP_HOST_PINNED] > highest)
			highest = column[c].high[GP_HOST_PINNED];
	while (columns > 0 && column[columns - 1].high[GP_HOST_PINNED] == 0)
		columns--;
	fprintf(out, "%*s ", LABEL + 1, "");
	for (unsigned c = 0; c < columns; c++)
		print_height(plot, out, (double)column[c].high[GP_HOST_PINNED] / (double)highest);
	fputc('\n', out);
	print_host_legend(plot, out);
}

void gp_plot_print(const struct gp_plot *plot, FILE *out)
{
	struct column column[MOST_COLUMNS];
	unsigned rows = plot->rows < LEAST_ROWS ? LEAST_ROWS : plot->rows;
	unsigned columns = columns_of(plot);
	columns_fill(plot, column, columns);
	print_marks(plot, out, columns);
	print_area(plot, out, column, columns, rows - 2);
	print_time_axis(plot, out, columns);
	if (plot->device->has_gaps)
		print_gaps(plot, out, column, columns);
	print_legend(plot, out);
}
