/*
 * Names that count up, in paths of one recording or several: a tree of all of them by their texts,
 * so that what is one name is decided once, whoever has how many of them.
 */
#ifndef GP_RANGE_FOLD_H
#define GP_RANGE_FOLD_H

#include "phase_tree.h"

/* Of more names than so many that count up one is made, as phases does by itself. */
#define GP_RANGE_FOLD 5u

struct gp_range_fold {
	struct gp_phase_tree tree;
	struct gp_row_table texts;  /* of names and domains: 1 + the row is the id in `tree` */
	struct gp_phases folded;    /* owns texts of folded names */
	struct gp_range_path *path; /* by node */
};

void gp_range_fold_release(struct gp_range_fold *fold);
/*
 * Adds a tree, whose names are those of `recording`; its texts must stay. into[k]: what node k of
 * it became, a node that gp_range_fold_at takes. False: no memory.
 */
bool gp_range_fold_add(struct gp_range_fold *fold, const struct gp_phase_tree *tree,
		       const struct gp_recording *recording, uint32_t *into);
/* Once all are added. False: no memory. */
bool gp_range_fold_settle(struct gp_range_fold *fold);
const struct gp_range_path *gp_range_fold_at(const struct gp_range_fold *fold, uint32_t node);

#endif
