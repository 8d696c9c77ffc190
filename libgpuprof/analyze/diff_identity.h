/*
 * What makes two stacks of different processes the same: names, never addresses, ids or the
 * directories of one machine.
 */
#ifndef GP_DIFF_IDENTITY_H
#define GP_DIFF_IDENTITY_H

#include "stack_text.h"

struct gp_identity gp_diff_identity(const struct gp_read_stack *stack, bool has_lines);

#endif
