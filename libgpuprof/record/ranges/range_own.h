/*
 * A thread's own stack of ranges, its memo of names, and how range events are recorded: shared by
 * range_mark.c, range_kept.c and range_start.c.
 */
#ifndef GP_RANGE_OWN_H
#define GP_RANGE_OWN_H

#include "../native/native_bounds.h"
#include "../recorder.h"
#include "range_mark.h"

#define GP_RANGE_MEMO 256u

struct gp_pushed_range {
	uint64_t time;
	uint32_t name, domain;
	uint16_t source;
	uint16_t handle; /* 1 + the place of its handle; 0: none */
	uint32_t frame;	 /* bytes from its words, which hold `time`, to the stack's end; 0: none */
};

/* Keyed by the address of the text, which callers seldom change; the text itself is compared. */
struct gp_range_remembered {
	const char *text;
	uint32_t domain, name;
};

struct gp_range_thread {
	uint32_t depth;
	uint32_t deeper;     /* open beyond the limit */
	uint32_t number;     /* number of the thread among those that ever had ranges */
	uint32_t starts;     /* ranges that it started */
	uint32_t opener;     /* 1 + place of the range that opened the captured span; 0: none */
	uint64_t span;	     /* the span that it opened */
	uint32_t frames;     /* of open ranges */
	uint32_t kept;	     /* open ranges with handles */
	uint32_t ended;	     /* ends counted in the handles that were taken off the stack */
	uint32_t deep_kept;  /* of `kept`, deeper than the limit */
	uint32_t deep_ended; /* of these, as `ended` */
	uint64_t free[GP_RANGES_DEEP / 64]; /* handles, one bit each */
	struct gp_range_handles *handles;
	struct gp_pushed_range open[GP_RANGES_DEEP];
	struct gp_range_remembered memo[GP_RANGE_MEMO];
	struct gp_native_bounds bounds; /* of frames */
};
_Static_assert(sizeof(struct gp_range_thread) <= 8192, "two pages");

/* Maps it; NULL: no memory. */
GP_COLD struct gp_range_thread *gp_range_own_map(void);

GP_HOT struct gp_range_thread *gp_range_own(void)
{
	struct gp_range_thread *own = gp_thread.ranges;
	return gp_likely(own) ? own : gp_range_own_map();
}

/* Ranges do not begin a recording: before the first event of a process there is none. */
GP_HOT bool gp_range_enter(void)
{
	return atomic_load_explicit(&gp_local->word, memory_order_relaxed) != 0 &&
	       gp_enter_level(GP_LEVEL_MEMORY);
}

GP_HOT uint32_t gp_range_name_get(struct gp_range_thread *own, const struct gp_range *range)
{
	if (range->name || !range->text)
		return range->name;
	const uint64_t hash =
		((uint64_t)(uintptr_t)range->text ^ range->domain) * 0x9e3779b97f4a7c15u;
	struct gp_range_remembered *r = &own->memo[hash >> 56];
	if (gp_likely(r->text == range->text && r->domain == range->domain &&
		      gp_range_name_is(gp_range_name_of(r->name), range->text, range->bytes)))
		return r->name;
	uint32_t name = gp_range_name(range->domain, range->text, range->bytes);
	if (name)
		*r = (struct gp_range_remembered){ range->text, range->domain, name };
	return name;
}
_Static_assert(GP_RANGE_MEMO == 1u << 8, "the hash's highest byte chooses");

/* The recording has the name, or counts that one is missing. */
GP_HOT void gp_range_need_written(uint32_t name, const struct gp_range *range)
{
	if (gp_unlikely(name == 0)) {
		if (range->text)
			gp_range_name_refuse();
	} else if (gp_unlikely(atomic_load_explicit(&gp_range_name_of(name)->reported,
						    memory_order_relaxed) !=
			       gp_thread.generation)) {
		gp_range_name_write(name);
	}
}

/*
 * RANGE_PUSH, RANGE_START and MARK have the same fields; v2: depth, or number. Returns the recorded
 * time, which is later if the ring was full.
 */
GP_HOT uint64_t gp_range_record_begin(enum gp_kind kind, const struct gp_range *range,
				      uint32_t name, uint64_t v2, uint64_t time, uint32_t stack)
{
	struct gp_record *r = gp_reserve_at(kind, time);
	if (gp_unlikely(!r))
		return time;
	r->device = GP_DEVICE_UNKNOWN;
	r->code = (uint16_t)range->payload_type;
	r->aux = name;
	r->stack = stack;
	r->range_push.source = range->source;
	r->range_push.domain = range->domain;
	r->range_push.depth = v2;
	r->range_push.payload = range->payload;
	gp_commit(r);
	return r->time;
}

/* ---- range_mark.c's ---- */

/* Moves the ranges above down. Returns its name. */
GP_COLD uint32_t gp_range_take_out(struct gp_range_thread *own, uint32_t place);
/* For ends of ranges that control the captured spans. */
GP_COLD void gp_range_heed_pop(struct gp_range_thread *own, uint32_t name, int64_t level,
			       bool is_opener);

/* ---- range_kept.c's ---- */

/* Removes ranges that ended on other threads. `is_on`: inside. */
GP_COLD void gp_range_take_ended(struct gp_range_thread *own, bool is_on);
GP_COLD void gp_range_take_ended_now(struct gp_range_thread *own);
/* The thread of a range in this recording; 0: it is not recorded there. */
uint64_t gp_range_owner_now(void);

GP_HOT bool gp_range_has_ended(const struct gp_range_thread *own)
{
	return own->kept &&
	       atomic_load_explicit(&own->handles->ended, memory_order_relaxed) != own->ended;
}

#endif
