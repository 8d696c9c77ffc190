/* Clocks of several recordings: CLOCK_MONOTONIC_RAW within a boot, else the time of day. */
#include "rank_clock.h"

#include <stdio.h>
#include <string.h>

#include "../io/amount.h"

struct gp_rank_start gp_rank_start_of(const struct gp_info *info)
{
	struct gp_rank_start start = { .mono_ns = info->start_mono_ns,
				       .unix_ns = info->start_unix_ns };
	snprintf(start.boot_id, sizeof start.boot_id, "%s", info->boot_id);
	return start;
}

bool gp_rank_is_one_clock(const struct gp_rank_start *a, const struct gp_rank_start *b)
{
	return a->boot_id[0] && strcmp(a->boot_id, b->boot_id) == 0;
}

int64_t gp_rank_apart_ns(const struct gp_rank_start *a, const struct gp_rank_start *b,
			 bool is_one_clock)
{
	const uint64_t from = is_one_clock ? a->mono_ns : a->unix_ns;
	const uint64_t to = is_one_clock ? b->mono_ns : b->unix_ns;
	const uint64_t apart = from < to ? to - from : from - to;
	const int64_t ns = apart < GP_NS_MOST ? (int64_t)apart : GP_NS_MOST;
	return from < to ? ns : -ns;
}

const char gp_rank_order_unsure[] = "The recordings are of several hosts or boots: their clocks "
				    "may differ, and so may the order.\n";

static struct gp_rank_moment *moment_at(struct gp_rank_moment *first, size_t k, size_t stride)
{
	return (struct gp_rank_moment *)((char *)first + k * stride);
}

bool gp_rank_moments_align(struct gp_rank_moment *first, size_t count, size_t stride)
{
	bool is_one = true;
	for (size_t k = 1; k < count; k++)
		is_one = is_one &&
			 gp_rank_is_one_clock(&first->start, &moment_at(first, k, stride)->start);
	for (size_t k = 0; k < count; k++) {
		struct gp_rank_moment *moment = moment_at(first, k, stride);
		moment->clock_ns =
			gp_rank_apart_ns(&first->start, &moment->start, is_one) + moment->at_ns;
	}
	return is_one;
}
