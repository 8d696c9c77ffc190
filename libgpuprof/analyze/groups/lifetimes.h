/*
 * The lifetimes of allocations as counts in buckets, each a quarter of a power of two wide. Medians
 * are exact within an eighth. Memory does not grow, and counts can be added up.
 */
#ifndef GP_LIFETIMES_H
#define GP_LIFETIMES_H

#include <stdint.h>

#define GP_LIFETIME_BUCKETS 184u /* the last one begins at 2^46 ns, 19 hours */

struct gp_lifetimes {
	uint32_t count[GP_LIFETIME_BUCKETS];
};

/* The bucket of a lifetime; a negative one counts as 0. */
unsigned gp_lifetime_bucket(int64_t ns);
void gp_lifetimes_add(struct gp_lifetimes *to, const struct gp_lifetimes *more);
/* The middle of the bucket that contains the median; -1: there are no counts. */
int64_t gp_lifetimes_median(const struct gp_lifetimes *lives);

#endif
