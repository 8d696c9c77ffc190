/*
 * A second thread that decodes the blocks that a merge needs next. It starts with the first block
 * that is queued, on a machine with two cores. A child of fork starts its own.
 */
#ifndef GP_READ_AHEAD_H
#define GP_READ_AHEAD_H

#include "block_list.h"

/* Blocks that are decoded or queued at once. Each takes a buffer of 512 KiB. */
#define GP_AHEAD_MOST 3u

struct gp_read_ahead;

/* NULL: one core, or no memory. */
struct gp_read_ahead *gp_ahead_open(const struct gp_file *file);
/* Waits for the block that is being decoded. NULL does nothing, here and below. */
void gp_ahead_close(struct gp_read_ahead *ahead);
/* True: a block can be queued. */
bool gp_ahead_has_room(const struct gp_read_ahead *ahead);
/*
 * Queues `ref`. `out` has GP_BLOCK_RECORDS slots and stays untouched by the caller until the block
 * is taken or dropped; `context` comes back with it.
 */
void gp_ahead_queue(struct gp_read_ahead *ahead, const struct gp_block_ref *ref,
		    struct gp_record *out, void *context);
/*
 * The result of a queued block, as gp_file_decode returned it, and its context. Waits for it;
 * `room` decodes other queued blocks meanwhile. False: the block is not queued.
 */
bool gp_ahead_take(struct gp_read_ahead *ahead, const struct gp_block_ref *ref,
		   struct gp_block_room *room, enum gp_status *status, uint64_t *slots,
		   void **context);
/* Removes one block, decoded or not, and returns its context. NULL: there is none. */
void *gp_ahead_drop(struct gp_read_ahead *ahead);

#endif
