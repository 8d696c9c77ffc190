/*
 * Replays the events in order. Before an event is applied, the allocations that it ends are closed.
 * Afterwards those that it begins are opened, and the addresses that it uses are resolved.
 */
#include "touch_replay.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_rank.h"

/* Memory that work uses by its address. */
#define SPACES_TOUCHED                                                                 \
	(1u << GP_SPACE_BLOCK | 1u << GP_SPACE_DEVICE | 1u << GP_SPACE_ASYNC |         \
	 1u << GP_SPACE_MANAGED | 1u << GP_SPACE_HOST | 1u << GP_SPACE_HOST_REGISTER | \
	 1u << GP_SPACE_MAPPED | 1u << GP_SPACE_IPC | 1u << GP_SPACE_GRAPH)
#define SPACES_OF_HOST (1u << GP_SPACE_HOST | 1u << GP_SPACE_HOST_REGISTER)
/*
 * A bound of the work for addresses that graphs use. A use takes 30 ns among many, a search 0.3 us.
 * A job may do little but launch a graph, so graphs have looks of their own.
 */
#define LOOKS_FOR_GRAPHS (1u << 25)
#define LOOKS_A_USE 2u
#define LOOKS_A_SEARCH 18u

/* ---- uses of an allocation, and unseen work ---- */

/* Drops the rests that are not longer, so few remain for any number of moments. */
static void add_rest(struct gp_touch_replay *t, const struct gp_touch_rest *rest)
{
	struct gp_touch_unseen *u = &t->unseen;
	while (u->rests > 0 && u->rest[u->rests - 1].launches <= rest->launches)
		u->rests--;
	if (!gp_array_reserve(&u->rest, &u->rest_room, u->rests, 1, sizeof *u->rest)) {
		t->is_out_of_memory = true;
		return;
	}
	u->rest[u->rests++] = *rest;
}

/* The longest rest that ended with a later moment than `number`; NULL: none. */
static const struct gp_touch_rest *rest_behind(const struct gp_touch_unseen *u, uint64_t number)
{
	const size_t at = gp_row_rank(u->rest, u->rests, sizeof *u->rest, number);
	return at < u->rests ? &u->rest[at] : NULL;
}

/* Adds a use to the allocation, and to its part of a peak. */
static void note_use(struct gp_touch_replay *t, uint32_t slot, uint64_t launches, int64_t at_ns)
{
	struct gp_touch *touch = &t->table.touch[slot];
	const uint64_t rest = launches - touch->last;
	if (!touch->is_used) {
		touch->first = launches;
		touch->first_ns = at_ns;
	} else if (rest > touch->rest) {
		touch->rest = rest;
		touch->rest_ns = at_ns - touch->last_ns;
	}
	touch->is_used = true;
	touch->last = launches;
	touch->last_ns = at_ns;
	if (touch->at_peak == 0)
		return;
	struct gp_peak_part *part = &t->part[touch->at_peak - 1];
	if (part->next_ns < 0) {
		part->next = launches;
		part->next_ns = at_ns;
	}
	part->last = launches;
	part->last_ns = at_ns;
	part->is_used = true;
}

/*
 * Counts the unseen moments since the last look at the allocation as uses: the first, the longest
 * rest between two of them, and the last.
 */
static struct gp_touch *note_unseen_uses(struct gp_touch_replay *t, uint32_t slot)
{
	const struct gp_touch_unseen *u = &t->unseen;
	struct gp_touch *touch = &t->table.touch[slot];
	if (touch->unseen == u->moments)
		return touch;
	const struct gp_touch_moment *first = &u->moment[touch->unseen],
				     *last = &u->moment[u->moments - 1];
	const struct gp_touch_rest *rest = rest_behind(u, touch->unseen + 1);
	note_use(t, slot, first->launches, first->at_ns);
	if (rest != NULL && rest->launches > touch->rest) {
		touch->rest = rest->launches;
		touch->rest_ns = rest->ns;
	}
	touch->last = last->launches; /* the rest before it was counted above */
	note_use(t, slot, last->launches, last->at_ns);
	touch->unseen = u->moments;
	return touch;
}

/* ---- live allocations ---- */

/* Memory in which the framework's blocks lie. The blocks are looked at, not the segment. */
static bool is_segment(const struct gp_live *live, const struct gp_live_entry *e)
{
	if (e->space == GP_SPACE_BLOCK)
		return false;
	const struct gp_live_entry *in =
		e->space == GP_SPACE_MAPPED ? gp_live_find(live, GP_SPACE_RESERVATION, e->address) :
					      gp_live_find(live, e->space, e->address);
	return in != NULL && (in->flags & GP_LIVE_SEGMENT) != 0;
}

/* `is_freed` false: the moment of its end is unknown, or it lives on. */
static void close_slot(struct gp_touch_replay *t, uint32_t slot, bool is_freed, bool is_reported)
{
	const struct gp_live_entry *e = gp_touch_entry(&t->table, slot);
	const struct gp_touch *touch = note_unseen_uses(t, slot);
	const struct gp_touch_end end = { e, touch, t->at_ns, t->launches, is_freed };
	if (touch->at_peak != 0 && is_freed) {
		t->part[touch->at_peak - 1].freed = t->launches;
		t->part[touch->at_peak - 1].freed_ns = t->at_ns;
	}
	if (is_reported && !is_segment(t->live, e))
		t->is_out_of_memory |= !t->end(t->context, &end);
	gp_touch_drop(&t->table, slot);
}

static void open_slot(struct gp_touch_replay *t, const struct gp_live_entry *e, bool is_old)
{
	if (e == NULL || e->bytes == 0 || e->bytes > GP_PAGE_RANGE_MAX ||
	    (SPACES_TOUCHED >> e->space & 1) == 0)
		return;
	t->counts->has_managed |= e->space == GP_SPACE_MANAGED;
	/* its end is missing: the recording is damaged, or events were lost */
	uint32_t there = gp_touch_find(&t->table, e->space, e->address);
	if (there != 0)
		close_slot(t, there, false, false);
	const struct gp_touch touch = { .born_ns = gp_tick_ns(&t->recording->tick, e->time),
					.first_ns = -1,
					.last_ns = -1,
					.born = t->launches,
					.unseen = t->unseen.moments,
					.is_old = is_old };
	uint32_t slot = gp_touch_add(&t->table, e, &touch);
	t->is_out_of_memory |= slot == 0;
}

/* An allocation without a begin in the replay. */
static void open_old(void *context, const struct gp_live_entry *e)
{
	struct gp_touch_replay *t = context;
	uint32_t slot = gp_touch_find(&t->table, e->space, e->address);
	bool is_block_gone = e->space == GP_SPACE_BLOCK && (e->flags & GP_LIVE_PENDING) != 0;
	if (is_block_gone || (slot != 0 && gp_touch_entry(&t->table, slot)->order == e->order))
		return;
	open_slot(t, e, true);
}

/* After a rewind, and after a checkpoint that replaced the live state. */
static void open_all(struct gp_touch_replay *t)
{
	t->live = t->recording->live;
	t->moves++;
	t->other_moves++;
	gp_live_walk_begin(t->recording->live, open_old, t);
	while (!gp_live_walk_more(t->recording->live, 65536))
		;
}

/* Its live entry; NULL: it ended without an event of its own. */
static const struct gp_live_entry *now_live(const struct gp_touch_replay *t, uint32_t slot)
{
	const struct gp_live_entry *mine = gp_touch_entry(&t->table, slot);
	const struct gp_live_entry *e = gp_live_find(t->live, mine->space, mine->address);
	return e != NULL && e->order == mine->order && e->address == mine->address ? e : NULL;
}

/* ---- uses ---- */

static void use_slot(struct gp_touch_replay *t, uint32_t slot)
{
	note_unseen_uses(t, slot);
	note_use(t, slot, t->launches, t->at_ns);
}

/* The slot of the live allocation that contains the address; 0: none. */
static uint32_t resolve(struct gp_touch_replay *t, uint64_t address)
{
	for (uint32_t slot; (slot = gp_touch_around(&t->table, address)) != 0;) {
		const struct gp_live_entry *e = now_live(t, slot);
		if (e == NULL) { /* its context or its graph has ended */
			close_slot(t, slot, false, false);
			continue;
		}
		return is_segment(t->live, e) ? 0 : slot; /* a gap between its blocks */
	}
	return 0;
}

/* False: the address belongs to no allocation. */
static bool use_resolved(struct gp_touch_replay *t, uint32_t slot)
{
	t->counts->addresses++;
	if (slot == 0)
		return false;
	use_slot(t, slot);
	t->counts->addresses_resolved++;
	return true;
}

static void report_use(struct gp_touch_replay *t, uint32_t thread,
		       const struct gp_live_entry *entry)
{
	if (t->use != NULL)
		t->is_out_of_memory |= !t->use(t->context, t->recording->seen, thread, entry);
}

/* Unseen work may have used each live allocation: all of them count as used now. */
static void note_unseen_work(struct gp_touch_replay *t)
{
	struct gp_touch_unseen *u = &t->unseen;
	struct gp_touch_moment *moment = gp_array_append(&u->moment, &u->moments, sizeof *moment);
	t->is_out_of_memory |= moment == NULL;
	if (moment == NULL)
		return;
	*moment = (struct gp_touch_moment){ t->launches, t->at_ns };
	if (u->moments > 1)
		add_rest(t, &(struct gp_touch_rest){ u->moments, t->launches - moment[-1].launches,
						     t->at_ns - moment[-1].at_ns });
}

struct touch_thread {
	uint64_t number; /* used as the key: any number, in a hostile recording */
	bool is_awaited;
};

/* Whether the last launch of the thread waits for its first resolved use. NULL: no memory. */
static bool *awaiting_by(struct gp_touch_replay *t, uint32_t thread)
{
	struct touch_thread *row = gp_row_get_key(&t->threads, sizeof *row, thread);
	t->is_out_of_memory |= row == NULL;
	return row != NULL ? &row->is_awaited : NULL;
}

static void see_launch(struct gp_touch_replay *t, const struct gp_record *r, uint32_t thread)
{
	uint64_t variant = r->launch.block >> 48;
	bool *is_awaited = awaiting_by(t, thread);
	enum gp_launched launched = gp_launched_as(r);
	if (is_awaited == NULL || launched == GP_LAUNCHED_NOT)
		return;
	*is_awaited = (variant & GP_LAUNCH_SCANNED) != 0;
	t->counts->launches += launched == GP_LAUNCHED_KERNEL;
	t->counts->captured_launches += launched == GP_LAUNCHED_CAPTURED;
	t->counts->scanned += (variant & GP_LAUNCH_SCANNED) != 0;
	if (launched == GP_LAUNCHED_CAPTURED)
		return;
	t->launches++;
	if ((variant & GP_LAUNCH_SCANNED) != 0)
		report_use(t, thread, NULL);
	/* with more of them, the report calls no memory unused */
	uint64_t unseen = t->counts->launches + t->counts->captured_launches - t->counts->scanned;
	if ((variant & GP_LAUNCH_SCANNED) == 0 &&
	    unseen <= t->recording->info.counts[GP_LAUNCH] / GP_TOUCH_UNSEEN_SHARE)
		note_unseen_work(t);
}

static void see_use(struct gp_touch_replay *t, const struct gp_record *r, uint32_t thread)
{
	bool is_launch = (r->aux & 0xffu) == GP_USE_LAUNCH, is_resolved = false;
	bool *is_awaited = awaiting_by(t, thread);
	for (unsigned v = 0; v < 4; v++) {
		if (r->v[v] == 0)
			continue;
		const uint32_t slot = resolve(t, r->v[v]);
		is_resolved |= use_resolved(t, slot);
		if (slot != 0 && r->aux == GP_USE_LAUNCH)
			report_use(t, thread, gp_touch_entry(&t->table, slot));
	}
	if (!is_launch) {
		t->counts->copies++;
		t->counts->copies_resolved += is_resolved;
	} else if (is_resolved && is_awaited != NULL && *is_awaited) {
		t->counts->resolved++;
		*is_awaited = false;
	}
}

/* False: no memory. */
static bool follow_graphs(struct gp_touch_replay *t, const struct gp_record *r)
{
	bool is_fine = gp_graphs_follow(&t->graphs, r);
	for (unsigned v = 0; r->kind == GP_USE && (r->aux & GP_USE_CAPTURED) != 0 && v < 4; v++)
		is_fine &= r->v[v] == 0 || gp_graphs_add(&t->graphs, r->v[v]);
	return is_fine;
}

/* ---- graphs ---- */

/* The slots of a graph's addresses at its last launch. */
struct graph_slots {
	uint64_t moves, other_moves; /* of the replay, then; UINT64_MAX: unknown */
	uint32_t slot[];
};

static struct graph_slots *slots_of(struct gp_graph_values *values)
{
	struct graph_slots *r = values->memo;
	if (r == NULL) {
		r = values->memo = malloc(sizeof *r + values->values * sizeof r->slot[0]);
		if (r != NULL)
			*r = (struct graph_slots){ UINT64_MAX, UINT64_MAX };
	}
	return r;
}

/*
 * Slot `which` still holds the allocation with this address. After events of blocks alone, a block
 * that is still in the table is the same: each event of a block was seen.
 */
static bool is_slot_valid(const struct gp_touch_replay *t, const struct graph_slots *r,
			  size_t which, uint64_t address)
{
	if (r->moves == t->moves)
		return true;
	if (r->other_moves != t->other_moves || r->slot[which] == 0)
		return false;
	const struct gp_live_entry *e = gp_touch_entry(&t->table, r->slot[which]);
	return e->space == GP_SPACE_BLOCK && address - e->address < e->bytes;
}

/* False: no look is left for a search. */
static bool resolve_again(struct gp_touch_replay *t, struct graph_slots *r, size_t which,
			  uint64_t address)
{
	if (is_slot_valid(t, r, which, address))
		return true;
	if (!gp_looks_take(&t->graphs.looks, LOOKS_A_SEARCH))
		return false;
	r->slot[which] = resolve(t, address);
	return true;
}

/* Uses all memory of a graph. False: no looks are left for it. */
static bool use_content(struct gp_touch_replay *t, struct gp_graph_values *values)
{
	bool has_any = false;
	if (values == NULL)
		return true;
	if (!gp_looks_take(&t->graphs.looks, values->values * LOOKS_A_USE))
		return false;
	struct graph_slots *r = slots_of(values);
	t->is_out_of_memory |= r == NULL;
	if (r == NULL)
		return true;
	for (size_t k = 0; k < values->values; k++) {
		if (!resolve_again(t, r, k, values->value[k])) {
			r->moves = r->other_moves = UINT64_MAX;
			return false;
		}
		has_any |= use_resolved(t, r->slot[k]);
	}
	r->moves = t->moves;
	r->other_moves = t->other_moves;
	t->counts->graph_resolved += has_any;
	return true;
}

/* After an event was applied: most are of blocks, which `other_moves` leaves out. */
static void count_moves(struct gp_touch_replay *t, const struct gp_record *r)
{
	bool is_block = r->kind == GP_BLOCK_ALLOC || r->kind == GP_BLOCK_FREE;
	enum gp_class class = r->kind < GP_KINDS ? gp_event_infos[r->kind].class : GP_CLASSES;
	bool is_move = class == GP_CLASS_MEMORY || class == GP_CLASS_CHECKPOINT;
	t->moves += is_move;
	t->other_moves += is_move && !is_block;
}

static void see_graph(struct gp_touch_replay *t, const struct gp_record *r)
{
	const struct gp_graph_content *content =
		gp_graph_content_of(&t->graphs, r->graph_launch.exec);
	if (gp_launched_as(r) != GP_LAUNCHED_GRAPH)
		return;
	t->counts->graph_launches++;
	t->launches += content != NULL && content->launches > 0 ? content->launches : 1;
	bool is_known = content != NULL && use_content(t, content->values) && !content->is_partial;
	t->counts->graph_unknown += !is_known;
	if (!is_known)
		note_unseen_work(t);
}

/* ---- events ---- */

static void close_unmapped(struct gp_touch_replay *t, const struct gp_record *r)
{
	for (uint64_t at = r->unmap.address; at - r->unmap.address < r->unmap.bytes;) {
		uint32_t slot = gp_touch_find(&t->table, GP_SPACE_MAPPED, at);
		if (slot == 0)
			break;
		at += gp_touch_entry(&t->table, slot)->bytes;
		close_slot(t, slot, true, true);
	}
}

/* Before the event is applied. */
static void close_ended(struct gp_touch_replay *t, const struct gp_record *r)
{
	if (r->kind == GP_UNMAP)
		close_unmapped(t, r);
	t->undone = gp_live_undone_by(t->live, r, t->undone_at);
	const struct gp_live_entry *e = gp_live_ended_by(t->live, r);
	uint32_t slot = e != NULL ? gp_touch_find(&t->table, e->space, e->address) : 0;
	if (slot != 0 && gp_touch_entry(&t->table, slot)->order == e->order)
		close_slot(t, slot, true, true);
}

/* Opens the mappings again that a refused unmap did not end. */
static void open_undone(struct gp_touch_replay *t)
{
	for (size_t k = 0; k < t->undone; k++) {
		const struct gp_live_entry *e =
			gp_live_find(t->live, GP_SPACE_MAPPED, t->undone_at[k]);
		if (e != NULL && e->address == t->undone_at[k])
			open_old(t, e);
	}
}

/* The space of the allocation that the event may begin; GP_SPACE_NONE: it begins none. */
static unsigned space_begun(const struct gp_record *r)
{
	switch (r->kind) {
	case GP_BLOCK_ALLOC:
	case GP_BLOCK_EXISTING:
		return GP_SPACE_BLOCK;
	case GP_MAP:
		return GP_SPACE_MAPPED;
	case GP_ALLOC:
	case GP_FREE_FAILED:
		return r->space;
	default:
		return GP_SPACE_NONE;
	}
}

/* After the event was applied. */
static void open_begun(struct gp_touch_replay *t, const struct gp_record *r)
{
	const unsigned space = space_begun(r);
	const uint64_t address = r->v[0];
	if (r->kind == GP_UNMAP_FAILED)
		open_undone(t);
	if (space == GP_SPACE_NONE)
		return;
	const struct gp_live_entry *e = gp_live_find(t->live, space, address);
	if (e == NULL || e->address != address)
		return;
	if (e->order == r->order)
		open_slot(t, e, false);
	else /* it was reported again, or its free was refused */
		open_old(t, e);
}

static void see_event(struct gp_touch_replay *t, const struct gp_record *r, uint32_t thread)
{
	if (r->kind >= GP_KINDS)
		return;
	switch (gp_event_infos[r->kind].class) {
	case GP_CLASS_MEMORY:
		open_begun(t, r);
		if (r->kind == GP_GAP || r->kind == GP_SCOPE)
			note_unseen_work(t);
		return;
	case GP_CLASS_LAUNCH:
		if (r->kind == GP_LAUNCH)
			see_launch(t, r, thread);
		else if (r->kind == GP_GRAPH_LAUNCH)
			see_graph(t, r);
		break;
	case GP_CLASS_OTHER:
		if (r->kind == GP_USE)
			see_use(t, r, thread);
		else if (r->kind == GP_LOST && (r->lost.launch | r->lost.other) != 0)
			note_unseen_work(t);
		break;
	case GP_CLASS_DEFINE:
	case GP_CLASS_CHECKPOINT:
	case GP_CLASSES:
		return;
	}
	t->is_out_of_memory |= !follow_graphs(t, r);
}

/* ---- peaks ---- */

static void take_part(struct gp_touch_replay *t, uint32_t slot)
{
	if (!gp_array_reserve(&t->part, &t->parts_room, t->parts, 1, sizeof *t->part)) {
		t->is_out_of_memory = true;
		return;
	}
	struct gp_touch *touch = note_unseen_uses(t, slot);
	t->part[t->parts++] = (struct gp_peak_part){ .entry = *gp_touch_entry(&t->table, slot),
						     .then = *touch,
						     .next_ns = -1,
						     .last_ns = touch->last_ns,
						     .last = touch->last,
						     .is_used = touch->is_used,
						     .freed_ns = -1 };
	touch->at_peak = t->parts;
}

static void take_peak(struct gp_touch_replay *t, unsigned device)
{
	for (uint32_t slot = GP_SLOT_FIRST; slot < t->table.table.slots; slot++) {
		const struct gp_live_entry *e = gp_touch_entry(&t->table, slot);
		bool is_own = e->space != GP_SPACE_NONE && e->device == device &&
			      (SPACES_OF_HOST >> e->space & 1) == 0;
		if (is_own && now_live(t, slot) != NULL && !is_segment(t->live, e))
			take_part(t, slot);
	}
}

static void see_peaks(struct gp_touch_replay *t)
{
	const uint64_t seen = t->recording->seen;
	if (seen < t->next_peak)
		return;
	t->next_peak = GP_NO_EVENT;
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		uint64_t event = t->peak_event[device];
		if (event == seen)
			take_peak(t, device);
		else if (event > seen && event < t->next_peak)
			t->next_peak = event;
	}
}

/* ---- the replay ---- */

static void close_all(struct gp_touch_replay *t)
{
	for (uint32_t slot = GP_SLOT_FIRST; slot < t->table.table.slots; slot++)
		if (gp_touch_entry(&t->table, slot)->space != GP_SPACE_NONE)
			close_slot(t, slot, false, now_live(t, slot) != NULL);
}

enum gp_status gp_touch_replay_run(struct gp_touch_replay *t)
{
	struct gp_recording *r = t->recording;
	if (!gp_touch_init(&t->table))
		return GP_E_MEMORY;
	gp_graphs_open(&t->graphs, 0, r->file.bytes);
	t->graphs.looks.left += LOOKS_FOR_GRAPHS;
	enum gp_status status = gp_recording_rewind(r);
	if (status == GP_OK) {
		open_all(t);
		see_peaks(t);
	}
	while (status == GP_OK && !t->is_out_of_memory) {
		uint32_t thread;
		const struct gp_record *record = gp_recording_fetch(r, &thread, &status);
		if (record == NULL)
			break;
		t->at_ns = gp_tick_ns(&r->tick, record->time);
		close_ended(t, record);
		const struct gp_record seen = *record;
		status = gp_recording_apply(r, record);
		count_moves(t, &seen);
		if (t->live != r->live) /* a checkpoint replaced the state after damage */
			open_all(t);
		see_event(t, &seen, thread);
		see_peaks(t);
	}
	if (status == GP_END)
		close_all(t);
	if (t->is_out_of_memory)
		return GP_E_MEMORY;
	return status == GP_END ? GP_OK : status;
}

void gp_touch_replay_release(struct gp_touch_replay *t)
{
	gp_touch_release(&t->table);
	gp_graphs_release(&t->graphs);
	free(t->unseen.moment);
	free(t->unseen.rest);
	free(t->part);
	gp_row_table_release(&t->threads);
	t->part = NULL;
}
