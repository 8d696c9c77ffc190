/*
 * Which ranges are open: the stack of each thread, and those that were started and may end on
 * another one. The drain thread keeps one for checkpoints, a reader replays into one: the same
 * code. Bounded, memory from mmap only, no I/O, no threads. Each event has its depth, so
 * that events that are missing cost the ranges they were about and none that follow.
 */
#ifndef GP_OPEN_RANGES_H
#define GP_OPEN_RANGES_H

#include "../format/event.h"

#define GP_RANGES_STARTED 4096u /* open at once */

struct gp_open_range {
	uint64_t time; /* ticks, when it was opened */
	uint64_t order;
	uint64_t number; /* of a started one; pushed ones have none: 0 */
	uint32_t name, domain;
	/* enum gp_range_source; 0: something lies there whose beginning is not known, or ... */
	uint32_t source;
	uint32_t is_gone; /* ... that ended on another thread, and whose place is not free yet */
	uint32_t thread;  /* that opened it */
	uint32_t is_told; /* again, of a started one, since recording went on */
	uint64_t mark;	  /* the watcher's own, 0 at first */
};

struct gp_range_stack {
	uint32_t thread;
	uint32_t depth; /* 0: a place that is free */
	struct gp_open_range range[GP_RANGES_DEEP];
};

/*
 * How it ended: as its thread recorded, or unseen, by the moment at which it was no longer there.
 */
enum gp_range_end { GP_RANGE_ENDED, GP_RANGE_UNSEEN };

/* The observer. `stack`: with the range on top, or of which it is gone; NULL: started ones. */
struct gp_range_watch {
	void (*opened)(void *context, struct gp_open_range *range,
		       const struct gp_range_stack *stack);
	void (*closed)(void *context, const struct gp_open_range *range, enum gp_range_end how,
		       const struct gp_record *by);
	void *context;
};

struct gp_range_counts {
	uint64_t unbalanced; /* ends of ranges that were not open */
	uint64_t unseen;     /* ranges whose end is missing, or whose beginning is */
	uint64_t unkept;     /* of threads beyond the bound, and started beyond it */
};

struct gp_open_ranges;
/* For so many threads with open ranges at once. NULL: no memory. */
struct gp_open_ranges *gp_open_ranges_open(uint32_t threads);
void gp_open_ranges_close(struct gp_open_ranges *ranges);
/* Bytes that the stacks used so far take, and all the rest. */
uint64_t gp_open_ranges_memory(const struct gp_open_ranges *ranges);
/* `watch` lives as long; NULL: no observer. */
void gp_open_ranges_watch(struct gp_open_ranges *ranges, const struct gp_range_watch *watch);

/* Has this kind a meaning here? */
static inline bool gp_is_range(unsigned kind)
{
	return (kind >= GP_RANGE_PUSH && kind <= GP_RANGE_STARTED) || kind == GP_RANGE_OPEN;
}
/* An event of a thread, or a checkpoint's RANGE_OPEN. Others change nothing. */
void gp_open_ranges_apply(struct gp_open_ranges *ranges, uint32_t thread,
			  const struct gp_record *record);
/* That thread has ended. */
void gp_open_ranges_forget(struct gp_open_ranges *ranges, uint32_t thread);

/* NULL: none is open on that thread. */
const struct gp_range_stack *gp_open_ranges_of(const struct gp_open_ranges *ranges,
					       uint32_t thread);
/* Started ones, the newest first: `older_than` is NULL at first. NULL: there is no more. */
const struct gp_open_range *gp_open_ranges_started(const struct gp_open_ranges *ranges,
						   const struct gp_open_range *older_than);
/* Stacks one after the other, in no order; NULL: no more. `*at` is 0 at first. */
const struct gp_range_stack *gp_open_ranges_next(const struct gp_open_ranges *ranges, uint32_t *at);
struct gp_range_counts gp_open_ranges_counts(const struct gp_open_ranges *ranges);
/* Calls `emit` with a RANGE_OPEN for each: what a checkpoint holds. */
void gp_open_ranges_visit(const struct gp_open_ranges *ranges,
			  void (*emit)(void *context, const struct gp_record *), void *context);

#endif
