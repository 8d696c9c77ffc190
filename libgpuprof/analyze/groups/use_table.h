/*
 * Uses by (stack and what its addresses mean, kind of memory, reason without a stack, range): a row
 * each, found by hash. Memory by the number of different ones.
 */
#ifndef GP_USE_TABLE_H
#define GP_USE_TABLE_H

#include "../../gpuprof.h"
#include "../../read/tables/row_table.h"
#include "../phases/range_path.h"
#include "module_epochs.h"

struct gp_use_table {
	const struct gp_module_epochs *epochs; /* the caller sets it */
	struct gp_range_paths *ranges;	       /* likewise; NULL: nobody asked for ranges */
	struct gp_row_table rows;	       /* of struct gp_use */
};

void gp_use_table_release(struct gp_use_table *table);
/*
 * The row like `like` (stack, at_ns, without, space, is_segment, range), made when there is none;
 * NULL: no memory.
 */
struct gp_use *gp_use_table_get(struct gp_use_table *table, const struct gp_use *like);
/*
 * Most bytes first; where they are equal by stack, so that reports do not change. The rows are the
 * caller's, to be freed; the table is empty.
 */
struct gp_use *gp_use_table_take(struct gp_use_table *table, size_t *uses);

/* A copy, by stack. NULL: no memory. */
struct gp_use *gp_uses_by_stack(const struct gp_use *use, size_t uses);

#endif
