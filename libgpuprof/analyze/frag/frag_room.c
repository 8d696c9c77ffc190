/*
 * What the cache serves: a request takes the smallest free block of its stream and pool that is
 * large enough, and only that one is tried. What a release gives back: whole segments and pages.
 */
#include "frag_room.h"

#include <stdlib.h>

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

/* A free run, in the allocator's order: by bytes, then by address. */
struct gp_candidate {
	uint64_t bytes, address;
	bool is_expandable;
	uint64_t reach; /* with the unmapped addresses behind it, into which it can grow */
};

/* Up to the next range of the reservation; behind the last one there is no end to it. */
static uint64_t unmapped_behind(const struct gp_room *room, size_t segment)
{
	const struct gp_memory_segment *all = room->memory->segment, *s = &all[segment];
	size_t end = room->device->first_segment + room->device->segments;
	for (size_t k = segment + 1; k < end; k++)
		if (all[k].is_expandable && is_in_pool(&all[k], s->arena, s->is_small) &&
		    all[k].address - s->address - s->bytes < GP_ROOM_APART)
			return all[k].address - s->address - s->bytes;
	return GP_ROOM_ENDLESS;
}

static struct gp_candidate candidate_of(const struct gp_room *room, size_t segment,
					const struct gp_run *run)
{
	const struct gp_memory_segment *s = &room->memory->segment[segment];
	struct gp_candidate c = { run->bytes, run->from, s->is_expandable, run->bytes };
	/* nobody asks for it where each candidate is taken */
	bool is_wanted = room->settings->max_split_bytes != UINT64_MAX;
	if (is_wanted && c.is_expandable && run->end == s->first + s->blocks)
		c.reach += unmapped_behind(room, segment);
	return c;
}

static int compare_candidates(const void *left, const void *right)
{
	const struct gp_candidate *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

/* The first one behind `after`. False: none. */
static bool find_candidate(const struct gp_room *room, size_t arena, bool is_small,
			   const struct gp_candidate *after, struct gp_candidate *out)
{
	size_t first = room->device->first_segment, end = first + room->device->segments;
	bool is_found = false;
	for (size_t k = first; k < end; k++) {
		const struct gp_memory_segment *s = &room->memory->segment[k];
		struct gp_run run;
		size_t block = s->first;
		while (is_in_pool(s, arena, is_small) &&
		       gp_room_run(room, s, false, &block, &run)) {
			struct gp_candidate c = { .bytes = run.bytes, .address = run.from };
			if (compare_candidates(&c, after) <= 0 ||
			    (is_found && compare_candidates(&c, out) >= 0))
				continue;
			*out = candidate_of(room, k, &run);
			is_found = true;
		}
	}
	return is_found;
}

/* An expandable one is passed over for the next one that can grow less. */
static bool is_passed(const struct gp_room *room, const struct gp_candidate *c,
		      const struct gp_candidate *next)
{
	return room->settings->max_split_bytes != UINT64_MAX && c->is_expandable &&
	       next->reach < c->reach;
}

bool gp_room_serves(const struct gp_room *room, size_t arena, uint64_t rounded)
{
	const struct gp_candidate least = { .bytes = rounded };
	struct gp_candidate c, next;
	bool is_small = rounded <= GP_SMALL_MOST;
	if (!find_candidate(room, arena, is_small, &least, &c))
		return false;
	bool is_split_limited = room->settings->max_split_bytes != UINT64_MAX;
	while (is_split_limited && c.is_expandable &&
	       find_candidate(room, arena, is_small, &c, &next) && is_passed(room, &c, &next))
		c = next;
	return gp_rule_takes(room->settings, rounded, c.bytes);
}

enum gp_status gp_places_list(const struct gp_room *room, size_t arena, bool is_small,
			      struct gp_places *out)
{
	size_t first = room->device->first_segment, end = first + room->device->segments;
	size_t blocks = 0;
	out->count = 0;
	for (size_t k = first; k < end; k++)
		if (is_in_pool(&room->memory->segment[k], arena, is_small))
			blocks += room->memory->segment[k].blocks;
	out->candidate = calloc(blocks + 1, sizeof *out->candidate);
	if (out->candidate == NULL)
		return GP_E_MEMORY;
	for (size_t k = first; k < end; k++) {
		const struct gp_memory_segment *s = &room->memory->segment[k];
		struct gp_run run;
		size_t block = s->first;
		while (is_in_pool(s, arena, is_small) && gp_room_run(room, s, false, &block, &run))
			out->candidate[out->count++] = candidate_of(room, k, &run);
	}
	qsort(out->candidate, out->count, sizeof *out->candidate, compare_candidates);
	return GP_OK;
}

void gp_places_free(struct gp_places *places)
{
	free(places->candidate);
	*places = (struct gp_places){ 0 };
}

/* What [first, end) joins with. */
static struct gp_run joined(const struct gp_room *room, const struct gp_memory_segment *s,
			    size_t first, size_t end)
{
	struct gp_run run = { .first = first, .end = end };
	while (run.first > s->first && !gp_room_is_used(room, run.first - 1))
		run.first--;
	while (run.end < s->first + s->blocks && !gp_room_is_used(room, run.end))
		run.end++;
	const struct gp_memory_block *block = room->memory->block, *last = &block[run.end - 1];
	run.from = block[run.first].address;
	run.bytes = last->address + last->bytes - run.from;
	return run;
}

/* Candidates from `*next` on, and among them `more`, which took in those within it. */
static const struct gp_candidate *next_of(const struct gp_places *places, size_t *next,
					  const struct gp_candidate *more, bool *is_taken)
{
	const struct gp_candidate *c = places->candidate;
	while (*next < places->count && c[*next].address >= more->address &&
	       c[*next].address < more->address + more->bytes)
		++*next;
	bool is_listed = *next < places->count;
	if (!*is_taken && (!is_listed || compare_candidates(more, &c[*next]) < 0)) {
		*is_taken = true;
		return more;
	}
	return is_listed ? &c[(*next)++] : NULL;
}

bool gp_places_serve(const struct gp_room *room, const struct gp_places *places, size_t segment,
		     size_t first, size_t end, uint64_t rounded)
{
	struct gp_run run = joined(room, &room->memory->segment[segment], first, end);
	const struct gp_candidate more = candidate_of(room, segment, &run);
	size_t low = 0, high = places->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (places->candidate[middle].bytes < rounded)
			low = middle + 1;
		else
			high = middle;
	}
	bool is_taken = more.bytes < rounded;
	const struct gp_candidate *c = next_of(places, &low, &more, &is_taken), *next;
	if (c == NULL)
		return false;
	while (c->is_expandable && (next = next_of(places, &low, &more, &is_taken)) != NULL &&
	       is_passed(room, c, next))
		c = next;
	return gp_rule_takes(room->settings, rounded, c->bytes);
}

enum gp_status gp_room_largest(const struct gp_room *room, size_t arena, bool is_small,
			       uint64_t *out)
{
	struct gp_places places;
	enum gp_status status = gp_places_list(room, arena, is_small, &places);
	const struct gp_candidate *c = places.candidate;
	size_t count = places.count;
	*out = 0;
	for (size_t k = status == GP_OK ? count : 0, taken = k; *out == 0 && k-- > 0;) {
		taken = k + 1 < count && is_passed(room, &c[k], &c[k + 1]) ? taken : k;
		uint64_t most = is_small && c[k].bytes > GP_SMALL_MOST ? GP_SMALL_MOST : c[k].bytes;
		uint64_t bytes = gp_rule_floor(room->settings, most);
		/* one that fits into a smaller run as well does not get this one */
		if ((k > 0 && bytes <= c[k - 1].bytes) || bytes == 0)
			continue;
		if ((is_small || bytes > GP_SMALL_MOST) &&
		    gp_rule_takes(room->settings, bytes, c[taken].bytes))
			*out = bytes;
	}
	gp_places_free(&places);
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
		uint64_t from = run.from - s->address, to = from + run.bytes;
		uint64_t first = (from + page - 1) / page * page, last = to / page * page;
		if (!s->is_expandable)
			return run.bytes == s->bytes ? s->bytes : 0;
		bytes += last > first ? last - first : 0;
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
