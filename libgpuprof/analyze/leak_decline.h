/*
 * Does what grows slow down, as a cache does that fills up? Of what is left at the last sample less
 * and less was made. No recording, no stacks.
 */
#ifndef GP_LEAK_DECLINE_H
#define GP_LEAK_DECLINE_H

#include "leak_trend.h"

struct gp_decline {
	double pace;	 /* at the end, as a share of that at the beginning */
	double expected; /* how many there are in the end, should it go on like this */
};

/* False: it grows on, as far as can be told. */
bool gp_decline_find(const struct gp_series *series, struct gp_decline *out);
/* There is nearly all of it. */
bool gp_decline_is_over(const struct gp_series *series, const struct gp_decline *decline);

#endif
