/*
 * Random histories of all kinds of memory, and the brute-force model after their last event. They
 * are complete and in order.
 */
#ifndef RANDOM_HISTORY_H
#define RANDOM_HISTORY_H

#include "brute_force.h"

#define HISTORY_EVENTS 3000u

struct history {
	struct gp_record *event;
	size_t events;
	struct brute model;
	uint64_t random;
	uint64_t next_address;
	bool has_vmm;
};

static inline uint64_t history_draw(struct history *h, uint64_t below)
{
	h->random ^= h->random << 13;
	h->random ^= h->random >> 7;
	h->random ^= h->random << 17;
	return (h->random >> 11) % below;
}

static inline void history_put(struct history *h, struct gp_record r)
{
	r.order = h->events;
	r.time = 1000 + 10 * h->events;
	brute_apply(&h->model, &r);
	if (r.kind == GP_BLOCK_ALLOC || r.kind == GP_BLOCK_FREE) {
		r.block_alloc.allocated = h->model.now[r.device][GP_CURVE_ALLOCATED];
		r.block_alloc.reserved = h->model.now[r.device][GP_CURVE_RESERVED];
	}
	h->event[h->events++] = r;
}

/* A random live entry of a space in `spaces`; NULL after a few misses. */
static inline struct brute_entry *history_pick(struct history *h, unsigned spaces)
{
	for (unsigned tries = 0; tries < 200 && h->model.entries > 0; tries++) {
		struct brute_entry *e = &h->model.entry[history_draw(h, h->model.entries)];
		if (!e->is_dead && !e->is_released && (spaces >> e->space & 1) != 0)
			return e;
	}
	return NULL;
}

/* A multiple of 2 MiB below `most`. */
static inline uint64_t history_pages(struct history *h, uint64_t most)
{
	return history_draw(h, most >> 21) << 21;
}

static inline uint64_t history_address(struct history *h, uint64_t bytes)
{
	uint64_t address = h->next_address;
	h->next_address += (bytes + 0x1fffff) & ~0x1fffffull;
	return address;
}

static inline void history_put_alloc(struct history *h)
{
	static const uint8_t spaces[] = { GP_SPACE_DEVICE,   GP_SPACE_DEVICE,	   GP_SPACE_ASYNC,
					  GP_SPACE_MANAGED,  GP_SPACE_HOST,	   GP_SPACE_ARRAY,
					  GP_SPACE_PHYSICAL, GP_SPACE_RESERVATION, GP_SPACE_IPC,
					  GP_SPACE_GRAPH };
	uint8_t space = spaces[history_draw(h, sizeof spaces)];
	if (!h->has_vmm && (space == GP_SPACE_PHYSICAL || space == GP_SPACE_RESERVATION))
		space = GP_SPACE_DEVICE;
	uint64_t bytes = space == GP_SPACE_RESERVATION ? 64ull << 20 :
			 space == GP_SPACE_PHYSICAL    ? 2ull << 20 :
							 512ull << history_draw(h, 16);
	/* one time in three an address that was freed; bit 46 separates the families */
	uint64_t address = 0;
	if (history_draw(h, 3) == 0 && h->model.entries > 0) {
		const struct brute_entry *e = &h->model.entry[history_draw(h, h->model.entries)];
		if (e->is_dead && brute_same_family(e->space, space) &&
		    e->space != GP_SPACE_PHYSICAL && e->bytes >= bytes &&
		    brute_find(&h->model, space, e->address) == NULL)
			address = e->address;
	}
	history_put(
		h, (struct gp_record){
			   .kind = GP_ALLOC,
			   .space = space,
			   .device = (uint8_t)history_draw(h, 2),
			   .aux = space == GP_SPACE_PHYSICAL && history_draw(h, 4) == 0,
			   .alloc = { .address = address != 0 ? address : history_address(h, bytes),
				      .bytes = bytes,
				      .owner = space == GP_SPACE_GRAPH ?
						       77 :
						       1000 + history_draw(h, 3) } });
}

static inline void history_put_free(struct history *h)
{
	struct brute_entry *e =
		history_pick(h, ~(1u << GP_SPACE_MAPPED | 1u << GP_SPACE_BLOCK |
				  1u << GP_SPACE_SEGMENT | 1u << GP_SPACE_RESERVATION));
	if (e == NULL)
		return;
	uint8_t space =
		e->space == GP_SPACE_ASYNC || e->space == GP_SPACE_IPC ? GP_SPACE_NONE : e->space;
	uint64_t address = e->address;
	/* one segment in two has no end event: it ends with its memory */
	const struct brute_entry *segment = brute_find(&h->model, GP_SPACE_SEGMENT, address);
	if (segment != NULL && !segment->is_mapped && (!h->has_vmm || history_draw(h, 2) == 0))
		history_put(
			h, (struct gp_record){ .kind = GP_SEGMENT_FREE,
					       .device = segment->device,
					       .code = segment->arena,
					       .segment_free = { address, segment->bytes, 0, 0 } });
	uint64_t order = h->events;
	history_put(h, (struct gp_record){ .kind = GP_FREE,
					   .space = space,
					   .device = GP_DEVICE_UNKNOWN,
					   .free.address = address });
	if (history_draw(h, 8) == 0)
		history_put(h, (struct gp_record){
				       .kind = GP_FREE_FAILED,
				       .space = space,
				       .code = 700,
				       .free_failed = { .address = address, .undoes = order } });
}

static inline void history_put_map(struct history *h)
{
	struct brute_entry *in = history_pick(h, 1u << GP_SPACE_RESERVATION),
			   *what = history_pick(h, 1u << GP_SPACE_PHYSICAL);
	if (in == NULL || what == NULL)
		return;
	uint64_t address = in->address + (history_draw(h, 32) << 21);
	if (brute_find(&h->model, GP_SPACE_MAPPED, address) == NULL)
		history_put(h, (struct gp_record){ .kind = GP_MAP,
						   .space = GP_SPACE_MAPPED,
						   .device = what->device,
						   .map = { .address = address,
							    .bytes = what->bytes,
							    .handle = what->address } });
}

static inline void history_put_unmap(struct history *h)
{
	struct brute_entry *e = history_pick(h, 1u << GP_SPACE_MAPPED);
	if (e == NULL)
		return;
	uint64_t address = e->address, bytes = e->bytes, order = h->events;
	struct brute_entry *after = brute_find(&h->model, GP_SPACE_MAPPED, address + bytes);
	bytes += after != NULL ? after->bytes : 0;
	history_put(h, (struct gp_record){ .kind = GP_UNMAP,
					   .space = GP_SPACE_MAPPED,
					   .unmap = { address, bytes, 0, 0 } });
	if (history_draw(h, 8) == 0)
		history_put(h, (struct gp_record){ .kind = GP_UNMAP_FAILED,
						   .space = GP_SPACE_MAPPED,
						   .code = 700,
						   .unmap_failed = { .address = address,
								     .bytes = bytes,
								     .undoes = order } });
}

static inline void history_put_block(struct history *h)
{
	const unsigned spaces = 1u << GP_SPACE_DEVICE | 1u << GP_SPACE_ASYNC |
				1u << GP_SPACE_MANAGED |
				(h->has_vmm ? 1u << GP_SPACE_RESERVATION : 0);
	struct brute_entry *in = history_pick(h, spaces);
	if (in == NULL)
		return;
	uint64_t address = in->address + history_draw(h, in->bytes / 512) * 512;
	for (size_t i = 0; i < h->model.entries; i++) /* a segment's blocks are of one device */
		if (h->model.entry[i].space == GP_SPACE_BLOCK &&
		    h->model.entry[i].address == address && !h->model.entry[i].is_dead)
			return;
	history_put(h,
		    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
					.device = in->device,
					.stack = 5,
					/* if memory events may come late, blocks have no arena */
					.code = h->has_vmm ? (uint16_t)history_draw(h, 4) : 0,
					.aux = (uint32_t)history_draw(h, 513),
					.block_alloc = { .address = address, .bytes = 512 } });
}

static inline void history_put_block_free(struct history *h)
{
	struct brute_entry *e = history_pick(h, 1u << GP_SPACE_BLOCK);
	if (e == NULL)
		return;
	if (e->is_pending)
		history_put(h, (struct gp_record){ .kind = GP_BLOCK_COMPLETED,
						   .device = e->device,
						   .block_completed.address = e->address });
	else
		history_put(h, (struct gp_record){ .kind = GP_BLOCK_FREE,
						   .device = e->device,
						   .aux = history_draw(h, 4) == 0,
						   .block_free = { .address = e->address,
								   .bytes = e->bytes } });
}

static inline void history_put_segment(struct history *h)
{
	struct brute_entry *e =
		history_pick(h, 1u << GP_SPACE_DEVICE | 1u << GP_SPACE_SEGMENT |
					(h->has_vmm ? 1u << GP_SPACE_RESERVATION : 0));
	if (e == NULL || e->is_mapped)
		return;
	bool is_end = e->space == GP_SPACE_SEGMENT, is_free = true;
	for (uint64_t at = 0; at < e->bytes; at += 2 << 20)
		is_free &= !brute_has_segment(&h->model, e->address + at);
	if (is_end || is_free)
		history_put(h,
			    (struct gp_record){ .kind = is_end ? GP_SEGMENT_FREE : GP_SEGMENT_ALLOC,
						.device = e->device,
						.code = (uint16_t)(1 + history_draw(h, 3)),
						.stack = 6,
						.segment_alloc = { .address = e->address,
								   .bytes = e->bytes } });
}

/*
 * Ranges of 2 MiB and more, mapped over free addresses, unmapped together with parts of their
 * neighbours. They lie in a reservation, or where no reservation is recorded.
 */
static inline void history_put_range(struct history *h)
{
	struct brute_entry *in = h->has_vmm ? history_pick(h, 1u << GP_SPACE_RESERVATION) : NULL;
	uint64_t base = in != NULL ? in->address : 0x300000000000, most = 64 << 20;
	uint64_t from = history_pages(h, most), bytes = (1 + history_draw(h, 4)) << 21;
	bool is_end = history_draw(h, 3) == 0;
	bytes = is_end ? bytes * 2 : bytes;
	bytes = from + bytes > most ? most - from : bytes;
	for (uint64_t at = from; !is_end && at < from + bytes; at += 2 << 20)
		if (brute_has_segment(&h->model, base + at))
			return;
	history_put(
		h, (struct gp_record){ .kind = is_end ? GP_SEGMENT_UNMAP : GP_SEGMENT_MAP,
				       .device = in != NULL ? in->device : 0,
				       .code = (uint16_t)(1 + history_draw(h, 3)),
				       .segment_map = { .address = base + from, .bytes = bytes } });
}

static inline void history_put_snapshot(struct history *h)
{
	uint8_t device = (uint8_t)history_draw(h, 2);
	history_put(h, (struct gp_record){ .kind = GP_SNAPSHOT,
					   .device = device,
					   .snapshot.active_bytes =
						   h->model.now[device][GP_CURVE_ALLOCATED] +
						   h->model.pending[device] });
}

static inline struct history history_make(uint64_t seed, bool has_vmm)
{
	struct history h = { .random = seed * 0x9e3779b97f4a7c15u | 1,
			     .next_address = 0x700000000000,
			     .has_vmm = has_vmm,
			     .event = calloc(HISTORY_EVENTS + 2, sizeof(struct gp_record)) };
	while (h.events < HISTORY_EVENTS) {
		uint64_t choice = history_draw(&h, 100);
		if (choice < 20)
			history_put_alloc(&h);
		else if (choice < 34)
			history_put_free(&h);
		else if (choice < 42 && has_vmm)
			history_put_map(&h);
		else if (choice < 48 && has_vmm)
			history_put_unmap(&h);
		else if (choice < 52)
			history_put_segment(&h);
		else if (choice < 56)
			history_put_range(&h);
		else if (choice < 57)
			history_put_snapshot(&h);
		else if (choice < 78)
			history_put_block(&h);
		else if (choice < 99)
			history_put_block_free(&h);
		else if (history_draw(&h, 4) == 0)
			history_put(&h, (struct gp_record){ .kind = GP_OWNER_GONE,
							    .aux = GP_HOW_GRAPH_DESTROY,
							    .owner_gone.owner = 77 });
	}
	return h;
}

static inline void history_drop(struct history *h)
{
	free(h->event);
	free(h->model.entry);
}

#endif
