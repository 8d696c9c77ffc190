/*
 * States of memory made by hand: segments with their blocks, one device. A segment is a list of
 * sizes, positive: allocated, negative: free, with PENDING added: pending.
 */
#ifndef MEMORY_LAYOUT_H
#define MEMORY_LAYOUT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpuprof.h"

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define PENDING (INT64_C(1) << 50)

enum { LAYOUT_ARENAS = 8, LAYOUT_SEGMENTS = 64, LAYOUT_BLOCKS = 4096, LAYOUT_OUTSIDES = 8 };

struct layout {
	struct gp_memory memory;
	struct gp_memory_device device;
	struct gp_arena arena[LAYOUT_ARENAS];
	struct gp_memory_segment segment[LAYOUT_SEGMENTS];
	struct gp_memory_block block[LAYOUT_BLOCKS];
	struct gp_memory_outside outside[LAYOUT_OUTSIDES];
	uint64_t next_address;
};

enum { LARGE = 0, SMALL = 1, EXPANDABLE = 2 };

/* Arena 1: default pool, stream 0; 2: the same, stream 7; 3: a private pool of stream 0. */
static inline void layout_open(struct layout *l)
{
	memset(l, 0, sizeof *l);
	l->next_address = UINT64_C(0x7f0000000000);
	l->arena[1] = (struct gp_arena){ .is_known = true, .has_pool = true };
	l->arena[2] = (struct gp_arena){ .is_known = true, .has_pool = true, .stream = 7 };
	l->arena[3] = (struct gp_arena){ .is_known = true, .has_pool = true, .user_pool = 1 };
	l->device = (struct gp_memory_device){
		.total_bytes = (uint64_t)(80 * GIB),
		.limit_bytes = GP_BYTES_UNKNOWN,
		.used_bytes = GP_BYTES_UNKNOWN,
	};
	l->memory = (struct gp_memory){
		.at_ns = 1000000,
		.has_allocator_details = true,
		.devices = 1,
		.device = &l->device,
		.arenas = 4,
		.arena = l->arena,
		.segment = l->segment,
		.block = l->block,
		.outside = l->outside,
	};
}

static inline void layout_block(struct layout *l, struct gp_memory_segment *s, int64_t size)
{
	bool is_pending = size > PENDING / 2, is_free = size < 0;
	uint64_t bytes = (uint64_t)(is_pending ? size - PENDING : is_free ? -size : size);
	l->block[l->memory.blocks++] = (struct gp_memory_block){
		.address = s->address + s->bytes,
		.bytes = bytes,
		.requested_bytes = is_free ? 0 : bytes - 100,
		.at_ns = is_free ? -1 : 1000,
		.state = is_free    ? GP_STATE_FREE :
			 is_pending ? GP_STATE_PENDING :
				      GP_STATE_ALLOCATED,
	};
	assert_true(l->memory.blocks < LAYOUT_BLOCKS);
	s->bytes += bytes;
	s->blocks++;
	s->active_bytes += is_free ? 0 : bytes;
	s->allocated_bytes += is_free || is_pending ? 0 : bytes;
	l->device.reserved_bytes += bytes;
	l->device.driver_bytes += bytes;
	l->device.allocated_bytes += is_free || is_pending ? 0 : bytes;
}

/* `hole`: bytes of addresses between this segment and the one before. Sizes end with 0. */
static inline struct gp_memory_segment *layout_segment_at(struct layout *l, size_t arena, int kind,
							  uint64_t hole, const int64_t *size)
{
	struct gp_memory_segment *s = &l->segment[l->memory.segments++];
	assert_true(l->memory.segments <= LAYOUT_SEGMENTS);
	*s = (struct gp_memory_segment){
		.address = l->next_address + hole,
		.arena = arena,
		.is_small = (kind & SMALL) != 0,
		.is_expandable = (kind & EXPANDABLE) != 0,
		.first = l->memory.blocks,
	};
	for (; *size != 0; size++)
		layout_block(l, s, *size);
	l->next_address = s->address + s->bytes;
	l->device.segments = l->memory.segments;
	return s;
}
#define LAYOUT_SEGMENT(l, arena, kind, ...) \
	layout_segment_at(l, arena, kind, (uint64_t)(64 * MIB), (const int64_t[]){ __VA_ARGS__, 0 })

#endif
