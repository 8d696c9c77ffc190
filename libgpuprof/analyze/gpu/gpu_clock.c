/* Moments on CUPTI's clock as moments of the recording. */
#include "gpu_clock.h"

#include <stdlib.h>

#include "../../read/tables/array.h"

#define PAIRS_MOST 65536u /* one a second for 18 hours */

bool gp_gpu_clock_add(struct gp_gpu_clock *clock, const struct gp_tick *tick,
		      const struct gp_record *r)
{
	const uint64_t within = r->aux < r->time ? r->aux : r->time;
	const int64_t at_ns = gp_tick_ns(tick, r->time - within / 2);
	const int64_t within_ns = gp_tick_ns(tick, r->time) - gp_tick_ns(tick, r->time - within);
	if (clock->pairs == PAIRS_MOST)
		clock->pairs--;
	if (!gp_array_reserve(&clock->pair, &clock->room, clock->pairs, 1, sizeof *clock->pair))
		return false;
	clock->pair[clock->pairs++] = (struct gp_gpu_clock_pair){ r->gpu_clock.gpu_ns, at_ns };
	if (clock->pairs == 1 || within_ns > clock->within_ns)
		clock->within_ns = within_ns;
	return true;
}

static int by_gpu(const void *left, const void *right)
{
	const struct gp_gpu_clock_pair *a = left, *b = right;
	if (a->gpu_ns != b->gpu_ns)
		return a->gpu_ns < b->gpu_ns ? -1 : 1;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

void gp_gpu_clock_settle(struct gp_gpu_clock *clock)
{
	size_t kept = 0;
	if (clock->pairs == 0) {
		clock->within_ns = -1;
		return;
	}
	qsort(clock->pair, clock->pairs, sizeof *clock->pair, by_gpu);
	for (size_t k = 0; k < clock->pairs; k++)
		if (kept == 0 || (clock->pair[k].gpu_ns > clock->pair[kept - 1].gpu_ns &&
				  clock->pair[k].at_ns > clock->pair[kept - 1].at_ns))
			clock->pair[kept++] = clock->pair[k];
	clock->pairs = kept;
}

static int64_t clamp(__int128 ns)
{
	return ns > GP_TICK_NS_MOST  ? GP_TICK_NS_MOST :
	       ns < -GP_TICK_NS_MOST ? -GP_TICK_NS_MOST :
				       (int64_t)ns;
}

int64_t gp_gpu_clock_ns(const struct gp_gpu_clock *clock, uint64_t gpu_ns)
{
	if (clock->pairs == 0)
		return INT64_MIN;
	size_t low = 0, high = clock->pairs; /* the number of pairs at or before it */
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (clock->pair[middle].gpu_ns <= gpu_ns)
			low = middle + 1;
		else
			high = middle;
	}
	const struct gp_gpu_clock_pair *a = &clock->pair[low == 0 ? 0 : low - 1];
	const __int128 passed = (__int128)gpu_ns - a->gpu_ns;
	if (low == 0 || low == clock->pairs)
		return clamp(a->at_ns + passed);
	const __int128 rise = (__int128)a[1].at_ns - a->at_ns;
	return clamp(a->at_ns + passed * rise / (__int128)(a[1].gpu_ns - a->gpu_ns));
}

void gp_gpu_clock_release(struct gp_gpu_clock *clock)
{
	free(clock->pair);
	*clock = (struct gp_gpu_clock){ 0 };
}
