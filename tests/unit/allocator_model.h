/*
 * A second, plain implementation of PyTorch's caching allocator: a list of blocks that every search
 * walks from end to end. It answers whether one request succeeds.
 */
#ifndef ALLOCATOR_MODEL_H
#define ALLOCATOR_MODEL_H

#include "memory_layout.h"

struct model_block {
	uint64_t address, bytes;
	size_t arena, segment;
	bool is_small, is_expandable, is_private;
	bool is_free, is_pending, is_unmapped;
	bool begins, ends; /* borders of a segment or a reservation */
	uint64_t range;	   /* where the reservation's pages begin */
};

struct model {
	struct model_block block[LAYOUT_BLOCKS * 2];
	size_t blocks;
	uint64_t device_free, reserved, limit;
	const struct gp_allocator_settings *settings;
	bool is_expandable;
};

#define MODEL_ENDLESS (UINT64_C(1) << 42)

static inline void model_insert(struct model *m, size_t at, struct model_block block)
{
	memmove(&m->block[at + 1], &m->block[at], (m->blocks - at) * sizeof block);
	m->block[at] = block;
	m->blocks++;
}

static inline void model_join(struct model *m)
{
	for (size_t k = 0; k + 1 < m->blocks;) {
		struct model_block *a = &m->block[k], *b = a + 1;
		bool is_same = a->is_free && b->is_free && !a->ends && !b->begins &&
			       a->is_unmapped == b->is_unmapped;
		if (!is_same) {
			k++;
			continue;
		}
		a->bytes += b->bytes;
		a->ends = b->ends;
		memmove(b, b + 1, (m->blocks - k - 2) * sizeof *b);
		m->blocks--;
	}
}

/* Mapped ranges of one arena and pool lie in one reservation, which ends far behind the last. */
static inline void model_load(struct model *m, const struct layout *l, const uint8_t *freed,
			      uint64_t device_free, const struct gp_allocator_settings *settings)
{
	const struct gp_memory_segment *range[2 * LAYOUT_ARENAS] = { NULL };
	*m = (struct model){ .device_free = device_free,
			     .limit = l->device.limit_bytes,
			     .settings = settings };
	for (size_t s = 0; s < l->memory.segments; s++) {
		const struct gp_memory_segment *g = &l->segment[s];
		m->reserved += g->bytes;
		size_t pool = 2 * g->arena + g->is_small;
		bool is_first = !g->is_expandable || range[pool] == NULL;
		const struct gp_memory_segment *r = range[pool];
		struct model_block b = { .arena = g->arena,
					 .segment = s,
					 .is_small = g->is_small,
					 .is_expandable = g->is_expandable,
					 .is_private = l->arena[g->arena].user_pool != 0 };
		if (!is_first) {
			/*
			 * an unmapped hole lies in front of this range; segments of other pools lie
			 * elsewhere
			 */
			b.is_free = b.is_unmapped = true;
			b.address = r->address + r->bytes;
			b.bytes = g->address - b.address;
			m->block[m->blocks++] = b;
		}
		if (g->is_expandable)
			range[pool] = g;
		for (size_t k = g->first; k < g->first + g->blocks; k++) {
			const struct gp_memory_block *from = &l->block[k];
			bool is_given = freed != NULL && freed[k] != 0;
			b.address = from->address;
			b.bytes = from->bytes;
			b.range = g->address;
			b.is_unmapped = false;
			b.is_free = from->state == GP_STATE_FREE || is_given;
			b.is_pending = from->state == GP_STATE_PENDING && !is_given;
			b.begins = is_first && k == g->first;
			b.ends = !g->is_expandable && k + 1 == g->first + g->blocks;
			m->block[m->blocks++] = b;
		}
		bool is_last = g->is_expandable;
		for (size_t n = s + 1; n < l->memory.segments; n++)
			is_last &=
				!(l->segment[n].is_expandable && l->segment[n].arena == g->arena &&
				  l->segment[n].is_small == g->is_small);
		if (!is_last)
			continue;
		b.is_free = b.is_unmapped = b.ends = true;
		b.is_pending = b.begins = false;
		b.address = g->address + g->bytes;
		b.bytes = MODEL_ENDLESS;
		m->block[m->blocks++] = b;
	}
	model_join(m);
}

/* The smallest free block of that size or more. */
static inline const struct model_block *model_smallest(const struct model *m, size_t arena,
						       bool is_small, uint64_t size)
{
	const struct model_block *best = NULL;
	for (size_t k = 0; k < m->blocks; k++) {
		const struct model_block *b = &m->block[k];
		if (!b->is_free || b->is_unmapped || b->arena != arena || b->is_small != is_small)
			continue;
		if (b->bytes >= size && (best == NULL || b->bytes < best->bytes))
			best = b;
	}
	return best;
}

static inline bool model_get_free_block(const struct model *m, size_t arena, uint64_t size)
{
	bool is_small = size <= (uint64_t)MIB;
	const struct model_block *best = model_smallest(m, arena, is_small, size);
	if (best == NULL)
		return false;
	uint64_t most = m->settings->max_split_bytes;
	if (size < most && best->bytes >= most && most != UINT64_MAX)
		return false;
	return !(size >= most && best->bytes >= size + m->settings->max_non_split_rounding);
}

static inline uint64_t model_alloc_size(const struct model *m, uint64_t size)
{
	if (size <= (uint64_t)MIB)
		return (uint64_t)(2 * MIB);
	if (size < (uint64_t)(10 * MIB))
		return m->settings->large_segment_bytes;
	return (size + (uint64_t)(2 * MIB) - 1) / (uint64_t)(2 * MIB) * (uint64_t)(2 * MIB);
}

/* c: index of the free mapped block before an unmapped block, or of the unmapped block itself */
static inline bool model_has_addresses(const struct model *m, size_t c, uint64_t size)
{
	uint64_t bytes = 0;
	for (; c < m->blocks && m->block[c].is_free && bytes < size; c++) {
		bytes += m->block[c].bytes;
		if (m->block[c].ends)
			break;
	}
	return bytes >= size;
}

static inline bool model_map(const struct model *m, size_t arena, uint64_t size, uint64_t page)
{
	bool is_small = size <= (uint64_t)MIB;
	for (size_t k = 0; k < m->blocks; k++) {
		const struct model_block *b = &m->block[k];
		if (!b->is_unmapped || b->arena != arena || b->is_small != is_small)
			continue;
		size_t c = k > 0 && !b->begins && m->block[k - 1].is_free ? k - 1 : k;
		if (!model_has_addresses(m, c, size))
			continue;
		uint64_t have = c < k ? b[-1].bytes : 0;
		uint64_t missing = size > have ? size - have : 0;
		missing = missing < b->bytes ? missing : b->bytes;
		return (missing + page - 1) / page * page <= m->device_free;
	}
	return false;
}

static inline bool model_alloc_block(const struct model *m, size_t arena, uint64_t size)
{
	uint64_t alloc = model_alloc_size(m, size), page = size <= (uint64_t)MIB ?
								   (uint64_t)(2 * MIB) :
								   m->settings->large_segment_bytes;
	if (m->limit != GP_BYTES_UNKNOWN && m->reserved + alloc > m->limit)
		return false;
	if (m->is_expandable)
		return model_map(m, arena, size, page);
	return alloc <= m->device_free;
}

/* Waits for all streams, then gives back whole segments and pages of the default pools. */
static inline void model_release(struct model *m)
{
	for (size_t k = 0; k < m->blocks; k++) {
		m->block[k].is_free |= m->block[k].is_pending;
		m->block[k].is_pending = false;
	}
	model_join(m);
	for (size_t k = 0; k < m->blocks; k++) {
		struct model_block b = m->block[k];
		if (!b.is_free || b.is_unmapped || b.is_private)
			continue;
		if (!b.is_expandable) {
			if (b.begins && b.ends) {
				m->reserved -= b.bytes;
				m->device_free += b.bytes;
				m->block[k].is_free = false;
				m->block[k].arena = SIZE_MAX;
			}
			continue;
		}
		uint64_t page = b.is_small ? (uint64_t)(2 * MIB) : m->settings->large_segment_bytes;
		uint64_t from = (b.address - b.range + page - 1) / page * page + b.range;
		uint64_t to = (b.address + b.bytes - b.range) / page * page + b.range;
		if (to <= from)
			continue;
		m->reserved -= to - from;
		m->device_free += to - from;
		struct model_block tail = b, middle = b;
		middle.address = from;
		middle.bytes = to - from;
		middle.is_unmapped = true;
		tail.address = to;
		tail.bytes = b.address + b.bytes - to;
		middle.begins = b.begins && from == b.address;
		tail.begins = middle.ends = m->block[k].ends = false;
		m->block[k].bytes = from - b.address;
		model_insert(m, k + 1, middle);
		model_insert(m, k + 2, tail);
		k += 2;
	}
	/* drop the parts that have no bytes left */
	size_t kept = 0;
	for (size_t k = 0; k < m->blocks; k++)
		if (m->block[k].bytes != 0)
			m->block[kept++] = m->block[k];
	m->blocks = kept;
	model_join(m);
}

#endif
