/*
 * Requests that the cache serves. A request takes the smallest free block of its stream and pool
 * that is large enough. Only that block is tried. The memory that a release returns: whole segments
 * and pages.
 */
#include "frag_room.h"

#include <stdlib.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_rank.h"

bool gp_arena_is_private(const struct gp_arena *arena)
{
	return arena->is_known && arena->has_pool && (arena->pool != 0 || arena->user_pool != 0);
}

bool gp_room_run(const struct gp_room *room, const struct gp_memory_segment *s, bool waits,
		 size_t *block, struct gp_run *out)
{
	size_t end = s->first + s->blocks, k = *block;
	bool (*is_taken)(const struct gp_room *, size_t) =
		waits ? gp_room_is_held : gp_room_is_used;
	while (k < end && is_taken(room, k))
		k++;
	*out = (struct gp_run){ .first = k };
	if (k < end)
		out->from = room->memory->block[k].address;
	for (; k < end && !is_taken(room, k); k++)
		out->bytes += room->memory->block[k].bytes;
	out->end = *block = k;
	return out->end > out->first;
}

/* ---- from the cache ---- */

static bool is_in_pool(const struct gp_memory_segment *s, size_t arena, bool is_small)
{
	return s->arena == arena && s->is_small == is_small;
}

bool gp_room_serves(const struct gp_room *room, size_t arena, uint64_t rounded)
{
	size_t first = room->device->first_segment, end = first + room->device->segments;
	uint64_t smallest = UINT64_MAX;
	for (size_t k = first; k < end; k++) {
		const struct gp_memory_segment *s = &room->memory->segment[k];
		struct gp_run run;
		size_t block = s->first;
		while (is_in_pool(s, arena, rounded <= GP_SMALL_MOST) &&
		       gp_room_run(room, s, false, &block, &run))
			if (run.bytes >= rounded && run.bytes < smallest)
				smallest = run.bytes;
	}
	return smallest != UINT64_MAX && gp_rule_takes(room->settings, rounded, smallest);
}

/* The sizes of a pool's free runs, ascending. */
static enum gp_status list_runs(const struct gp_room *room, size_t arena, bool is_small,
				uint64_t **out, size_t *count)
{
	size_t first = room->device->first_segment, end = first + room->device->segments;
	*out = NULL;
	*count = 0;
	for (size_t k = first; k < end; k++) {
		const struct gp_memory_segment *s = &room->memory->segment[k];
		struct gp_run run;
		size_t block = s->first;
		while (is_in_pool(s, arena, is_small) &&
		       gp_room_run(room, s, false, &block, &run)) {
			uint64_t *bytes = gp_array_append(out, count, sizeof *bytes);
			if (bytes == NULL)
				return GP_E_MEMORY;
			*bytes = run.bytes;
		}
	}
	if (*count > 1)
		qsort(*out, *count, sizeof **out, gp_row_order);
	return GP_OK;
}

enum gp_status gp_room_largest(const struct gp_room *room, size_t arena, bool is_small,
			       uint64_t *out)
{
	uint64_t *run;
	size_t runs;
	enum gp_status status = list_runs(room, arena, is_small, &run, &runs);
	*out = 0;
	for (size_t k = status == GP_OK ? runs : 0; *out == 0 && k-- > 0;) {
		uint64_t most = is_small && run[k] > GP_SMALL_MOST ? GP_SMALL_MOST : run[k];
		uint64_t bytes = gp_rule_floor(room->settings, most);
		/* a request that fits into a smaller run does not get this one */
		if ((k > 0 && bytes <= run[k - 1]) || bytes == 0)
			continue;
		if ((is_small || bytes > GP_SMALL_MOST) &&
		    gp_rule_takes(room->settings, bytes, run[k]))
			*out = bytes;
	}
	free(run);
	return status;
}

/* ---- release ---- */

uint64_t gp_room_releasable(const struct gp_room *room, const struct gp_memory_segment *s)
{
	struct gp_run run;
	size_t block = s->first;
	uint64_t bytes = 0, page = gp_rule_page(room->settings, s->is_small);
	if (gp_arena_is_private(&room->memory->arena[s->arena]))
		return 0;
	while (gp_room_run(room, s, true, &block, &run)) {
		uint64_t from = run.from - s->address;
		if (!s->is_expandable)
			return run.bytes == s->bytes ? s->bytes : 0;
		bytes += gp_rule_pages(from, from + run.bytes, page);
	}
	return bytes;
}

struct gp_released gp_room_release(const struct gp_room *room)
{
	const struct gp_memory_segment *s = &room->memory->segment[room->device->first_segment];
	struct gp_released r = { .free_bytes = GP_BYTES_UNKNOWN, .limit_room = UINT64_MAX };
	for (size_t k = 0; k < room->device->segments; k++)
		r.bytes += gp_room_releasable(room, &s[k]);
	uint64_t left = room->reserved_bytes - r.bytes, limit = room->device->limit_bytes;
	if (limit != GP_BYTES_UNKNOWN)
		r.limit_room = limit > left ? limit - left : 0;
	if (room->free_bytes != GP_BYTES_UNKNOWN)
		r.free_bytes = room->free_bytes + r.bytes;
	return r;
}
