/*
 * Reports acts. Each act changes the reported state, and an act that does not fit that state is
 * never reported. Shared by history_spans.c, which replays, history.c, which follows events, and
 * act_match.c, which compares with the required state.
 */
#ifndef GP_TRACE_BUILDER_H
#define GP_TRACE_BUILDER_H

#include "../../read/file/recording.h"
#include "../../state/looks.h"
#include "act_table.h"

/* Driver memory without a use so far: the next events show whether the framework uses it. */
struct gp_act_pending {
	struct gp_known_block known;
	uint64_t mapped_at; /* PHYSICAL: its address, 0: not mapped yet */
	uint32_t thread;
	uint64_t until; /* number of events */
};

struct gp_trace_builder {
	struct gp_recording *recording;
	struct gp_history *history;
	bool (*visit)(void *context, const struct gp_act *);
	void *context;
	struct gp_row_table block, outside; /* struct gp_known_block rows */
	struct gp_known_segments segments;
	struct gp_act_pending *held;
	size_t helds;
	uint64_t handle_address; /* the next address to give to a handle */
	uint64_t physicals;	 /* number of them in `outside` */
	struct gp_looks looks;
	bool is_due; /* compare with the live state once there are looks for it */
	bool has_reported[GP_DEVICES + 1]; /* its allocator reports its segments itself */
	/* Of the current act: its time, its stack, and whether an event reported it. */
	int64_t at_ns;
	uint32_t stack;
	bool is_reported;
	bool is_quiet; /* report no acts: the state before the first act */
	bool is_over;  /* `visit` returned false */
	bool is_out_of_memory;
};

void gp_trace_builder_release(struct gp_trace_builder *builder);
/* history.c: applies an event, and reports its meaning. GP_END: `visit` ended the replay. */
enum gp_status gp_trace_step(struct gp_trace_builder *builder, const struct gp_record *record,
			     uint32_t thread);

/* An act that changes no live memory: OOM, SNAPSHOT. `arena`: its number. */
void gp_trace_add(struct gp_trace_builder *builder, struct gp_act *act, uint32_t arena);

/* The range must be free: see gp_trace_end_range. The act gets its fields from `segment`. */
void gp_trace_add_segment(struct gp_trace_builder *builder, const struct gp_known_segment *segment);
/*
 * Reports the parts of the range that are not reported yet. Existing segments without an arena get
 * its arena.
 */
void gp_trace_add_missing(struct gp_trace_builder *builder, const struct gp_known_segment *range);
/* Converts a live entry to a segment, or to a block or memory outside of the framework. */
struct gp_known_segment gp_known_segment_of(const struct gp_trace_builder *builder,
					    const struct gp_live_entry *entry);
struct gp_known_block gp_known_block_of(const struct gp_trace_builder *builder,
					const struct gp_live_entry *entry);
/*
 * Ends the segments in the range, after the blocks in them. Without looks they stay until the next
 * comparison with the live state. gp_trace_add_segment is delayed in the same way.
 */
void gp_trace_end_range(struct gp_trace_builder *builder, uint64_t from, uint64_t to);

/* False: it lies in no segment. An older block at its address ends first. */
bool gp_trace_add_block(struct gp_trace_builder *builder, const struct gp_known_block *block);
/*
 * The end of a block has two steps: a free that other streams must complete, and its completion.
 * gp_trace_end_block reports the missing steps.
 */
void gp_trace_hold_block(struct gp_trace_builder *builder, struct gp_known_block *block);
void gp_trace_end_block(struct gp_trace_builder *builder, struct gp_known_block *block);

/* The driver's memory; its key is the order of its allocation. Its address may be replaced. */
void gp_trace_add_outside(struct gp_trace_builder *builder, const struct gp_known_block *outside);
void gp_trace_end_outside(struct gp_trace_builder *builder, struct gp_known_block *outside);

/* act_pending.c: the driver's memory that is held back, by the order of its allocation */
struct gp_act_pending *gp_held_find(struct gp_trace_builder *builder, uint64_t order);
void gp_held_drop(struct gp_trace_builder *builder, struct gp_act_pending *held);
/* No use was found: it counts as outside. */
void gp_trace_add_held(struct gp_trace_builder *builder, const struct gp_act_pending *held);
/* It belongs to the framework, even if it was reported as outside. */
void gp_held_claim(struct gp_trace_builder *builder, uint64_t order);
/* Call it after an ALLOC of this thread. Memory of the driver is held back. */
void gp_held_add(struct gp_trace_builder *builder, const struct gp_record *record, uint32_t thread);
/*
 * Call it after an event of a thread; NULL: after the last one. Reports held memory that no further
 * event can assign to the framework.
 */
void gp_held_settle(struct gp_trace_builder *builder, const struct gp_record *record,
		    uint32_t thread);

/*
 * act_match.c: makes the reported state equal to the live state of the recording. Driver memory
 * that is held back counts by its current state. The acts of this comparison have is_reported
 * false.
 */
void gp_act_match_live(struct gp_trace_builder *builder);
/* The same if there are looks for it, else later: a recording may require it at each event. */
void gp_act_match_soon(struct gp_trace_builder *builder);
/* Makes only the framework's segments and blocks equal to those of `memory`. */
void gp_act_match_memory(struct gp_trace_builder *builder, const struct gp_memory *memory);
/* True: this driver memory now belongs to the framework. `mapped_at`: PHYSICAL only. */
bool gp_act_is_framework(const struct gp_live *live, const struct gp_known_block *known,
			 uint64_t mapped_at);

#endif
