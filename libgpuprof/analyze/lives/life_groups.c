/* A group is a row that a hash finds. Beyond a number of rows, new ones have no stack or range. */
#include "life_groups.h"

#include "../groups/live_uses.h"
#include "../memory/memory_view.h"
#include "life_raw.h"

static const char beyond_groups[] = "beyond the groups that are kept";

/* The arena of the memory, which segments get from what is reported at their address. */
static uint64_t arena_of(const struct gp_live *live, const struct gp_live_entry *e,
			 enum gp_lives_of of)
{
	if (of == GP_LIVES_OF_BLOCK)
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

static bool life_is_like(const struct gp_life_raw *a, const struct gp_life_raw *b)
{
	return a->stack == b->stack && a->epoch == b->epoch && a->without == b->without &&
	       a->range == b->range && a->arena == b->arena && a->of == b->of &&
	       a->device == b->device && a->role == b->role;
}

static uint32_t life_hash(const struct gp_life_raw *raw)
{
	uint64_t key = gp_hash_pair(raw->stack, raw->epoch);
	key = gp_hash_pair(key, (uintptr_t)raw->range);
	key = gp_hash_pair(key, (uintptr_t)raw->without);
	const uint64_t what =
		(uint64_t)raw->arena << 24 | raw->of << 16 | raw->device << 8 | raw->role;
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
	struct gp_life_raw *row = gp_row_add(&g->raws, sizeof *row, hash);
	if (row == NULL) {
		g->is_out_of_memory = true;
		return 0;
	}
	*row = *raw;
	return g->raws.rows - 1;
}

uint32_t gp_life_group_of(struct gp_life_groups *g, const struct gp_live_entry *e,
			  const struct gp_range_path *range, enum gp_lives_of of, unsigned device)
{
	struct gp_recording *r = g->recording;
	const bool is_segment = of == GP_LIVES_OF_SEGMENT || of == GP_LIVES_OF_UNMAPPED;
	const struct gp_use use = gp_use_like(r, e->stack, e->space, gp_tick_ns(&r->tick, e->time));
	const uint64_t arena = arena_of(r->live, e, of);
	const uint8_t rule =
		gp_roles_rule(g->roles, e, is_segment ? GP_ROLES_SEGMENT : GP_ROLES_NOW);
	struct gp_life_raw raw = {
		.stack = use.stack,
		.epoch = use.stack != 0 ? (uint32_t)gp_module_epoch(&g->epochs, use.at_ns) : 0,
		.without = use.without,
		.at_ns = use.at_ns,
		.range = range,
		.arena = arena <= UINT16_MAX ? (uint16_t)arena : 0,
		.of = (uint8_t)of,
		.device = (uint8_t)device,
		.role = (uint8_t)gp_role_rule(rule)->role,
	};
	uint32_t hash = life_hash(&raw), found = life_group_find(g, &raw, hash);
	if (found == 0 && g->raws.rows >= g->most) {
		raw.stack = raw.epoch = raw.arena = 0;
		raw.without = beyond_groups;
		raw.range = NULL;
		hash = life_hash(&raw);
		found = life_group_find(g, &raw, hash);
	}
	return found != 0 ? found - 1 : life_group_add(g, &raw, hash);
}

void gp_life_groups_release(struct gp_life_groups *g)
{
	gp_module_epochs_release(&g->epochs);
	gp_roles_close(g->roles);
	gp_range_paths_close(g->ranges);
	gp_row_table_release(&g->raws);
	*g = (struct gp_life_groups){ .recording = g->recording, .most = g->most };
}
