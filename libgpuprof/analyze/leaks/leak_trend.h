/*
 * Does a series grow for good? Statistics over samples: no recording, no stacks.
 */
#ifndef GP_LEAK_TREND_H
#define GP_LEAK_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trend.h"

#define GP_LEAK_WINDOW_PARTS 4u /* it grows for such a part of all samples at least */

/* What was live of one thing at each sample, and when what is left at the last one was made. */
struct gp_series {
	size_t samples;
	const double *at; /* in steps, rising */
	const double *bytes, *count;
	/* by sample: how many of those live at the last one were made since the sample before; [0]:
	 * earlier */
	const uint32_t *births;
};

struct gp_leak_trend {
	double bytes_per_step, count_per_step;
	double p;     /* of that much order by chance, one-sided */
	size_t since; /* the sample after which it grows */
	size_t births, spans, born_spans;
	bool is_replaced; /* as many all the time, each time by larger ones */
	bool is_late;	  /* found in the tail: since and spans are of its samples */
	bool is_steady;	  /* its later half alone grows, too */
	bool is_filling;  /* it slows down: its pace by the first, how many in the end */
	double pace, expected_count;
};

/*
 * False: it does not grow, or not for good, or it is nearly full. `tail` are more samples of the
 * last part of the whole, for what began there; it may have none.
 */
bool gp_leak_trend_find(const struct gp_series *whole, const struct gp_series *tail,
			struct gp_leak_trend *out);
/* How many of the samples of a scale what grows must grow for. */
size_t gp_leak_window_least(size_t samples);
#endif
