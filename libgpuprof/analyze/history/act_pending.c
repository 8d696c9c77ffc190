/*
 * Driver memory without a use so far. It is held back until the next events show whether the
 * framework uses it. Otherwise it counts as memory outside of the framework.
 */
#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "trace_builder.h"

#define HOLDING 1000u /* after this many events without a use, driver memory counts as outside */

struct gp_act_pending *gp_held_find(struct gp_trace_builder *t, uint64_t order)
{
	for (size_t k = 0; k < t->helds; k++)
		if (t->held[k].known.key == order)
			return &t->held[k];
	return NULL;
}

void gp_held_drop(struct gp_trace_builder *t, struct gp_act_pending *held)
{
	t->helds--;
	memmove(held, held + 1, (size_t)(&t->held[t->helds] - held) * sizeof *held);
}

/* Assigns memory that was held back, or reported as outside, to the framework. */
void gp_held_claim(struct gp_trace_builder *t, uint64_t order)
{
	struct gp_act_pending *held = gp_held_find(t, order);
	struct gp_known_block *outside = gp_known_find(&t->outside, order);
	if (held != NULL)
		gp_held_drop(t, held);
	if (outside == NULL)
		return;
	t->is_reported = false;
	gp_trace_end_outside(t, outside);
	t->is_reported = true;
}

void gp_trace_add_held(struct gp_trace_builder *t, const struct gp_act_pending *held)
{
	int64_t at_ns = t->at_ns;
	uint32_t stack = t->stack;
	t->at_ns = held->known.at_ns;
	t->stack = held->known.stack;
	t->is_reported = true;
	gp_trace_add_outside(t, &held->known);
	t->at_ns = at_ns;
	t->stack = stack;
}

/* A framework uses memory of the driver in its next report after the request. */
static bool is_settling(const struct gp_record *r)
{
	switch (r->kind) {
	case GP_ALLOC:
	case GP_ALLOC_FAILED:
	case GP_MAP:
	case GP_SEGMENT_ALLOC:
	case GP_SEGMENT_MAP:
		return false;
	case GP_FREE: /* a handle is released as soon as it is mapped */
		return r->space != GP_SPACE_PHYSICAL;
	default:
		return true;
	}
}

void gp_held_settle(struct gp_trace_builder *t, const struct gp_record *r, uint32_t thread)
{
	bool is_next = r != NULL && is_settling(r);
	for (size_t k = 0; k < t->helds;) {
		struct gp_act_pending held = t->held[k];
		if (r != NULL && !(is_next && held.thread == thread) &&
		    t->recording->seen < held.until) {
			k++;
			continue;
		}
		gp_held_drop(t, &t->held[k]);
		if (!gp_act_is_framework(t->recording->live, &held.known, held.mapped_at))
			gp_trace_add_held(t, &held);
	}
}

void gp_held_add(struct gp_trace_builder *t, const struct gp_record *r, uint32_t thread)
{
	const struct gp_live_entry *e =
		gp_live_find(t->recording->live, r->space, r->alloc.address);
	if (e == NULL || e->order != r->order || !gp_live_is_driver(e) || e->bytes == 0)
		return;
	struct gp_act_pending *held = gp_array_append(&t->held, &t->helds, sizeof *held);
	t->is_out_of_memory |= held == NULL;
	if (held == NULL)
		return;
	*held = (struct gp_act_pending){ .known = gp_known_block_of(t, e),
					 .thread = thread,
					 .until = t->recording->seen + HOLDING };
}
