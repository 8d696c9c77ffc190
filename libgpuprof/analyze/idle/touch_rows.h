/*
 * Rows by stack, space, device and kind. Each adds up unused or wasted memory and shows its largest
 * part. Memory grows with different stacks.
 */
#ifndef GP_TOUCH_ROWS_H
#define GP_TOUCH_ROWS_H

#include "../../gpuprof.h"
#include "../../read/tables/row_table.h"

struct gp_touch_row {
	struct gp_idle_row row;
	double largest;	       /* weight of the part that the row shows */
	uint64_t of_last_half; /* of its count: in the last half of the launches */
};

/*
 * Adds an allocation, with its own bytes and weight, to a table of struct gp_touch_row. The key of
 * its stack is added later. False: out of memory.
 */
bool gp_touch_rows_add(struct gp_row_table *rows, const struct gp_idle_row *part,
		       bool is_of_last_half);

/*
 * The key of a stack, as groups have it; `without` (may be NULL) gets the reason for a missing
 * stack. NULL: out of memory.
 */
char *gp_touch_key(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		   const char **without);

#endif
