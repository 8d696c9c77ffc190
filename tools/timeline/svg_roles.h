/* Memory by role in a picture. */
#ifndef GP_SVG_ROLES_H
#define GP_SVG_ROLES_H

#include "chart.h"

/* Where to draw, in pixels; the plot is between `left` and `left + width`. */
struct gp_svg_place {
	FILE *out;
	double top;
	unsigned left, width;
};
/*
 * Stacked areas of a device with a legend, on the time axis of the chart. Returns the height that
 * they take; 0: roles were not requested, or it has no blocks.
 */
double gp_svg_roles_draw(const struct gp_svg_place *place, const struct gp_chart *chart,
			 unsigned device);

#endif
