/*
 * Uses by stack and the meaning of its addresses, kind of memory, reason without a stack, range and
 * rule: one row each, found by hash. Memory grows with the number of different ones.
 */
#ifndef GP_USE_TABLE_H
#define GP_USE_TABLE_H

#include "../../gpuprof.h"
#include "../../read/tables/row_table.h"
#include "../phases/range_path.h"
#include "module_epochs.h"

struct gp_use_table {
	const struct gp_module_epochs *epochs; /* set by the caller */
	struct gp_range_paths *ranges;	       /* likewise; NULL: ranges are not needed */
	struct gp_roles *roles;		       /* likewise; NULL: roles are not needed */
	struct gp_row_table rows;	       /* of struct gp_use */
};

void gp_use_table_release(struct gp_use_table *table);
/*
 * The row equal to `like` (stack, at_ns, without, space, is_segment, range, rule); adds one if
 * there is none. NULL: out of memory.
 */
struct gp_use *gp_use_table_get(struct gp_use_table *table, const struct gp_use *like);
/*
 * Sorts by bytes, highest first, then by stack, so that reports are stable. The caller frees the
 * rows; the table becomes empty.
 */
struct gp_use *gp_use_table_take(struct gp_use_table *table, size_t *uses);

/* A copy, sorted by stack. NULL: out of memory. */
struct gp_use *gp_uses_by_stack(const struct gp_use *use, size_t uses);

#endif
