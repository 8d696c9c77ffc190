/*
 * Invented jobs, event by event: segments, blocks and other memory of a device. A recording can
 * then have a state of memory that a real job cannot be made to have.
 */
#ifndef MADE_JOB_H
#define MADE_JOB_H

#include "../unit/recording_writer.h"

#define MIB (UINT64_C(1) << 20)
#define SEGMENTS UINT64_C(0x7f4000000000)

static struct writer w;

static inline void define(struct gp_record r, const char *text)
{
	struct gp_record *at = &w.buffer[0][w.buffered[0]];
	r.order = w.order;
	r.time = w.time += 64;
	at[0] = r;
	fill_text(at, text);
	gp_live_apply(w.live, at);
	w.buffered[0] += 1u + at->extra;
}

static inline void define_arena(uint64_t number, uint64_t stream, uint64_t user_pool)
{
	struct gp_record r = { .kind = GP_ARENA, .aux = (uint32_t)number };
	r.arena.stream = stream;
	r.arena.user_pool = user_pool;
	r.arena.has_pool = 1;
	put(&w, 0, r);
}

static inline struct gp_record at(enum gp_kind kind, unsigned space, unsigned arena,
				  uint64_t address, uint64_t bytes)
{
	struct gp_record r = { .kind = (uint16_t)kind,
			       .space = (uint8_t)space,
			       .code = (uint16_t)arena };
	r.alloc.address = address;
	r.alloc.bytes = bytes;
	return r;
}

static inline void segment(unsigned arena, uint64_t address, uint64_t bytes)
{
	put(&w, 0, at(GP_ALLOC, GP_SPACE_DEVICE, 0, address, bytes));
	put(&w, 0, at(GP_SEGMENT_ALLOC, 0, arena, address, bytes));
}

/* A page of the driver; its handle is its address + 1. */
static inline void map_page(uint64_t address, uint64_t bytes)
{
	put(&w, 0, at(GP_ALLOC, GP_SPACE_PHYSICAL, 0, address + 1, bytes));
	struct gp_record r = at(GP_MAP, GP_SPACE_MAPPED, 0, address, bytes);
	r.map.handle = address + 1;
	put(&w, 0, r);
}

static inline void unmap_page(uint64_t address, uint64_t bytes)
{
	put(&w, 0, at(GP_UNMAP, GP_SPACE_MAPPED, 0, address, bytes));
	put(&w, 0, at(GP_FREE, GP_SPACE_PHYSICAL, 0, address + 1, 0));
}

/* Pages of the expandable segment. */
static inline void map(unsigned arena, uint64_t address, unsigned pages, uint64_t page)
{
	for (unsigned k = 0; k < pages; k++)
		map_page(address + k * page, page);
	put(&w, 0, at(GP_SEGMENT_MAP, 0, arena, address, pages * page));
}

static inline void block(enum gp_kind kind, unsigned arena, uint64_t address, uint64_t bytes,
			 uint32_t aux)
{
	struct gp_record r = at(kind, 0, arena, address, bytes);
	const struct gp_curve_state *curve = gp_live_device(w.live, 0)->curve;
	uint64_t change = kind == GP_BLOCK_ALLOC ? bytes : 0 - bytes;
	r.aux = aux;
	r.block_alloc.allocated = curve[GP_CURVE_ALLOCATED].now_bytes + change;
	r.block_alloc.reserved = curve[GP_CURVE_RESERVED].now_bytes;
	/* its first block moves the driver's memory to reserved */
	const struct gp_live_entry *in = gp_live_find(w.live, GP_SPACE_DEVICE, address);
	if (kind == GP_BLOCK_ALLOC && in && !(in->flags & GP_LIVE_SEGMENT))
		r.block_alloc.reserved += in->bytes;
	const struct gp_live_entry *of = gp_live_find(w.live, GP_SPACE_RESERVATION, address);
	if (kind == GP_BLOCK_ALLOC && of && !(of->flags & GP_LIVE_SEGMENT))
		r.block_alloc.reserved += of->stream;
	put(&w, 0, r);
}

static inline void take(unsigned arena, uint64_t address, uint64_t bytes, uint32_t spare)
{
	block(GP_BLOCK_ALLOC, arena, address, bytes, 1 + spare);
}

#endif
