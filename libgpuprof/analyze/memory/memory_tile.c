/* Blocks and gaps: together they cover their segment, without overlap and without a rest. */
#include <stdlib.h>

#include "../../read/tables/array.h"
#include "memory_view.h"

static struct gp_memory_block *memory_tile_add(struct gp_memory *out, uint64_t from, uint64_t to)
{
	struct gp_memory_block *b = &out->block[out->blocks++];
	*b = (struct gp_memory_block){
		.address = from, .bytes = to - from, .at_ns = -1, .state = GP_STATE_FREE
	};
	return b;
}

static void memory_tile_add_block(struct gp_memory_view *v, struct gp_memory_segment *s,
				  const struct gp_live_entry *e)
{
	uint64_t end = e->address + e->bytes, limit = s->address + s->bytes;
	struct gp_memory_block *b = memory_tile_add(v->out, e->address, end < limit ? end : limit);
	bool is_pending = (e->flags & GP_LIVE_PENDING) != 0;
	bool is_requested = e->owner != 0 && e->owner - 1 <= e->bytes && end <= limit;
	b->state = is_pending ? GP_STATE_PENDING : GP_STATE_ALLOCATED;
	b->requested_bytes = is_requested ? e->bytes - (e->owner - 1) : GP_BYTES_UNKNOWN;
	b->at_ns = gp_tick_ns(&v->recording->tick, e->time);
	b->order = e->order;
	b->stack = e->stack;
	s->allocated_bytes += is_pending ? 0 : b->bytes;
	s->active_bytes += b->bytes;
	if (!is_requested)
		s->requested_bytes = GP_BYTES_UNKNOWN;
	else if (s->requested_bytes != GP_BYTES_UNKNOWN)
		s->requested_bytes += b->requested_bytes;
	if (e->order < gp_live_count(v->recording->live, GP_COUNT_GAP_ORDER))
		v->caveats |= GP_CAVEAT_MISSING;
}

static const struct gp_live_entry *first_in(const struct gp_entries *blocks, uint64_t address)
{
	const struct gp_live_entry *b = gp_entries_before(blocks, address);
	if (b == NULL)
		return blocks->entry;
	return b->address < address ? b + 1 : b;
}

/* In a damaged recording, overlapping segments may contain the same blocks twice. */
static bool make_room(struct gp_memory_view *v, size_t parts)
{
	struct gp_memory *out = v->out;
	return gp_array_reserve(&out->block, &v->room, out->blocks, parts, sizeof *out->block);
}

/* Adds the number of its blocks to *blocks. False: out of memory. */
static bool tile(struct gp_memory_view *v, struct gp_memory_segment *s, size_t *blocks)
{
	struct gp_memory *out = v->out;
	uint64_t at = s->address, limit = s->address + s->bytes;
	const struct gp_live_entry *b = first_in(&v->block, at);
	/* without blocks the array is NULL: do not compute an address in it */
	const struct gp_live_entry *end = v->block.count > 0 ? v->block.entry + v->block.count : b;
	s->first = out->blocks;
	for (; b < end && b->address < limit; b++, ++*blocks) {
		if (!make_room(v, 3)) /* a gap, the block, and a gap after the last one */
			return false;
		if (b->address > at)
			memory_tile_add(out, at, b->address);
		memory_tile_add_block(v, s, b);
		at = out->block[out->blocks - 1].address + out->block[out->blocks - 1].bytes;
	}
	if (!make_room(v, 1))
		return false;
	if (at < limit)
		memory_tile_add(out, at, limit);
	s->blocks = out->blocks - s->first;
	return true;
}

enum gp_status gp_memory_tile(struct gp_memory_view *v)
{
	struct gp_memory *out = v->out;
	v->room = 2 * v->block.count + out->segments + 1;
	out->block = malloc(v->room * sizeof *out->block);
	if (out->block == NULL)
		return GP_E_MEMORY;
	size_t blocks = 0;
	for (size_t i = 0; i < out->segments; i++)
		if (!tile(v, &out->segment[i], &blocks))
			return GP_E_MEMORY;
	if (blocks < v->block.count)
		v->caveats |= GP_CAVEAT_HOMELESS;
	struct gp_memory_block *fitting =
		realloc(out->block, (out->blocks + 1) * sizeof *out->block);
	out->block = fitting != NULL ? fitting : out->block;
	return GP_OK;
}
