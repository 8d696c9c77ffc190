/* The rows of `gpuprof waits`: places that wait, which are named by their lines of code. */
#ifndef GP_WAIT_ROWS_H
#define GP_WAIT_ROWS_H

#include "../../gpuprof.h"
#include "../../read/tables/row_table.h"

/* Sums of a damaged recording may exceed any bound. */
static inline void gp_ns_add(int64_t *sum, int64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = INT64_MAX;
}

/* A place that waits, by reason and stack. */
struct gp_wait_place {
	uint64_t key;
	struct gp_wait_row sum; /* without texts */
	int64_t most_ns;	/* of the call that `sum.stack` is of */
};

void gp_wait_again_add(struct gp_wait_again *to, const struct gp_wait_again *more);

/* Places of one line and reason become one row; those of no call in the interval are left out. */
enum gp_status gp_wait_rows_list(struct gp_recording *recording, const struct gp_row_table *places,
				 struct gp_waits *out);

#endif
