/*
 * The fragmentation of a device's memory at one moment: builds the parts of struct gp_frag in
 * order.
 */
#include <stdlib.h>

#include "frag_parts.h"

static const struct gp_memory_device *find_device(const struct gp_memory *m, unsigned device)
{
	for (size_t k = 0; k < m->devices; k++)
		if (m->device[k].device == device)
			return &m->device[k];
	return NULL;
}

/* The arena of the default pool with most bytes in blocks: its stream does most of the work. */
static enum gp_status find_home(const struct gp_memory *m, const struct gp_memory_device *d,
				size_t *home)
{
	uint64_t *bytes = calloc(m->arenas + 1, sizeof *bytes), most = 0;
	*home = 0;
	if (bytes == NULL)
		return GP_E_MEMORY;
	for (size_t k = d->first_segment; k < d->first_segment + d->segments; k++)
		bytes[m->segment[k].arena] += m->segment[k].allocated_bytes + 1;
	for (size_t a = 0; a < m->arenas; a++) {
		if (gp_arena_is_private(&m->arena[a]) || bytes[a] <= most)
			continue;
		most = bytes[a];
		*home = a;
	}
	free(bytes);
	return GP_OK;
}

uint64_t gp_frag_driver_used(const struct gp_memory_device *d)
{
	if (d->used_bytes == GP_BYTES_UNKNOWN || d->total_bytes == 0)
		return GP_BYTES_UNKNOWN;
	uint64_t more = d->driver_bytes + d->pool_unused_bytes, less = d->used_driver_bytes;
	uint64_t used = d->used_bytes + (more > less ? more - less : 0);
	uint64_t gone = less > more ? less - more : 0;
	used = used > gone ? used - gone : 0;
	return used < d->total_bytes ? used : d->total_bytes;
}

static enum gp_status find_largest(const struct gp_room *room, struct gp_frag *frag)
{
	enum gp_status status = GP_OK;
	uint64_t released = 0;
	for (size_t k = 0; k < frag->pools; k++) {
		const struct gp_frag_pool *p = &frag->pool[k];
		if (p->largest_request_bytes > frag->largest_any_bytes)
			frag->largest_any_bytes = p->largest_request_bytes;
		if (p->arena == frag->home &&
		    p->largest_request_bytes > frag->largest_request_bytes)
			frag->largest_request_bytes = p->largest_request_bytes;
	}
	frag->largest_released_bytes = GP_BYTES_UNKNOWN;
	if (room->free_bytes == GP_BYTES_UNKNOWN)
		return status;
	frag->largest_released_bytes = frag->largest_request_bytes;
	for (unsigned is_small = 0; is_small < 2 && status == GP_OK; is_small++) {
		status = gp_room_largest_released(room, frag->home, is_small != 0, &released);
		if (status == GP_OK && released > frag->largest_released_bytes)
			frag->largest_released_bytes = released;
	}
	struct gp_released all = gp_room_release(room);
	frag->is_released_bound = frag->largest_released_bytes > frag->largest_request_bytes &&
				  all.limit_room >= all.free_bytes;
	return status;
}

static enum gp_status frag_answer(struct gp_room *room, const struct gp_frag_question *question,
				  struct gp_frag *out)
{
	gp_frag_add_up(room, out);
	room->free_bytes = out->driver_free_bytes;
	room->reserved_bytes = out->reserved_bytes;
	out->releasable_bytes = gp_room_release(room).bytes;
	enum gp_status status = gp_frag_list_pools(room, out);
	if (status == GP_OK)
		status = find_largest(room, out);
	if (status == GP_OK)
		status = gp_frag_list_pins(room, out);
	out->fit.bytes = question->fit_bytes;
	out->fit.arena = out->home;
	if (status == GP_OK && question->fit_bytes != 0)
		status = gp_frag_find_fit(room, out);
	return status;
}

enum gp_status gp_frag_build(const struct gp_memory *memory, unsigned device,
			     const struct gp_frag_question *question, struct gp_frag *out)
{
	*out = (struct gp_frag){ .memory = memory, .device = find_device(memory, device) };
	if (out->device == NULL || (question->has_arena && question->arena >= memory->arenas))
		return GP_E_ARGUMENT;
	out->home = question->arena;
	enum gp_status status =
		question->has_arena ? GP_OK : find_home(memory, out->device, &out->home);
	out->driver_used_bytes = out->driver_free_bytes = gp_frag_driver_used(out->device);
	if (out->driver_used_bytes != GP_BYTES_UNKNOWN)
		out->driver_free_bytes = out->device->total_bytes - out->driver_used_bytes;
	struct gp_room room = {
		.memory = memory,
		.device = out->device,
		.settings = question->settings ? question->settings : &gp_allocator_defaults,
	};
	if (status == GP_OK)
		status = frag_answer(&room, question, out);
	out->unused_bytes = out->reserved_bytes - out->allocated_bytes;
	for (size_t k = 0; status == GP_OK && k < out->pools; k++)
		if (out->pool[k].largest_gap_bytes > out->largest_gap_bytes)
			out->largest_gap_bytes = out->pool[k].largest_gap_bytes;
	if (status != GP_OK)
		gp_frag_free(out);
	return status;
}

void gp_frag_free(struct gp_frag *frag)
{
	free(frag->pool);
	free(frag->pin);
	free(frag->fit.in_place.block);
	free(frag->fit.by_emptying.block);
	*frag = (struct gp_frag){ 0 };
}
