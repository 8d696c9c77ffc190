/*
 * The starts of several recordings on one clock (docs/ANALYSIS.md, section 22). Ranks do not start
 * at the same time, so moments since the start cannot be compared.
 */
#ifndef GP_RANK_CLOCK_H
#define GP_RANK_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpuprof.h"

struct gp_rank_start {
	char boot_id[40];
	uint64_t mono_ns, unix_ns;
};

struct gp_rank_start gp_rank_start_of(const struct gp_info *info);
/* Do both have the clock of one host, since one boot of it? */
bool gp_rank_is_one_clock(const struct gp_rank_start *a, const struct gp_rank_start *b);
/*
 * From the start of `a` to that of `b`: by CLOCK_MONOTONIC_RAW, if all recordings have one clock,
 * else by the time of day of each host. `is_one_clock` must be the same for all pairs of a set.
 */
int64_t gp_rank_apart_ns(const struct gp_rank_start *a, const struct gp_rank_start *b,
			 bool is_one_clock);

/* A moment of a recording. */
struct gp_rank_moment {
	struct gp_rank_start start;
	int64_t at_ns;	  /* since its start */
	int64_t clock_ns; /* since a start that all of a set have in common */
};
/*
 * Sets clock_ns of a set of moments, each `stride` bytes after the one before; the lowest is the
 * first one. False: not all have one clock, so the order may be wrong (gp_rank_order_unsure).
 */
bool gp_rank_moments_align(struct gp_rank_moment *first, size_t count, size_t stride);
extern const char gp_rank_order_unsure[]; /* a sentence for the report, with its newline */

#endif
