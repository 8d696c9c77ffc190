/* Ranges that may end on another thread, or out of order: found by handles that others keep. */
#include <string.h>

#include "../../format/column.h"
#include "range_own.h"
#include "scope_range.h"

#define WAIT_TURNS 100u

/* A range that did not end as the innermost of its source and domain, on its own thread. */
static GP_COLD void record_close(bool is_off, uint32_t source, uint64_t thread, uint64_t since,
				 uint32_t depth)
{
	gp_put((struct gp_record){
		.kind = GP_RANGE_CLOSE,
		.device = GP_DEVICE_UNKNOWN,
		.aux = is_off,
		.range_close = {
			.source = source, .owner = thread, .since = since, .depth = depth } });
}

/*
 * Ranges deeper than the limit. Not more than this thread has: it may have the handles of a thread
 * that ended before.
 */
static void take_deep(struct gp_range_thread *own, uint32_t ended)
{
	const uint32_t most = own->deeper < own->deep_kept ? own->deeper : own->deep_kept;
	const uint32_t taken = ended < most ? ended : most;
	own->deeper -= taken;
	own->deep_kept -= taken;
	own->kept -= taken;
}

/* Removes ranges that ended on other threads. */
GP_COLD void gp_range_take_ended(struct gp_range_thread *own, bool is_on)
{
	if (!own->handles)
		return;
	/* partner: the adds in gp_range_handle_end and gp_range_handle_end_deep */
	const uint32_t ended = atomic_load_explicit(&own->handles->ended, memory_order_acquire);
	const uint32_t deep = atomic_load_explicit(&own->handles->deep_ended, memory_order_relaxed);
	take_deep(own, deep - own->deep_ended);
	own->deep_ended = deep;
	if (own->deeper)
		return;
	own->ended = ended;
	for (uint32_t k = own->depth; k-- > 0;) {
		const struct gp_pushed_range e = own->open[k];
		if (e.handle == 0 ||
		    !(atomic_load(&own->handles->of[e.handle - 1].key) & GP_HANDLE_ENDED))
			continue;
		if (own->opener == k + 1) /* the end was recorded */
			own->opener = 0;
		gp_range_take_out(own, k);
		if (is_on)
			record_close(true, e.source, gp_thread.ring ? gp_thread.ring->thread : 0,
				     e.time, own->depth);
	}
}

GP_COLD void gp_range_take_ended_now(struct gp_range_thread *own)
{
	const bool is_on = gp_range_enter();
	gp_range_take_ended(own, is_on);
	if (is_on)
		gp_leave();
}

/* The thread of a range in this recording; 0: it is not recorded there. */
uint64_t gp_range_owner_now(void)
{
	const struct gp_thread *t = &gp_thread;
	const uint32_t word = atomic_load_explicit(&gp_local->word, memory_order_relaxed);
	/* a forked child has 0 there, and must not read its parent's ring */
	return word != 0 && t->word == word && t->ring ?
		       (uint64_t)t->generation << 32 | t->ring->thread :
		       0;
}

static GP_COLD bool take_handles(struct gp_range_thread *own)
{
	struct gp_range_handles *handles = gp_range_handles_take();
	if (!handles)
		return false;
	own->ended = atomic_load_explicit(&handles->ended, memory_order_relaxed);
	own->deep_ended = atomic_load_explicit(&handles->deep_ended, memory_order_relaxed);
	memset(own->free, 0xff, sizeof own->free);
	/* a signal handler that comes in between finds them complete or not at all */
	atomic_signal_fence(memory_order_seq_cst);
	own->handles = handles;
	return true;
}

/* There is one for each open range. NULL: only if signal handlers took them meanwhile. */
GP_HOT struct gp_range_handle *keep_handle(struct gp_range_thread *own, uint32_t depth,
					   const void *key)
{
	if (gp_unlikely(!(own->free[0] | own->free[1])))
		return NULL;
	struct gp_pushed_range *e = &own->open[depth];
	const unsigned half = own->free[0] == 0;
	const unsigned k = 64 * half + (unsigned)__builtin_ctzll(own->free[half]);
	struct gp_range_handle *h = &own->handles->of[k];
	own->free[half] &= own->free[half] - 1;
	own->kept++;
	e->handle = (uint16_t)(k + 1);
	atomic_store_explicit(&h->since, e->time, memory_order_relaxed);
	atomic_store_explicit(&h->name, e->name, memory_order_relaxed);
	atomic_store_explicit(&h->span, own->opener == depth + 1 ? own->span : 0,
			      memory_order_relaxed);
	atomic_store_explicit(&h->owner, gp_range_owner_now(), memory_order_relaxed);
	/* partner: the acquire load in gp_range_handle_end */
	atomic_store_explicit(&h->key, (uintptr_t)key, memory_order_release);
	return h;
}

/*
 * The time of its push identifies it on its thread, in the units of recordings' times. It must
 * therefore differ from that of the range below.
 */
GP_HOT void await_next_time(const struct gp_range_thread *own)
{
	if (gp_likely(!own || own->depth == 0))
		return;
	const uint64_t last = own->open[own->depth - 1].time >> GP_TIME_SHIFT;
	for (unsigned k = 0; k < WAIT_TURNS && gp_clock_now() >> GP_TIME_SHIFT == last; k++)
		;
}

GP_HOT_TEXT struct gp_range_handle *gp_range_push_kept(const struct gp_range *range,
						       const void *key)
{
	await_next_time(gp_thread.ranges);
	const uint32_t depth = gp_range_push(range);
	struct gp_range_thread *own = gp_thread.ranges;
	if (gp_unlikely(!own) || (gp_unlikely(!own->handles) && !take_handles(own)))
		return NULL;
	if (gp_likely(depth < GP_RANGES_DEEP))
		return keep_handle(own, depth, key);
	own->deep_kept++;
	own->kept++;
	return &own->handles->deep;
}

static GP_COLD void end_elsewhere(enum gp_range_source source, struct gp_range_handle *h,
				  uint64_t key)
{
	uint64_t since;
	uint32_t name;
	uint64_t span;
	if (!gp_range_handle_end(h, key, &since, &name, &span))
		return;
	const uint64_t owner = atomic_load(&h->owner);
	if (gp_range_enter()) {
		if ((uint32_t)owner != 0 && owner >> 32 == gp_thread.generation)
			record_close(false, source, (uint32_t)owner, since, 0);
		gp_leave();
	}
	if (gp_unlikely(gp_scope_heeds_ranges()))
		gp_scope_range_ended(name, span);
}

/* 1 + its place; 0: it is not open. */
static GP_COLD uint32_t range_kept_place_of(const struct gp_range_thread *own, uint64_t handle)
{
	uint32_t at = own->depth;
	while (at > 0 && own->open[at - 1].handle != handle)
		at--;
	return at;
}

/* Ends one on its own thread that has others above it: a pop would mean another range. */
static GP_COLD void close_own(struct gp_range_thread *own, uint64_t handle)
{
	/* first: if recording resumes with this event, ranges that ended elsewhere are removed */
	const bool is_on = gp_range_enter();
	const uint32_t at = range_kept_place_of(own, handle);
	if (at == 0) {
		if (is_on)
			gp_leave();
		return;
	}
	const uint32_t k = at - 1;
	const struct gp_pushed_range e = own->open[k];
	const bool is_opener = own->opener == at;
	gp_range_take_out(own, k);
	if (is_on) {
		record_close(true, e.source, gp_thread.ring ? gp_thread.ring->thread : 0, e.time,
			     own->depth);
		gp_leave();
	}
	if (gp_unlikely(gp_scope_heeds_ranges()))
		gp_range_heed_pop(own, e.name, k, is_opener);
}

/* One that is deeper than the limit: its start was lost, and so is its end. */
static GP_COLD void pop_deep(struct gp_range_thread *own, enum gp_range_source source,
			     struct gp_range_handle *h)
{
	if (own && own->handles == h->block) {
		gp_range_take_ended_now(own);
		if (own->deeper == 0 || own->deep_kept == 0)
			return;
		own->deep_kept--;
		own->kept--;
		gp_range_pop(source, 0);
		return;
	}
	gp_range_handle_end_deep(h);
	if (gp_range_enter()) {
		gp_count_lost(GP_RANGE_POP);
		gp_leave();
	}
}

/* It has none of the thread's own places. */
static GP_COLD void pop_unplaced(struct gp_range_thread *own, enum gp_range_source source,
				 struct gp_range_handle *h, uint64_t key)
{
	if (h == &h->block->deep)
		pop_deep(own, source, h);
	else
		end_elsewhere(source, h, key);
}

static GP_COLD void pop_out_of_turn(struct gp_range_thread *own, enum gp_range_source source,
				    struct gp_range_handle *h, uint64_t key)
{
	gp_range_take_ended_now(own);
	if (own->deeper) { /* its place is free when the deeper ranges have ended */
		end_elsewhere(source, h, key);
		return;
	}
	const uint64_t handle = gp_range_handle_place(own->handles, h) + 1;
	const uint32_t at = range_kept_place_of(own, handle);
	uint32_t inner = 0;
	for (uint32_t k = at; k < own->depth; k++)
		inner += own->open[k].source == source && own->open[k].domain == 0;
	if (at > 0 && inner == 0)
		gp_range_pop(source, 0);
	else if (at > 0)
		close_own(own, handle);
}

GP_HOT_TEXT void gp_range_pop_kept(enum gp_range_source source, struct gp_range_handle *h,
				   const void *key)
{
	struct gp_range_thread *own = gp_thread.ranges;
	if (gp_unlikely(!h)) {
		if (own && gp_range_has_ended(own))
			gp_range_take_ended_now(own);
		gp_range_pop(source, 0);
		return;
	}
	const uint64_t place = own ? gp_range_handle_place(own->handles, h) : GP_RANGES_DEEP;
	if (gp_unlikely(place == GP_RANGES_DEEP))
		pop_unplaced(own, source, h, (uintptr_t)key);
	else if (gp_unlikely(atomic_load_explicit(&h->key, memory_order_relaxed) != (uintptr_t)key))
		return; /* it ended with its thread, whose handles this thread has now */
	else if (gp_likely(own->depth > 0 && !own->deeper &&
			   own->open[own->depth - 1].handle == place + 1))
		gp_range_pop(source, 0);
	else
		pop_out_of_turn(own, source, h, (uintptr_t)key);
}
