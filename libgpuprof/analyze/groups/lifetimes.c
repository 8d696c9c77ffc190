/* Buckets 0 to 3 hold 0 to 3 ns; above that, each power of two has four buckets. */
#include "lifetimes.h"

#define QUARTERS 4u

unsigned gp_lifetime_bucket(int64_t ns)
{
	if (ns < (int64_t)QUARTERS)
		return ns > 0 ? (unsigned)ns : 0;
	unsigned power = 63u - (unsigned)__builtin_clzll((uint64_t)ns);
	unsigned bucket = QUARTERS * (power - 1) + ((uint64_t)ns >> (power - 2) & (QUARTERS - 1));
	return bucket < GP_LIFETIME_BUCKETS ? bucket : GP_LIFETIME_BUCKETS - 1;
}

static int64_t middle_of(unsigned bucket)
{
	if (bucket < QUARTERS)
		return bucket;
	unsigned power = bucket / QUARTERS + 1;
	uint64_t width = 1ull << (power - 2);
	return (int64_t)((QUARTERS + bucket % QUARTERS) * width + width / 2);
}

void gp_lifetimes_add(struct gp_lifetimes *to, const struct gp_lifetimes *more)
{
	for (unsigned k = 0; k < GP_LIFETIME_BUCKETS; k++)
		to->count[k] += more->count[k];
}

int64_t gp_lifetimes_median(const struct gp_lifetimes *lives)
{
	uint64_t all = 0, seen = 0;
	for (unsigned k = 0; k < GP_LIFETIME_BUCKETS; k++)
		all += lives->count[k];
	for (unsigned k = 0; k < GP_LIFETIME_BUCKETS; k++) {
		seen += lives->count[k];
		if (seen * 2 >= all && seen > 0)
			return middle_of(k);
	}
	return -1;
}
