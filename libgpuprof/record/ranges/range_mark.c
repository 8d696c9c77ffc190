/* A thread's own stack of ranges: pushes, pops, and ranges that a jump left. */
#include "range_own.h"

#include <errno.h>
#include <sys/mman.h>

#include "../process/thread_memory.h"
#include "../stacks/stack_take.h"
#include "scope_range.h"

static _Atomic uint32_t threads; /* threads that ever had ranges */

/* Children inherit it: open ranges continue in them. */
GP_COLD struct gp_range_thread *gp_range_own_map(void)
{
	int kept = errno;
	if (!gp_thread_end_is_reported())
		return NULL;
	void *own = mmap(NULL, sizeof(struct gp_range_thread), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (own != MAP_FAILED) {
		gp_thread_memory_add(sizeof(struct gp_range_thread));
		gp_thread.ranges = own;
		gp_thread.ranges->number = atomic_fetch_add(&threads, 1);
	}
	errno = kept;
	return gp_thread.ranges;
}

void gp_range_thread_close(struct gp_thread *t)
{
	struct gp_range_thread *own = t->ranges;
	if (!own)
		return;
	t->ranges = NULL; /* first: a signal handler may push one */
	atomic_signal_fence(memory_order_seq_cst);
	if (own->handles)
		gp_range_handles_drop(own->handles);
	munmap(own, sizeof *own);
	gp_thread_memory_give(sizeof *own);
}

/* Not kept, so its end is not kept either. */
static GP_COLD uint32_t push_deeper(struct gp_range_thread *own, bool is_on)
{
	if (is_on) {
		gp_count_lost(GP_RANGE_PUSH);
		gp_leave();
	}
	return GP_RANGES_DEEP + own->deeper++;
}

/* ---- frames ---- */

/*
 * A living frame holds the words that were written there. The memory is the thread's own stack,
 * readable even after the frame is gone. A frame that a jump left is below the stack pointer. Or,
 * if the stack has grown over it again, it holds other words; until then, the range continues.
 */
static GP_COLD bool is_left(const struct gp_range_thread *own, const struct gp_pushed_range *e)
{
	const uintptr_t at = own->bounds.high - e->frame;
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	if (gp_native_bounds_hold(&own->bounds, here) && here > at)
		return true;
	for (uintptr_t k = 0; k < GP_FRAME_WORDS; k++)
		if (gp_native_word(at + k * sizeof(uint64_t)) != e->time)
			return true;
	return false;
}

/* The innermost range of that source; NULL: none is open, or it is deeper than the limit. */
static const struct gp_pushed_range *innermost(const struct gp_range_thread *own, uint32_t source)
{
	for (uint32_t k = own->deeper == 0 ? own->depth : 0; k-- > 0;)
		if (own->open[k].source == source && own->open[k].domain == 0)
			return &own->open[k];
	return NULL;
}

/* Frames of older ranges lie above: the search ends at the first living one. */
static GP_COLD void end_left(const struct gp_range_thread *own)
{
	uint32_t source = 0;
	for (uint32_t k = own->depth; source == 0 && k-- > 0;)
		source = own->open[k].frame != 0 ? own->open[k].source : 0;
	const struct gp_pushed_range *e;
	while (own->frames != 0 && (e = innermost(own, source)) != NULL && e->frame != 0 &&
	       is_left(own, e))
		gp_range_pop((enum gp_range_source)source, 0);
}

static GP_COLD void keep_frame(struct gp_range_thread *own, struct gp_pushed_range *e,
			       struct gp_range_frame *frame)
{
	const int kept = errno;
	const uintptr_t at = (uintptr_t)frame;
	for (unsigned k = 0; k < GP_FRAME_WORDS; k++)
		frame->word[k] = e->time;
	if (gp_native_bounds_find(&own->bounds, at)) {
		e->frame = (uint32_t)(own->bounds.high - at);
		own->frames++;
	}
	errno = kept;
}

/* The number of the range in the recording. */
static GP_COLD void begin_at(struct gp_pushed_range *e, struct gp_range_frame *frame, uint64_t time)
{
	e->time = time;
	for (unsigned k = 0; frame && k < GP_FRAME_WORDS; k++)
		frame->word[k] = time;
}

GP_COLD void gp_range_pop_frame(enum gp_range_source source, const struct gp_range_frame *frame)
{
	const struct gp_range_thread *own = gp_thread.ranges;
	if (own && !frame)
		end_left(own);
	if (!own || !frame || frame->word[0] == 0) { /* its start was not kept */
		gp_range_pop(source, 0);
		return;
	}
	uint32_t pops = 0;
	for (uint32_t k = own->depth; k-- > 0;) {
		pops += own->open[k].source == source && own->open[k].domain == 0;
		if (own->open[k].source != source || own->open[k].time != frame->word[0])
			continue;
		while (pops-- > 0)
			gp_range_pop(source, 0);
		return;
	}
}

/* ---- the stack ---- */

static GP_COLD void let_go(struct gp_range_thread *own, const struct gp_pushed_range *e)
{
	own->frames -= e->frame != 0;
	if (e->handle == 0)
		return;
	const uint32_t k = e->handle - 1u;
	own->kept--;
	own->free[k / 64] |= UINT64_C(1) << k % 64;
	atomic_store_explicit(&own->handles->of[k].key, 0, memory_order_relaxed);
}

/* A push sets its bit before it writes there: see gp_range_push. */
static void vacate(struct gp_pushed_range *place)
{
	place->frame = place->handle = 0;
}

/* Moves the ranges above down. Returns its name. */
GP_COLD uint32_t gp_range_take_out(struct gp_range_thread *own, uint32_t k)
{
	const struct gp_pushed_range taken = own->open[k];
	if (taken.frame | taken.handle)
		let_go(own, &taken);
	/* the opener is one place lower now if it lies above */
	own->opener -= own->opener > k + 1;
	for (uint32_t above = k; above + 1 < own->depth; above++)
		own->open[above] = own->open[above + 1];
	vacate(&own->open[own->depth - 1]);
	/* a signal handler that pushes in between writes above all of them */
	atomic_signal_fence(memory_order_seq_cst);
	own->depth--;
	return taken.name;
}

GP_HOT void look_after(struct gp_range_thread *own)
{
	if (own->frames)
		end_left(own);
	if (gp_unlikely(gp_range_has_ended(own)))
		gp_range_take_ended_now(own);
}

/* A captured span that it opens ends with it, so it must be kept. */
static GP_COLD uint64_t range_mark_open_span(const struct gp_range *range)
{
	const struct gp_range_thread *own = gp_range_own();
	return own && own->depth < GP_RANGES_DEEP ? gp_scope_range_begins(range) : 0;
}

GP_HOT_TEXT uint32_t gp_range_push(const struct gp_range *range)
{
	if (gp_unlikely(gp_thread.ranges && (gp_thread.ranges->frames | gp_thread.ranges->kept)))
		look_after(gp_thread.ranges);
	const uint64_t span =
		gp_unlikely(gp_scope_heeds_ranges()) ? range_mark_open_span(range) : 0;
	/* first: ranges open by now are recorded again if recording begins with this event */
	const bool is_on = gp_range_enter();
	struct gp_range_thread *own = gp_range_own();
	if (gp_unlikely(!own)) {
		gp_thread.has_lost_ranges |= is_on;
		if (is_on) {
			gp_count_lost(GP_RANGE_PUSH);
			gp_leave();
		}
		return 0;
	}
	const uint32_t depth = own->depth;
	if (gp_unlikely(depth == GP_RANGES_DEEP))
		return push_deeper(own, is_on);
	const uint32_t name = gp_range_name_get(own, range);
	if (is_on)
		gp_range_need_written(name, range);
	const uint32_t stack = gp_unlikely(range->has_stack) && is_on ? gp_stack_of_alloc() : 0;
	const uint64_t time = gp_clock_now();
	/*
	 * A signal handler that pushes from here on writes above it. Until it is written, the
	 * handler treats the place as a range without frame and handle.
	 */
	own->depth = depth + 1;
	atomic_signal_fence(memory_order_seq_cst);
	own->open[depth] = (struct gp_pushed_range){
		.time = time,
		.name = name,
		.domain = range->domain,
		.source = (uint16_t)range->source,
	};
	if (gp_unlikely(range->frame))
		keep_frame(own, &own->open[depth], range->frame);
	if (gp_unlikely(span != 0)) {
		own->opener = depth + 1;
		own->span = span;
	}
	if (is_on) {
		const uint64_t reported =
			gp_range_record_begin(GP_RANGE_PUSH, range, name, depth, time, stack);
		if (gp_unlikely(reported != time))
			begin_at(&own->open[depth], range->frame, reported);
		gp_leave();
	}
	return depth;
}

/* A range of another source or domain lies on it: they cross. */
static GP_COLD int64_t pop_below(struct gp_range_thread *own, enum gp_range_source source,
				 uint32_t domain, uint32_t *name)
{
	for (uint32_t k = own ? own->depth : 0; k-- > 0;) {
		if (own->open[k].source != source || own->open[k].domain != domain)
			continue;
		*name = gp_range_take_out(own, k);
		return k;
	}
	return -1;
}

GP_COLD void gp_range_heed_pop(struct gp_range_thread *own, uint32_t name, int64_t level,
			       bool is_opener)
{
	const uint64_t span = is_opener ? own->span : 0;
	if (is_opener)
		own->opener = 0;
	if (level >= 0)
		gp_scope_range_ended(name, span);
}

static GP_COLD int64_t pop_deeper(struct gp_range_thread *own, bool is_on)
{
	if (is_on)
		gp_count_lost(GP_RANGE_POP);
	return GP_RANGES_DEEP + --own->deeper;
}

GP_HOT void record_pop(enum gp_range_source source, uint32_t domain, uint32_t depth,
		       bool is_unbalanced)
{
	gp_put((struct gp_record){
		.kind = GP_RANGE_POP,
		.device = GP_DEVICE_UNKNOWN,
		.aux = is_unbalanced,
		.range_pop = { .source = source, .domain = domain, .depth = depth } });
}

GP_HOT uint32_t take_top(struct gp_range_thread *own)
{
	struct gp_pushed_range *top = &own->open[own->depth - 1];
	const uint32_t name = top->name;
	if (gp_unlikely(top->frame | top->handle)) {
		let_go(own, top);
		vacate(top);
	}
	/* last: from then on a signal handler that pushes writes there */
	atomic_signal_fence(memory_order_seq_cst);
	own->depth--;
	return name;
}

GP_HOT_TEXT int64_t gp_range_pop(enum gp_range_source source, uint32_t domain)
{
	const bool is_on = gp_range_enter();
	struct gp_range_thread *own = gp_thread.ranges;
	int64_t level;
	uint32_t name = 0;
	if (gp_unlikely(own && own->deeper))
		gp_range_take_ended(own, is_on);
	const uint32_t opener = own ? own->opener : 0; /* after that, which may move it */
	if (gp_unlikely(own && own->deeper)) {
		level = pop_deeper(own, is_on);
	} else {
		const uint32_t depth = own ? own->depth : 0;
		if (gp_likely(depth && own->open[depth - 1].source == source &&
			      own->open[depth - 1].domain == domain))
			level = depth - 1, name = take_top(own);
		else
			level = pop_below(own, source, domain, &name);
		if (gp_unlikely(is_on && !own && gp_thread.has_lost_ranges))
			/* its start was not kept for lack of memory either */
			gp_count_lost(GP_RANGE_POP);
		else if (is_on)
			record_pop(source, domain, own ? own->depth : 0, level < 0);
	}
	if (is_on)
		gp_leave();
	if (gp_unlikely(gp_scope_heeds_ranges()))
		gp_range_heed_pop(own, name, level, opener && level + 1 == (int64_t)opener);
	return level;
}

void gp_range_thread_end(struct gp_thread *t)
{
	struct gp_range_thread *own = t->ranges;
	if (!own)
		return;
	own->deeper = 0; /* their ends are not kept, like their starts */
	while (own->depth) {
		const struct gp_pushed_range *e = &own->open[own->depth - 1];
		/* of two ends, here and on another thread, one counts */
		if (e->handle && !gp_range_handle_claim(&own->handles->of[e->handle - 1]))
			gp_range_take_ended_now(own);
		else
			gp_range_pop(e->source, e->domain);
	}
}

void gp_range_resumed(void)
{
	struct gp_range_thread *own = gp_thread.ranges;
	if (own)
		gp_range_take_ended(own, true);
	for (uint32_t k = 0; own && k < own->depth; k++) {
		const struct gp_pushed_range *e = &own->open[k];
		if (e->handle) /* seq_cst: see gp_range_handle_end */
			atomic_store(&own->handles->of[e->handle - 1].owner, gp_range_owner_now());
		gp_range_need_written(e->name, &(struct gp_range){ .name = e->name });
		gp_put((struct gp_record){ .kind = GP_RANGE_RESUMED,
					   .device = GP_DEVICE_UNKNOWN,
					   .aux = e->name,
					   .range_resumed = { .source = e->source,
							      .domain = e->domain,
							      .depth = k,
							      .since = e->time } });
	}
	if (own && gp_range_has_ended(own)) /* meanwhile: its end may not be recorded yet */
		gp_range_take_ended(own, true);
}
