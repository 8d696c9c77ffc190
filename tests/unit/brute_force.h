/*
 * The live state in the simplest form: a list that is searched from end to end. Every figure is
 * summed again after each event. Shares only the vocabulary with libgpuprof/state. Histories must
 * be complete and in order.
 */
#ifndef BRUTE_FORCE_H
#define BRUTE_FORCE_H
#include <stdlib.h>
#include <string.h>

#include "format/event.h"

struct brute_entry {
	uint64_t address, bytes, owner, order, killed_by;
	uint8_t space, device;
	bool is_segment, is_released, is_import, is_dead;
	uint16_t arena; /* of blocks and segments */
	bool is_pending, is_mapped, is_reported;
};
struct brute {
	struct brute_entry *entry; /* dead entries stay: a refused free makes them live again */
	size_t entries, room;
	uint64_t now[2][GP_CURVES], peak[2][GP_CURVES], peak_order[2][GP_CURVES];
	uint64_t pending[2];
	uint64_t unmapped[2];
};

static inline bool brute_same_family(unsigned a, unsigned b)
{
	const unsigned virtual = 1u << GP_SPACE_NONE | 1u << GP_SPACE_DEVICE |
				 1u << GP_SPACE_ASYNC | 1u << GP_SPACE_MANAGED |
				 1u << GP_SPACE_IPC | 1u << GP_SPACE_GRAPH;
	const unsigned host = 1u << GP_SPACE_HOST | 1u << GP_SPACE_HOST_REGISTER;
	return a == b || ((virtual >> a & 1) && (virtual >> b & 1)) ||
	       ((host >> a & 1) && (host >> b & 1));
}
static inline struct brute_entry *brute_find(struct brute *b, unsigned space, uint64_t address)
{
	for (size_t i = b->entries; i-- > 0;)
		if (!b->entry[i].is_dead && !b->entry[i].is_released &&
		    b->entry[i].address == address && brute_same_family(b->entry[i].space, space))
			return &b->entry[i];
	return NULL;
}
static inline bool brute_is_inside(const struct brute_entry *in, const struct brute_entry *of)
{
	return in->address >= of->address && in->address < of->address + of->bytes;
}
static inline uint64_t brute_mapped(const struct brute *b, const struct brute_entry *of,
				    bool by_owner)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < b->entries; i++) {
		const struct brute_entry *m = &b->entry[i];
		if (m->is_dead || m->space != GP_SPACE_MAPPED)
			continue;
		if (by_owner ? m->owner == of->address : brute_is_inside(m, of))
			bytes += m->bytes;
	}
	return bytes;
}
/* Reserved bytes of a segment; one that fills its reservation counts unmapped bytes, too. */
static inline uint64_t brute_reserved(struct brute *b, const struct brute_entry *e)
{
	const uint64_t mapped =
		e->space == GP_SPACE_RESERVATION ? brute_mapped(b, e, false) : e->bytes;
	const struct brute_entry *s = brute_find(b, GP_SPACE_SEGMENT, e->address);
	const bool is_filled = s != NULL && !s->is_mapped && s->bytes == e->bytes;
	b->unmapped[e->device] += is_filled ? e->bytes - mapped : 0;
	return is_filled ? e->bytes : mapped;
}
static inline void brute_sum(struct brute *b, uint64_t order)
{
	memset(b->unmapped, 0, sizeof b->unmapped);
	memset(b->now, 0, sizeof b->now);
	memset(b->pending, 0, sizeof b->pending);
	for (size_t i = 0; i < b->entries; i++) {
		struct brute_entry *e = &b->entry[i];
		if (e->is_released && !e->is_dead && brute_mapped(b, e, true) == 0)
			e->is_dead = true, e->killed_by = order;
		if (e->is_dead)
			continue;
		bool is_driver = e->space <= GP_SPACE_MANAGED || e->space == GP_SPACE_ARRAY ||
				 e->space == GP_SPACE_PHYSICAL || e->space == GP_SPACE_GRAPH;
		b->now[e->device][GP_CURVE_DRIVER] += is_driver && !e->is_import ? e->bytes : 0;
		if (e->space == GP_SPACE_BLOCK && e->is_pending)
			b->pending[e->device] += e->bytes;
		else if (e->space == GP_SPACE_BLOCK)
			b->now[e->device][GP_CURVE_ALLOCATED] += e->bytes;
		if (e->is_segment)
			b->now[e->device][GP_CURVE_RESERVED] += brute_reserved(b, e);
	}
	for (unsigned d = 0; d < 2; d++)
		for (unsigned c = 0; c < GP_CURVES; c++)
			if (b->now[d][c] > b->peak[d][c])
				b->peak[d][c] = b->now[d][c], b->peak_order[d][c] = order;
}
static inline void brute_keep(struct brute *b, struct brute_entry e)
{
	if (b->entries == b->room)
		b->entry = realloc(b->entry, (b->room = b->room * 2 + 64) * sizeof *b->entry);
	e.is_dead = e.is_released = false;
	e.killed_by = UINT64_MAX;
	b->entry[b->entries++] = e;
}
static inline bool brute_has_segment(const struct brute *b, uint64_t address)
{
	const struct brute_entry at = { .address = address };
	for (size_t i = 0; i < b->entries; i++)
		if (!b->entry[i].is_dead && b->entry[i].space == GP_SPACE_SEGMENT &&
		    brute_is_inside(&at, &b->entry[i]))
			return true;
	return false;
}
/* Adds a segment or a range with the address and size of that driver memory. */
static inline void brute_add_segment(struct brute *b, size_t like, const struct gp_record *r)
{
	struct brute_entry e = b->entry[like];
	if (brute_has_segment(b, e.address))
		return;
	e.is_mapped = e.space == GP_SPACE_MAPPED;
	e.is_segment = e.is_reported = e.is_import = false;
	e.owner = 0;
	e.space = GP_SPACE_SEGMENT;
	e.arena = r->code;
	e.device = r->device;
	brute_keep(b, e);
}
/* Adds the segment of driver memory for the first block in it that names its arena. */
static inline void brute_derive(struct brute *b, size_t in, const struct gp_record *r)
{
	size_t entries = b->entries;
	if (r->code == 0 || b->entry[in].is_reported)
		return;
	b->entry[in].is_reported = true;
	if (b->entry[in].space != GP_SPACE_RESERVATION && !brute_has_segment(b, r->v[0]))
		brute_add_segment(b, in, r);
	for (size_t i = 0; b->entry[in].space == GP_SPACE_RESERVATION && i < entries; i++)
		if (!b->entry[i].is_dead && b->entry[i].space == GP_SPACE_MAPPED &&
		    brute_is_inside(&b->entry[i], &b->entry[in]))
			brute_add_segment(b, i, r);
}
static inline void brute_cut(struct brute *b, const struct gp_record *r)
{
	uint64_t from = r->v[0], to = from + r->v[1];
	for (size_t i = 0, entries = b->entries; i < entries; i++) {
		struct brute_entry e = b->entry[i];
		uint64_t end = e.address + e.bytes;
		if (e.is_dead || e.space != GP_SPACE_SEGMENT || !e.is_mapped || e.address >= to ||
		    end <= from)
			continue;
		b->entry[i].is_dead = true;
		b->entry[i].killed_by = UINT64_MAX; /* never undone */
		if (e.address < from)
			e.bytes = from - e.address, brute_keep(b, e);
		if (end > to)
			e.address = to, e.bytes = end - to, brute_keep(b, e);
	}
}
static inline void brute_add(struct brute *b, unsigned space, const struct gp_record *r,
			     uint64_t owner)
{
	struct brute_entry e = { .address = r->v[0],
				 .bytes = r->v[1],
				 .owner = owner,
				 .order = r->order,
				 .space = (uint8_t)space,
				 .device = r->device,
				 .arena = space >= GP_SPACE_BLOCK ? r->code : 0,
				 .is_mapped = r->kind == GP_SEGMENT_MAP,
				 .is_import = space == GP_SPACE_PHYSICAL && (r->aux & 1) };
	for (size_t i = 0, n = b->entries; space == GP_SPACE_BLOCK && i < n; i++)
		if (!b->entry[i].is_dead && b->entry[i].space != GP_SPACE_BLOCK &&
		    b->entry[i].space != GP_SPACE_MAPPED &&
		    (b->entry[i].space < GP_SPACE_HOST ||
		     b->entry[i].space == GP_SPACE_RESERVATION) &&
		    brute_is_inside(&e, &b->entry[i]))
			b->entry[i].is_segment = true, b->entry[i].device = r->device,
			brute_derive(b, i, r);
	brute_keep(b, e);
}
static inline void brute_kill(struct brute *b, struct brute_entry *e, uint64_t order)
{
	e->killed_by = order;
	if (e->space == GP_SPACE_PHYSICAL && brute_mapped(b, e, true) > 0)
		e->is_released = true;
	else
		e->is_dead = true;
}
static inline void brute_apply(struct brute *b, const struct gp_record *r)
{
	if (r->kind == GP_ALLOC)
		brute_add(b, r->space, r, r->alloc.owner);
	else if (r->kind == GP_FREE)
		brute_kill(b, brute_find(b, r->space, r->free.address), r->order);
	else if (r->kind == GP_SEGMENT_ALLOC || r->kind == GP_SEGMENT_MAP)
		brute_add(b, GP_SPACE_SEGMENT, r, 0);
	else if (r->kind == GP_SEGMENT_FREE && brute_find(b, GP_SPACE_SEGMENT, r->v[0]) != NULL)
		brute_find(b, GP_SPACE_SEGMENT, r->v[0])->is_dead = true;
	else if (r->kind == GP_SEGMENT_UNMAP)
		brute_cut(b, r);
	else if (r->kind == GP_BLOCK_FREE && r->aux != 0)
		brute_find(b, GP_SPACE_BLOCK, r->v[0])->is_pending = true;
	else if (r->kind == GP_BLOCK_COMPLETED)
		brute_kill(b, brute_find(b, GP_SPACE_BLOCK, r->v[0]), r->order);
	else if (r->kind == GP_MAP)
		brute_add(b, GP_SPACE_MAPPED, r, r->map.handle);
	else if (r->kind == GP_BLOCK_ALLOC)
		brute_add(b, GP_SPACE_BLOCK, r, 0);
	else if (r->kind == GP_BLOCK_FREE)
		brute_kill(b, brute_find(b, GP_SPACE_BLOCK, r->block_free.address), r->order);
	for (size_t i = 0; i < b->entries; i++) {
		struct brute_entry *e = &b->entry[i];
		if (r->kind == GP_UNMAP && !e->is_dead && e->space == GP_SPACE_MAPPED &&
		    e->address >= r->unmap.address &&
		    e->address < r->unmap.address + r->unmap.bytes)
			brute_kill(b, e, r->order);
		else if (r->kind == GP_OWNER_GONE && !e->is_dead &&
			 e->owner == r->owner_gone.owner && e->space != GP_SPACE_MAPPED)
			brute_kill(b, e, r->order);
		else if ((r->kind == GP_FREE_FAILED && e->killed_by == r->free_failed.undoes) ||
			 (r->kind == GP_UNMAP_FAILED && e->killed_by == r->unmap_failed.undoes))
			e->is_dead = e->is_released =
				e->space == GP_SPACE_PHYSICAL && r->kind == GP_UNMAP_FAILED,
			e->is_dead = false, e->killed_by = UINT64_MAX;
	}
	/* a segment ends with its memory */
	for (size_t i = 0; i < b->entries; i++) {
		struct brute_entry *e = &b->entry[i], *s;
		if (e->is_dead && e->killed_by == r->order && e->space < GP_SPACE_MAPPED &&
		    (s = brute_find(b, GP_SPACE_SEGMENT, e->address)) != NULL && !s->is_mapped)
			brute_kill(b, s, r->order);
	}
	brute_sum(b, r->order);
}
#endif
