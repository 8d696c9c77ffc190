/*
 * The identity of stacks across processes: made from names, never from addresses, ids or the
 * directories of one machine.
 */
#ifndef GP_DIFF_IDENTITY_H
#define GP_DIFF_IDENTITY_H

#include "../stack_text.h"

struct gp_identity gp_diff_identity(const struct gp_read_stack *stack, bool has_lines);
/* `out[k]` is the identity of the k + 1 innermost frames; `out` has room for all frames. */
void gp_diff_inner_identities(const struct gp_read_stack *stack, bool has_lines,
			      struct gp_identity *out);

#endif
