/*
 * What makes two stacks of different processes the same: names, never addresses, ids or the
 * directories of one machine.
 */
#ifndef GP_DIFF_IDENTITY_H
#define GP_DIFF_IDENTITY_H

#include "../stack_text.h"

struct gp_identity gp_diff_identity(const struct gp_read_stack *stack, bool has_lines);
/* `out[k]`: of the k + 1 innermost frames; room for all of them. */
void gp_diff_inner_identities(const struct gp_read_stack *stack, bool has_lines,
			      struct gp_identity *out);

#endif
