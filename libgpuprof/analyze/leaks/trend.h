/*
 * The trend of one series over steps: how fast it rises, how likely such a rise is by chance, and
 * whether it goes on. `leaks` judges each stack by it, `check --max-growth` each device. No
 * recording, no stacks.
 */
#ifndef GP_TREND_H
#define GP_TREND_H

#include <stdbool.h>
#include <stddef.h>

#include "../../gpuprof.h"

#define GP_TREND_SAMPLES 64u	/* capacity: pairs are their square */
#define GP_TREND_SAMPLES_MIN 8u /* of 8! orders one is rising: the first below GP_TREND_P_MAX */
#define GP_TREND_P_MAX 0.001	/* one false alarm in a thousand jobs without a leak */
/*
 * Half is much: of a rise, that was there before; of what was made, that is left; of intervals, in
 * which something got larger; of growth, that other memory made room for, or that one stack has.
 */
#define GP_TREND_HALF 0.5

/*
 * The median of the slopes between all pairs (Theil 1950, Sen 1968); `at` rises. 0 for fewer than
 * two values.
 */
double gp_trend_slope(const double *at, const double *value, size_t n);
/*
 * The one-sided p-value of a rise by Kendall's S (Mann 1945, Kendall 1975): exact where no two
 * values are the same, else by the normal approximation with ties. 1 if S is not above 0.
 */
double gp_trend_chance(const double *value, size_t n);
/* The fewest samples at which a series that rises at each is significant among so many tests. */
size_t gp_trend_samples_least(size_t tests);
/* Growth is not over: the last third rises, too, by a fair share of `slope`, that of all values. */
bool gp_trend_goes_on(const double *at, const double *value, size_t n, double slope);
/* Before value[since] there was half of what value[n - 1] has more than it, and not just once. */
bool gp_trend_was_high(const double *value, size_t n, size_t since);

struct gp_trend_fall {
	double pace; /* at the end, as a share of the first one */
	double full; /* the value in the end, if it goes on to slow down like this */
};
/*
 * The rise slows down, as that of a cache does which fills up: its pace falls as e^-bt (Cox and
 * Lewis 1966), significantly (permutation test: Pitman 1937). *out is set if this is true.
 */
bool gp_trend_slows(const double *at, const double *value, size_t n, struct gp_trend_fall *out);
/*
 * Whether all that is held rises by more than `limit` a step: the first rule that excludes it.
 * *slope is set in any case.
 */
enum gp_growth_rule gp_trend_judge(const double *at, const double *value, size_t n, double limit,
				   double *slope);

#endif
