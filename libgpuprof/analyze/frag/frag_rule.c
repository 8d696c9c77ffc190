/* The allocator's rounding of sizes. */
#include "frag_rule.h"

#define LARGE_SEGMENT (20 * GP_MIB)
#define BUCKET_FIRST 20u /* log2 of a MiB */

const struct gp_allocator_settings gp_allocator_defaults = {
	.max_split_bytes = UINT64_MAX,
	.max_non_split_rounding = LARGE_SEGMENT,
	.large_segment_bytes = LARGE_SEGMENT,
};

/* ---- sizes ---- */

static unsigned log2_of(uint64_t n)
{
	return 63u - (unsigned)__builtin_clzll(n);
}

/* Sizes in the power of two that contains `bytes` are multiples of this. */
static uint64_t step_at(const struct gp_allocator_settings *s, uint64_t bytes)
{
	if (bytes < GP_BLOCK_UNIT)
		return GP_BLOCK_UNIT;
	unsigned log = log2_of(bytes), bucket = log > BUCKET_FIRST ? log - BUCKET_FIRST : 0;
	bucket = bucket < GP_ROUNDUP_BUCKETS ? bucket : GP_ROUNDUP_BUCKETS - 1;
	uint64_t divisions = s->roundup_divisions[bucket];
	if (divisions <= 1 || bytes <= GP_BLOCK_UNIT * divisions)
		return GP_BLOCK_UNIT;
	return (UINT64_C(1) << log) >> log2_of(divisions);
}

uint64_t gp_allocator_rounded(const struct gp_allocator_settings *s, uint64_t bytes)
{
	uint64_t step = step_at(s, bytes);
	if (bytes > UINT64_MAX - step)
		return UINT64_MAX / GP_BLOCK_UNIT * GP_BLOCK_UNIT;
	return bytes < GP_BLOCK_UNIT ? GP_BLOCK_UNIT : (bytes + step - 1) / step * step;
}

uint64_t gp_rule_floor(const struct gp_allocator_settings *s, uint64_t bytes)
{
	/* a power of two is also a multiple of its step */
	return bytes / step_at(s, bytes) * step_at(s, bytes);
}

uint64_t gp_rule_segment(const struct gp_allocator_settings *s, uint64_t rounded)
{
	if (rounded <= GP_SMALL_MOST)
		return GP_SMALL_SEGMENT;
	if (rounded < GP_LARGE_ALONE)
		return s->large_segment_bytes;
	if (rounded > UINT64_MAX - GP_SMALL_SEGMENT)
		return UINT64_MAX;
	return (rounded + GP_SMALL_SEGMENT - 1) / GP_SMALL_SEGMENT * GP_SMALL_SEGMENT;
}

bool gp_rule_takes(const struct gp_allocator_settings *s, uint64_t rounded, uint64_t block)
{
	if (rounded < s->max_split_bytes)
		return block < s->max_split_bytes || s->max_split_bytes == UINT64_MAX;
	return block - rounded < s->max_non_split_rounding;
}

uint64_t gp_rule_largest(const struct gp_allocator_settings *s, uint64_t most, uint64_t room)
{
	/* a candidate for each of the three ways to a segment, largest first */
	uint64_t whole = room / GP_SMALL_SEGMENT * GP_SMALL_SEGMENT;
	const uint64_t tried[] = { whole, GP_LARGE_ALONE - GP_BLOCK_UNIT, GP_SMALL_MOST };
	for (size_t k = 0; k < sizeof tried / sizeof *tried; k++) {
		uint64_t bytes = gp_rule_floor(s, tried[k] < most ? tried[k] : most);
		if (bytes != 0 && gp_rule_segment(s, bytes) <= room)
			return bytes;
	}
	return 0;
}

uint64_t gp_rule_page(const struct gp_allocator_settings *s, bool is_small)
{
	return is_small ? GP_SMALL_SEGMENT : s->large_segment_bytes;
}
