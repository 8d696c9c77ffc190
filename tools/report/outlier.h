/*
 * The value of a list that differs from the others (docs/ANALYSIS.md, section 22). Tables of
 * recordings and the page of `report` mark it.
 */
#ifndef GP_OUTLIER_H
#define GP_OUTLIER_H

#include <stdbool.h>
#include <stddef.h>

struct gp_outlier {
	size_t far;	/* its place; SIZE_MAX: there is none */
	size_t usual;	/* place of the value nearest to the median; SIZE_MAX: too few values */
	bool is_higher; /* than the median */
};

/* NAN: unknown. Without memory, no value is an outlier. */
struct gp_outlier gp_outlier_find(const double *value, size_t values);

#endif
