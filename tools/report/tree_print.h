/* Call trees as lines for a person and as JSON for a program. */
#ifndef TREE_PRINT_H
#define TREE_PRINT_H

#include <stdio.h>

#include "../io/json.h"
#include "gpuprof.h"

/*
 * Calls of less than a hundredth of `whole` are left out, and added up in the last line. What only
 * calls one further stands on one line with it, as much as `columns` hold; `is_native`: a line a
 * frame, names whole.
 */
void gp_tree_print(FILE *out, const struct gp_tree *tree, uint64_t whole, unsigned columns,
		   bool is_native);
/*
 * `below`, an absolute file or a directory with its '/', becomes the directory in which `file`
 * lies, too.
 */
void gp_below_narrow(char *below, const char *file);
/* Ends a line of titles; a directory that is not "" is named in it. */
void gp_below_print(FILE *out, const char *below);
/* The key `tree`: list of nodes, parents first. */
void gp_tree_write(struct gp_json *json, const struct gp_tree *tree);

#endif
