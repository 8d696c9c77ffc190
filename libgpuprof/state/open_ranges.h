/*
 * The open ranges: a stack for each thread, and the started ranges, which may end on another
 * thread. The drain thread keeps one for checkpoints; a reader replays into one with the same code.
 * Bounded, memory from mmap only, no I/O, no threads. Each event has its depth, so missing events
 * affect only their own ranges.
 */
#ifndef GP_OPEN_RANGES_H
#define GP_OPEN_RANGES_H

#include "../format/event.h"

#define GP_RANGES_STARTED 4096u /* limit of open ranges */

struct gp_open_range {
	uint64_t time; /* ticks of its start */
	uint64_t order;
	uint64_t number; /* of a started range; 0: a pushed one */
	uint32_t name, domain;
	/* enum gp_range_source; 0: a range with an unknown start, or ... */
	uint32_t source;
	uint32_t is_gone; /* ... one that ended on another thread, with its place not free yet */
	uint32_t thread;  /* thread that opened it */
	uint32_t is_reported; /* a started range that was recorded again after recording resumed */
	uint64_t mark;	      /* the watcher's own value, 0 at first */
};

struct gp_range_stack {
	uint32_t thread;
	uint32_t depth; /* 0: a free place */
	struct gp_open_range range[GP_RANGES_DEEP];
};

/*
 * How it ended: by its thread's event, or unseen before the moment at which it was found missing.
 */
enum gp_range_end { GP_RANGE_ENDED, GP_RANGE_UNSEEN };

/* The observer. `stack`: with the range on top, or after its removal; NULL: a started range. */
struct gp_range_watch {
	void (*opened)(void *context, struct gp_open_range *range,
		       const struct gp_range_stack *stack);
	void (*closed)(void *context, const struct gp_open_range *range, enum gp_range_end how,
		       const struct gp_record *by);
	void *context;
};

struct gp_range_counts {
	uint64_t unbalanced; /* ends of ranges that were not open */
	uint64_t unseen;     /* ranges with a missing start or end */
	uint64_t unkept;     /* ranges of threads beyond the limit, or started beyond it */
};

struct gp_open_ranges;
/* For so many threads with open ranges at once. NULL: out of memory. */
struct gp_open_ranges *gp_open_ranges_open(uint32_t threads);
void gp_open_ranges_close(struct gp_open_ranges *ranges);
/* Bytes used by all stacks so far and the rest. */
uint64_t gp_open_ranges_memory(const struct gp_open_ranges *ranges);
/* `watch` must outlive it; NULL: no observer. */
void gp_open_ranges_watch(struct gp_open_ranges *ranges, const struct gp_range_watch *watch);

/* True if this kind is about ranges. */
static inline bool gp_is_range(unsigned kind)
{
	return (kind >= GP_RANGE_PUSH && kind <= GP_RANGE_STARTED) || kind == GP_RANGE_OPEN;
}
/* Applies an event of a thread, or a checkpoint's RANGE_OPEN. Ignores others. */
void gp_open_ranges_apply(struct gp_open_ranges *ranges, uint32_t thread,
			  const struct gp_record *record);
/* Call when that thread has ended. */
void gp_open_ranges_forget(struct gp_open_ranges *ranges, uint32_t thread);

/* NULL: no range is open on that thread. */
const struct gp_range_stack *gp_open_ranges_of(const struct gp_open_ranges *ranges,
					       uint32_t thread);
/* Started ranges, newest first: `older_than` is NULL at first. NULL: no more. */
const struct gp_open_range *gp_open_ranges_started(const struct gp_open_ranges *ranges,
						   const struct gp_open_range *older_than);
/* Stacks one after the other, in no order; NULL: no more. `*at` is 0 at first. */
const struct gp_range_stack *gp_open_ranges_next(const struct gp_open_ranges *ranges, uint32_t *at);
struct gp_range_counts gp_open_ranges_counts(const struct gp_open_ranges *ranges);
/* Calls `emit` with a RANGE_OPEN for each open range, for a checkpoint. */
void gp_open_ranges_visit(const struct gp_open_ranges *ranges,
			  void (*emit)(void *context, const struct gp_record *), void *context);

#endif
