/*
 * Names that count up: "step 1", "step 2" and so on, or marks with a number, become one row, its
 * name with # for each number.
 */
#ifndef GP_PHASE_FOLD_H
#define GP_PHASE_FOLD_H

#include "phase_tree.h"

/* So many calls of a name on the average are not of one that counts up: a layer's, a worker's. */
#define GP_FOLD_CALLS 2u

/*
 * Of siblings that are seen and differ in numbers alone, where there are more than `most`, one is
 * left: with the calls of all and what was in them, folded in turn. The texts are `out`'s. False:
 * no memory.
 */
bool gp_phase_tree_fold(struct gp_phase_tree *tree, const struct gp_recording *recording,
			uint64_t most, struct gp_phases *out);

#endif
