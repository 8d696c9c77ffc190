/*
 * Stacks and frames as rows, once for each meaning of a stack's id: code that is unloaded may give
 * an address, and so a stack, another meaning.
 */
#ifndef GP_TABLE_STACKS_H
#define GP_TABLE_STACKS_H

#include "../write/pickle.h"
#include "tables.h"

/*
 * A stack of 512 frames may take ten bytes of a recording, and each frame is a row. So stacks have
 * no frames beyond that many. Recordings of real jobs have less than one frame in each byte.
 */
static inline uint64_t gp_table_frames_most(const struct gp_info *info)
{
	return (1u << 20) + 2 * info->file_bytes;
}

struct gp_table_stacks {
	struct gp_rows *rows;
	struct gp_recording *recording;
	struct gp_module_epochs *epochs; /* NULL: without stacks */
	bool has_stacks;
	uint32_t stacks, frames;
	uint64_t frames_left; /* rows of stack_frames */
	struct gp_pickle_rows stack, frame;
	struct gp_frame found[GP_FRAMES_MAX];
};
/* NULL: rows->status has the reason. */
struct gp_table_stacks *gp_table_stacks_open(const struct gp_export *e, struct gp_rows *rows);
void gp_table_stacks_close(struct gp_table_stacks *stacks);
/*
 * The number of a recorded stack, from 1; 0: there is none, or stacks are left out. Writes the rows
 * of a new one, so no other row may be under way. `at_ns`: as of gp_recording_stack.
 */
uint32_t gp_table_stacks_find(struct gp_table_stacks *stacks, uint32_t id, int64_t at_ns);

#endif
