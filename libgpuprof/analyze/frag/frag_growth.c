/*
 * New memory after a release: a segment from the driver, or pages mapped into a reservation. Pages
 * go to the lowest stretch of unmapped addresses that is long enough with the free blocks at its
 * ends. A higher stretch that needs fewer pages is not preferred.
 */
#include <stdlib.h>

#include "frag_room.h"

#define ENDLESS (UINT64_MAX / 4)  /* behind the last page: reservations exceed a device */
#define APART (UINT64_C(1) << 40) /* ranges with a larger distance belong to two reservations */

/* Addresses between two held blocks: free, then unmapped, then free. */
struct stretch {
	uint64_t before, unmapped, behind;
};

struct growth {
	struct stretch *stretch;
	size_t stretches;
	struct stretch open;
};

/* True: the arena's pool grows by mapped pages, not by a new segment. */
static bool growth_is_mapped(const struct gp_room *room, size_t arena, bool is_small)
{
	const struct gp_memory_segment *s = &room->memory->segment[room->device->first_segment];
	bool has_other = false;
	for (size_t k = 0; k < room->device->segments; k++) {
		if (s[k].arena != arena || s[k].is_small != is_small)
			continue;
		if (s[k].is_expandable)
			return true;
		has_other = true;
	}
	return !has_other && room->settings->is_expandable;
}

static void end_stretch(struct growth *g)
{
	if (g->open.unmapped != 0)
		g->stretch[g->stretches++] = g->open;
	g->open = (struct stretch){ 0 };
}

static void add_free(struct growth *g, uint64_t bytes)
{
	if (g->open.unmapped == 0)
		g->open.before += bytes;
	else
		g->open.behind += bytes;
}

static void add_unmapped(struct growth *g, uint64_t bytes)
{
	if (bytes != 0 && g->open.behind != 0) {
		/* free addresses between two unmapped ranges belong to both stretches */
		struct stretch next = { .before = g->open.behind };
		end_stretch(g);
		g->open = next;
	}
	g->open.unmapped += bytes;
}

/*
 * Adds the free run of a mapped range. Its whole pages count as unmapped, because a release unmaps
 * them.
 */
static void add_run(struct growth *g, const struct gp_memory_segment *s, const struct gp_run *run,
		    uint64_t page)
{
	uint64_t from = run->from - s->address, to = from + run->bytes;
	uint64_t first = (from + page - 1) / page * page, last = to / page * page;
	if (last <= first) {
		add_free(g, run->bytes);
		return;
	}
	add_free(g, first - from);
	add_unmapped(g, last - first);
	add_free(g, to - last);
}

static void add_range(struct growth *g, const struct gp_room *room,
		      const struct gp_memory_segment *s)
{
	struct gp_run run;
	size_t block = s->first, end = s->first + s->blocks;
	uint64_t page = gp_rule_page(room->settings, s->is_small);
	bool is_private = gp_arena_is_private(&room->memory->arena[s->arena]);
	while (block < end) {
		size_t from = block;
		bool is_there = gp_room_run(room, s, true, &block, &run);
		if (run.first > from)
			end_stretch(g);
		if (is_there && is_private)
			add_free(g, run.bytes);
		else if (is_there)
			add_run(g, s, &run, page);
	}
}

/* Builds the stretches of a pool by address. */
static enum gp_status frag_growth_build(const struct gp_room *room, size_t arena, bool is_small,
					struct growth *g)
{
	const struct gp_memory_segment *s = &room->memory->segment[room->device->first_segment];
	const struct gp_memory_segment *before = NULL;
	size_t most = 2;
	*g = (struct growth){ 0 };
	for (size_t k = 0; k < room->device->segments; k++)
		most += 2 + (s[k].arena == arena ? 2 * s[k].blocks : 0);
	g->stretch = calloc(most, sizeof *g->stretch);
	if (g->stretch == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < room->device->segments; k++) {
		if (s[k].arena != arena || s[k].is_small != is_small || !s[k].is_expandable)
			continue;
		if (before != NULL) {
			uint64_t hole = s[k].address - before->address - before->bytes;
			add_unmapped(g, hole < APART ? hole : ENDLESS);
			if (hole >= APART)
				end_stretch(g);
		}
		add_range(g, room, &s[k]);
		before = &s[k];
	}
	add_unmapped(g, ENDLESS);
	end_stretch(g);
	return GP_OK;
}

/* The largest block in a stretch if the driver has `free_bytes` for pages. */
static uint64_t reach_of(const struct stretch *s, uint64_t free_bytes, uint64_t page)
{
	uint64_t mapped = free_bytes / page * page;
	if (mapped >= s->unmapped)
		return s->before + s->unmapped + s->behind;
	return s->before + mapped;
}

static uint64_t capacity_of(const struct stretch *s)
{
	return s->before + s->unmapped + s->behind;
}

static uint64_t largest_mapped(const struct gp_room *room, const struct growth *g, bool is_small,
			       const struct gp_released *r)
{
	uint64_t best = 0, below = 0, page = gp_rule_page(room->settings, is_small);
	for (size_t k = 0; k < g->stretches; k++) {
		uint64_t reach = reach_of(&g->stretch[k], r->free_bytes, page);
		if (is_small && reach > GP_SMALL_MOST)
			reach = GP_SMALL_MOST;
		/* the limit counts the whole block, even if a part of it is mapped already */
		uint64_t bytes = gp_rule_largest(room->settings, reach, r->limit_room);
		bool is_of_pool = (bytes <= GP_SMALL_MOST) == is_small;
		/* a smaller block would go to an earlier stretch */
		if (is_of_pool && bytes > below && bytes > best)
			best = bytes;
		uint64_t capacity = capacity_of(&g->stretch[k]);
		below = capacity > below ? capacity : below;
	}
	return best;
}

enum gp_status gp_room_largest_released(const struct gp_room *room, size_t arena, bool is_small,
					uint64_t *out)
{
	struct gp_released r = gp_room_release(room);
	struct growth g;
	*out = 0;
	if (!growth_is_mapped(room, arena, is_small)) {
		uint64_t rest = r.free_bytes < r.limit_room ? r.free_bytes : r.limit_room;
		uint64_t most = is_small ? GP_SMALL_MOST : UINT64_MAX / 2;
		uint64_t bytes = gp_rule_largest(room->settings, most, rest);
		*out = (bytes <= GP_SMALL_MOST) == is_small ? bytes : 0;
		return GP_OK;
	}
	enum gp_status status = frag_growth_build(room, arena, is_small, &g);
	if (status != GP_OK)
		return status;
	*out = largest_mapped(room, &g, is_small, &r);
	free(g.stretch);
	return status;
}

/*
 * Bytes of the pages to map in the stretch that a request of `rounded` bytes takes. The driver's
 * free bytes include those of the release.
 */
static uint64_t pages_for(const struct gp_room *room, const struct growth *g, uint64_t rounded)
{
	uint64_t page = gp_rule_page(room->settings, rounded <= GP_SMALL_MOST);
	size_t k = 0;
	while (k + 1 < g->stretches && capacity_of(&g->stretch[k]) < rounded)
		k++;
	const struct stretch *s = &g->stretch[k];
	uint64_t more = rounded > s->before ? rounded - s->before : 0;
	more = more < s->unmapped ? more : s->unmapped;
	return (more + page - 1) / page * page;
}

enum gp_status gp_room_lacks(const struct gp_room *room, size_t arena, uint64_t rounded,
			     uint64_t *out)
{
	bool is_small = rounded <= GP_SMALL_MOST;
	struct gp_released r = gp_room_release(room);
	uint64_t counted = gp_rule_segment(room->settings, rounded), needed = counted;
	struct growth g;
	if (growth_is_mapped(room, arena, is_small)) {
		enum gp_status status = frag_growth_build(room, arena, is_small, &g);
		if (status != GP_OK)
			return status;
		needed = pages_for(room, &g, rounded);
		free(g.stretch);
	}
	uint64_t of_limit = counted > r.limit_room ? counted - r.limit_room : 0;
	uint64_t of_free = needed > r.free_bytes ? needed - r.free_bytes : 0;
	*out = of_limit > of_free ? of_limit : of_free;
	return GP_OK;
}
