/* The rings behind live_past.h. */
#include "live_past.h"

#define EMPTY UINT64_MAX

void gp_past_init(struct gp_live_past *past)
{
	for (unsigned i = 0; i < GP_PAST_FREED; i++)
		past->freed[i].order = EMPTY;
}

void gp_past_add_freed(struct gp_live_past *past, const struct gp_live_entry *entry, uint64_t order)
{
	struct gp_past_freed *freed = &past->freed[past->freed_next++ % GP_PAST_FREED];
	freed->entry = *entry;
	freed->order = order;
}

const struct gp_live_entry *gp_past_next_freed(const struct gp_live_past *past, uint64_t order,
					       unsigned *at)
{
	if (order == EMPTY) /* not of an event: a damaged recording */
		return NULL;
	while (*at < GP_PAST_FREED) {
		const struct gp_past_freed *freed =
			&past->freed[(past->freed_next + (*at)++) % GP_PAST_FREED];
		if (freed->order == order)
			return &freed->entry;
	}
	return NULL;
}

bool gp_past_take_freed(struct gp_live_past *past, uint64_t order, unsigned *at,
			struct gp_live_entry *out)
{
	const struct gp_live_entry *e = gp_past_next_freed(past, order, at);
	if (e == NULL)
		return false;
	*out = *e;
	past->freed[(past->freed_next + *at - 1) % GP_PAST_FREED].order = EMPTY;
	return true;
}

bool gp_past_was_freed(const struct gp_live_past *past, uint32_t spaces, uint64_t address,
		       uint64_t order)
{
	for (unsigned i = 0; i < GP_PAST_FREED; i++) {
		const struct gp_past_freed *freed = &past->freed[i];
		const struct gp_live_entry *e = &freed->entry;
		if (freed->order != EMPTY && freed->order > order && e->order < order &&
		    e->address == address && (spaces >> e->space & 1) != 0)
			return true;
	}
	return false;
}

struct gp_past_orphan *gp_past_add_orphan(struct gp_live_past *past,
					  const struct gp_past_orphan *orphan)
{
	struct gp_past_orphan *kept = &past->orphan[past->orphan_next++ % GP_PAST_ORPHANS];
	*kept = *orphan;
	return kept;
}

bool gp_past_complete(struct gp_live_past *past, uint64_t address, uint64_t order)
{
	struct gp_past_orphan *last = NULL;
	for (unsigned i = 0; i < GP_PAST_ORPHANS; i++) {
		struct gp_past_orphan *o = &past->orphan[i];
		if (o->kind == GP_ORPHAN_FREE && o->family == GP_FAMILY_BLOCK && o->is_pending &&
		    o->address == address && o->order < order &&
		    (last == NULL || o->order > last->order))
			last = o;
	}
	if (last != NULL)
		last->is_pending = false;
	return last != NULL;
}

static bool live_past_take(struct gp_past_orphan *orphan, struct gp_past_orphan *out)
{
	if (orphan == NULL)
		return false;
	*out = *orphan;
	orphan->kind = GP_ORPHAN_NONE;
	return true;
}

bool gp_past_take_free(struct gp_live_past *past, enum gp_family family, uint64_t address,
		       uint64_t order, uint64_t before, struct gp_past_orphan *out)
{
	struct gp_past_orphan *first = NULL;
	for (unsigned i = 0; i < GP_PAST_ORPHANS; i++) {
		struct gp_past_orphan *o = &past->orphan[i];
		if (o->kind == GP_ORPHAN_FREE && o->family == family && o->address == address &&
		    o->order > order && o->order < before &&
		    (first == NULL || o->order < first->order))
			first = o;
	}
	return live_past_take(first, out);
}

bool gp_past_take_refused(struct gp_live_past *past, uint64_t order, struct gp_past_orphan *out)
{
	for (unsigned i = 0; i < GP_PAST_ORPHANS; i++)
		if (past->orphan[i].kind == GP_ORPHAN_FREE && past->orphan[i].order == order)
			return live_past_take(&past->orphan[i], out);
	return false;
}

bool gp_past_take_replaced(struct gp_live_past *past, enum gp_family family, uint64_t address,
			   uint64_t order, struct gp_past_orphan *out)
{
	for (unsigned i = 0; i < GP_PAST_ORPHANS; i++) {
		struct gp_past_orphan *o = &past->orphan[i];
		if (o->kind == GP_ORPHAN_REPLACED && o->family == family && o->address == address &&
		    o->order < order && order < o->until)
			return live_past_take(o, out);
	}
	return false;
}
