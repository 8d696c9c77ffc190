/*
 * One curve as encoded points: each change, up to a number of points; then the changes of equal
 * parts of time, each part with its most and fewest bytes. Peaks stay exact.
 */
#ifndef GP_CURVE_POINTS_H
#define GP_CURVE_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GP_POINT_TIME, GP_POINT_MOST, GP_POINT_RANGE, GP_POINT_COLUMNS };

struct gp_curve_column {
	unsigned char *bytes;
	size_t count, room;
};
struct gp_curve_point {
	uint64_t at_ns, most, fewest;
};
/* Zeros, with `most` set, are the curve that is 0. */
struct gp_curve_points {
	uint64_t most;
	struct gp_curve_column column[GP_POINT_COLUMNS]; /* of all points but the last */
	uint64_t points;				 /* encoded */
	struct gp_curve_point before, last; /* the last encoded one; the one that may still grow */
	uint64_t now;			    /* bytes */
	bool has_last;
	unsigned bits; /* a part has 2^bits ns; 0: exact, all changes are points */
	bool is_out_of_memory;
};

/* Moments do not descend. */
void gp_points_add(struct gp_curve_points *curve, uint64_t at_ns, uint64_t bytes);
/* The block of bytes, which the caller frees; NULL: out of memory. No points may follow. */
unsigned char *gp_points_finish(struct gp_curve_points *curve, size_t *count);
void gp_points_release(struct gp_curve_points *curve);

#endif
