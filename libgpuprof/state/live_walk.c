/* Checkpoints: the walk over the live set at one moment, writing totals, and loading both. */
#include "live_state.h"

/* Free slots that cost as much as the visit of one entry. */
#define FREE_SLOTS_PER_ENTRY 16u

void gp_live_walk_begin(struct gp_live *live, gp_live_visit *visit, void *context)
{
	live->walk = (struct gp_live_walk){
		.visit = visit,
		.context = context,
		.number = live->walk.number + 1,
		.next = GP_SLOT_FIRST,
		.end = live->table.slots,
	};
}

bool gp_live_walk_more(struct gp_live *live, uint64_t entries)
{
	struct gp_live_walk *walk = &live->walk;
	uint64_t budget = entries * FREE_SLOTS_PER_ENTRY;
	while (walk->visit != NULL && walk->next < walk->end && budget > 0) {
		struct gp_live_slot *s = gp_table_slot(&live->table, walk->next++);
		bool is_selected = s->entry.space != GP_SPACE_NONE && s->walk != walk->number;
		uint64_t cost = is_selected ? FREE_SLOTS_PER_ENTRY : 1;
		budget -= cost < budget ? cost : budget;
		if (is_selected)
			walk->visit(walk->context, &s->entry);
	}
	if (walk->visit != NULL && walk->next < walk->end)
		return false;
	walk->visit = NULL;
	return true;
}

void gp_live_to_record(const struct gp_live_entry *e, struct gp_record *out)
{
	*out = (struct gp_record){
		.time = e->time,
		.order = e->order,
		.kind = GP_LIVE,
		.device = e->device,
		.space = e->space,
		.stack = e->stack,
		.aux = e->flags,
		.live = { .address = e->address,
			  .bytes = e->bytes,
			  .stream = e->stream,
			  .owner = e->owner },
	};
}

struct emitter {
	void (*emit)(void *context, const struct gp_record *);
	void *context;
	uint64_t order;
};

static void emit_curve(const struct emitter *to, unsigned device, unsigned curve,
		       const struct gp_curve_state *c)
{
	struct gp_record record = {
		.order = to->order,
		.kind = GP_CURVE,
		.device = (uint8_t)(device < GP_DEVICES ? device : GP_DEVICE_UNKNOWN),
		.aux = curve,
		.curve = { .now_bytes = c->now_bytes,
			   .peak_bytes = c->peak_bytes,
			   .peak_time = c->peak_time,
			   .peak_order = c->peak_order },
	};
	to->emit(to->context, &record);
}

static void emit_device(const struct emitter *to, const struct gp_live *live, unsigned device)
{
	const struct gp_device_state *d = &live->device[device];
	for (unsigned curve = 0; curve < GP_CURVES; curve++) {
		if (d->figures.is_seen)
			emit_curve(to, device, curve, &d->figures.curve[curve]);
		const struct gp_curve_state correction = {
			.now_bytes = d->correction[curve],
			.peak_bytes = d->is_rebasing,
			.peak_order = d->mismatch_order,
		};
		if (correction.now_bytes != 0 || correction.peak_bytes != 0 ||
		    correction.peak_order != 0)
			emit_curve(to, device, curve | GP_CURVE_CORRECTION, &correction);
	}
	const struct gp_curve_state active = { .now_bytes = d->active_correction };
	if (active.now_bytes != 0)
		emit_curve(to, device, GP_CURVES | GP_CURVE_CORRECTION, &active);
	const struct gp_live_used *u = &d->figures.used;
	if (u->time == 0)
		return;
	const struct gp_curve_state used = { u->free_bytes, u->total_bytes, u->time,
					     u->driver_bytes },
				    limit = { .now_bytes = u->has_limit,
					      .peak_bytes = u->limit_bytes,
					      .peak_time = u->pool_bytes };
	emit_curve(to, device, GP_CURVE_USED, &used);
	emit_curve(to, device, GP_CURVE_LIMIT, &limit);
	for (unsigned k = 0; k < GP_PARTS; k++) {
		const struct gp_curve_state part = { .now_bytes = (uint64_t)u->part[k] };
		if (u->part[k] != 0)
			emit_curve(to, device, GP_CURVE_PART | k, &part);
	}
}

/* `now_bytes` is for other readers: this one adds up the entries. */
static void emit_host(const struct emitter *to, const struct gp_live_host *h)
{
	const struct gp_curve_state registered = { .now_bytes = h->registered_bytes,
						   .peak_bytes = h->registered_at_peak };
	if (h->pinned.peak_bytes != 0)
		emit_curve(to, GP_DEVICES, GP_CURVE_PINNED, &h->pinned);
	if (registered.now_bytes != 0 || registered.peak_bytes != 0)
		emit_curve(to, GP_DEVICES, GP_CURVE_REGISTERED, &registered);
}

static void emit_orphans(const struct emitter *to, const struct gp_live_past *past)
{
	for (unsigned i = 0; i < GP_PAST_ORPHANS; i++) {
		const struct gp_past_orphan *o =
			&past->orphan[(past->orphan_next + i) % GP_PAST_ORPHANS];
		if (o->kind != GP_ORPHAN_FREE)
			continue;
		struct gp_record record = {
			.order = o->order,
			.kind = GP_LIVE,
			.space = o->space,
			.aux = GP_LIVE_ORPHAN | o->is_anomaly |
			       (o->is_pending ? GP_LIVE_PENDING : 0) |
			       (o->family == GP_FAMILY_COMPLETION ? GP_LIVE_RELEASED : 0),
			.live = { .address = o->address, .bytes = o->bytes },
		};
		to->emit(to->context, &record);
	}
}

void gp_live_totals(const struct gp_live *live,
		    void (*emit)(void *context, const struct gp_record *), void *context)
{
	const struct emitter to = { .emit = emit, .context = context, .order = live->newest };
	for (unsigned what = 0; what < GP_COUNTS; what++) {
		struct gp_record record = {
			.order = live->newest,
			.kind = GP_COUNT,
			.aux = what,
			.count = { .number = gp_live_count(live, what) },
		};
		if (record.count.number != 0)
			emit(context, &record);
	}
	for (unsigned device = 0; device <= GP_DEVICES; device++)
		emit_device(&to, live, device);
	emit_host(&to, &live->host);
	emit_orphans(&to, &live->past);
}

/* Loads the peak only: older recordings lack such records, so the entries give the rest. */
static void load_host(struct gp_live_host *host, const struct gp_record *r)
{
	if (r->aux == GP_CURVE_REGISTERED)
		host->registered_at_peak = r->curve.peak_bytes;
	if (r->aux != GP_CURVE_PINNED)
		return;
	host->pinned.peak_bytes = r->curve.peak_bytes;
	host->pinned.peak_time = r->curve.peak_time;
	host->pinned.peak_order = r->curve.peak_order;
}

static void load_curve(struct gp_live *live, const struct gp_record *r)
{
	unsigned curve = r->aux & ~GP_CURVE_CORRECTION;
	struct gp_device_state *d = gp_live_device_of(live, r->device);
	struct gp_live_used *used = &d->figures.used;
	if (r->aux == (GP_CURVES | GP_CURVE_CORRECTION))
		d->active_correction = r->curve.now_bytes;
	if (r->aux == GP_CURVE_USED) {
		used->free_bytes = r->curve.now_bytes;
		used->total_bytes = r->curve.peak_bytes;
		used->time = r->curve.peak_time;
		used->driver_bytes = r->curve.peak_order;
	}
	if (r->aux == GP_CURVE_LIMIT) {
		used->has_limit = r->curve.now_bytes != 0;
		used->limit_bytes = r->curve.peak_bytes;
		used->pool_bytes = r->curve.peak_time;
	}
	if ((r->aux & ~(GP_CURVE_PART - 1)) == GP_CURVE_PART &&
	    (r->aux & (GP_CURVE_PART - 1)) < GP_PARTS) {
		used->part[r->aux & (GP_CURVE_PART - 1)] = (int64_t)r->curve.now_bytes;
		used->rest += r->curve.now_bytes;
	}
	if (curve >= GP_CURVES) {
		load_host(&live->host, r);
		return;
	}
	if ((r->aux & GP_CURVE_CORRECTION) != 0) {
		d->correction[curve] = r->curve.now_bytes;
		d->is_rebasing = r->curve.peak_bytes != 0;
		d->mismatch_order = r->curve.peak_order;
		return;
	}
	d->figures.is_seen = true;
	d->figures.curve[curve] = (struct gp_curve_state){
		.now_bytes = r->curve.now_bytes,
		.peak_bytes = r->curve.peak_bytes,
		.peak_time = r->curve.peak_time,
		.peak_order = r->curve.peak_order,
	};
}

static void load_orphan(struct gp_live *live, const struct gp_record *r)
{
	bool is_completion = r->space == GP_SPACE_BLOCK && (r->aux & GP_LIVE_RELEASED) != 0;
	const struct gp_past_orphan orphan = {
		.address = r->live.address,
		.bytes = r->live.bytes,
		.order = r->order,
		.kind = GP_ORPHAN_FREE,
		.family = is_completion ? GP_FAMILY_COMPLETION : (uint8_t)gp_family_of(r->space),
		.space = r->space,
		.is_anomaly = (r->aux & 1) != 0,
		.is_pending = (r->aux & GP_LIVE_PENDING) != 0,
	};
	gp_past_add_orphan(&live->past, &orphan);
}

/* If no peak was recorded, the checkpoint's value is a lower bound. */
static void load_pinned(struct gp_live_host *host, const struct gp_live_entry *entry)
{
	struct gp_curve_state *c = &host->pinned;
	const bool is_registered = entry->space == GP_SPACE_HOST_REGISTER;
	c->now_bytes += entry->bytes;
	host->registered_bytes += is_registered ? entry->bytes : 0;
	if (c->now_bytes <= c->peak_bytes)
		return;
	c->peak_bytes = c->now_bytes;
	c->peak_time = entry->time > c->peak_time ? entry->time : c->peak_time;
	c->peak_order = entry->order > c->peak_order ? entry->order : c->peak_order;
	host->registered_at_peak = host->registered_bytes;
}

static enum gp_status load_entry(struct gp_live *live, const struct gp_record *r)
{
	const struct gp_live_entry entry = {
		.address = r->live.address,
		.bytes = r->live.bytes,
		.owner = r->live.owner,
		.stream = r->live.stream,
		.time = r->time,
		.order = r->order,
		.stack = r->stack,
		.space = r->space,
		.device = r->device,
		.flags = (uint16_t)r->aux,
	};
	/* a checkpoint has each of these once */
	if (gp_table_find(&live->table, gp_key_family(&entry), gp_key_number(&entry)) != 0) {
		gp_live_anomaly(live);
		return GP_OK;
	}
	if (gp_live_add(live, &entry) == 0)
		return GP_E_MEMORY;
	if (r->space == GP_SPACE_BLOCK && (r->aux & GP_LIVE_PENDING) != 0)
		gp_live_device_of(live, r->device)->figures.pending_bytes += entry.bytes;
	if (gp_live_is_pinned(&entry))
		load_pinned(&live->host, &entry);
	if (gp_live_is_driver(&entry))
		gp_used_moved(live, &entry, false);
	if (r->space == GP_SPACE_RESERVATION || r->space == GP_SPACE_SEGMENT)
		gp_segment_loaded(live, &entry);
	return GP_OK;
}

enum gp_status gp_live_load(struct gp_live *live, const struct gp_record *r)
{
	live->is_loaded = true;
	if (r->kind == GP_COUNT)
		gp_live_count_set(live, r->aux, r->count.number);
	else if (r->kind == GP_CURVE)
		load_curve(live, r);
	else if (r->kind == GP_LIVE && r->space < GP_SPACES && (r->aux & GP_LIVE_ORPHAN) != 0)
		load_orphan(live, r);
	else if (r->kind == GP_LIVE && r->space > GP_SPACE_NONE && r->space < GP_SPACES)
		return load_entry(live, r);
	return GP_OK;
}
