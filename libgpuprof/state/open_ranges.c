/* Stacks by thread, and the list of started ranges. */
#include "open_ranges.h"

#include <string.h>

#include "../format/column.h"
#include "../format/seeded_hash.h"
#include "live_table.h"
#include "looks.h"
#include "started_ranges.h"

#define STARTED 1u /* RANGE_OPEN.code */
#define GONE 2u
#define EARLY 64u /* ends that are kept for later starts */

struct gp_open_ranges {
	const struct gp_range_watch *watch;
	struct gp_range_counts counts;
	uint32_t threads, mask; /* limits; of the index */
	uint32_t used;		/* stacks [0, used) were used before */
	uint32_t free;		/* 1 + the first free stack; its `thread` links to the next */
	uint32_t early_ends;	/* so far; a ring keeps the last of them */
	uint64_t early_latest;	/* in the time units of recordings, also those in `early` */
	bool has_reported;	/* started ranges that were recorded again */
	struct {
		uint64_t since;
		uint32_t thread;
	} early[EARLY];
	size_t bytes;
	struct gp_range_stack *stack;
	struct gp_looks looks; /* for started ranges that were not recorded again */
	struct gp_started_ranges started;
	uint32_t index[]; /* open addressing: 1 + stack; at most half full */
};

struct gp_open_ranges *gp_open_ranges_open(uint32_t threads)
{
	uint32_t places = 16;
	while (places < 2 * threads)
		places *= 2;
	size_t bytes = sizeof(struct gp_open_ranges) + places * sizeof(uint32_t);
	struct gp_open_ranges *r = gp_pages_open(bytes);
	if (r == NULL)
		return NULL;
	r->bytes = bytes;
	r->threads = threads;
	r->mask = places - 1;
	gp_looks_open(&r->looks);
	r->stack = gp_pages_open(threads * sizeof *r->stack);
	if (r->stack != NULL)
		return r;
	gp_open_ranges_close(r);
	return NULL;
}

void gp_open_ranges_close(struct gp_open_ranges *r)
{
	if (r == NULL)
		return;
	gp_pages_close(r->stack, r->threads * sizeof *r->stack);
	gp_pages_close(r, r->bytes);
}

uint64_t gp_open_ranges_memory(const struct gp_open_ranges *r)
{
	return r->bytes + r->used * sizeof *r->stack;
}

void gp_open_ranges_watch(struct gp_open_ranges *r, const struct gp_range_watch *watch)
{
	r->watch = watch;
}

/* ---- stacks ---- */

static uint32_t home_of(const struct gp_open_ranges *r, uint32_t thread)
{
	return (uint32_t)(thread * GP_HASH_MULTIPLIER >> 32) & r->mask;
}

static uint32_t open_ranges_place_of(const struct gp_open_ranges *r, uint32_t thread)
{
	uint32_t at = home_of(r, thread);
	while (r->index[at] != 0 && r->stack[r->index[at] - 1].thread != thread)
		at = (at + 1) & r->mask;
	return at;
}

const struct gp_range_stack *gp_open_ranges_of(const struct gp_open_ranges *r, uint32_t thread)
{
	uint32_t which = r->index[open_ranges_place_of(r, thread)];
	return which != 0 ? &r->stack[which - 1] : NULL;
}

/* NULL: the limit is reached. */
static struct gp_range_stack *stack_of(struct gp_open_ranges *r, uint32_t thread)
{
	uint32_t *place = &r->index[open_ranges_place_of(r, thread)];
	if (*place != 0)
		return &r->stack[*place - 1];
	if (r->free != 0) {
		*place = r->free;
		r->free = r->stack[r->free - 1].thread;
	} else if (r->used < r->threads) {
		*place = ++r->used;
	} else {
		return NULL;
	}
	struct gp_range_stack *s = &r->stack[*place - 1];
	s->thread = thread;
	s->depth = 0;
	return s;
}

/* Moves the following ones up in the index, so that searches never meet a hole. */
static void give_back(struct gp_open_ranges *r, struct gp_range_stack *s)
{
	uint32_t hole = open_ranges_place_of(r, s->thread), at = hole;
	uint32_t which = r->index[hole];
	for (;;) {
		at = (at + 1) & r->mask;
		if (r->index[at] == 0)
			break;
		uint32_t home = home_of(r, r->stack[r->index[at] - 1].thread);
		if (((at - home) & r->mask) < ((at - hole) & r->mask))
			continue;
		r->index[hole] = r->index[at];
		hole = at;
	}
	r->index[hole] = 0;
	s->depth = 0;
	s->thread = r->free;
	r->free = which;
}

static void open_on(struct gp_open_ranges *r, struct gp_range_stack *s,
		    const struct gp_open_range *range)
{
	struct gp_open_range *top = &s->range[s->depth++];
	*top = *range;
	if (r->watch != NULL && top->source != 0)
		r->watch->opened(r->watch->context, top, s);
}

static void close_on(struct gp_open_ranges *r, struct gp_range_stack *s, uint32_t which,
		     enum gp_range_end how, const struct gp_record *by)
{
	if (which + 1 == s->depth && s->range[which].source == 0) { /* not reported to a watcher */
		r->counts.unseen += !s->range[which].is_gone;
		s->depth--;
		return;
	}
	const struct gp_open_range range = s->range[which];
	s->depth--;
	memmove(&s->range[which], &s->range[which + 1],
		(s->depth - which) * sizeof s->range[which]);
	r->counts.unseen += !range.is_gone && (how == GP_RANGE_UNSEEN || range.source == 0);
	if (r->watch != NULL && range.source != 0)
		r->watch->closed(r->watch->context, &range, how, by);
}

/*
 * Removes excess ranges: first those known to have ended, innermost first. Not reported to the
 * watcher. All in one pass: an event of one byte may end 128 ranges, and the next event may begin
 * them again.
 */
static void drop_gone(struct gp_range_stack *s, uint32_t depth)
{
	uint32_t from = s->depth, gone = 0;
	while (from > 0 && s->depth - gone > depth)
		gone += s->range[--from].is_gone;
	if (gone == 0)
		return;
	uint32_t to = from;
	for (; from < s->depth; from++)
		if (!s->range[from].is_gone)
			s->range[to++] = s->range[from];
	s->depth = to;
}

/*
 * Makes the stack as deep as the event reports: missing ranges were lost, excess ranges have ended.
 */
static void open_ranges_settle(struct gp_open_ranges *r, struct gp_range_stack *s, uint32_t depth,
			       const struct gp_record *by)
{
	if (s->depth > depth)
		drop_gone(s, depth);
	const struct gp_open_range unknown = { .time = by->time,
					       .order = by->order,
					       .thread = s->thread };
	while (s->depth > depth)
		close_on(r, s, s->depth - 1, GP_RANGE_UNSEEN, by);
	for (; s->depth < depth; s->depth++)
		s->range[s->depth] = unknown;
}

/* ---- ends on other threads ---- */

/* It has ended; its thread counts it as open until that thread reports otherwise. */
static void end_in_place(struct gp_open_ranges *r, struct gp_open_range *range,
			 const struct gp_record *by)
{
	const struct gp_open_range ended = *range;
	*range = (struct gp_open_range){
		.time = ended.time, .order = ended.order, .is_gone = true, .thread = ended.thread
	};
	if (r->watch != NULL && ended.source != 0)
		r->watch->closed(r->watch->context, &ended, GP_RANGE_ENDED, by);
}

/*
 * Threads are drained one after the other, and each records its open ranges again when its turn
 * comes. An end may therefore be seen before its start.
 */
static void keep_early(struct gp_open_ranges *r, uint32_t thread, uint64_t since)
{
	since >>= GP_TIME_SHIFT;
	r->early[r->early_ends % EARLY].thread = thread;
	r->early[r->early_ends++ % EARLY].since = since;
	r->early_latest = since > r->early_latest ? since : r->early_latest;
}

static bool was_early(const struct gp_open_ranges *r, uint32_t thread, uint64_t since)
{
	since >>= GP_TIME_SHIFT;
	const bool is_late = since > r->early_latest; /* true for nearly all */
	const uint32_t kept = is_late ? 0 : r->early_ends < EARLY ? r->early_ends : EARLY;
	for (uint32_t k = 0; k < kept; k++)
		if (r->early[k].since == since && r->early[k].thread == thread)
			return true;
	return false;
}

/* A thread and source cannot have two open ranges with equal times. */
static bool is_meant(const struct gp_open_range *e, const struct gp_record *record)
{
	return e->time >> GP_TIME_SHIFT == record->range_close.since >> GP_TIME_SHIFT &&
	       (e->is_gone || e->source == record->range_close.source);
}

static void close_apart(struct gp_open_ranges *r, uint32_t thread, const struct gp_record *record)
{
	const uint64_t since = record->range_close.since;
	const bool is_off = record->aux != 0;
	const uint32_t owner = is_off ? thread : (uint32_t)record->range_close.owner;
	const uint32_t which = r->index[open_ranges_place_of(r, owner)];
	struct gp_range_stack *s = which != 0 ? &r->stack[which - 1] : NULL;
	uint32_t k = s != NULL ? s->depth : 0;
	while (k > 0 && !is_meant(&s->range[k - 1], record))
		k--;
	if (!is_off) {
		keep_early(r, owner, since);
		if (k > 0)
			end_in_place(r, &s->range[k - 1], record);
		return;
	}
	if (k == 0)
		return;
	close_on(r, s, k - 1, GP_RANGE_ENDED, record);
	if (s->depth == 0)
		give_back(r, s);
}

/* ---- stacks by thread ---- */

static bool is_known(const struct gp_range_stack *s, uint64_t depth, const struct gp_record *r)
{
	const struct gp_open_range *e = &s->range[depth];
	return depth < s->depth && e->name == r->aux && e->source == r->range_resumed.source &&
	       e->domain == r->range_resumed.domain;
}

static void push(struct gp_open_ranges *r, struct gp_range_stack *s, const struct gp_record *record)
{
	uint64_t depth = record->range_push.depth;
	bool is_again = record->kind == GP_RANGE_RESUMED;
	if (is_again && is_known(s, depth, record))
		return;
	open_ranges_settle(r, s, (uint32_t)depth, record);
	open_on(r, s,
		&(struct gp_open_range){
			.time = is_again ? record->range_resumed.since : record->time,
			.order = record->order,
			.name = record->aux,
			.domain = (uint32_t)record->range_push.domain,
			.source = (uint32_t)record->range_push.source,
			.thread = s->thread,
		});
	struct gp_open_range *top = &s->range[s->depth - 1];
	if (was_early(r, s->thread, top->time))
		end_in_place(r, top, record);
}

/* The innermost of its source and domain; else of the unknown ones; else of all. */
static uint32_t find_popped(const struct gp_range_stack *s, const struct gp_record *record)
{
	uint32_t unknown = s->depth - 1;
	for (uint32_t k = s->depth; k-- > 0;) {
		const struct gp_open_range *e = &s->range[k];
		if (e->source == record->range_pop.source && e->domain == record->range_pop.domain)
			return k;
		if (e->source == 0 && !e->is_gone && s->range[unknown].source != 0)
			unknown = k;
	}
	return unknown;
}

static void pop(struct gp_open_ranges *r, struct gp_range_stack *s, const struct gp_record *record)
{
	uint32_t depth = (uint32_t)record->range_pop.depth;
	if (record->aux != 0) {
		r->counts.unbalanced++;
		open_ranges_settle(r, s, depth, record);
		return;
	}
	open_ranges_settle(r, s, depth + 1, record);
	close_on(r, s, find_popped(s, record), GP_RANGE_ENDED, record);
}

void gp_open_ranges_forget(struct gp_open_ranges *r, uint32_t thread)
{
	uint32_t which = r->index[open_ranges_place_of(r, thread)];
	if (which != 0)
		give_back(r, &r->stack[which - 1]);
}

/* ---- started ranges ---- */

static void open_ranges_start(struct gp_open_ranges *r, const struct gp_open_range *range)
{
	/* recorded again before the first record */
	if (r->has_reported && gp_started_find(&r->started, range->number, range->source) != NULL)
		return;
	struct gp_open_range *e = gp_started_add(&r->started, range);
	if (e == NULL)
		r->counts.unkept++;
	else if (r->watch != NULL)
		r->watch->opened(r->watch->context, e, NULL);
}

static void close_started(struct gp_open_ranges *r, struct gp_open_range *e, enum gp_range_end how,
			  const struct gp_record *by)
{
	const struct gp_open_range ended = *e;
	gp_started_remove(&r->started, e);
	r->counts.unseen += how == GP_RANGE_UNSEEN;
	if (r->watch != NULL)
		r->watch->closed(r->watch->context, &ended, how, by);
}

static void open_ranges_end(struct gp_open_ranges *r, const struct gp_record *record)
{
	struct gp_open_range *e =
		gp_started_find(&r->started, record->range_end.range, record->range_end.source);
	if (e != NULL)
		close_started(r, e, GP_RANGE_ENDED, record);
	else
		r->counts.unbalanced++;
}

/*
 * All open ranges have been recorded again: those that were open before and were not recorded have
 * ended. Ranges that began since then are examined as well, without an event that pays for it.
 */
static void end_unrecorded(struct gp_open_ranges *r, const struct gp_record *record)
{
	if (!gp_looks_take(&r->looks, r->started.count))
		return;
	struct gp_open_range *e = gp_started_older(&r->started, NULL), *older;
	for (; e != NULL; e = older) {
		older = gp_started_older(&r->started, e);
		if (!e->is_reported && e->time < record->range_started.since)
			close_started(r, e, GP_RANGE_UNSEEN, record);
		else
			e->is_reported = false;
	}
}

static void start_again(struct gp_open_ranges *r, uint32_t thread, const struct gp_record *record)
{
	r->has_reported = true;
	if (record->range_started.range == 0) {
		end_unrecorded(r, record);
		return;
	}
	struct gp_open_range *e = gp_started_find(&r->started, record->range_started.range,
						  record->range_started.source);
	if (e != NULL)
		e->is_reported = true;
	else
		open_ranges_start(r, &(struct gp_open_range){
					     .time = record->range_started.since,
					     .order = record->order,
					     .number = record->range_started.range,
					     .name = record->aux,
					     .domain = (uint32_t)record->range_started.domain,
					     .source = (uint32_t)record->range_started.source,
					     .thread = thread,
					     .is_reported = true,
				     });
}

/* ---- events ---- */

static void open_ranges_load(struct gp_open_ranges *r, const struct gp_record *record)
{
	struct gp_open_range range = {
		.time = record->time,
		.order = record->order,
		.name = record->aux,
		.domain = (uint32_t)record->range_open.domain,
		.source = record->code == GONE ? 0 : (uint32_t)record->range_open.source,
		.is_gone = record->code == GONE,
		.thread = (uint32_t)record->range_open.owner,
	};
	if (record->code == STARTED) {
		range.number = record->range_open.place;
		open_ranges_start(r, &range);
		return;
	}
	struct gp_range_stack *s = stack_of(r, range.thread);
	if (s == NULL || record->range_open.place >= GP_RANGES_DEEP) {
		r->counts.unkept++;
		return;
	}
	open_ranges_settle(r, s, (uint32_t)record->range_open.place, record);
	open_on(r, s, &range);
}

static void apply_to_stack(struct gp_open_ranges *r, uint32_t thread,
			   const struct gp_record *record)
{
	bool is_pop = record->kind == GP_RANGE_POP;
	/* writers respect this limit, so a record beyond it is damaged */
	bool is_sound = record->range_push.depth < GP_RANGES_DEEP;
	struct gp_range_stack *s = is_sound ? stack_of(r, thread) : NULL;
	if (s == NULL) {
		r->counts.unkept += !is_pop;
		return;
	}
	if (is_pop)
		pop(r, s, record);
	else
		push(r, s, record);
	if (s->depth == 0)
		give_back(r, s);
}

void gp_open_ranges_apply(struct gp_open_ranges *r, uint32_t thread, const struct gp_record *record)
{
	gp_looks_add(&r->looks);
	switch (record->kind) {
	case GP_RANGE_PUSH:
	case GP_RANGE_RESUMED:
	case GP_RANGE_POP:
		apply_to_stack(r, thread, record);
		break;
	case GP_RANGE_CLOSE:
		close_apart(r, thread, record);
		break;
	case GP_RANGE_START:
		open_ranges_start(r, &(struct gp_open_range){
					     .time = record->time,
					     .order = record->order,
					     .number = record->range_start.range,
					     .name = record->aux,
					     .domain = (uint32_t)record->range_start.domain,
					     .source = (uint32_t)record->range_start.source,
					     .thread = thread,
				     });
		break;
	case GP_RANGE_END:
		open_ranges_end(r, record);
		break;
	case GP_RANGE_STARTED:
		start_again(r, thread, record);
		break;
	case GP_RANGE_OPEN:
		open_ranges_load(r, record);
		break;
	default:
		break;
	}
}

/* ---- reading the state ---- */

const struct gp_open_range *gp_open_ranges_started(const struct gp_open_ranges *r,
						   const struct gp_open_range *older_than)
{
	return gp_started_older(&r->started, older_than);
}

const struct gp_range_stack *gp_open_ranges_next(const struct gp_open_ranges *r, uint32_t *at)
{
	while (*at < r->used) {
		const struct gp_range_stack *s = &r->stack[(*at)++];
		if (s->depth != 0)
			return s;
	}
	return NULL;
}

struct gp_range_counts gp_open_ranges_counts(const struct gp_open_ranges *r)
{
	return r->counts;
}

static void emit_one(const struct gp_open_range *e, uint32_t place,
		     void (*emit)(void *context, const struct gp_record *), void *context)
{
	const struct gp_record record = {
		.time = e->time,
		.order = e->order,
		.kind = GP_RANGE_OPEN,
		.device = GP_DEVICE_UNKNOWN,
		.code = e->number != 0 ? STARTED :
			e->is_gone     ? GONE :
					 0,
		.aux = e->name,
		.range_open = { e->source, e->domain, e->thread,
				e->number != 0 ? e->number : place },
	};
	emit(context, &record);
}

void gp_open_ranges_visit(const struct gp_open_ranges *r,
			  void (*emit)(void *context, const struct gp_record *), void *context)
{
	uint32_t at = 0;
	const struct gp_range_stack *s;
	while ((s = gp_open_ranges_next(r, &at)) != NULL)
		for (uint32_t k = 0; k < s->depth; k++)
			emit_one(&s->range[k], k, emit, context);
	const struct gp_open_range *e = NULL;
	while ((e = gp_started_newer(&r->started, e)) != NULL)
		emit_one(e, 0, emit, context);
}
