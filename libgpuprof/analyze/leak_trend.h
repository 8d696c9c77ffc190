/*
 * Does a series grow for good? Statistics over samples: no recording, no stacks.
 */
#ifndef GP_LEAK_TREND_H
#define GP_LEAK_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GP_LEAK_SAMPLES 64u
#define GP_LEAK_SAMPLES_MIN 8u
#define GP_LEAK_P_MAX 0.001
#define GP_LEAK_KEPT_LEAST 0.5 /* of what was made since: by so much the number must have grown */
/* What is left tells by so many births whether it grows; and so surely that no sum is needed. */
#define GP_LEAK_BIRTHS_SURE 12u
#define GP_LEAK_BIRTHS_MANY 21u

/* What was live of one thing at each sample, and when what is left at the last one was made. */
struct gp_series {
	size_t samples;
	const double *at; /* in steps, rising */
	const double *bytes, *count;
	/* by sample: how many of those live at the last one were made since the sample before; [0]:
	 * earlier */
	const uint32_t *births;
};

struct gp_trend {
	double bytes_per_step, count_per_step;
	double p;     /* of that much order by chance, one-sided */
	size_t since; /* the sample after which it grows */
	size_t births, spans, born_spans;
	bool is_replaced; /* as many all the time, each time by larger ones */
	bool is_late;	  /* found in the tail: since and spans are of its samples */
	bool is_filling;  /* it slows down, as what fills up: then see leak_decline.h for these */
	double pace, expected_count;
};

/*
 * False: it does not grow, or not for good, or it is nearly full. `tail` are more samples of the
 * last part of the whole, for what began there; it may have none.
 */
bool gp_trend_find(const struct gp_series *whole, const struct gp_series *tail,
		   struct gp_trend *out);
/* How many of the samples of a scale what grows must grow for. */
size_t gp_trend_window_least(size_t samples);
/* The median of the slopes between all pairs (Theil 1950, Sen 1968). */
double gp_trend_slope(const double *at, const double *value, size_t n);
/*
 * Chance of at least as many rising pairs, less falling ones, if order meant nothing (Mann 1945,
 * Kendall 1975): exact where no two values are the same, else by the normal approximation with
 * ties.
 */
double gp_trend_chance(const double *value, size_t n);
/* The fewest samples at which one of so many series is found that is larger at each of them. */
size_t gp_trend_samples_least(size_t series);

#endif
