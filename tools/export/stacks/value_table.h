/*
 * The tables of struct gp_stack_values while it is built: equal texts, frames, stacks and rows are
 * kept once. Used by stack_values.c only.
 */
#ifndef GP_VALUE_TABLE_H
#define GP_VALUE_TABLE_H

#include "../write/pickle.h"
#include "stack_values.h"

#define GP_NO_FRAME UINT32_MAX

/* The stack of an allocation or launch, and the names that users know for it. */
struct gp_stack_place {
	uint32_t stack;
	const char *owner, *op; /* NULL: unknown */
};

struct gp_value_table {
	struct gp_export *e;
	struct gp_stack_values *out;
	struct gp_stack_values_wish wish;
	bool has_phases;
	bool is_out_of_memory;
	uint64_t left_out;		 /* bytes of unknown devices */
	struct gp_module_epochs *epochs; /* NULL: without stacks */
	struct gp_pickle_rows texts, frames, stacks, rows;
	struct gp_pickle_rows places, operations; /* looked up before */
	size_t indexes, room_index, room_frame, room_stack, room_row;
	size_t place_count, room_place;
	struct gp_stack_place *place;
	struct gp_frame found[GP_FRAMES_MAX + 1];
	uint32_t list[GP_FRAMES_MAX + 1];
};

/* The row of a key, whose memo is 1 + an index. NULL: out of memory. */
struct gp_pickle_row *gp_table_key(struct gp_value_table *table, struct gp_pickle_rows *rows,
				   uint64_t key, uint64_t more);
/* A copy that lives as long as the table; equal texts have one address. */
const char *gp_table_text(struct gp_value_table *table, const char *text);
/* The index of a frame that equals this one, whose texts live as long as the table. */
uint32_t gp_table_frame(struct gp_value_table *table, const struct gp_value_frame *frame);
/* A stack of one frame, which is a reason: "(no stack was recorded)". */
struct gp_stack_place gp_table_reason(struct gp_value_table *table, const char *reason);
/* The place of a recorded stack. */
struct gp_stack_place gp_table_place(struct gp_value_table *table, uint32_t stack, int64_t at_ns);
/* The row with this stack and these labels. NULL: out of memory. Valid until the next call. */
struct gp_value_row *gp_table_row(struct gp_value_table *table, const struct gp_value_row *like);

/* The name of a frame without one, "libc.so.6+0x1f40": its place. */
void gp_frame_place(const struct gp_frame *frame, char *out, size_t room);

#endif
