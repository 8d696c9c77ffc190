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
