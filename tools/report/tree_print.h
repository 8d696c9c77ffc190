/* Call trees as lines for a person and as JSON for a program. */
#ifndef TREE_PRINT_H
#define TREE_PRINT_H

#include <stdio.h>

#include "../io/json.h"
#include "gpuprof.h"

/*
 * Calls below a hundredth of `whole` are left out; the last line has their sum. Calls with a single
 * callee share a line with it, up to `columns`. `is_native`: one line a frame, with whole names.
 */
void gp_tree_print(FILE *out, const struct gp_tree *tree, uint64_t whole, unsigned columns,
		   bool is_native);
/*
 * Narrows `below`, an absolute file or a directory with its '/', to the directory that also
 * contains `file`.
 */
void gp_below_narrow(char *below, const char *file);
/* Ends a line of titles, with the directory unless it is "". */
void gp_below_print(FILE *out, const char *below);
/* The key `tree`: list of nodes, parents first. */
void gp_tree_write(struct gp_json *json, const struct gp_tree *tree);

#endif
