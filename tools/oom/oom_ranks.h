/*
 * Several recordings in `gpuprof oom`: which of them ran out of memory first, by the clock.
 */
#ifndef OOM_RANKS_H
#define OOM_RANKS_H

#include <stddef.h>

#include "../report/table.h"
#include "oom_report.h"

struct gp_oom_rank;
struct gp_oom_ranks {
	size_t ranks, capacity;
	struct gp_oom_rank *rank; /* those that ran out of memory */
	struct gp_report_table table;
	bool has_unknown; /* a recording without an OOM lacks events */
};

void gp_oom_ranks_begin(struct gp_oom_ranks *ranks);
/*
 * Adds a recording and its OOMs; keeps the pointer report->path. GP_E_MEMORY, or a status of its
 * replay.
 */
enum gp_status gp_oom_ranks_add(struct gp_oom_ranks *ranks, const struct gp_oom_report *report);
/*
 * Prints which recording ran out first and why, then all that ran out. Returns the path of the
 * first one, with the OOM's number from 1 in *number; the caller prints its details and the `next:`
 * line. NULL: none ran out, and the report is complete.
 */
const char *gp_oom_ranks_print(struct gp_oom_ranks *ranks, FILE *out, uint64_t *number);
void gp_oom_ranks_release(struct gp_oom_ranks *ranks);

#endif
