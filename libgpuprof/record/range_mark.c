/* A thread's own stack of ranges, its memo of names, and the events. */
#include "range_mark.h"

#include <errno.h>
#include <sys/mman.h>

#include "native_bounds.h"
#include "recorder.h"
#include "scope_range.h"

#define MEMO 256u

struct open_range {
	uint64_t time;
	uint32_t name, domain;
	uint32_t source;
	uint32_t frame; /* bytes from its words, which hold `time`, to the stack's end; 0: none */
};

/* By where the text lies, which callers seldom change; the text itself is compared. */
struct remembered {
	const char *text;
	uint32_t domain, name;
};

struct gp_range_thread {
	uint32_t depth;
	uint32_t deeper; /* open beyond the bound */
	uint32_t opener; /* 1 + place of the one that opened what is captured; 0: none */
	uint32_t frames; /* of open ranges */
	struct open_range open[GP_RANGES_DEEP];
	struct remembered memo[MEMO];
	struct gp_native_bounds bounds; /* of frames */
};
_Static_assert(sizeof(struct gp_range_thread) <= 8192, "two pages");

static _Atomic uint64_t numbers;

/* Children inherit it: what was open goes on in them. */
static GP_COLD struct gp_range_thread *map_own(void)
{
	int kept = errno;
	void *own = mmap(NULL, sizeof(struct gp_range_thread), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (own != MAP_FAILED && gp_thread_end_is_told())
		gp_thread.ranges = own;
	else if (own != MAP_FAILED)
		munmap(own, sizeof(struct gp_range_thread));
	errno = kept;
	return gp_thread.ranges;
}

GP_HOT struct gp_range_thread *own_of(void)
{
	struct gp_range_thread *own = gp_thread.ranges;
	return gp_likely(own) ? own : map_own();
}

void gp_range_thread_close(struct gp_thread *t)
{
	if (t->ranges)
		munmap(t->ranges, sizeof *t->ranges);
	t->ranges = NULL;
}

/* Ranges begin no recording: before the first event of a process there is none. */
GP_HOT bool enter(void)
{
	return atomic_load_explicit(&gp_local->word, memory_order_relaxed) != 0 &&
	       gp_enter_level(GP_LEVEL_MEMORY);
}

GP_HOT uint32_t name_of(struct gp_range_thread *own, const struct gp_range *range)
{
	if (range->name || !range->text)
		return range->name;
	const uint64_t hash =
		((uint64_t)(uintptr_t)range->text ^ range->domain) * 0x9e3779b97f4a7c15u;
	struct remembered *r = &own->memo[hash >> 56];
	if (gp_likely(r->text == range->text && r->domain == range->domain &&
		      gp_range_name_is(gp_range_name_of(r->name), range->domain, range->text,
				       range->bytes)))
		return r->name;
	uint32_t name = gp_range_name(range->domain, range->text, range->bytes);
	if (name)
		*r = (struct remembered){ range->text, range->domain, name };
	return name;
}
_Static_assert(MEMO == 1u << 8, "the hash's highest byte chooses");

/* The recording says what the name is, or that one is missing. */
GP_HOT void need_told(uint32_t name, const struct gp_range *range)
{
	if (gp_unlikely(name == 0)) {
		if (range->text)
			gp_range_name_refuse();
	} else if (gp_unlikely(atomic_load_explicit(&gp_range_name_of(name)->told,
						    memory_order_relaxed) !=
			       gp_thread.generation)) {
		gp_range_name_tell(name);
	}
}

/* RANGE_PUSH, RANGE_START and MARK have the same fields; v2: depth, or number. */
GP_HOT void record_begin(enum gp_kind kind, const struct gp_range *range, uint32_t name,
			 uint64_t v2, uint64_t time)
{
	struct gp_record *r = gp_reserve_at(kind, time);
	if (gp_unlikely(!r))
		return;
	r->device = GP_DEVICE_UNKNOWN;
	r->code = (uint16_t)range->payload_type;
	r->aux = name;
	r->range_push.source = range->source;
	r->range_push.domain = range->domain;
	r->range_push.depth = v2;
	r->range_push.payload = range->payload;
	gp_commit(r);
}

/* Not kept, so neither is its end. */
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
 * A frame that lives holds what was written there: the memory is the thread's own stack, which can
 * be read whatever became of the frame. One that a jump left is below the stack's pointer, or, when
 * the stack has grown over it again, holds something else; until it does, the range goes on.
 */
static GP_COLD bool is_left(const struct gp_range_thread *own, const struct open_range *e)
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

/* The innermost range of that source; NULL: none is open, or it lies beyond the bound. */
static const struct open_range *innermost(const struct gp_range_thread *own, uint32_t source)
{
	for (uint32_t k = own->deeper == 0 ? own->depth : 0; k-- > 0;)
		if (own->open[k].source == source && own->open[k].domain == 0)
			return &own->open[k];
	return NULL;
}

/* Frames of older ranges lie above: the first that is not left ends it. */
static GP_COLD void end_left(const struct gp_range_thread *own)
{
	uint32_t source = 0;
	for (uint32_t k = own->depth; source == 0 && k-- > 0;)
		source = own->open[k].frame != 0 ? own->open[k].source : 0;
	const struct open_range *e;
	while (own->frames != 0 && (e = innermost(own, source)) != NULL && e->frame != 0 &&
	       is_left(own, e))
		gp_range_pop((enum gp_range_source)source, 0);
}

static GP_COLD void keep_frame(struct gp_range_thread *own, struct open_range *e,
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

GP_COLD void gp_range_pop_frame(enum gp_range_source source, const struct gp_range_frame *frame)
{
	const struct gp_range_thread *own = gp_thread.ranges;
	if (own && !frame)
		end_left(own);
	if (!own || !frame || frame->word[0] == 0) { /* its beginning was not kept */
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

GP_HOT_TEXT uint32_t gp_range_push(const struct gp_range *range)
{
	if (gp_unlikely(gp_thread.ranges && gp_thread.ranges->frames))
		end_left(gp_thread.ranges);
	const bool is_opener = gp_unlikely(gp_scope_heeds_ranges()) && gp_scope_range_pushed(range);
	/* first: what is open by then is told again where recording begins with this event */
	const bool is_on = enter();
	struct gp_range_thread *own = own_of();
	if (gp_unlikely(!own)) {
		if (is_on) {
			gp_count_lost(GP_RANGE_PUSH);
			gp_leave();
		}
		return 0;
	}
	const uint32_t depth = own->depth;
	if (gp_unlikely(depth == GP_RANGES_DEEP))
		return push_deeper(own, is_on);
	const uint32_t name = name_of(own, range);
	if (is_on)
		need_told(name, range);
	const uint64_t time = gp_clock_now();
	own->open[depth] = (struct open_range){ time, name, range->domain, range->source, 0 };
	own->depth = depth + 1;
	if (gp_unlikely(range->frame))
		keep_frame(own, &own->open[depth], range->frame);
	if (gp_unlikely(is_opener))
		own->opener = depth + 1;
	if (is_on) {
		record_begin(GP_RANGE_PUSH, range, name, depth, time);
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
		*name = own->open[k].name;
		own->frames -= own->open[k].frame != 0;
		own->depth--;
		/* the opener, if it lies above, is one lower now */
		own->opener -= own->opener > k + 1;
		for (uint32_t above = k; above < own->depth; above++)
			own->open[above] = own->open[above + 1];
		return k;
	}
	return -1;
}

static GP_COLD void heed_pop(struct gp_range_thread *own, uint32_t name, int64_t level,
			     bool is_opener)
{
	if (is_opener)
		own->opener = 0;
	if (level >= 0)
		gp_scope_range_popped(name, is_opener);
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
	struct gp_record *r = gp_reserve(GP_RANGE_POP);
	if (gp_unlikely(!r))
		return;
	r->device = GP_DEVICE_UNKNOWN;
	r->aux = is_unbalanced;
	r->range_pop.source = source;
	r->range_pop.domain = domain;
	r->range_pop.depth = depth;
	gp_commit(r);
}

GP_HOT uint32_t take_top(struct gp_range_thread *own)
{
	const struct open_range *top = &own->open[--own->depth];
	own->frames -= top->frame != 0;
	return top->name;
}

GP_HOT_TEXT int64_t gp_range_pop(enum gp_range_source source, uint32_t domain)
{
	const bool is_on = enter();
	struct gp_range_thread *own = gp_thread.ranges;
	int64_t level;
	uint32_t name = 0, opener = own ? own->opener : 0;
	if (gp_unlikely(own && own->deeper)) {
		level = pop_deeper(own, is_on);
	} else {
		const uint32_t depth = own ? own->depth : 0;
		if (gp_likely(depth && own->open[depth - 1].source == source &&
			      own->open[depth - 1].domain == domain))
			level = depth - 1, name = take_top(own);
		else
			level = pop_below(own, source, domain, &name);
		if (is_on)
			record_pop(source, domain, own ? own->depth : 0, level < 0);
	}
	if (is_on)
		gp_leave();
	if (gp_unlikely(gp_scope_heeds_ranges()))
		heed_pop(own, name, level, opener && level + 1 == (int64_t)opener);
	return level;
}

/* Of a range that no stack holds, or a mark. */
GP_HOT void record_apart(enum gp_kind kind, const struct gp_range *range, uint64_t number)
{
	if (!enter())
		return;
	struct gp_range_thread *own = own_of();
	if (gp_likely(own)) {
		const uint32_t name = name_of(own, range);
		need_told(name, range);
		record_begin(kind, range, name, number, gp_clock_now());
	} else {
		gp_count_lost(kind);
	}
	gp_leave();
}

GP_HOT_TEXT uint64_t gp_range_start(const struct gp_range *range)
{
	const uint64_t number = atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;
	if (gp_unlikely(gp_scope_heeds_ranges()))
		gp_scope_range_started(range, number);
	record_apart(GP_RANGE_START, range, number);
	return number;
}

GP_HOT_TEXT void gp_range_mark(const struct gp_range *range)
{
	record_apart(GP_MARK, range, 0);
}

GP_HOT void record_end(enum gp_range_source source, uint64_t number)
{
	if (!enter())
		return;
	struct gp_record *r = gp_reserve(GP_RANGE_END);
	if (gp_likely(r)) {
		r->device = GP_DEVICE_UNKNOWN;
		r->range_end.source = source;
		r->range_end.range = number;
		gp_commit(r);
	}
	gp_leave();
}

GP_HOT_TEXT void gp_range_end(enum gp_range_source source, uint64_t number)
{
	record_end(source, number);
	if (gp_unlikely(gp_scope_heeds_ranges()))
		gp_scope_range_finished(number);
}

void gp_range_thread_end(struct gp_thread *t)
{
	struct gp_range_thread *own = t->ranges;
	if (!own)
		return;
	own->deeper = 0; /* as their beginnings their ends are not kept */
	while (own->depth)
		gp_range_pop(own->open[own->depth - 1].source, own->open[own->depth - 1].domain);
}

void gp_range_again(void)
{
	const struct gp_range_thread *own = gp_thread.ranges;
	for (uint32_t k = 0; own && k < own->depth; k++) {
		const struct open_range *e = &own->open[k];
		need_told(e->name, &(struct gp_range){ .name = e->name });
		struct gp_record *r = gp_reserve(GP_RANGE_AGAIN);
		if (!r)
			continue;
		r->device = GP_DEVICE_UNKNOWN;
		r->aux = e->name;
		r->range_again.source = e->source;
		r->range_again.domain = e->domain;
		r->range_again.depth = k;
		r->range_again.since = e->time;
		gp_commit(r);
	}
}
