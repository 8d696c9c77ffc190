/*
 * Rows by stack, space, device and kind: what rests, or what is wasted, added up; each shows the
 * largest part of it. Memory by different stacks.
 */
#ifndef GP_TOUCH_ROWS_H
#define GP_TOUCH_ROWS_H

#include "../../gpuprof.h"
#include "../../read/tables/row_table.h"

struct gp_touch_row {
	struct gp_idle_row row;
	double largest;	       /* weight of the part that it shows */
	uint64_t of_last_half; /* of its count: made in the last half of the run's launches */
};

/*
 * Adds an allocation, with its own bytes and weight, to a table of struct gp_touch_row; what its
 * stack is called is added last. False: out of memory.
 */
bool gp_touch_rows_add(struct gp_row_table *rows, const struct gp_idle_row *part,
		       bool is_of_last_half);

/*
 * The key of a stack, as groups have it; `without` (may be NULL): why there is none. NULL: no
 * memory.
 */
char *gp_touch_key(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		   const char **without);

#endif
