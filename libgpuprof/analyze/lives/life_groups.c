/*
 * A group is a row that a hash finds. Beyond a number of rows, new ones have no stack or range. A
 * job that numbers its steps has a range a step: these are joined before there are too many rows.
 */
#include "life_groups.h"

#include <stdlib.h>

#include "../../read/tables/array.h"
#include "../groups/live_uses.h"
#include "../memory/memory_view.h"
#include "life_raw.h"

#define NUMBERS_MOST (1u << 24) /* 64 MB; paths have as many nodes as GP_PHASES_MOST */

static const char beyond_groups[] = "beyond the groups that are kept";

uint64_t gp_life_arena_of(const struct gp_live *live, const struct gp_live_entry *e,
			  enum gp_lives_of of)
{
	if (of == GP_LIVES_OF_BLOCK || of == GP_LIVES_OF_PENDING)
		return e->stream;
	if (of != GP_LIVES_OF_SEGMENT && of != GP_LIVES_OF_UNMAPPED)
		return 0;
	/* a piece that was just mapped is reported later: its reservation has one arena */
	const struct gp_live_entry *segment = gp_live_find(live, GP_SPACE_SEGMENT, e->address);
	const struct gp_live_entry *in =
		segment == NULL ? gp_live_find(live, GP_SPACE_RESERVATION, e->address) : NULL;
	if (segment == NULL && e->address > 0)
		segment = gp_live_find(live, GP_SPACE_SEGMENT, e->address - 1);
	if (segment == NULL && in != NULL)
		segment = gp_live_find(live, GP_SPACE_SEGMENT, in->address);
	return segment != NULL ? segment->stream : 0;
}

/* One of several mappings that a reservation has room for. */
static bool is_part(const struct gp_live *live, const struct gp_live_entry *e)
{
	const struct gp_live_entry *in =
		e->space == GP_SPACE_MAPPED ? gp_live_find(live, GP_SPACE_RESERVATION, e->address) :
					      NULL;
	return in != NULL && in->bytes > e->bytes;
}

static bool life_is_like(const struct gp_life_raw *a, const struct gp_life_raw *b)
{
	return a->stack == b->stack && a->epoch == b->epoch && a->without == b->without &&
	       a->range == b->range && a->arena == b->arena && a->of == b->of &&
	       a->device == b->device && a->role == b->role && a->is_part == b->is_part;
}

static uint32_t life_hash(const struct gp_life_raw *raw)
{
	uint64_t key = gp_hash_pair(raw->stack, raw->epoch);
	key = gp_hash_pair(key, (uintptr_t)raw->range);
	key = gp_hash_pair(key, (uintptr_t)raw->without);
	const uint64_t what = (uint64_t)raw->arena << 32 | (uint32_t)raw->is_part << 24 |
			      (uint32_t)raw->of << 16 | (uint32_t)raw->device << 8 | raw->role;
	return gp_row_hash(gp_hash_pair(key, what));
}

/* 1 + the number of the row; 0: there is none. */
static uint32_t life_group_find(const struct gp_life_groups *g, const struct gp_life_raw *raw,
				uint32_t hash)
{
	const struct gp_life_raw *row = g->raws.row;
	for (uint32_t step = 0, at; (at = gp_row_next(&g->raws, hash, &step)) != 0;)
		if (life_is_like(&row[at - 1], raw))
			return at;
	return 0;
}

static uint32_t life_group_add(struct gp_life_groups *g, const struct gp_life_raw *raw,
			       uint32_t hash)
{
	struct gp_life_raw *row =
		gp_array_reserve(&g->row_of, &g->number_room, g->numbers, 1, sizeof *g->row_of) ?
			gp_row_add(&g->raws, sizeof *row, hash) :
			NULL;
	if (row == NULL) {
		g->is_out_of_memory = true;
		return 0;
	}
	*row = *raw;
	row->number = (uint32_t)g->numbers;
	g->row_of[g->numbers++] = g->raws.rows - 1;
	return row->number;
}

/* ---- rows whose ranges differ in numbers only ---- */

/* The first row of these whose folded ranges are equal. */
struct folded_row {
	struct gp_life_raw raw;
	uint32_t row;
};

/* The new row of an old one. False: out of memory. */
static bool row_fold(struct gp_row_table *folded, struct gp_row_table *to,
		     const struct gp_life_raw *old, uint32_t *row)
{
	struct gp_life_raw raw = *old;
	raw.range = gp_range_path_shown(old->range, NULL);
	const uint32_t hash = life_hash(&raw);
	struct folded_row *f = folded->row;
	for (uint32_t step = 0, at; (at = gp_row_next(folded, hash, &step)) != 0;)
		if (life_is_like(&f[at - 1].raw, &raw)) {
			*row = f[at - 1].row;
			return true;
		}
	f = gp_row_add(folded, sizeof *f, hash);
	struct gp_life_raw *kept = f != NULL ? gp_row_add(to, sizeof *kept, life_hash(old)) : NULL;
	if (kept == NULL)
		return false;
	*kept = *old;
	*row = to->rows - 1;
	*f = (struct folded_row){ raw, *row };
	return true;
}

static void groups_fold(struct gp_life_groups *g)
{
	struct gp_row_table folded = { 0 }, to = { 0 };
	uint32_t *into = calloc((size_t)g->raws.rows + 1, sizeof *into);
	bool is_fine = into != NULL && gp_range_paths_fold(&g->ranges, 1) == GP_OK;
	const struct gp_life_raw *old = g->raws.row;
	for (uint32_t k = 0; k < g->raws.rows && is_fine; k++)
		is_fine = row_fold(&folded, &to, &old[k], &into[k]);
	for (size_t k = 0; k < g->numbers && is_fine; k++)
		g->row_of[k] = into[g->row_of[k]];
	g->is_out_of_memory |= !is_fine;
	gp_row_table_release(&folded);
	free(into);
	if (!is_fine) {
		gp_row_table_release(&to);
		return;
	}
	gp_row_table_release(&g->raws);
	g->raws = to;
	if (g->fold_at < 2 * (size_t)to.rows)
		g->fold_at = 2 * (size_t)to.rows;
}

static uint32_t life_group_number(struct gp_life_groups *g, struct gp_life_raw raw)
{
	uint32_t hash = life_hash(&raw), found = life_group_find(g, &raw, hash);
	if (found == 0 && g->raws.rows >= g->fold_at && g->ranges != NULL)
		groups_fold(g);
	if (found == 0 && (g->raws.rows >= g->most || g->numbers >= NUMBERS_MOST)) {
		raw.stack = raw.epoch = raw.arena = 0;
		raw.without = beyond_groups;
		raw.range = NULL;
		hash = life_hash(&raw);
		found = life_group_find(g, &raw, hash);
	}
	const struct gp_life_raw *row = g->raws.row;
	return found != 0 ? row[found - 1].number : life_group_add(g, &raw, hash);
}

uint32_t gp_life_group_in(struct gp_life_groups *g, uint32_t number, uint64_t arena)
{
	if (number >= g->numbers || arena > UINT16_MAX)
		return number;
	struct gp_life_raw raw = ((const struct gp_life_raw *)g->raws.row)[g->row_of[number]];
	raw.arena = (uint16_t)arena;
	return life_group_number(g, raw);
}

uint32_t gp_life_group_of(struct gp_life_groups *g, const struct gp_live_entry *e,
			  const struct gp_range_path *range, enum gp_lives_of of, unsigned device)
{
	struct gp_recording *r = g->recording;
	const bool is_segment = of == GP_LIVES_OF_SEGMENT || of == GP_LIVES_OF_UNMAPPED;
	const struct gp_use use = gp_use_like(r, e->stack, e->space, gp_tick_ns(&r->tick, e->time));
	const uint64_t arena = gp_life_arena_of(r->live, e, of);
	const uint8_t rule =
		gp_roles_rule(g->roles, e, is_segment ? GP_ROLES_SEGMENT : GP_ROLES_NOW);
	const struct gp_life_raw raw = {
		.stack = use.stack,
		.epoch = use.stack != 0 ? (uint32_t)gp_module_epoch(&g->epochs, use.at_ns) : 0,
		.without = use.without,
		.at_ns = use.at_ns,
		.range = range,
		.arena = arena <= UINT16_MAX ? (uint16_t)arena : 0,
		.of = (uint8_t)of,
		.device = (uint8_t)device,
		.role = (uint8_t)gp_role_rule(rule)->role,
		.is_part = is_part(r->live, e),
	};
	return life_group_number(g, raw);
}

void gp_life_groups_release(struct gp_life_groups *g)
{
	gp_module_epochs_release(&g->epochs);
	gp_range_paths_close(g->ranges);
	gp_row_table_release(&g->raws);
	free(g->row_of);
	*g = (struct gp_life_groups){ .recording = g->recording,
				      .most = g->most,
				      .fold_at = g->fold_at };
}
