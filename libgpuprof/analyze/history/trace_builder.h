/*
 * Tells acts: each changes what was told so far, and none is told that does not fit it. Shared by
 * history.c, which follows events, and act_match.c, which compares with what must be there.
 */
#ifndef GP_TRACE_BUILDER_H
#define GP_TRACE_BUILDER_H

#include "../../read/file/recording.h"
#include "../../state/looks.h"
#include "act_table.h"

/* Driver memory that nobody has used yet: the next events tell whether the framework does. */
struct gp_act_pending {
	struct gp_known_block told;
	uint64_t mapped_at; /* PHYSICAL: 0 nowhere yet */
	uint32_t thread;
	uint64_t until; /* events */
};

struct gp_trace_builder {
	struct gp_recording *recording;
	struct gp_history *history;
	bool (*visit)(void *context, const struct gp_act *);
	void *context;
	struct gp_row_table block, outside; /* of struct gp_known_block */
	struct gp_known_segments segments;
	struct gp_act_pending *held;
	size_t helds;
	uint64_t handle_address; /* the next one that is given to a handle */
	uint64_t physicals;	 /* in `outside` */
	struct gp_looks looks;
	bool is_due;		       /* a comparison with what is live, when there are looks */
	bool has_told[GP_DEVICES + 1]; /* its allocator tells of its segments itself */
	/* of the act that is told: who, when, and whether an event says so */
	int64_t at_ns;
	uint32_t stack;
	bool is_told;
	bool is_quiet; /* what was there before the first act */
	bool is_over;  /* `visit` wants no more */
	bool is_out_of_memory;
};

void gp_trace_builder_release(struct gp_trace_builder *teller);

/* An act that changes nothing that lives: OOM, SNAPSHOT. `arena`: its number. */
void gp_tell(struct gp_trace_builder *teller, struct gp_act *act, uint32_t arena);

/* Its place must be free: see gp_tell_range_end. The acts' own fields are taken from `segment`. */
void gp_tell_segment(struct gp_trace_builder *teller, const struct gp_known_segment *segment);
/* What of it is not told yet; segments that are there get its arena if they have none. */
void gp_tell_missing(struct gp_trace_builder *teller, const struct gp_known_segment *range);
/* A live entry as a segment, or as a block or memory outside. */
struct gp_known_segment gp_known_segment_of(const struct gp_trace_builder *teller,
					    const struct gp_live_entry *entry);
struct gp_known_block gp_known_block_of(const struct gp_trace_builder *teller,
					const struct gp_live_entry *entry);
/*
 * Ends what segments there are in the range, after the blocks in them. Without looks they stay: the
 * next comparison with what is live ends them. The same holds for what gp_tell_segment would tell.
 */
void gp_tell_range_end(struct gp_trace_builder *teller, uint64_t from, uint64_t to);

/* False: it lies in no segment. What stood at its address ends before. */
bool gp_tell_block(struct gp_trace_builder *teller, const struct gp_known_block *block);
/* A free that others must complete, or its completion, or both at once. */
void gp_tell_block_pending(struct gp_trace_builder *teller, struct gp_known_block *block);
void gp_tell_block_end(struct gp_trace_builder *teller, struct gp_known_block *block);

/* Of the driver, with the order of its allocation as key; its address may be changed. */
void gp_tell_outside(struct gp_trace_builder *teller, const struct gp_known_block *outside);
void gp_tell_outside_end(struct gp_trace_builder *teller, struct gp_known_block *outside);

/* act_pending.c: the driver's memory that is held, by the order of its allocation */
struct gp_act_pending *gp_held_find(struct gp_trace_builder *teller, uint64_t order);
void gp_held_drop(struct gp_trace_builder *teller, struct gp_act_pending *held);
/* Nobody uses it: it is outside. */
void gp_held_tell(struct gp_trace_builder *teller, const struct gp_act_pending *held);
/* It is the framework's, also where it was taken for outside already. */
void gp_held_claim(struct gp_trace_builder *teller, uint64_t order);
/* Behind an ALLOC of this thread, which is held if it is of memory. */
void gp_held_add(struct gp_trace_builder *teller, const struct gp_record *record, uint32_t thread);
/* Behind an event of a thread, NULL: the last: tells what nobody can be meant to use any more. */
void gp_held_settle(struct gp_trace_builder *teller, const struct gp_record *record,
		    uint32_t thread);

/*
 * act_match.c: makes what was told so far what is live in the recording now; driver memory that is
 * held is taken as what it is now. Whatever has to be told for it is not is_told.
 */
void gp_act_match_live(struct gp_trace_builder *teller);
/* The same when there are looks for it, else later: a recording may ask for it at each event. */
void gp_act_match_soon(struct gp_trace_builder *teller);
/* The framework's segments and blocks alone: makes them those of `memory`. */
void gp_act_match_memory(struct gp_trace_builder *teller, const struct gp_memory *memory);
/* Whether this driver memory is the framework's by now. `mapped_at`: PHYSICAL alone. */
bool gp_act_is_framework(const struct gp_live *live, const struct gp_known_block *told,
			 uint64_t mapped_at);

#endif
