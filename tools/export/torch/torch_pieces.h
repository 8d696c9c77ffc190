/*
 * Spans of a recording that each fit into one file for PyTorch's memory_viz, which shows at most
 * GP_TORCH_ENTRIES entries of a device's trace and hides the rest without a word (pytorch #158364).
 */
#ifndef GP_TORCH_PIECES_H
#define GP_TORCH_PIECES_H

#include "../write/export.h"

#define GP_TORCH_ENTRIES 600000u
/* Browsers cannot show larger files; they end near 1 GB (pytorch #176290). */
#define GP_TORCH_BYTES 500000000

struct gp_torch_pieces {
	uint64_t most;		     /* entries of a device */
	struct gp_history_cuts cuts; /* the end of each piece except the last one */
};

/*
 * Cuts the span of `e` so that no piece has more than e->most_entries of a device, at moments
 * between two acts. Counts them in one replay, unless the recording is too small for a cut. Free
 * with gp_torch_pieces_free, also after a failure.
 */
enum gp_status gp_torch_pieces_find(const struct gp_export *e, struct gp_torch_pieces *out);
void gp_torch_pieces_free(struct gp_torch_pieces *pieces);
/* Prints how many files there will be, or for stdout that viewers hide a part of it. */
void gp_torch_pieces_print(const struct gp_export *e, const struct gp_torch_pieces *pieces);

#endif
