/*
 * Reports the meaning of each event for memory. The recording's state has the live entries. The
 * reported things are kept beside it. So differences can be reported if an event was lost, came
 * late or meant more than it contains.
 */
#include "trace_builder.h"

static struct gp_live *live_of(struct gp_trace_builder *t)
{
	return t->recording->live;
}

static bool *has_reported(struct gp_trace_builder *t, unsigned device)
{
	return &t->has_reported[device < GP_DEVICES ? device : GP_DEVICES];
}

/* ---- memory of the driver ---- */

/* `ended`: the entry before the event. */
static void follow_free(struct gp_trace_builder *t, const struct gp_live_entry *ended)
{
	bool is_physical = ended->space == GP_SPACE_PHYSICAL;
	if (is_physical && ended->stream > 0)
		return; /* its mappings keep it alive */
	if ((ended->flags & GP_LIVE_SEGMENT) != 0) {
		gp_trace_end_range(t, ended->address, ended->address + ended->bytes);
		return;
	}
	struct gp_act_pending *held = gp_held_find(t, ended->order);
	if (held != NULL) {
		const struct gp_act_pending was = *held;
		gp_held_drop(t, held);
		gp_trace_add_held(t, &was);
	}
	struct gp_known_block *outside = gp_known_find(&t->outside, ended->order);
	if (outside != NULL)
		gp_trace_end_outside(t, outside);
}

/* ---- ranges of a reservation ---- */

static void follow_map(struct gp_trace_builder *t, const struct gp_record *r)
{
	const struct gp_live *live = live_of(t);
	const struct gp_live_entry *mapped = gp_live_find(live, GP_SPACE_MAPPED, r->map.address);
	const struct gp_live_entry *in = gp_live_find(live, GP_SPACE_RESERVATION, r->map.address);
	if (mapped == NULL || mapped->order != r->order)
		return;
	struct gp_act_pending *held = gp_held_find(t, mapped->stream);
	if (in == NULL || (in->flags & GP_LIVE_SEGMENT) == 0) {
		if (held != NULL)
			held->mapped_at = r->map.address;
		return;
	}
	gp_held_claim(t, mapped->stream);
	if (gp_live_is_filled(live, in))
		return;
	/* if the allocator reports its segments, its report decides how much is one act */
	if (*has_reported(t, in->device))
		return;
	struct gp_known_segment range = gp_known_segment_of(t, mapped);
	range.device = in->device;
	gp_trace_add_missing(t, &range);
}

static void follow_unmap(struct gp_trace_builder *t, const struct gp_record *r)
{
	uint64_t from = r->unmap.address, to = from + r->unmap.bytes;
	const struct gp_known_segment *s = gp_known_segment_in(&t->segments, from, to);
	if (s == NULL && t->physicals > 0)
		gp_act_match_soon(t);
	else if (s != NULL && s->is_mapped && !*has_reported(t, s->device))
		gp_trace_end_range(t, from, to);
}

/* ---- segments derived from a block ---- */

static void derive_ranges(struct gp_trace_builder *t, const struct gp_live_entry *in,
			  const struct gp_record *r)
{
	uint64_t at = in->address, left = in->stream;
	const struct gp_live_entry *m;
	while (left > 0 && (m = gp_live_next_mapped(live_of(t), at)) != NULL) {
		if (m->address - in->address >= in->bytes)
			break;
		struct gp_known_segment range = gp_known_segment_of(t, m);
		range.arena = r->code;
		range.device = r->device;
		at = m->address + (m->bytes ? m->bytes : 1);
		left -= m->bytes < left ? m->bytes : left;
		gp_held_claim(t, m->stream);
		t->at_ns = range.at_ns;
		t->stack = range.stack;
		gp_trace_add_missing(t, &range);
	}
}

static const struct gp_live_entry *find_memory(struct gp_trace_builder *t, uint64_t address)
{
	static const uint8_t spaces[] = { GP_SPACE_DEVICE, GP_SPACE_ASYNC, GP_SPACE_MANAGED,
					  GP_SPACE_GRAPH,  GP_SPACE_IPC,   GP_SPACE_RESERVATION };
	for (size_t k = 0; k < sizeof spaces; k++) {
		const struct gp_live_entry *e = gp_live_find(live_of(t), spaces[k], address);
		if (e != NULL)
			return e;
	}
	return NULL;
}

/* Derives a segment that was not reported: the driver's memory that contains the block. */
static void derive_segment(struct gp_trace_builder *t, const struct gp_record *r)
{
	const struct gp_live_entry *in = find_memory(t, r->block_alloc.address);
	int64_t at_ns = t->at_ns;
	if (in == NULL)
		return;
	if (in->space == GP_SPACE_RESERVATION && !gp_live_is_filled(live_of(t), in)) {
		/*
		 * only if the block's memory is mapped: else the other ranges would be searched at
		 * each block
		 */
		if (gp_live_find(live_of(t), GP_SPACE_MAPPED, r->block_alloc.address) != NULL)
			derive_ranges(t, in, r);
	} else {
		const struct gp_live_entry *m =
			gp_live_find(live_of(t), GP_SPACE_MAPPED, in->address);
		struct gp_known_segment segment = gp_known_segment_of(t, in);
		segment.arena = r->code;
		segment.device = r->device;
		gp_held_claim(t, m != NULL ? m->stream : in->order);
		t->at_ns = segment.at_ns;
		t->stack = segment.stack;
		gp_trace_add_segment(t, &segment);
	}
	t->at_ns = at_ns;
	t->stack = r->stack;
}

/* ---- the framework's own memory ---- */

/* `spare`: 1 + the bytes that were not requested; 0: unknown. */
static struct gp_known_block block_of(const struct gp_trace_builder *t, const struct gp_record *r,
				      uint64_t address, uint64_t bytes, uint64_t spare)
{
	return (struct gp_known_block){ .key = address,
					.address = address,
					.bytes = bytes,
					.requested_bytes = spare && spare <= bytes ?
								   bytes - (spare - 1) :
								   GP_BYTES_UNKNOWN,
					.order = r->order,
					.at_ns = t->at_ns,
					.stack = r->stack,
					.arena = r->code,
					.device = r->device };
}

/* NULL: it lies in no known segment. */
static struct gp_known_block *add_new_block(struct gp_trace_builder *t, const struct gp_record *r,
					    const struct gp_known_block *block)
{
	if (gp_known_segment_at(&t->segments, block->address) == NULL)
		derive_segment(t, r);
	if (gp_trace_add_block(t, block))
		return gp_known_find(&t->block, block->key);
	t->history->orphaned++;
	return NULL;
}

static void follow_block_alloc(struct gp_trace_builder *t, const struct gp_record *r)
{
	const struct gp_known_block *there = gp_known_find(&t->block, r->block_alloc.address);
	const struct gp_known_block block =
		block_of(t, r, r->block_alloc.address, r->block_alloc.bytes, r->aux);
	if (there == NULL || there->order <= r->order) /* not late: the block is live */
		add_new_block(t, r, &block);
}

/*
 * Handles a block from before the recorder was attached. The live state has it, unless the event is
 * late: the block existed before, and is reported now.
 */
static void follow_found(struct gp_trace_builder *t, const struct gp_record *r)
{
	const uint64_t address = r->block_existing.address, bytes = r->block_existing.bytes;
	const struct gp_live_entry *e = gp_live_find(live_of(t), GP_SPACE_BLOCK, address);
	struct gp_known_block *there = gp_known_find(&t->block, address);
	const struct gp_known_block block =
		block_of(t, r, address, bytes, r->aux & ~GP_FOUND_PENDING);
	if (r->aux == 0 || e == NULL || e->bytes != bytes)
		return;
	if (there != NULL && there->order == e->order && there->arena == 0) {
		there->arena = r->code;
		there->requested_bytes = block.requested_bytes;
	}
	if (there != NULL || e->order != r->order)
		return;
	t->is_reported = false;
	struct gp_known_block *known = add_new_block(t, r, &block);
	if (known != NULL && (e->flags & GP_LIVE_PENDING) != 0)
		gp_trace_hold_block(t, known);
}

static void follow_block_end(struct gp_trace_builder *t, const struct gp_record *r)
{
	struct gp_known_block *block = gp_known_find(&t->block, r->block_free.address);
	if (block == NULL || block->order > r->order)
		return;
	if (r->kind == GP_BLOCK_FREE && r->aux != 0)
		gp_trace_hold_block(t, block);
	else
		gp_trace_end_block(t, block);
}

static void follow_segment(struct gp_trace_builder *t, const struct gp_record *r)
{
	uint64_t from = r->segment_alloc.address, to = from + r->segment_alloc.bytes;
	const struct gp_known_segment segment = {
		.address = from,
		.bytes = to - from,
		.order = r->order,
		.at_ns = t->at_ns,
		.stack = r->stack,
		.arena = r->code,
		.device = r->device,
		.is_mapped = r->kind == GP_SEGMENT_MAP,
	};
	*has_reported(t, r->device) = true;
	if (to <= from)
		return;
	if (r->kind == GP_SEGMENT_FREE || r->kind == GP_SEGMENT_UNMAP) {
		gp_trace_end_range(t, from, to);
		return;
	}
	if (segment.is_mapped) {
		gp_trace_add_missing(t, &segment);
		return;
	}
	struct gp_known_segment *there = gp_known_segment_at(&t->segments, from);
	if (there != NULL && there->address == from && there->bytes == segment.bytes &&
	    !there->is_mapped && there->blocks > 0) {
		there->arena = there->arena ? there->arena : r->code;
		return;
	}
	const struct gp_live_entry *in = find_memory(t, from);
	if (in != NULL && in->space != GP_SPACE_RESERVATION)
		gp_held_claim(t, in->order);
	t->is_reported = false;
	gp_trace_end_range(t, from, to);
	t->is_reported = true;
	gp_trace_add_segment(t, &segment);
}

/* The driver's last count, moved by this job's later requests and releases. */
static uint64_t counted_free(const struct gp_live *live, unsigned device)
{
	const struct gp_live_device *d = gp_live_device(live, device);
	if (d == NULL || d->used.time == 0)
		return GP_BYTES_UNKNOWN;
	uint64_t now = d->curve[GP_CURVE_DRIVER].now_bytes, then = d->used.driver_bytes;
	uint64_t free_bytes = d->used.free_bytes;
	if (now > then)
		return free_bytes > now - then ? free_bytes - (now - then) : 0;
	free_bytes += then - now;
	return free_bytes < d->used.total_bytes ? free_bytes : d->used.total_bytes;
}

static void follow_oom(struct gp_trace_builder *t, const struct gp_record *r)
{
	struct gp_act act = { .kind = GP_ACT_OOM,
			      .device = r->device,
			      .bytes = r->oom.bytes,
			      .requested_bytes = GP_BYTES_UNKNOWN,
			      .device_free_bytes = r->aux ? r->oom.device_free :
							    counted_free(live_of(t), r->device) };
	gp_trace_add(t, &act, r->code);
}

static void follow_snapshot(struct gp_trace_builder *t, const struct gp_record *r)
{
	struct gp_act act = { .kind = GP_ACT_SNAPSHOT,
			      .device = r->device,
			      .bytes = r->snapshot.active_bytes,
			      .requested_bytes = GP_BYTES_UNKNOWN };
	gp_trace_add(t, &act, r->code);
}

/* ---- one event ---- */

/* True: memory is back because the driver refused to free it. */
static bool is_back(struct gp_trace_builder *t, const struct gp_record *r)
{
	const struct gp_live_entry *e = find_memory(t, r->free_failed.address);
	if (r->space == GP_SPACE_PHYSICAL || r->space == GP_SPACE_ARRAY)
		e = gp_live_find(live_of(t), r->space, r->free_failed.address);
	if (e == NULL)
		return false;
	return gp_known_find(&t->outside, e->order) == NULL && gp_held_find(t, e->order) == NULL &&
	       gp_known_segment_at(&t->segments, e->address) == NULL;
}

static void follow(struct gp_trace_builder *t, const struct gp_record *r, uint32_t thread,
		   const struct gp_live_entry *ended, bool is_late)
{
	t->is_reported = true;
	switch (r->kind) {
	case GP_BLOCK_ALLOC:
		follow_block_alloc(t, r);
		break;
	case GP_BLOCK_EXISTING:
		follow_found(t, r);
		break;
	case GP_BLOCK_FREE:
	case GP_BLOCK_COMPLETED:
		follow_block_end(t, r);
		break;
	case GP_SEGMENT_ALLOC:
	case GP_SEGMENT_FREE:
	case GP_SEGMENT_MAP:
	case GP_SEGMENT_UNMAP:
		if (is_late)
			gp_act_match_soon(t);
		else
			follow_segment(t, r);
		break;
	case GP_ALLOC:
		gp_held_add(t, r, thread);
		break;
	case GP_FREE:
		if (ended->space != GP_SPACE_NONE)
			follow_free(t, ended);
		break;
	case GP_MAP:
		follow_map(t, r);
		break;
	case GP_UNMAP:
		follow_unmap(t, r);
		break;
	case GP_FREE_FAILED:
		if (is_back(t, r))
			gp_act_match_soon(t);
		break;
	case GP_UNMAP_FAILED:
	case GP_OWNER_GONE:
		gp_act_match_soon(t);
		break;
	case GP_OOM:
		follow_oom(t, r);
		break;
	case GP_SNAPSHOT:
		follow_snapshot(t, r);
		break;
	default:
		break;
	}
}

enum gp_status gp_trace_step(struct gp_trace_builder *t, const struct gp_record *r, uint32_t thread)
{
	struct gp_live_entry ended = { 0 };
	bool is_late = r->order < gp_live_count(live_of(t), GP_COUNT_NEWEST_ORDER);
	if (r->kind == GP_FREE) {
		const struct gp_live_entry *e = gp_live_ended_by(live_of(t), r);
		if (e != NULL)
			ended = *e;
	}
	enum gp_status status = gp_recording_apply(t->recording, r);
	if (status != GP_OK || r->kind >= GP_KINDS ||
	    gp_event_infos[r->kind].class != GP_CLASS_MEMORY)
		return status;
	t->at_ns = gp_tick_ns(&t->recording->tick, r->time);
	t->stack = r->stack;
	gp_looks_add(&t->looks);
	follow(t, r, thread, &ended, is_late);
	if (t->is_due)
		gp_act_match_soon(t);
	if (t->helds > 0)
		gp_held_settle(t, r, thread);
	return t->is_out_of_memory ? GP_E_MEMORY : t->is_over ? GP_END : GP_OK;
}
