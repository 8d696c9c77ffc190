/*
 * Memory by role as stacked areas, below the curves of a device in a picture. A pixel column shows
 * the moment with most memory in it.
 */
#include "svg_roles.h"

#include <stdlib.h>

#include "../io/amount.h"

/* Pixels. The legend has four roles in a row. */
enum { TITLE = 20, HEIGHT = 160, LEGEND_FIRST = 20, LEGEND_ROW = 17, IN_A_ROW = 4, END = 14 };

static const char *const colors[GP_MEMORY_ROLES] = {
	[GP_HOLDS_WEIGHTS] = "#1f6fb5",	  [GP_HOLDS_GRADIENTS] = "#e08214",
	[GP_HOLDS_OPTIMIZER] = "#7b52ab", [GP_HOLDS_ACTIVATIONS] = "#2a9d70",
	[GP_HOLDS_INPUTS] = "#8fb8de",	  [GP_HOLDS_TEMPORARIES] = "#f2c14e",
	[GP_HOLDS_KV_CACHE] = "#c23b5a",  [GP_HOLDS_COMMUNICATION] = "#5fb7c6",
	[GP_HOLDS_WORKSPACE] = "#8c6d46", [GP_HOLDS_GRAPH_POOL] = "#a3b86c",
	[GP_HOLDS_UNKNOWN] = "#b8bcc4",
};

/* Bytes of the roles up to `role`. */
static uint64_t sum_to(const struct gp_role_sums *band, unsigned role)
{
	uint64_t sum = 0;
	for (unsigned k = 0; k <= role; k++)
		sum += band->bytes[k];
	return sum;
}

/* The moment that the pixel column shows; SIZE_MAX: none begins there. */
static size_t shown_in(const struct gp_chart *chart, const struct gp_role_bands *bands,
		       unsigned column, unsigned columns, size_t *next)
{
	const double span = (double)(chart->to_ns - chart->from_ns);
	size_t best = SIZE_MAX;
	for (; *next < bands->bands; ++*next) {
		const struct gp_role_sums *band = &bands->band[*next];
		const double x =
			span > 0 ? (double)(band->at_ns - chart->from_ns) / span * columns : 0;
		if (x >= column + 1.0 && column + 1 < columns)
			break;
		if (best == SIZE_MAX || sum_to(band, GP_MEMORY_ROLES - 1) >
						sum_to(&bands->band[best], GP_MEMORY_ROLES - 1))
			best = *next;
	}
	return best;
}

/* The area of all roles up to `role`; those that are drawn later cover the others. */
static void draw_area(const struct gp_svg_place *at, const struct gp_chart *chart,
		      const struct gp_role_bands *bands, unsigned role, uint64_t highest)
{
	const double bottom = at->top + TITLE + HEIGHT;
	size_t next = 0;
	fprintf(at->out, "<path fill=\"%s\" d=\"M%u %.1f", colors[role], at->left, bottom);
	for (unsigned column = 0; column < at->width; column++) {
		const size_t k = shown_in(chart, bands, column, at->width, &next);
		if (k == SIZE_MAX)
			continue;
		const double part = (double)sum_to(&bands->band[k], role) / (double)highest;
		fprintf(at->out, "H%uV%.1f", at->left + column, bottom - HEIGHT * part);
	}
	fprintf(at->out, "H%uV%.1fZ\"/>\n", at->left + at->width, bottom);
}

static void draw_key(const struct gp_svg_place *at, unsigned index, unsigned role, uint64_t bytes)
{
	const unsigned x = at->left + index % IN_A_ROW * (at->width / IN_A_ROW);
	const double y = at->top + TITLE + HEIGHT + LEGEND_FIRST + index / IN_A_ROW * LEGEND_ROW;
	fprintf(at->out,
		"<rect fill=\"%s\" x=\"%u\" y=\"%.1f\" width=\"14\" height=\"10\"/>"
		"<text x=\"%u\" y=\"%.1f\">%s %s</text>\n",
		colors[role], x, y - 9, x + 21, y, gp_role_keys[role], gp_bytes_text(bytes).s);
}

double gp_svg_roles_draw(const struct gp_svg_place *at, const struct gp_chart *chart,
			 unsigned device)
{
	const struct gp_role_bands *bands = gp_chart_bands(chart, device);
	uint64_t highest = 1, of_role[GP_MEMORY_ROLES] = { 0 };
	unsigned keys = 0;
	if (!bands)
		return 0;
	for (size_t k = 0; k < bands->bands; k++) {
		const uint64_t all = sum_to(&bands->band[k], GP_MEMORY_ROLES - 1);
		highest = all > highest ? all : highest;
		for (unsigned role = 0; role < GP_MEMORY_ROLES; role++)
			if (bands->band[k].bytes[role] > of_role[role])
				of_role[role] = bands->band[k].bytes[role];
	}
	fprintf(at->out,
		"<text x=\"%u\" y=\"%.1f\">blocks of PyTorch, by role; with the highest value of "
		"each</text><text class=\"faint\" x=\"%u\" y=\"%.1f\" text-anchor=\"end\">%s"
		"</text>\n",
		at->left, at->top + TITLE - 7, at->left - 9, at->top + TITLE + 8,
		gp_bytes_text(highest).s);
	for (unsigned role = GP_MEMORY_ROLES; role-- > 0;)
		if (of_role[role])
			draw_area(at, chart, bands, role, highest);
	fprintf(at->out, "<path class=\"axis\" d=\"M%u %.1fH%u\"/>\n", at->left - 5,
		at->top + TITLE + HEIGHT, at->left + at->width);
	for (unsigned role = 0; role < GP_MEMORY_ROLES; role++)
		if (of_role[role])
			draw_key(at, keys++, role, of_role[role]);
	return TITLE + HEIGHT + LEGEND_FIRST +
	       (double)((keys + IN_A_ROW - 1) / IN_A_ROW) * LEGEND_ROW + END;
}
