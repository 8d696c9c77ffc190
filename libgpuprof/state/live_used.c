/*
 * The driver's counts of a device's used memory, and what the rest is for: the part of a count that
 * no allocation of the job explains. It changes between two counts. The change belongs to the one
 * cause that the recorder noted in between, else to no part. A first launch returns no memory.
 */
#include "live_state.h"

#define PAGE_BYTES (2u << 20) /* the driver takes memory of a device in such pages */

uint64_t gp_live_mapped(const struct gp_live_device *d)
{
	const uint64_t reserved = d->curve[GP_CURVE_RESERVED].now_bytes;
	return reserved > d->unmapped_bytes ? reserved - d->unmapped_bytes : 0;
}

uint64_t gp_live_held(const struct gp_live_device *d)
{
	const uint64_t driver = d->curve[GP_CURVE_DRIVER].now_bytes, async = d->async_bytes;
	return driver + (d->used.pool_bytes > async ? d->used.pool_bytes - async : 0);
}

void gp_used_moved(struct gp_live *live, const struct gp_live_entry *e, bool is_gone)
{
	struct gp_live_device *d = &gp_live_device_of(live, e->device)->figures;
	if (e->space == GP_SPACE_ASYNC) {
		const uint64_t less = e->bytes < d->async_bytes ? e->bytes : d->async_bytes;
		d->async_bytes = is_gone ? d->async_bytes - less : d->async_bytes + e->bytes;
		return;
	}
	if (e->space == GP_SPACE_MANAGED || e->space == GP_SPACE_GRAPH) {
		d->lazy = is_gone ? d->lazy - (d->lazy != 0) : d->lazy + 1;
		d->used.was_lazy = true;
	}
	d->used.moves++;
	d->used.odd_moves += e->bytes % PAGE_BYTES != 0;
}

void gp_used_resource(struct gp_live *live, const struct gp_record *r)
{
	struct gp_live_used *u = &gp_live_device_of(live, r->device)->figures.used;
	u->moves++;
	u->odd_moves++;
}

static enum gp_used_part part_of(unsigned causes)
{
	switch (causes) {
	case GP_CAUSE_MODULE_LOAD:
	case GP_CAUSE_KERNEL:
	case GP_CAUSE_MODULE_LOAD | GP_CAUSE_KERNEL:
		return GP_PART_MODULES;
	case GP_CAUSE_LOCAL:
		return GP_PART_LOCAL;
	case GP_CAUSE_HEAP:
		return GP_PART_HEAP;
	case GP_CAUSE_GRAPH:
		return GP_PART_GRAPHS;
	default:
		return (causes & GP_CAUSE_CONTEXT) != 0 ? GP_PART_CONTEXT : GP_PART_UNKNOWN;
	}
}

/*
 * Without a cause: the driver rounds allocations that are not whole pages, and takes a page for its
 * tables. A larger change is memory of other processes, unless the job has memory that the driver
 * takes when it is used.
 */
static enum gp_used_part part_without_cause(const struct gp_live_used *u, int64_t change)
{
	const int64_t most = u->moves != 0 ? ((int64_t)u->odd_moves + 1) * PAGE_BYTES : 0;
	if (change >= -most && change <= most)
		return GP_PART_ROUNDING;
	return u->was_lazy ? GP_PART_UNKNOWN : GP_PART_OTHERS;
}

/*
 * A part does not fall below zero. Other processes returned what it did not have: also some that
 * began before the first count, or beside a first launch. Their memory is in the part of the
 * context or of the modules.
 */
static void take_back(struct gp_live_used *u, enum gp_used_part part, uint64_t bytes)
{
	const enum gp_used_part order[] = { part, GP_PART_OTHERS, GP_PART_CONTEXT,
					    GP_PART_MODULES };
	for (unsigned k = part == GP_PART_OTHERS; k < sizeof order / sizeof *order; k++) {
		int64_t *from = &u->part[order[k]];
		const bool is_whole =
			order[k] != GP_PART_OTHERS; /* of one call, or of no part of it */
		const uint64_t has = *from > 0 ? (uint64_t)*from : 0;
		const uint64_t less = has < bytes ? is_whole ? 0 : has : bytes;
		*from -= (int64_t)less;
		bytes -= less;
	}
	u->part[GP_PART_UNKNOWN] -= (int64_t)bytes;
}

void gp_used_count(struct gp_live *live, const struct gp_record *r)
{
	struct gp_live_device *d = &gp_live_device_of(live, r->device)->figures;
	struct gp_live_used *u = &d->used, before = *u;
	u->time = r->time;
	u->free_bytes = r->device_memory.free_bytes;
	u->total_bytes = r->device_memory.total_bytes;
	u->limit_bytes = r->device_memory.limit_bytes;
	u->has_limit = r->aux != 0;
	u->pool_bytes = r->device_memory.state & GP_POOL_BYTES;
	u->driver_bytes = gp_live_held(d);
	const unsigned causes = (unsigned)(r->device_memory.state >> GP_CAUSES_SHIFT);
	const uint64_t rest = u->total_bytes - u->free_bytes - u->driver_bytes;
	const int64_t change = (int64_t)(rest - (before.time != 0 ? before.rest : 0));
	enum gp_used_part part = causes != 0 ? part_of(causes) : part_without_cause(u, change);
	if (before.time == 0)
		part = GP_PART_CONTEXT;
	else if (before.is_unsure)
		part = GP_PART_UNKNOWN;
	if (change < 0 && part != GP_PART_UNKNOWN)
		take_back(u, causes == GP_CAUSE_KERNEL ? GP_PART_OTHERS : part, -(uint64_t)change);
	else
		u->part[part] = (int64_t)((uint64_t)u->part[part] + (uint64_t)change);
	u->rest = rest;
	u->moves = u->odd_moves = 0;
	u->is_unsure = false;
	u->was_lazy = d->lazy != 0;
}

/*
 * The driver counts also when it refuses. That count has no information on the framework's limit,
 * and no causes.
 */
void gp_used_refused(struct gp_live *live, const struct gp_record *r)
{
	struct gp_live_device *d = &gp_live_device_of(live, r->device)->figures;
	if (r->alloc_failed.total_bytes == 0 || r->time <= d->used.time)
		return;
	d->used.time = r->time;
	d->used.free_bytes = r->alloc_failed.free_bytes;
	d->used.total_bytes = r->alloc_failed.total_bytes;
	d->used.driver_bytes = gp_live_held(d);
}
