/*
 * Finds the blocks whose release would let a request succeed. These are neighbours in one segment,
 * or the blocks of whole segments and pages, which return to the driver. For each kind, the set
 * with the fewest bytes; of equal sets, the one with the fewest blocks. docs/ANALYSIS.md, 3.
 */
#include <stdlib.h>
#include <string.h>

#include "frag_parts.h"

#define KNAPSACK_MOST (1u << 24) /* units times gains; larger problems are solved greedily */
#define ATTEMPTS 64u /* pages that become free may move the place where new ones are mapped */

/*
 * The cost of a set of blocks for the job: their bytes, then their number. Pending blocks cost 0.
 */
struct cost {
	uint64_t bytes;
	size_t blocks;
};

static bool is_cheaper(const struct cost *a, const struct cost *b)
{
	return a->bytes != b->bytes ? a->bytes < b->bytes : a->blocks < b->blocks;
}

static void add_cost(struct cost *cost, const struct gp_memory_block *b, bool is_more)
{
	if (b->state != GP_STATE_ALLOCATED)
		return;
	cost->blocks = is_more ? cost->blocks + 1 : cost->blocks - 1;
	cost->bytes = is_more ? cost->bytes + b->bytes : cost->bytes - b->bytes;
}

static void mark(const struct gp_memory *m, uint8_t *freed, size_t first, size_t end, uint8_t how)
{
	for (size_t k = first; k < end; k++)
		if (m->block[k].state != GP_STATE_FREE)
			freed[k] = how;
}

/* ---- neighbours ---- */

struct window {
	bool is_found;
	size_t first, end;
	struct cost cost;
};

/* The bytes of blocks [first, end) with the free bytes on both sides. */
static uint64_t joined_bytes(const struct gp_room *room, const struct gp_memory_segment *s,
			     size_t first, size_t end)
{
	const struct gp_memory_block *block = room->memory->block, *last;
	while (first > s->first && !gp_room_is_used(room, first - 1))
		first--;
	while (end < s->first + s->blocks && !gp_room_is_used(room, end))
		end++;
	last = &block[end - 1];
	return last->address + last->bytes - block[first].address;
}

/*
 * For each last block, the shortest window is the best: a longer one contains the same blocks and
 * more. If a large enough free block existed, the allocator has refused the smallest one. It would
 * refuse a larger one, too. So only the joined block is tested.
 */
static void search_segment(const struct gp_room *room, const struct gp_memory_segment *s,
			   const struct gp_frag_fit *fit, struct window *best)
{
	const struct gp_memory_block *block = room->memory->block;
	size_t from = s->first;
	uint64_t bytes = 0;
	struct cost cost = { 0 };
	for (size_t k = s->first; k < s->first + s->blocks; k++) {
		bytes += block[k].bytes;
		add_cost(&cost, &block[k], true);
		while (bytes - block[from].bytes >= fit->rounded_bytes) {
			bytes -= block[from].bytes;
			add_cost(&cost, &block[from++], false);
		}
		if (bytes < fit->rounded_bytes ||
		    (best->is_found && !is_cheaper(&cost, &best->cost)))
			continue;
		if (gp_rule_takes(room->settings, fit->rounded_bytes,
				  joined_bytes(room, s, from, k + 1)))
			*best = (struct window){ true, from, k + 1, cost };
	}
}

/* ---- emptied segments and pages ---- */

/*
 * Blocks whose release returns `gain` bytes to the driver: all blocks of a segment, or those on a
 * page.
 */
struct unit {
	size_t first, end;
	uint64_t gain;
	struct cost cost;
};

static int compare_units(const void *left, const void *right)
{
	const struct unit *a = left, *b = right;
	double x = (double)a->gain / (double)a->cost.bytes;
	double y = (double)b->gain / (double)b->cost.bytes;
	if (x < y || x > y)
		return x < y ? 1 : -1;
	if (a->cost.blocks != b->cost.blocks)
		return a->cost.blocks < b->cost.blocks ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static struct unit whole_segment(const struct gp_room *room, const struct gp_memory_segment *s)
{
	struct unit u = { .first = s->first, .end = s->first + s->blocks };
	for (size_t k = u.first; k < u.end; k++)
		if (gp_room_is_held(room, k))
			add_cost(&u.cost, &room->memory->block[k], true);
	u.gain = u.cost.blocks != 0 ? s->bytes : 0;
	return u;
}

/*
 * The blocks on one page of an expandable segment. `first` is the first held block that ends behind
 * the page's beginning. The free bytes before it begin at `from`. Offsets are relative to the
 * segment.
 */
static struct unit one_page(const struct gp_room *room, const struct gp_memory_segment *s,
			    size_t first, uint64_t from, uint64_t page_end)
{
	uint64_t page = gp_rule_page(room->settings, s->is_small), free_from = from, had = 0;
	struct unit u = { .first = first, .end = first };
	size_t k = first, end = s->first + s->blocks;
	for (; k < end; k++) {
		const struct gp_memory_block *b = &room->memory->block[k];
		uint64_t at = b->address - s->address;
		if (!gp_room_is_held(room, k))
			continue;
		had += gp_rule_pages(free_from, at, page);
		free_from = at;
		if (at >= page_end)
			break;
		free_from = at + b->bytes;
		add_cost(&u.cost, b, true);
		u.end = k + 1;
	}
	uint64_t to = k < end ? free_from : s->bytes;
	had += k < end ? 0 : gp_rule_pages(free_from, to, page);
	u.gain = gp_rule_pages(from, to, page) - had;
	return u;
}

/*
 * The units of all pages with blocks. A block that covers many pages alone gets one unit for them.
 */
static size_t units_of_pages(const struct gp_room *room, const struct gp_memory_segment *s,
			     struct unit *unit)
{
	size_t units = 0, k = s->first, end = s->first + s->blocks;
	uint64_t from = 0, at = 0, page = gp_rule_page(room->settings, s->is_small);
	for (;;) {
		const struct gp_memory_block *b = NULL;
		for (; k < end; k++) {
			b = &room->memory->block[k];
			uint64_t b_end = b->address - s->address + b->bytes;
			if (gp_room_is_held(room, k) && b_end > at)
				break;
			if (gp_room_is_held(room, k))
				from = b_end;
		}
		if (k == end)
			return units;
		uint64_t begin = b->address - s->address, last = (begin + b->bytes - 1) / page;
		if (begin / page * page > at)
			at = begin / page * page;
		struct unit u = one_page(room, s, k, from, at + page);
		bool is_same = units != 0 && unit[units - 1].first == u.first &&
			       unit[units - 1].end == u.end;
		if (u.cost.blocks != 0 && u.gain != 0 && !is_same)
			unit[units++] = u;
		at = u.end == k + 1 && last * page > at ? last * page : at + page;
	}
}

/* Pages may share a block, segments cannot. */
static size_t list_units(const struct gp_room *room, struct unit *unit, bool *is_disjoint)
{
	const struct gp_memory_device *d = room->device;
	size_t units = 0;
	*is_disjoint = true;
	for (size_t k = 0; k < d->segments; k++) {
		const struct gp_memory_segment *s = &room->memory->segment[d->first_segment + k];
		if (gp_arena_is_private(&room->memory->arena[s->arena]))
			continue;
		*is_disjoint &= !s->is_expandable;
		if (s->is_expandable) {
			units += units_of_pages(room, s, unit + units);
			continue;
		}
		unit[units] = whole_segment(room, s);
		units += unit[units].gain != 0;
	}
	qsort(unit, units, sizeof *unit, compare_units);
	return units;
}

/* The chosen units, one byte for each unit. */
struct choice {
	uint8_t *is_taken;
	struct cost cost;
};

/*
 * Takes the units with the highest gain for each freed byte until they gain `lacks`. Then drops
 * units that are not needed. If a single unit is enough and cheaper, takes that one instead.
 */
static void choose_greedily(const struct unit *unit, size_t units, uint64_t lacks,
			    struct choice *out)
{
	uint64_t gain = 0;
	size_t taken = 0;
	const struct unit *single = NULL;
	for (; taken < units && gain < lacks; taken++) {
		gain += unit[taken].gain;
		out->is_taken[taken] = 1;
	}
	for (size_t k = taken; k-- > 0;) {
		if (gain - unit[k].gain >= lacks && gain >= lacks) {
			gain -= unit[k].gain;
			out->is_taken[k] = 0;
			continue;
		}
		out->cost.blocks += unit[k].cost.blocks;
		out->cost.bytes += unit[k].cost.bytes;
	}
	for (size_t k = 0; k < units; k++)
		if (unit[k].gain >= lacks && (!single || is_cheaper(&unit[k].cost, &single->cost)))
			single = &unit[k];
	if (single == NULL || !is_cheaper(&single->cost, &out->cost))
		return;
	memset(out->is_taken, 0, units);
	out->is_taken[single - unit] = 1;
	out->cost = single->cost;
}

/* The greatest common divisor of all gains. */
static uint64_t gain_step(const struct unit *unit, size_t units)
{
	uint64_t step = unit[0].gain;
	for (size_t k = 1; k < units; k++)
		for (uint64_t rest = unit[k].gain; rest != 0;) {
			uint64_t divisor = rest;
			rest = step % divisor;
			step = divisor;
		}
	return step;
}

/*
 * Adds one unit to the knapsack. cost[g] is the least cost that gains g steps with the units so
 * far. is_in[g]: this choice uses the last unit.
 */
static void try_unit(const struct unit *unit, uint64_t step, size_t goal, struct cost *cost,
		     uint8_t *is_in)
{
	const size_t gain = (size_t)(unit->gain / step);
	for (size_t g = goal; g > 0; g--) {
		struct cost with = cost[g > gain ? g - gain : 0];
		if (with.bytes == UINT64_MAX)
			continue;
		with.bytes += unit->cost.bytes;
		with.blocks += unit->cost.blocks;
		if (!is_cheaper(&with, &cost[g]))
			continue;
		cost[g] = with;
		is_in[g] = 1;
	}
}

/*
 * The cheapest choice of all, as a knapsack by gain, if its size is within the bound. Units must
 * not share blocks.
 */
static enum gp_status choose_cheapest(const struct unit *unit, size_t units, uint64_t lacks,
				      struct choice *out)
{
	const uint64_t step = gain_step(unit, units);
	const uint64_t goal = (lacks + step - 1) / step;
	if (goal == 0 || goal > KNAPSACK_MOST / units - 1)
		return GP_OK;
	const size_t row = (size_t)goal + 1;
	struct cost *cost = calloc(row, sizeof *cost);
	uint8_t *is_in = calloc(units, row);
	enum gp_status status = cost != NULL && is_in != NULL ? GP_OK : GP_E_MEMORY;
	for (size_t g = 1; status == GP_OK && g < row; g++)
		cost[g].bytes = UINT64_MAX;
	for (size_t k = 0; status == GP_OK && k < units; k++)
		try_unit(&unit[k], step, row - 1, cost, is_in + k * row);
	if (status == GP_OK && is_cheaper(&cost[row - 1], &out->cost)) {
		size_t g = row - 1;
		for (size_t k = units; k-- > 0;) {
			const size_t gain = (size_t)(unit[k].gain / step);
			out->is_taken[k] = is_in[k * row + g];
			if (out->is_taken[k] != 0)
				g = g > gain ? g - gain : 0;
		}
	}
	free(cost);
	free(is_in);
	return status;
}

/* Marks the blocks of units that gain `lacks` bytes, or of all units. */
static enum gp_status take_units(const struct gp_memory *m, const struct unit *unit, size_t units,
				 bool is_disjoint, uint64_t lacks, uint8_t *freed)
{
	struct choice choice = { .is_taken = calloc(units + 1, 1) };
	if (choice.is_taken == NULL)
		return GP_E_MEMORY;
	choose_greedily(unit, units, lacks, &choice);
	enum gp_status status = is_disjoint ? choose_cheapest(unit, units, lacks, &choice) : GP_OK;
	for (size_t k = 0; k < units && status == GP_OK; k++)
		if (choice.is_taken[k] != 0)
			mark(m, freed, unit[k].first, unit[k].end, 1);
	free(choice.is_taken);
	return status;
}

/*
 * Marks blocks until the driver has enough free memory; *is_found false: all blocks are not enough.
 */
static enum gp_status empty_until(const struct gp_room *room, const struct gp_frag_fit *fit,
				  uint8_t *freed, bool *is_found)
{
	const struct gp_memory_device *d = room->device;
	struct gp_room then = *room;
	size_t most = d->segments + 1;
	for (size_t k = 0; k < d->segments; k++)
		most += 3 * room->memory->segment[d->first_segment + k].blocks + 1;
	struct unit *unit = calloc(most, sizeof *unit);
	if (unit == NULL)
		return GP_E_MEMORY;
	enum gp_status status = GP_OK;
	then.is_freed = freed;
	for (unsigned k = 0; k < ATTEMPTS && status == GP_OK && !*is_found; k++) {
		uint64_t lacks;
		status = gp_room_lacks(&then, fit->arena, fit->rounded_bytes, &lacks);
		*is_found = status == GP_OK && lacks == 0;
		if (status != GP_OK || *is_found)
			break;
		bool is_disjoint;
		size_t units = list_units(&then, unit, &is_disjoint);
		if (units == 0)
			break;
		status = take_units(room->memory, unit, units, is_disjoint, lacks, freed);
	}
	free(unit);
	return status;
}

/* ---- sets ---- */

static enum gp_status fill_set(const struct gp_room *room, const uint8_t *freed,
			       struct gp_block_set *set)
{
	const struct gp_memory *m = room->memory;
	const struct gp_memory_device *d = room->device;
	size_t most = 1, last = SIZE_MAX;
	for (size_t k = 0; k < m->blocks; k++)
		most += freed[k];
	set->block = calloc(most, sizeof *set->block);
	if (set->block == NULL)
		return GP_E_MEMORY;
	set->is_found = true;
	for (size_t s = d->first_segment; s < d->first_segment + d->segments; s++)
		for (size_t k = m->segment[s].first; k < m->segment[s].first + m->segment[s].blocks;
		     k++) {
			if (freed[k] == 0)
				continue;
			bool is_pending = m->block[k].state == GP_STATE_PENDING;
			set->block[set->blocks++] = k;
			set->pending += is_pending;
			set->bytes += is_pending ? 0 : m->block[k].bytes;
			set->segments += s != last;
			last = s;
		}
	return GP_OK;
}

static enum gp_status find_neighbours(const struct gp_room *room, struct gp_frag_fit *fit,
				      uint8_t *freed)
{
	const struct gp_memory_device *d = room->device;
	struct window best = { 0 };
	bool is_small = fit->rounded_bytes <= GP_SMALL_MOST;
	for (size_t k = d->first_segment; k < d->first_segment + d->segments; k++) {
		const struct gp_memory_segment *s = &room->memory->segment[k];
		if (s->arena == fit->arena && s->is_small == is_small)
			search_segment(room, s, fit, &best);
	}
	if (!best.is_found)
		return GP_OK;
	mark(room->memory, freed, best.first, best.end, 1);
	enum gp_status status = fill_set(room, freed, &fit->in_place);
	mark(room->memory, freed, best.first, best.end, 0);
	return status;
}

enum gp_status gp_frag_find_fit(const struct gp_room *room, struct gp_frag *frag)
{
	struct gp_frag_fit *fit = &frag->fit;
	uint64_t lacks = 0;
	bool is_found = false, has_room = room->free_bytes != GP_BYTES_UNKNOWN;
	fit->rounded_bytes = gp_allocator_rounded(room->settings, fit->bytes);
	fit->is_served = gp_room_serves(room, fit->arena, fit->rounded_bytes);
	enum gp_status status =
		has_room ? gp_room_lacks(room, fit->arena, fit->rounded_bytes, &lacks) : GP_OK;
	fit->is_served_released = status == GP_OK && has_room && lacks == 0;
	if (status != GP_OK || fit->is_served || fit->is_served_released)
		return status;
	uint8_t *freed = calloc(room->memory->blocks + 1, 1);
	if (freed == NULL)
		return GP_E_MEMORY;
	status = find_neighbours(room, fit, freed);
	if (status == GP_OK && has_room)
		status = empty_until(room, fit, freed, &is_found);
	if (status == GP_OK && is_found)
		status = fill_set(room, freed, &fit->by_emptying);
	free(freed);
	return status;
}
