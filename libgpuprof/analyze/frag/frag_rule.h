/*
 * The arithmetic of PyTorch's caching allocator: what a request becomes, which block takes it, what
 * it asks of the driver. Constants and order of checks are those of
 * c10/cuda/CUDACachingAllocator.cpp.
 */
#ifndef GP_FRAG_RULE_H
#define GP_FRAG_RULE_H

#include "../../gpuprof.h"

#define GP_MIB (UINT64_C(1) << 20)
#define GP_BLOCK_UNIT 512u
#define GP_SMALL_MOST GP_MIB	      /* of the small pool's requests */
#define GP_SMALL_SEGMENT (2 * GP_MIB) /* also what large segments are a multiple of */
#define GP_LARGE_ALONE (10 * GP_MIB)  /* from here on a request gets a segment of its size */

extern const struct gp_allocator_settings gp_allocator_defaults;

/* The largest size of a block at most `bytes` that a request can ask for. */
uint64_t gp_rule_floor(const struct gp_allocator_settings *settings, uint64_t bytes);
/* What is asked of the driver for a block of `rounded` bytes in a new segment. */
uint64_t gp_rule_segment(const struct gp_allocator_settings *settings, uint64_t rounded);
/* Of a free block that is the smallest with at least `rounded` bytes. */
bool gp_rule_takes(const struct gp_allocator_settings *settings, uint64_t rounded, uint64_t block);
/* The largest block of at most `most` bytes whose new segment needs at most `room`; 0: none. */
uint64_t gp_rule_largest(const struct gp_allocator_settings *settings, uint64_t most,
			 uint64_t room);
/* Unit in which expandable segments are mapped. */
uint64_t gp_rule_page(const struct gp_allocator_settings *settings, bool is_small);

/* Whole pages in the addresses [from, to), in bytes. */
static inline uint64_t gp_rule_pages(uint64_t from, uint64_t to, uint64_t page)
{
	uint64_t first = (from + page - 1) / page, last = to / page;
	return last > first ? (last - first) * page : 0;
}

#endif
