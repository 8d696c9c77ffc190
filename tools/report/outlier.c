/* The outlier of a list of values: by its distance from the median, in median distances. */
#include "outlier.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* With fewer rows the median does not show what is usual. */
#define OUTLIER_ROWS 4u
/* In median distances; Iglewicz and Hoaglin's 3.5 robust deviations are 5.2 of them. */
#define OUTLIER_DISTANCES 5.0
/* Of the median. Ranks always differ a little, and with equal numbers the median distance is 0. */
#define OUTLIER_SHARE 0.02

static int outlier_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof *values, outlier_compare);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

struct gp_outlier gp_outlier_find(const double *value, size_t values)
{
	struct gp_outlier found = { .far = SIZE_MAX, .usual = SIZE_MAX };
	double *known = malloc((values + 1) * sizeof *known);
	size_t n = 0;
	for (size_t k = 0; known && k < values; k++)
		if (!isnan(value[k]))
			known[n++] = value[k];
	if (n >= OUTLIER_ROWS) {
		double middle = median(known, n), most = 0, least = INFINITY;
		for (size_t k = 0; k < n; k++)
			known[k] = fabs(known[k] - middle);
		double usual = median(known, n);
		for (size_t k = 0; k < values; k++) {
			double d = fabs(value[k] - middle);
			if (d < least) {
				least = d;
				found.usual = k;
			}
			if (d > most && d > OUTLIER_DISTANCES * usual &&
			    d > OUTLIER_SHARE * fabs(middle)) {
				most = d;
				found.far = k;
				found.is_higher = value[k] > middle;
			}
		}
	}
	free(known);
	return found;
}
