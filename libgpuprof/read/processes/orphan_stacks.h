/*
 * The stacks that records in a dead process's rings refer to, from the table of stacks beside the
 * rings. They are returned as definitions, even if the recording has them already. The ring file's
 * contents are not trusted. Not for tools/.
 */
#ifndef GP_ORPHAN_STACKS_H
#define GP_ORPHAN_STACKS_H

#include "../file/recording.h"

/*
 * Calls `put` with the slots of DEFINE records, at most GP_BLOCK_RECORDS at a time, until it fails
 * or all stacks are visited.
 */
enum gp_status gp_orphan_stacks_visit(const struct gp_ring_file *rings,
				      enum gp_status (*put)(void *context,
							    const struct gp_record *slots,
							    uint64_t count),
				      void *context);

#endif
