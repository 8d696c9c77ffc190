/*
 * Folds numbered names: "step 1", "step 2" and so on, or marks with a number, become one row. Its
 * name has # for each number.
 */
#ifndef GP_PHASE_FOLD_H
#define GP_PHASE_FOLD_H

#include "phase_tree.h"

/*
 * A name with more calls than this on average is not part of a numbered series: a layer's, a
 * worker's.
 */
#define GP_FOLD_CALLS 2u

/*
 * Joins siblings with events whose names differ in numbers only, if there are more than `most`. The
 * remaining node has all their calls and children, which are folded in turn. `out` owns the texts.
 * False: out of memory.
 */
bool gp_phase_tree_fold(struct gp_phase_tree *tree, const struct gp_recording *recording,
			uint64_t most, struct gp_phases *out);

#endif
