/*
 * The trend of one series over steps: its slope, the probability of such a rise by chance, and
 * whether it continues. `leaks` judges each stack with it, `check --max-growth` each device. No
 * recording, no stacks.
 */
#ifndef GP_TREND_H
#define GP_TREND_H

#include <stdbool.h>
#include <stddef.h>

#include "../../gpuprof.h"

#define GP_TREND_SAMPLES 64u	/* capacity: the number of pairs is its square */
#define GP_TREND_SAMPLES_MIN 8u /* 1 of 8! orders rises: the first below GP_TREND_P_MAX */
#define GP_TREND_P_MAX 0.001	/* one false alarm in a thousand jobs without a leak */
/*
 * Half is the limit for "much". It applies to the part of a rise that was there before, to the
 * surviving allocations, and to the intervals with a rise. It also applies to growth that replaced
 * other memory, or that one stack has.
 */
#define GP_TREND_HALF 0.5

/*
 * The median of the slopes between all pairs (Theil 1950, Sen 1968); `at` ascends. 0 for fewer than
 * two values.
 */
double gp_trend_slope(const double *at, const double *value, size_t n);
/*
 * The one-sided p-value of a rise by Kendall's S (Mann 1945, Kendall 1975): exact if all values
 * differ, else by the normal approximation with ties. 1 if S is not above 0.
 */
double gp_trend_chance(const double *value, size_t n);
/* The fewest samples at which a series that always rises is significant among `tests` tests. */
size_t gp_trend_samples_least(size_t tests);
/*
 * True: growth has not ended. The last third rises, too, by a sufficient share of `slope`, that of
 * all values.
 */
bool gp_trend_goes_on(const double *at, const double *value, size_t n, double slope);
/*
 * True: values before value[since] had at least half of the rise from value[since] to value[n - 1],
 * and not only once.
 */
bool gp_trend_was_high(const double *value, size_t n, size_t since);

struct gp_trend_fall {
	double pace; /* the last pace as a share of the first one */
	double full; /* the final value if it continues to slow down */
};
/*
 * True: the rise slows down as a cache does that fills up. Its pace falls as e^-bt (Cox and Lewis
 * 1966), significantly (permutation test: Pitman 1937). *out is set if true.
 */
bool gp_trend_slows(const double *at, const double *value, size_t n, struct gp_trend_fall *out);
/*
 * Decides whether held memory rises by more than `limit` a step; returns the first rule that
 * excludes it. *slope is always set.
 */
enum gp_growth_rule gp_trend_judge(const double *at, const double *value, size_t n, double limit,
				   double *slope);

#endif
