/* Assigns one cause to each byte that is reserved and not allocated, and adds up the pools. */
#include <stdlib.h>

#include "frag_parts.h"

const char *const gp_cause_names[GP_CAUSES] = {
	[GP_CAUSE_PENDING] = "pending",	      [GP_CAUSE_PRIVATE] = "private_pool",
	[GP_CAUSE_STREAM] = "other_stream",   [GP_CAUSE_SMALL] = "small_pool",
	[GP_CAUSE_LEFTOVER] = "leftover",     [GP_CAUSE_GRANULARITY] = "driver_granularity",
	[GP_CAUSE_FULLY_FREE] = "fully_free", [GP_CAUSE_INACTIVE_SPLIT] = "inactive_split",
};

/* For a segment of the requesting arena and pool. */
static void add_run(const struct gp_room *room, const struct gp_memory_segment *s,
		    const struct gp_run *run, struct gp_frag *frag)
{
	uint64_t *cause = frag->cause_bytes, from = run->from - s->address, pages = 0;
	if (!s->is_expandable && run->bytes == s->bytes) {
		cause[GP_CAUSE_FULLY_FREE] += run->bytes;
		return;
	}
	if (run->bytes <= GP_SMALL_MOST) {
		cause[GP_CAUSE_LEFTOVER] += run->bytes;
		return;
	}
	if (s->is_expandable)
		pages = gp_rule_pages(from, from + run->bytes,
				      gp_rule_page(room->settings, s->is_small));
	cause[GP_CAUSE_FULLY_FREE] += pages;
	cause[s->is_expandable ? GP_CAUSE_GRANULARITY : GP_CAUSE_INACTIVE_SPLIT] +=
		run->bytes - pages;
}

/* The cause that all free bytes of a segment share; GP_CAUSES: each run has its own cause. */
static enum gp_cause shared_cause(const struct gp_room *room, const struct gp_memory_segment *s,
				  size_t home)
{
	const struct gp_arena *a = &room->memory->arena[s->arena];
	const struct gp_arena *needed = &room->memory->arena[home];
	if (gp_arena_is_private(a) && s->arena != home)
		return GP_CAUSE_PRIVATE;
	if (a->is_known && needed->is_known && a->stream != needed->stream)
		return GP_CAUSE_STREAM;
	return s->is_small ? GP_CAUSE_SMALL : GP_CAUSES;
}

static void add_segment(const struct gp_room *room, const struct gp_memory_segment *s,
			struct gp_frag *frag)
{
	enum gp_cause shared = shared_cause(room, s, frag->home);
	struct gp_run run;
	size_t block = s->first;
	frag->reserved_bytes += s->bytes;
	for (size_t k = s->first; k < s->first + s->blocks; k++) {
		const struct gp_memory_block *b = &room->memory->block[k];
		if (b->state == GP_STATE_PENDING)
			frag->cause_bytes[GP_CAUSE_PENDING] += b->bytes;
		if (b->state != GP_STATE_ALLOCATED)
			continue;
		frag->allocated_bytes += b->bytes;
		if (b->requested_bytes == GP_BYTES_UNKNOWN ||
		    frag->requested_bytes == GP_BYTES_UNKNOWN)
			frag->requested_bytes = GP_BYTES_UNKNOWN;
		else
			frag->requested_bytes += b->requested_bytes;
	}
	while (gp_room_run(room, s, false, &block, &run)) {
		if (shared == GP_CAUSES)
			add_run(room, s, &run, frag);
		else
			frag->cause_bytes[shared] += run.bytes;
	}
}

void gp_frag_add_up(const struct gp_room *room, struct gp_frag *frag)
{
	const struct gp_memory_device *d = room->device;
	for (size_t k = 0; k < d->segments; k++)
		add_segment(room, &room->memory->segment[d->first_segment + k], frag);
	frag->rounding_bytes = frag->requested_bytes == GP_BYTES_UNKNOWN ?
				       GP_BYTES_UNKNOWN :
				       frag->allocated_bytes - frag->requested_bytes;
}

/* ---- pools ---- */

static void add_to_pool(const struct gp_room *room, const struct gp_memory_segment *s,
			struct gp_frag_pool *p)
{
	struct gp_run run;
	size_t block = s->first;
	uint64_t tail = 0;
	p->segments++;
	p->has_expandable |= s->is_expandable;
	p->reserved_bytes += s->bytes;
	p->releasable_bytes += gp_room_releasable(room, s);
	for (size_t k = s->first; k < s->first + s->blocks; k++) {
		const struct gp_memory_block *b = &room->memory->block[k];
		p->allocated_bytes += b->state == GP_STATE_ALLOCATED ? b->bytes : 0;
		p->pending_bytes += b->state == GP_STATE_PENDING ? b->bytes : 0;
	}
	while (gp_room_run(room, s, false, &block, &run)) {
		p->gaps++;
		p->free_bytes += run.bytes;
		if (run.bytes > p->largest_gap_bytes)
			p->largest_gap_bytes = run.bytes;
		tail = run.end == s->first + s->blocks ? run.bytes : 0;
	}
	/* ranges come by address: the value of the last one stays */
	if (s->is_expandable)
		p->tail_bytes = tail;
}

enum gp_status gp_frag_list_pools(const struct gp_room *room, struct gp_frag *frag)
{
	const struct gp_memory *m = room->memory;
	size_t most = 2 * m->arenas;
	frag->pool = calloc(most + 1, sizeof *frag->pool);
	if (frag->pool == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < room->device->segments; k++) {
		const struct gp_memory_segment *s = &m->segment[room->device->first_segment + k];
		add_to_pool(room, s, &frag->pool[2 * s->arena + s->is_small]);
	}
	enum gp_status status = GP_OK;
	for (size_t k = 0; k < most && status == GP_OK; k++) {
		struct gp_frag_pool *p = &frag->pool[frag->pools];
		if (frag->pool[k].segments == 0)
			continue;
		*p = frag->pool[k];
		p->arena = k / 2;
		p->is_small = k % 2 != 0;
		status = gp_room_largest(room, p->arena, p->is_small, &p->largest_request_bytes);
		frag->pools++;
	}
	return status;
}
