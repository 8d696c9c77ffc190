/*
 * Rows by stack: what rests and what is wasted, added up; each shows the largest part of it. One
 * table for each state or kind of waste of a device; memory by different stacks.
 */
#ifndef GP_TOUCH_ROWS_H
#define GP_TOUCH_ROWS_H

#include "../../gpuprof.h"
#include "../../read/tables/row_table.h"

/* An allocation, as it goes into a row. */
struct gp_touch_part {
	uint32_t stack;
	uint8_t space;
	uint64_t bytes;
	int64_t born_ns, first_ns, last_ns, next_ns, freed_ns;
	int64_t idle_ns;
	uint64_t idle_launches;
	double weight;
	bool is_of_last_half; /* of the run's launches */
};

struct gp_touch_row {
	struct gp_touch_part largest; /* by weight */
	uint64_t bytes, count;
	uint64_t of_last_half; /* of count */
	double weight;
};

/* To a table of struct gp_touch_row. False: out of memory. */
bool gp_touch_rows_add(struct gp_row_table *rows, const struct gp_touch_part *part);
/* Most weight first, then most bytes, then by stack. Nothing can be added afterwards. */
void gp_touch_rows_sort(struct gp_row_table *rows);

/*
 * The key of a stack, as groups have it; `without` (may be NULL): why there is none. NULL: no
 * memory.
 */
char *gp_touch_key(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		   const char **without);

#endif
