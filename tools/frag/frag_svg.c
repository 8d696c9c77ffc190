/*
 * Segments as an SVG picture: pool by pool, by address, in rows of equal bytes. Long segments
 * continue in the next row, short ones share a row. A block's details appear on hover.
 */
#include <inttypes.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/line_fit.h"
#include "../io/message.h"
#include "../report/report.h"
#include "frag_class.h"

#define WIDTH 1200
#define LEFT 130
#define ROW_WIDTH 1044.0
#define ROW 15
#define BAR 12
#define APART 2.5 /* pixels between two segments of a row */
#define ROWS_MOST 56u
#define ROW_LEAST (UINT64_C(40) << 20) /* two segments of 20 MiB */
#define SLACK 12.0		       /* pixels that gaps between short segments may add */

static const char style[] =
	"text{font-family:Helvetica,Arial,'Liberation Sans','DejaVu Sans',sans-serif;"
	"font-size:12px;fill:#20242c}\n"
	".title{font-size:15px;font-weight:bold}\n.head{font-weight:bold}\n"
	".faint{fill:#5b6472}\n.address{fill:#5b6472;font-size:10px;"
	"font-family:'DejaVu Sans Mono','Liberation Mono',monospace}\n"
	".segment{fill:#eceef1}\n.edge{fill:none;stroke:#5b6472;stroke-width:.7}\n"
	".pending{fill:url(#pending)}\n.gap{fill:#fff3c4}\n";

/* Ages from light to dark. Kinds in distinct colours, the last for the rest. */
static const char *const age_colours[] = { "#d9f0a3", "#addd8e", "#78c679", "#41ab5d",
					   "#238443", "#006837", "#004529" };
static const char *const kind_colours[GP_CLASSES_MOST] = { "#1f6fb5", "#e08214", "#1b9e77",
							   "#c51b7d", "#7570b3", "#a6761d",
							   "#66a61e", "#d7301f", "#35978f",
							   "#8b93a1" };

struct table {
	const struct gp_frag_report *r;
	const struct gp_frag_classes *classes;
	FILE *out;
	uint64_t row_bytes;
	double x, y;	 /* where the next segment begins */
	double end;	 /* of the page */
	bool is_drawing; /* false: only measures the height */
};

/* ---- rows ---- */

static void next_row(struct table *s)
{
	s->x = 0;
	s->y += ROW;
}

static void put_address(const struct table *s, uint64_t address)
{
	if (s->is_drawing && s->x == 0)
		fprintf(s->out,
			"<text class=\"address\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">0x%" PRIx64
			"</text>\n",
			LEFT - 8, s->y + BAR - 2, address);
}

static void put_block(const struct table *s, size_t which, uint64_t from, uint64_t to, double x)
{
	const struct gp_memory_block *b = &s->r->memory.block[which];
	static const char *const states[] = { "free", "allocated", "pending" };
	double scale = ROW_WIDTH / (double)s->row_bytes, width = (double)(to - from) * scale;
	fprintf(s->out, "<rect class=\"%s%d\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\">",
		b->state == GP_STATE_FREE    ? "gap g" :
		b->state == GP_STATE_PENDING ? "pending p" :
					       "c",
		b->state == GP_STATE_ALLOCATED ? s->classes->of_block[which] : 0, LEFT + x, s->y,
		width, BAR);
	fprintf(s->out, "<title>0x%" PRIx64 " %s %s", b->address, gp_bytes_text(b->bytes).s,
		states[b->state]);
	if (b->state != GP_STATE_FREE) {
		fprintf(s->out, ", %s old", gp_ns_text(s->r->memory.at_ns - b->at_ns).s);
		if (b->requested_bytes != GP_BYTES_UNKNOWN)
			fprintf(s->out, ", %" PRIu64 " bytes requested", b->requested_bytes);
	}
	fputs("</title></rect>\n", s->out);
}

/* Draws the part [from, to) of a segment, in one row. */
static void put_part(const struct table *s, const struct gp_memory_segment *g, uint64_t from,
		     uint64_t to, size_t *block)
{
	const struct gp_memory *m = &s->r->memory;
	double scale = ROW_WIDTH / (double)s->row_bytes;
	for (; *block < g->first + g->blocks; ++*block) {
		const struct gp_memory_block *b = &m->block[*block];
		uint64_t low = b->address > from ? b->address : from;
		uint64_t high = b->address + b->bytes < to ? b->address + b->bytes : to;
		if (low < high)
			put_block(s, *block, low, high, s->x + (double)(low - from) * scale);
		if (b->address + b->bytes > to)
			break;
	}
	fprintf(s->out,
		"<rect class=\"edge\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\"/>\n",
		LEFT + s->x, s->y, (double)(to - from) * scale, BAR);
}

static void put_segment(struct table *s, const struct gp_memory_segment *g)
{
	double scale = ROW_WIDTH / (double)s->row_bytes;
	uint64_t end = g->address + g->bytes;
	size_t block = g->first;
	if (s->x > 0 && s->x + (double)g->bytes * scale > ROW_WIDTH + SLACK)
		next_row(s);
	for (uint64_t at = g->address; at < end;) {
		uint64_t to = end - at > s->row_bytes ? at + s->row_bytes : end;
		put_address(s, at);
		if (s->is_drawing)
			put_part(s, g, at, to, &block);
		s->x += (double)(to - at) * scale + APART;
		if (to < end)
			next_row(s);
		at = to;
	}
}

/* ---- the page ---- */

static void put_pool(struct table *s, const struct gp_frag *f, const struct gp_frag_pool *p)
{
	s->y += 22;
	if (s->is_drawing)
		fprintf(s->out,
			"<text x=\"20\" y=\"%.1f\"><tspan class=\"head\">%s</tspan>"
			"  %s of %s allocated in %s</text>\n",
			s->y, gp_frag_place(&f->memory->arena[p->arena], p->is_small).s,
			gp_bytes_text(p->allocated_bytes).s, gp_bytes_text(p->reserved_bytes).s,
			gp_plural(p->segments, "segment").s);
	s->y += 8;
	s->x = 0;
	for (size_t k = 0; k < f->device->segments; k++) {
		const struct gp_memory_segment *g =
			&f->memory->segment[f->device->first_segment + k];
		if (g->arena == p->arena && g->is_small == p->is_small)
			put_segment(s, g);
	}
	next_row(s);
}

#define LEGEND_NAME_MOST 110u /* columns: two names of that length do not fit into a row */

static void put_legend(struct table *s)
{
	double x = 20;
	s->y += 26;
	for (size_t k = 0; k < s->classes->classes; k++) {
		const struct gp_frag_class *c = &s->classes->class[k];
		char text[GP_SITE_MAX + 64];
		if (!c->bytes)
			continue;
		char name[GP_SITE_MAX];
		gp_name_cut(c->name, LEGEND_NAME_MOST, "…", name, sizeof name);
		snprintf(text, sizeof text, "%s, %s", name, gp_bytes_text(c->bytes).s);
		double width = 30 + 6.6 * (double)strlen(text);
		if (x > 20 && x + width > WIDTH - 20) {
			x = 20;
			s->y += 18;
		}
		if (s->is_drawing) {
			fprintf(s->out,
				"<rect class=\"c%zu\" x=\"%.1f\" y=\"%.1f\" width=\"12\" "
				"height=\"12\"/><text x=\"%.1f\" y=\"%.1f\">",
				k, x, s->y - 10, x + 17, s->y);
			gp_xml_put(s->out, text, SIZE_MAX);
			fputs("</text>\n", s->out);
		}
		x += width;
	}
	if (s->is_drawing)
		fprintf(s->out,
			"<rect class=\"gap\" x=\"20\" y=\"%.1f\" width=\"12\" height=\"12\"/>"
			"<rect class=\"edge\" x=\"20\" y=\"%.1f\" width=\"12\" height=\"12\"/>"
			"<text x=\"37\" y=\"%.1f\">free</text>"
			"<rect class=\"pending\" x=\"80\" y=\"%.1f\" width=\"12\" height=\"12\"/>"
			"<text x=\"97\" y=\"%.1f\">freed, still used by another stream</text>\n",
			s->y + 8, s->y + 8, s->y + 18, s->y + 8, s->y + 18);
	s->y += 22;
}

static void put_device(struct table *s, const struct gp_frag *f)
{
	s->row_bytes = ROW_LEAST;
	while (f->reserved_bytes / ROWS_MOST > s->row_bytes)
		s->row_bytes *= 2;
	s->y += 28;
	if (s->is_drawing)
		fprintf(s->out,
			"<text x=\"20\" y=\"%.1f\"><tspan class=\"head\">GPU %u</tspan>  %s: "
			"reserved %s, allocated %s; a row is %s</text>\n",
			s->y, f->device->device, gp_frag_moment(s->r).s,
			gp_bytes_text(f->reserved_bytes).s, gp_bytes_text(f->allocated_bytes).s,
			gp_bytes_text(s->row_bytes).s);
	for (size_t k = 0; k < f->pools; k++)
		put_pool(s, f, &f->pool[k]);
}

static void put_all(struct table *s)
{
	s->y = 56;
	put_legend(s);
	for (size_t k = 0; k < s->r->devices; k++)
		put_device(s, &s->r->device[k].frag);
	s->end = s->y + 20;
}

static void put_head(const struct table *s, enum gp_frag_colour colour)
{
	const char *command = s->r->info->command ? s->r->info->command : s->r->path;
	const char *const *colours = colour == GP_COLOUR_AGE ? age_colours : kind_colours;
	fprintf(s->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
		"viewBox=\"0 0 %d %.0f\" role=\"img\">\n<title>Segments of GPU memory</title>\n"
		"<style>\n%s",
		WIDTH, s->end, WIDTH, s->end, style);
	for (size_t k = 0; k < s->classes->classes; k++)
		fprintf(s->out, ".c%zu{fill:%s}\n", k, colours[k]);
	fputs("</style>\n<defs><pattern id=\"pending\" width=\"5\" height=\"5\" "
	      "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
	      "<rect width=\"5\" height=\"5\" fill=\"#fff\"/>"
	      "<rect width=\"2.5\" height=\"5\" fill=\"#b3151b\"/></pattern></defs>\n"
	      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
	      "<text class=\"title\" x=\"20\" y=\"30\">",
	      s->out);
	gp_xml_put(s->out, command, SIZE_MAX);
	fputs("</text>\n<text class=\"faint\" x=\"20\" y=\"51\">", s->out);
	gp_xml_put(s->out, gp_headline_of(s->r->info).s, SIZE_MAX);
	fputs("</text>\n", s->out);
}

bool gp_frag_draw(const struct gp_frag_report *r, enum gp_frag_colour colour)
{
	struct gp_frag_classes classes;
	if (!gp_frag_classify(r, colour, &classes))
		return false;
	struct table s = { .r = r, .classes = &classes, .out = r->out };
	put_all(&s);
	put_head(&s, colour);
	s.is_drawing = true;
	put_all(&s);
	fputs("</svg>\n", s.out);
	gp_frag_classes_release(&classes);
	return true;
}
