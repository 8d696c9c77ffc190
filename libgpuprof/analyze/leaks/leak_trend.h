/* Decides whether a series grows for good. Statistics over samples: no recording, no stacks. */
#ifndef GP_LEAK_TREND_H
#define GP_LEAK_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trend.h"

#define GP_LEAK_WINDOW_PARTS 4u /* growth must span at least this part of all samples */

/*
 * The live memory of one holder at each sample, and the allocation times of the survivors at the
 * last one.
 */
struct gp_series {
	size_t samples;
	const double *at; /* in steps, ascending */
	const double *bytes, *count;
	/*
	 * By sample: the survivors at the last sample that were allocated since the sample before;
	 * [0]: all earlier ones.
	 */
	const uint32_t *births;
};

struct gp_leak_trend {
	double bytes_per_step, count_per_step;
	double p;     /* of such an order by chance, one-sided */
	size_t since; /* index of the sample after which it grows */
	size_t births, spans, born_spans;
	bool is_replaced; /* the count is constant, and larger memory replaces it each time */
	bool is_late;	  /* found in the tail: since and spans refer to its samples */
	bool is_steady;	  /* its later half alone grows, too */
	bool is_filling;  /* it slows down; its last pace by the first, its final count */
	double pace, expected_count;
};

/*
 * False: it does not grow, or not for good, or it is nearly full. `tail` has more samples of the
 * last part of the whole, for growth that began there; it may have none.
 */
bool gp_leak_trend_find(const struct gp_series *whole, const struct gp_series *tail,
			struct gp_leak_trend *out);
/* The least number of samples of a scale that growth must span. */
size_t gp_leak_window_least(size_t samples);
#endif
