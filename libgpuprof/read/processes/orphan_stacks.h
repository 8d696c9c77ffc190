/*
 * The stacks that the records left in a dead process's rings name, from the table of stacks that
 * lies beside them: as definitions, whatever the recording has of them already. Nothing in the ring
 * file is trusted. Not for tools/.
 */
#ifndef GP_ORPHAN_STACKS_H
#define GP_ORPHAN_STACKS_H

#include "../file/recording.h"

/*
 * Calls `put` with the slots of DEFINE records, at most GP_BLOCK_RECORDS at a time, until it fails
 * or all are told.
 */
enum gp_status gp_orphan_stacks_visit(const struct gp_ring_file *rings,
				      enum gp_status (*put)(void *context,
							    const struct gp_record *slots,
							    uint64_t count),
				      void *context);

#endif
