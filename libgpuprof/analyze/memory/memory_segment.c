/*
 * Segments as the framework's allocator reported them. Without reports: the driver's memory that
 * contains its blocks. Adjacent mapped ranges of an expandable segment are one segment, as in
 * PyTorch's own snapshot.
 */
#include <stdlib.h>

#include "../../read/tables/array.h"
#include "memory_view.h"

#define SMALL_BYTES (2ull << 20)  /* kSmallBuffer: segments and pages of the small pool */
#define LARGE_BYTES (20ull << 20) /* kLargeBuffer: pages of the large pool */
#define ARENAS 65536u		  /* numbers have 16 bits */

struct piece {
	struct gp_live_entry entry; /* stream: number of the arena */
	const struct gp_live_entry *in;
	bool is_expandable;
};

struct pieces {
	struct gp_memory_view *view;
	struct piece *piece;
	size_t count, room;
	bool is_out_of_memory;
};

static void memory_segment_add(struct pieces *p, const struct gp_live_entry *like, uint64_t from,
			       uint64_t to, const struct gp_live_entry *in, bool is_expandable,
			       uint64_t arena)
{
	struct piece *piece = gp_array_append(&p->piece, &p->count, sizeof *piece);
	p->is_out_of_memory |= piece == NULL;
	if (piece == NULL)
		return;
	*piece = (struct piece){ .entry = *like, .in = in, .is_expandable = is_expandable };
	piece->entry.address = from;
	piece->entry.bytes = to - from;
	piece->entry.stream = arena;
}

static uint64_t end_of(const struct gp_live_entry *e)
{
	return e->address + e->bytes;
}

/*
 * Adds a reported range. The driver unmaps before the allocator reports it. So in a known
 * reservation, only mapped parts are added.
 */
static void add_range(struct pieces *p, const struct gp_live_entry *reported)
{
	const struct gp_memory_view *v = p->view;
	const struct gp_live_entry *in = gp_entries_find(&v->reservation, reported->address);
	bool is_known = gp_live_count(v->recording->live, GP_COUNT_GAP_ORDER) == 0;
	if (in == NULL || !is_known) {
		memory_segment_add(p, reported, reported->address, end_of(reported), in, true,
				   reported->stream);
		return;
	}
	const struct gp_live_entry *m = gp_entries_before(&v->mapped, reported->address);
	const struct gp_live_entry *end = v->mapped.entry + v->mapped.count;
	for (m = m != NULL ? m : v->mapped.entry; m < end && m->address < end_of(reported); m++) {
		uint64_t from = m->address > reported->address ? m->address : reported->address;
		uint64_t to = end_of(m) < end_of(reported) ? end_of(m) : end_of(reported);
		if (from < to)
			memory_segment_add(p, reported, from, to, in, true, reported->stream);
	}
}

/* A reservation has one stream and one pool, so the report of any of its ranges holds for all. */
static uint64_t arena_of(const struct gp_memory_view *v, const struct gp_live_entry *reservation)
{
	const struct gp_live_entry *t = gp_entries_before(&v->reported, end_of(reservation) - 1);
	return t != NULL && t->address >= reservation->address ? t->stream : 0;
}

bool gp_memory_waits_for_block(const struct gp_live *live, uint64_t address, uint64_t order)
{
	const struct gp_live_entry *in = gp_live_find_holder(live, address);
	return in != NULL && (in->flags & GP_LIVE_SEGMENT) == 0 &&
	       order >= gp_live_count(live, GP_COUNT_GAP_ORDER);
}

static void list_pieces(struct pieces *p)
{
	const struct gp_memory_view *v = p->view;
	for (size_t i = 0; i < v->reported.count; i++) {
		const struct gp_live_entry *t = &v->reported.entry[i];
		if (gp_memory_waits_for_block(v->recording->live, t->address, t->order))
			continue;
		if ((t->flags & GP_LIVE_MAPPED) != 0)
			add_range(p, t);
		else
			memory_segment_add(p, t, t->address, end_of(t), NULL, false, t->stream);
	}
	for (size_t i = 0; i < v->whole.count; i++) {
		const struct gp_live_entry *w = &v->whole.entry[i];
		if ((w->flags & GP_LIVE_SEGMENT) != 0 &&
		    !gp_entries_overlap(&v->reported, w->address, w->bytes))
			memory_segment_add(p, w, w->address, end_of(w), NULL, false, 0);
	}
	for (size_t i = 0; i < v->mapped.count; i++) {
		const struct gp_live_entry *m = &v->mapped.entry[i];
		const struct gp_live_entry *in = gp_entries_find(&v->reservation, m->address);
		if (in != NULL && (in->flags & GP_LIVE_SEGMENT) != 0 &&
		    !gp_entries_overlap(&v->reported, m->address, m->bytes)) {
			memory_segment_add(p, m, m->address, end_of(m), in, true, arena_of(v, in));
			p->piece[p->count - 1].entry.device = in->device;
		}
	}
}

static int compare_pieces(const void *left, const void *right)
{
	const struct gp_live_entry *a = &((const struct piece *)left)->entry,
				   *b = &((const struct piece *)right)->entry;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

static bool is_joined(const struct piece *a, const struct piece *b)
{
	return a->is_expandable && b->is_expandable && end_of(&a->entry) == b->entry.address &&
	       a->in == b->in && a->entry.stream == b->entry.stream &&
	       a->entry.device == b->entry.device && (a->in != NULL || a->entry.stream != 0);
}

/*
 * PyTorch requests 2 MiB at a time for its small pool and at least 10 MiB for the large one. All
 * pages of an expandable segment have one size: 2 MiB small, 20 MiB or as configured large. If the
 * driver's mapping is unknown, ranges of the large pool are multiples of 20 MiB.
 */
static bool is_small(const struct gp_memory_view *v, const struct piece *p)
{
	if (!p->is_expandable)
		return p->entry.bytes <= SMALL_BYTES;
	const struct gp_live_entry *m = gp_entries_find(&v->mapped, p->entry.address);
	return m != NULL ? m->bytes <= SMALL_BYTES : p->entry.bytes % LARGE_BYTES != 0;
}

/* ---- arenas ---- */

struct gp_arena gp_memory_arena(const struct gp_recording *recording, uint64_t number)
{
	const struct gp_record *r = gp_defined_record(recording->definitions, GP_ARENA, number);
	if (number == 0 || r == NULL)
		return (struct gp_arena){ .captured_at_ns = -1 };
	return (struct gp_arena){ .is_known = true,
				  .has_pool = r->arena.has_pool != 0,
				  .stream = r->arena.stream,
				  .pool = r->arena.pool,
				  .user_pool = r->arena.user_pool,
				  .captured_at_ns = -1 };
}

/* The index of the arena with this number, remembered in `index`. */
static size_t arena_index(struct gp_memory_view *v, uint32_t *index, uint64_t number)
{
	struct gp_memory *out = v->out;
	if (number == 0 || number >= ARENAS || index[number] != 0)
		return number < ARENAS ? index[number] : 0;
	out->arena[out->arenas] = gp_memory_arena(v->recording, number);
	index[number] = (uint32_t)out->arenas;
	return out->arenas++;
}

/* For a segment without a report: the arena of one of its blocks that has one. */
static uint64_t arena_by_block(const struct gp_memory_view *v, const struct gp_live_entry *e)
{
	const struct gp_live_entry *b = gp_entries_before(&v->block, end_of(e) - 1);
	for (; b != NULL && b >= v->block.entry && b->address >= e->address; b--)
		if (b->stream != 0)
			return b->stream;
	return 0;
}

/* ---- pieces into segments ---- */

static void add_segment(struct gp_memory_view *v, const struct piece *p, uint32_t *index)
{
	const struct gp_live_entry *e = &p->entry;
	uint64_t arena = e->stream != 0 ? e->stream : arena_by_block(v, e);
	v->out->segment[v->out->segments++] = (struct gp_memory_segment){
		.address = e->address,
		.bytes = e->bytes,
		.device = e->device,
		.arena = arena_index(v, index, arena),
		.is_small = is_small(v, p),
		.is_expandable = p->is_expandable,
		.at_ns = gp_tick_ns(&v->recording->tick, e->time),
		.stack = e->stack,
	};
	if (e->order < gp_live_count(v->recording->live, GP_COUNT_GAP_ORDER))
		v->caveats |= GP_CAVEAT_MISSING;
}

static void extend_segment(struct gp_memory_view *v, const struct piece *p)
{
	struct gp_memory_segment *s = &v->out->segment[v->out->segments - 1];
	int64_t at_ns = gp_tick_ns(&v->recording->tick, p->entry.time);
	s->bytes += p->entry.bytes;
	if (at_ns < s->at_ns) {
		s->at_ns = at_ns;
		s->stack = p->entry.stack;
	}
}

/* If events are missing, pieces may overlap: the first one by address stays. */
static void list_segments(struct gp_memory_view *v, const struct pieces *p, uint32_t *index)
{
	const struct piece *last = NULL;
	for (size_t i = 0; i < p->count; i++) {
		const struct piece *piece = &p->piece[i];
		if (last != NULL && last->entry.device == piece->entry.device &&
		    piece->entry.address < end_of(&last->entry))
			continue;
		if (last != NULL && is_joined(last, piece))
			extend_segment(v, piece);
		else
			add_segment(v, piece, index);
		last = piece;
	}
}

enum gp_status gp_memory_list_segments(struct gp_memory_view *v)
{
	struct pieces p = { .view = v };
	list_pieces(&p);
	if (p.count > 1)
		qsort(p.piece, p.count, sizeof *p.piece, compare_pieces);
	uint32_t *index = calloc(ARENAS, sizeof *index);
	v->out->segment = calloc(p.count + 1, sizeof *v->out->segment);
	v->out->arena = calloc(p.count + 1, sizeof *v->out->arena);
	bool is_there = !p.is_out_of_memory && index != NULL && v->out->segment != NULL &&
			v->out->arena != NULL;
	if (is_there) {
		v->out->arena[v->out->arenas++] = gp_memory_arena(v->recording, 0);
		list_segments(v, &p, index);
	}
	free(index);
	free(p.piece);
	return is_there ? GP_OK : GP_E_MEMORY;
}
