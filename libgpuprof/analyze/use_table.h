/*
 * Uses by (stack and what its addresses mean, kind of memory, reason without a stack): a row each,
 * found by hash. Memory by the number of different ones.
 */
#ifndef GP_USE_TABLE_H
#define GP_USE_TABLE_H

#include "../gpuprof.h"
#include "module_epochs.h"

struct gp_use_table {
	const struct gp_module_epochs *epochs; /* the caller sets it */
	struct gp_use *use;
	size_t uses;
	uint32_t *place; /* 1 + row; 0: empty */
	size_t places;	 /* a power of two; there is room for half as many rows */
};

void gp_use_table_release(struct gp_use_table *table);
/*
 * The row like `like` (stack, at_ns, without, space, is_segment), made when there is none; NULL: no
 * memory.
 */
struct gp_use *gp_use_table_get(struct gp_use_table *table, const struct gp_use *like);
/*
 * Most bytes first; where they are equal by stack, so that reports do not change. Nothing can be
 * got afterwards.
 */
void gp_use_table_sort(struct gp_use_table *table);

#endif
