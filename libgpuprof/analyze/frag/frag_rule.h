/*
 * The arithmetic of PyTorch's caching allocator: the rounding of a request, the block that serves
 * it, and the size of its request to the driver. Constants and order of checks are those of
 * c10/cuda/CUDACachingAllocator.cpp.
 */
#ifndef GP_FRAG_RULE_H
#define GP_FRAG_RULE_H

#include "../../gpuprof.h"

#define GP_MIB (UINT64_C(1) << 20)
#define GP_BLOCK_UNIT 512u
#define GP_SMALL_MOST GP_MIB	      /* largest request of the small pool */
#define GP_SMALL_SEGMENT (2 * GP_MIB) /* large segments are multiples of it, too */
#define GP_LARGE_ALONE (10 * GP_MIB)  /* a request of at least this size gets its own segment */

extern const struct gp_allocator_settings gp_allocator_defaults;

/* The largest rounded size that is at most `bytes`. */
uint64_t gp_rule_floor(const struct gp_allocator_settings *settings, uint64_t bytes);
/* The bytes to request from the driver for a block of `rounded` bytes in a new segment. */
uint64_t gp_rule_segment(const struct gp_allocator_settings *settings, uint64_t rounded);
/*
 * True: the allocator takes a free block of `block` bytes, the smallest with at least `rounded`
 * bytes.
 */
bool gp_rule_takes(const struct gp_allocator_settings *settings, uint64_t rounded, uint64_t block);
/* The largest block of at most `most` bytes whose new segment needs at most `room`; 0: none. */
uint64_t gp_rule_largest(const struct gp_allocator_settings *settings, uint64_t most,
			 uint64_t room);
/* The unit in which expandable segments are mapped. */
uint64_t gp_rule_page(const struct gp_allocator_settings *settings, bool is_small);

/* The bytes of whole pages in the addresses [from, to). */
static inline uint64_t gp_rule_pages(uint64_t from, uint64_t to, uint64_t page)
{
	uint64_t first = (from + page - 1) / page, last = to / page;
	return last > first ? (last - first) * page : 0;
}

#endif
