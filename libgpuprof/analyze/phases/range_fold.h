/*
 * Numbered names in paths of one or several recordings: a tree of all paths by their texts. So the
 * names are folded equally in all recordings.
 */
#ifndef GP_RANGE_FOLD_H
#define GP_RANGE_FOLD_H

#include "phase_tree.h"

/* More numbered names than this are folded, as `phases` does by default. */
#define GP_RANGE_FOLD 5u

struct gp_range_fold {
	struct gp_phase_tree tree;
	struct gp_row_table texts;  /* names and domains: 1 + the row is the id in `tree` */
	struct gp_phases folded;    /* owns the texts of folded names */
	struct gp_range_path *path; /* by node */
};

void gp_range_fold_release(struct gp_range_fold *fold);
/*
 * Adds a tree, whose names are those of `recording`; its texts must stay valid. into[k]: the node
 * of gp_range_fold_at for node k. False: out of memory.
 */
bool gp_range_fold_add(struct gp_range_fold *fold, const struct gp_phase_tree *tree,
		       const struct gp_recording *recording, uint32_t *into);
/* Call it after all trees are added. False: out of memory. */
bool gp_range_fold_settle(struct gp_range_fold *fold);
const struct gp_range_path *gp_range_fold_at(const struct gp_range_fold *fold, uint32_t node);

#endif
