/*
 * Visits the live entries and adds them up. Bytes of the curve without a live allocation become a
 * separate use with a reason. Entries that may be gone count only if all of them fit below the
 * curve.
 */
#include "live_uses.h"

#include <stdlib.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_rank.h"
#include "../roles/roles.h"

static const char without_stack[] = "no stack was recorded";
static const char outside_captured[] = "allocated outside of what was captured";
static const char before_start[] = "from before the recording began, or while it stood still";
static const char perhaps_gone[] = "some of it may be gone: events are missing";
static const char lost[] = "its allocation event was lost";
static const char unaccounted[] = "no event accounts for it";

struct gp_use gp_use_like(const struct gp_recording *r, uint32_t stack, uint8_t space,
			  int64_t at_ns)
{
	bool is_outside = stack == 0 && r->info.has_stacks && !gp_info_is_captured(&r->info, at_ns);
	return (struct gp_use){ .stack = stack,
				.at_ns = at_ns,
				.without = stack      ? NULL :
					   is_outside ? outside_captured :
							without_stack,
				.space = space };
}

struct reservation {
	uint64_t address, bytes, mapped, counted;
	struct gp_use like; /* a use for memory that was mapped in it unseen */
	uint8_t device;
};

struct collection {
	struct gp_recording *recording;
	uint64_t gap; /* entries with a lower order may be gone */
	struct gp_holders *holders;
	struct gp_use_table table, stale;
	uint64_t sum, stale_sum;
	struct reservation *reservation; /* reservations of the framework, by address */
	size_t reservations;
	uint64_t *mapped; /* orders of the physical memory that is mapped in them, sorted */
	size_t mappeds, room;
	bool is_out_of_memory;
};

static struct reservation *reservation_of(const struct collection *c, uint64_t address)
{
	size_t behind =
		gp_row_rank(c->reservation, c->reservations, sizeof *c->reservation, address);
	struct reservation *r = behind > 0 ? &c->reservation[behind - 1] : NULL;
	return r != NULL && address - r->address < r->bytes ? r : NULL;
}

static bool is_mapped(const struct collection *c, uint64_t order)
{
	return c->mappeds > 0 &&
	       bsearch(&order, c->mapped, c->mappeds, sizeof order, gp_row_order) != NULL;
}

static struct gp_use like_of(const struct collection *c, const struct gp_live_entry *e)
{
	struct gp_use like = gp_use_like(c->recording, e->stack, e->space,
					 gp_tick_ns(&c->recording->tick, e->time));
	like.range = gp_range_of_order(c->table.ranges, e->order);
	return like;
}

static void list_reservation(void *context, const struct gp_live_entry *e)
{
	struct collection *c = context;
	if (e->space != GP_SPACE_RESERVATION || (e->flags & GP_LIVE_SEGMENT) == 0 ||
	    c->is_out_of_memory)
		return;
	/* of one that a segment fills, the mappings do not matter */
	if (c->holders->of == GP_CURVE_RESERVED && gp_live_is_filled(c->recording->live, e))
		return;
	struct reservation *added =
		gp_array_append(&c->reservation, &c->reservations, sizeof *added);
	c->is_out_of_memory |= added == NULL;
	if (added != NULL)
		*added = (struct reservation){ .address = e->address,
					       .bytes = e->bytes,
					       .mapped = e->stream,
					       .like = like_of(c, e),
					       .device = e->device };
}

static void list_mapped(void *context, const struct gp_live_entry *e)
{
	struct collection *c = context;
	if (e->space != GP_SPACE_MAPPED || c->is_out_of_memory ||
	    reservation_of(c, e->address) == NULL)
		return;
	uint64_t *mapped = gp_array_append(&c->mapped, &c->mappeds, sizeof *mapped);
	c->is_out_of_memory |= mapped == NULL;
	if (mapped != NULL)
		*mapped = e->stream;
}

static void live_uses_add(struct collection *c, struct gp_use *like, const struct gp_live_entry *e)
{
	const uint64_t bytes = e->bytes;
	bool is_stale = e->order < c->gap;
	like->rule = gp_roles_rule(c->table.roles, e,
				   like->is_segment ? GP_ROLES_SEGMENT : GP_ROLES_NOW);
	struct gp_use *use = gp_use_table_get(is_stale ? &c->stale : &c->table, like);
	if (use == NULL) {
		c->is_out_of_memory = true;
		return;
	}
	use->bytes += bytes;
	use->count++;
	*(is_stale ? &c->stale_sum : &c->sum) += bytes;
}

/* Adds the part of an entry that belongs to the requested curve. */
static void collect(void *context, const struct gp_live_entry *e)
{
	struct collection *c = context;
	struct gp_use like = like_of(c, e);
	bool is_segment = (e->flags & GP_LIVE_SEGMENT) != 0,
	     is_own = e->device == c->holders->device;
	struct reservation *in = NULL;
	switch (c->holders->of) {
	case GP_CURVE_ALLOCATED:
		if (is_own && e->space == GP_SPACE_BLOCK && (e->flags & GP_LIVE_PENDING) == 0)
			live_uses_add(c, &like, e);
		break;
	case GP_CURVE_DRIVER:
		like.is_segment =
			is_segment || (e->space == GP_SPACE_PHYSICAL && is_mapped(c, e->order));
		if (is_own && gp_live_is_driver(e))
			live_uses_add(c, &like, e);
		break;
	case GP_CURVE_RESERVED:
		like.is_segment = true;
		if (is_own && is_segment &&
		    (e->space != GP_SPACE_RESERVATION || gp_live_is_filled(c->recording->live, e)))
			live_uses_add(c, &like, e);
		in = e->space == GP_SPACE_MAPPED ? reservation_of(c, e->address) : NULL;
		if (in == NULL || in->device != c->holders->device)
			break;
		in->counted += e->bytes;
		live_uses_add(c, &like, e);
		break;
	case GP_CURVE_PINNED:
		if (gp_live_is_pinned(e))
			live_uses_add(c, &like, e);
		break;
	case GP_CURVES:
	case GP_CURVE_REGISTERED:
		break;
	}
}

static void live_uses_walk(struct collection *c, gp_live_visit *visit)
{
	gp_live_walk_begin(c->recording->live, visit, c);
	while (!gp_live_walk_more(c->recording->live, 65536))
		;
}

/* Counts the entries that may be gone, once all of them fit below the curve. */
static void admit_stale(struct collection *c)
{
	const struct gp_use *from = c->stale.rows.row;
	for (size_t left = c->stale.rows.rows; left > 0; left--, from++) {
		struct gp_use *to = gp_use_table_get(&c->table, from);
		if (to == NULL) {
			c->is_out_of_memory = true;
			return;
		}
		to->bytes += from->bytes;
		to->count += from->count;
	}
	c->sum += c->stale_sum;
}

static void explain(struct collection *c, const char *without, uint64_t bytes)
{
	struct gp_use like = { .without = without, .at_ns = c->holders->at_ns };
	like.rule = gp_roles_rule(c->table.roles, NULL, GP_ROLES_NOW);
	struct gp_use *use = gp_use_table_get(&c->table, &like);
	c->is_out_of_memory |= use == NULL;
	if (use != NULL)
		use->bytes += bytes; /* their number is unknown */
	c->sum += bytes;
	c->holders->uncertain_bytes += bytes;
}

static const char *why_missing(const struct gp_info *info)
{
	if (info->has_gap || info->has_framework_late)
		return before_start;
	return info->lost_memory > 0 || info->is_damaged || info->has_hole ? lost : unaccounted;
}

/* Makes the uses add up to the curve, or to the memory that certainly exists. */
static void balance(struct collection *c)
{
	struct gp_holders *h = c->holders;
	bool is_all_there = c->sum + c->stale_sum <= h->live_bytes;
	if (is_all_there)
		admit_stale(c);
	if (c->sum < h->live_bytes)
		explain(c, is_all_there ? why_missing(&c->recording->info) : perhaps_gone,
			h->live_bytes - c->sum);
	h->live_bytes = c->sum;
}

enum gp_status gp_live_uses_take(struct gp_recording *recording, struct gp_holders *h,
				 struct gp_use_table *out)
{
	struct collection c = {
		.recording = recording,
		.holders = h,
		.table = { .epochs = out->epochs, .ranges = out->ranges, .roles = out->roles },
		.stale.epochs = out->epochs,
		.gap = gp_live_count(recording->live, GP_COUNT_GAP_ORDER)
	};
	if (h->of == GP_CURVE_DRIVER || h->of == GP_CURVE_RESERVED) {
		live_uses_walk(&c, list_reservation);
		if (c.reservations > 1)
			qsort(c.reservation, c.reservations, sizeof *c.reservation, gp_row_order);
		if (c.reservations > 0 && h->of == GP_CURVE_DRIVER)
			live_uses_walk(&c, list_mapped);
		if (c.mappeds > 1)
			qsort(c.mapped, c.mappeds, sizeof *c.mapped, gp_row_order);
	}
	if (!c.is_out_of_memory)
		live_uses_walk(&c, collect);
	if (!c.is_out_of_memory)
		balance(&c);
	gp_use_table_release(out); /* a replay that restarted takes again */
	*out = c.table;
	gp_use_table_release(&c.stale);
	free(c.reservation);
	free(c.mapped);
	return c.is_out_of_memory ? GP_E_MEMORY : GP_OK;
}
