/*
 * Changes that would have helped, each with its effect in bytes. Includes what the framework did
 * before it gave up, marked as not enough.
 */
#include <string.h>

#include "../frag/frag_rule.h"

/* Useful numbers of divisions: they add an eighth, or a quarter at most. */
#define ROUNDING_MOST 8u
#define ROUNDING_LEAST 4u
#define LEAST_MAX_SPLIT (21 * GP_MIB) /* PyTorch accepts whole MiB above 20 */

const char *const gp_help_names[GP_HELPS] = {
	[GP_HELP_FREE_NEIGHBOURS] = "free_neighbours",
	[GP_HELP_FREE_SEGMENTS] = "free_segments",
	[GP_HELP_EMPTY_CACHE] = "empty_cache",
	[GP_HELP_EXPANDABLE] = "expandable_segments",
	[GP_HELP_MAX_SPLIT] = "max_split_size",
	[GP_HELP_ROUND_SIZES] = "round_sizes",
	[GP_HELP_LESS_ROUNDING] = "less_rounding",
	[GP_HELP_STREAMS] = "fewer_streams_or_pools",
	[GP_HELP_LIMIT] = "higher_limit",
	[GP_HELP_OUTSIDE] = "less_outside",
	[GP_HELP_OTHER] = "less_by_others",
	[GP_HELP_SMALLER] = "smaller_request",
	[GP_HELP_LESS] = "less_in_use",
};

static void oom_help_add(struct gp_oom_case *c, enum gp_help help, bool is_enough, uint64_t bytes,
			 uint64_t count)
{
	c->help[c->helps++] = (struct gp_oom_help){ help, is_enough, false, bytes, count };
}

static void add_bound(struct gp_oom_case *c, enum gp_help help, bool is_enough, uint64_t bytes,
		      uint64_t count)
{
	oom_help_add(c, help, is_enough, bytes, count);
	c->help[c->helps - 1].is_bound = true;
}

/* True: the figures explain the failure, and all cached and free memory would not be enough. */
static bool is_short(const struct gp_oom_case *c)
{
	const struct gp_oom_finding *v = &c->finding;
	return v->missing_bytes != GP_BYTES_UNKNOWN && v->short_bytes != GP_BYTES_UNKNOWN &&
	       v->short_bytes != 0;
}

static void add_set(struct gp_oom_case *c, enum gp_help help, const struct gp_block_set *set)
{
	if (set->is_found && set->blocks != 0)
		oom_help_add(c, help, true, set->bytes, set->blocks - set->pending);
}

static bool oom_help_is_same(const struct gp_block_set *a, const struct gp_block_set *b)
{
	return a->is_found && b->is_found && a->blocks == b->blocks &&
	       memcmp(a->block, b->block, a->blocks * sizeof *a->block) == 0;
}

/* The free bytes of segments that would have stayed whole if blocks of that size were never cut. */
static void add_max_split(const struct gp_oom *o, struct gp_oom_case *c)
{
	const struct gp_frag *f = &c->frag;
	uint64_t bytes = 0, count = 0, room = c->finding.usable_bytes;
	bool is_enough = false;
	if (o->bytes < LEAST_MAX_SPLIT)
		return;
	for (size_t k = 0; k < f->device->segments; k++) {
		const struct gp_memory_segment *s =
			&c->memory.segment[f->device->first_segment + k];
		if (s->is_expandable || s->is_small || s->arena != f->home || s->bytes < o->bytes ||
		    s->active_bytes == s->bytes || s->active_bytes == 0)
			continue;
		/* its blocks would need memory elsewhere */
		is_enough |= room != GP_BYTES_UNKNOWN && room >= s->bytes;
		bytes += s->bytes - s->active_bytes;
		count++;
	}
	if (count != 0)
		add_bound(c, GP_HELP_MAX_SPLIT, is_enough, bytes, count);
}

/* The free pages of one range, and its longest free run. */
struct one_range {
	uint64_t page, at, free_from;
	uint64_t pages, longest;
};

static void range_end_run(struct one_range *r)
{
	uint64_t first = (r->free_from + r->page - 1) / r->page, end = r->at / r->page;
	r->pages += end > first ? end - first : 0;
	if (r->at - r->free_from > r->longest)
		r->longest = r->at - r->free_from;
}

static void range_add(struct one_range *r, const struct gp_memory *m,
		      const struct gp_memory_segment *s)
{
	for (size_t k = s->first; k < s->first + s->blocks; k++) {
		const struct gp_memory_block *b = &m->block[k];
		if (b->state != GP_STATE_FREE)
			range_end_run(r);
		r->at += b->bytes;
		if (b->state != GP_STATE_FREE)
			r->free_from = r->at;
	}
}

/*
 * Estimates one range for each stream instead of segments, with the blocks at the same distances.
 * Pages without a block return to the driver, whatever their stream. Gaps at the ends of segments
 * join. Private pools keep their pages. Blocks may have a better arrangement in a range, which is
 * unknown.
 */
static void add_expandable(const struct gp_oom *o, const struct gp_allocator_settings *settings,
			   struct gp_oom_case *c)
{
	const struct gp_frag *f = &c->frag;
	bool is_small = o->bytes <= GP_SMALL_MOST;
	uint64_t page = gp_rule_page(settings, is_small), pages = 0, longest = 0;
	uint64_t room = c->finding.room_bytes == GP_BYTES_UNKNOWN ? 0 : c->finding.room_bytes;
	if (settings->is_expandable)
		return;
	for (size_t arena = 0; arena < c->memory.arenas; arena++) {
		struct one_range r = { .page = page };
		if (arena != f->home && gp_arena_is_private(&c->memory.arena[arena]))
			continue;
		for (size_t k = 0; k < f->device->segments; k++) {
			const struct gp_memory_segment *s =
				&c->memory.segment[f->device->first_segment + k];
			if (s->arena == arena && s->is_small == is_small)
				range_add(&r, &c->memory, s);
		}
		range_end_run(&r);
		pages += r.pages;
		if (arena == f->home)
			longest = r.longest;
	}
	uint64_t bytes = pages * page + room;
	uint64_t needed = (o->bytes + page - 1) / page * page;
	bool is_enough = bytes >= needed || longest >= o->bytes;
	add_bound(c, GP_HELP_EXPANDABLE, is_enough, bytes > longest ? bytes : longest, 0);
}

/*
 * For a place that is too small by less than the rounding. If its earlier blocks had been rounded
 * as this request would be, the request would fit, provided that it was one block. Adds the finest
 * rounding that fits.
 */
static void add_round_sizes(const struct gp_oom *o, const struct gp_allocator_settings *settings,
			    struct gp_oom_case *c)
{
	const uint64_t largest = c->facts.largest_bytes;
	bool is_rounded = gp_allocator_rounded(settings, o->bytes + 1) > o->bytes + GP_BLOCK_UNIT;
	if (is_rounded || largest == 0 || largest >= o->bytes)
		return;
	for (unsigned divisions = ROUNDING_MOST; divisions >= ROUNDING_LEAST; divisions /= 2) {
		struct gp_allocator_settings tried = *settings;
		for (unsigned k = 0; k < GP_ROUNDUP_BUCKETS; k++)
			tried.roundup_divisions[k] = divisions;
		if (gp_allocator_rounded(&tried, largest) < gp_allocator_rounded(&tried, o->bytes))
			continue;
		add_bound(c, GP_HELP_ROUND_SIZES, true, o->bytes - largest, divisions);
		return;
	}
}

/* The most of it that rounding may have added. Only the rounded size is known. */
static uint64_t rounding_most(const struct gp_allocator_settings *settings, uint64_t rounded)
{
	const uint64_t least = rounded != 0 ? gp_rule_floor(settings, rounded - 1) + 1 : 0;
	if (rounded == 0 || gp_allocator_rounded(settings, least) != rounded)
		return 0;
	return rounded - gp_allocator_rounded(&gp_allocator_defaults, least);
}

/*
 * The bytes that rounding adds to live blocks and to the request, compared to multiples of 512
 * bytes. Counts blocks with a known requested size.
 */
static void add_less_rounding(const struct gp_oom *o, const struct gp_allocator_settings *settings,
			      struct gp_oom_case *c)
{
	const struct gp_frag *f = &c->frag;
	uint64_t bytes = rounding_most(settings, o->bytes);
	for (size_t k = 0; k < f->device->segments; k++) {
		const struct gp_memory_segment *s =
			&c->memory.segment[f->device->first_segment + k];
		for (size_t i = s->first; i < s->first + s->blocks; i++) {
			const struct gp_memory_block *b = &c->memory.block[i];
			if (b->state == GP_STATE_ALLOCATED &&
			    b->requested_bytes != GP_BYTES_UNKNOWN)
				bytes += gp_allocator_rounded(settings, b->requested_bytes) -
					 gp_allocator_rounded(&gp_allocator_defaults,
							      b->requested_bytes);
		}
	}
	if (is_short(c) && bytes >= c->finding.missing_bytes)
		add_bound(c, GP_HELP_LESS_ROUNDING, true, bytes, 0);
}

/* If memory of the driver is missing, and growth took some of it. */
static void add_growth(struct gp_oom_case *c, enum gp_help help, uint64_t bytes, uint64_t least)
{
	uint64_t missing = c->finding.missing_bytes;
	if (missing == GP_BYTES_UNKNOWN || c->finding.is_limit_tighter ||
	    bytes == GP_BYTES_UNKNOWN || bytes < least)
		return;
	if (bytes >= missing || is_short(c))
		oom_help_add(c, help, bytes >= missing, bytes, 0);
}

/* A limit that allows a new place for the request, if the device has room for it. */
static void add_limit(struct gp_oom_case *c)
{
	const struct gp_oom_facts *f = &c->facts;
	uint64_t limit = f->reserved_bytes - f->releasable_bytes + f->limited_bytes;
	bool has_room = f->free_bytes != GP_BYTES_UNKNOWN &&
			f->free_bytes + f->releasable_bytes >= f->driver_bytes;
	bool is_cause = c->finding.verdict == GP_VERDICT_LIMIT;
	if (!f->is_limit_reported && is_cause)
		oom_help_add(c, GP_HELP_LIMIT, true, limit, 0);
	else if (c->finding.is_limit_tighter && (has_room || is_cause))
		oom_help_add(c, GP_HELP_LIMIT, has_room, limit, 0);
}

/* The largest request that would succeed, without the free bytes that the driver may keep. */
static void add_smaller(const struct gp_oom *o, struct gp_oom_case *c)
{
	const struct gp_frag *f = &c->frag;
	const uint64_t kept = GP_KEPT_BY_DRIVER;
	uint64_t most = o->is_framework ? f->largest_released_bytes : c->facts.free_bytes;
	if (c->finding.missing_bytes == GP_BYTES_UNKNOWN || most == GP_BYTES_UNKNOWN)
		return;
	if (!o->is_framework || f->is_released_bound)
		most = most > kept ? (most - kept) & ~(uint64_t)(GP_SMALL_SEGMENT - 1) : 0;
	if (o->is_framework && most < f->largest_request_bytes)
		most = f->largest_request_bytes;
	if (most != 0 && most < o->bytes)
		oom_help_add(c, GP_HELP_SMALLER, true, most, 0);
}

static bool is_cheaper(const struct gp_oom_help *a, const struct gp_oom_help *b)
{
	return a->count != b->count ? a->count < b->count : a->bytes < b->bytes;
}

void gp_oom_help_list(const struct gp_oom *oom, const struct gp_allocator_settings *settings,
		      struct gp_oom_case *c)
{
	const struct gp_oom_finding *v = &c->finding;
	c->helps = 0;
	add_set(c, GP_HELP_FREE_NEIGHBOURS, &c->frag.fit.in_place);
	if (c->helps == 0 || !oom_help_is_same(&c->frag.fit.in_place, &c->frag.fit.by_emptying))
		add_set(c, GP_HELP_FREE_SEGMENTS, &c->frag.fit.by_emptying);
	/* the cheaper one comes first */
	if (c->helps == 2 && is_cheaper(&c->help[1], &c->help[0])) {
		const struct gp_oom_help first = c->help[1];
		c->help[1] = c->help[0];
		c->help[0] = first;
	}
	if (oom->is_framework || c->frag.releasable_bytes != 0)
		oom_help_add(c, GP_HELP_EMPTY_CACHE, v->verdict == GP_VERDICT_CACHE,
			     c->frag.releasable_bytes, 0);
	if (v->verdict == GP_VERDICT_FRAGMENTATION && oom->is_framework) {
		add_expandable(oom, settings, c);
		if (settings->max_split_bytes == UINT64_MAX)
			add_max_split(oom, c);
		add_round_sizes(oom, settings, c);
	}
	if (oom->is_framework)
		add_less_rounding(oom, settings, c);
	if (v->verdict == GP_VERDICT_STREAM) {
		add_expandable(oom, settings, c);
		oom_help_add(c, GP_HELP_STREAMS, true, c->facts.elsewhere_bytes, 0);
		/*
		 * exact if that pool serves it, else a bound: all memory would need one stream and
		 * pool
		 */
		c->help[c->helps - 1].is_bound =
			c->other == NULL || c->other->largest_request_bytes < oom->bytes;
	}
	add_limit(c);
	add_growth(c, GP_HELP_OUTSIDE, c->facts.outside_grown_bytes, GP_OUTSIDE_LEAST);
	add_growth(c, GP_HELP_OTHER, c->facts.other_grown_bytes, GP_OTHER_LEAST);
	add_smaller(oom, c);
	if (is_short(c) || v->verdict == GP_VERDICT_RESERVE)
		oom_help_add(c, GP_HELP_LESS, true, v->missing_bytes, 0);
}
