/* Blocks and gaps: together they tile their segment, without overlap and without a rest. */
#include <stdlib.h>

#include "memory_view.h"

static struct gp_memory_block *add(struct gp_memory *out, uint64_t from, uint64_t to)
{
	struct gp_memory_block *b = &out->block[out->blocks++];
	*b = (struct gp_memory_block){
		.address = from, .bytes = to - from, .at_ns = -1, .state = GP_STATE_FREE
	};
	return b;
}

static void add_block(struct gp_memory_view *v, struct gp_memory_segment *s,
		      const struct gp_live_entry *e)
{
	uint64_t end = e->address + e->bytes, limit = s->address + s->bytes;
	struct gp_memory_block *b = add(v->out, e->address, end < limit ? end : limit);
	bool is_pending = (e->flags & GP_LIVE_PENDING) != 0;
	bool is_requested = e->owner != 0 && e->owner - 1 <= e->bytes && end <= limit;
	b->state = is_pending ? GP_STATE_PENDING : GP_STATE_ALLOCATED;
	b->requested_bytes = is_requested ? e->bytes - (e->owner - 1) : GP_BYTES_UNKNOWN;
	b->at_ns = gp_tick_ns(&v->recording->tick, e->time);
	b->stack = e->stack;
	s->allocated_bytes += is_pending ? 0 : b->bytes;
	s->active_bytes += b->bytes;
	if (!is_requested)
		s->requested_bytes = GP_BYTES_UNKNOWN;
	else if (s->requested_bytes != GP_BYTES_UNKNOWN)
		s->requested_bytes += b->requested_bytes;
	if (e->order < gp_live_count(v->recording->live, GP_COUNT_GAP_ORDER))
		v->doubts |= GP_DOUBT_MISSING;
}

static const struct gp_live_entry *first_in(const struct gp_entries *blocks, uint64_t address)
{
	const struct gp_live_entry *b = gp_entries_before(blocks, address);
	if (b == NULL)
		return blocks->entry;
	return b->address < address ? b + 1 : b;
}

/* How many blocks lie in it. */
static size_t tile(struct gp_memory_view *v, struct gp_memory_segment *s)
{
	struct gp_memory *out = v->out;
	uint64_t at = s->address, limit = s->address + s->bytes;
	const struct gp_live_entry *end = v->block.entry + v->block.count,
				   *b = first_in(&v->block, at);
	size_t blocks = 0;
	s->first = out->blocks;
	for (; b < end && b->address < limit; b++, blocks++) {
		if (b->address > at)
			add(out, at, b->address);
		add_block(v, s, b);
		at = out->block[out->blocks - 1].address + out->block[out->blocks - 1].bytes;
	}
	if (at < limit)
		add(out, at, limit);
	s->blocks = out->blocks - s->first;
	return blocks;
}

enum gp_status gp_memory_tile(struct gp_memory_view *v)
{
	struct gp_memory *out = v->out;
	size_t room = 2 * v->block.count + out->segments + 1;
	out->block = malloc(room * sizeof *out->block);
	if (out->block == NULL)
		return GP_E_MEMORY;
	size_t blocks = 0;
	for (size_t i = 0; i < out->segments; i++)
		blocks += tile(v, &out->segment[i]);
	if (blocks < v->block.count)
		v->doubts |= GP_DOUBT_HOMELESS;
	struct gp_memory_block *fitting =
		realloc(out->block, (out->blocks + 1) * sizeof *out->block);
	out->block = fitting != NULL ? fitting : out->block;
	return GP_OK;
}
