/*
 * PyTorch, nodes of autograd (--backward-modules): which module's forward made the node that runs.
 * Each operator then calls us, so they cost more. Off by default, when PyTorch calls nothing.
 */
#ifndef GP_TORCH_NODES_H
#define GP_TORCH_NODES_H

#include "torch_callback.h"

/* A process records its first report. Records the outcome again if it is known by then. */
void gp_torch_nodes_request(void);
/* At a quiet moment, with no fork in progress. `add`: of torch_ranges.c, which calls this. */
void gp_torch_nodes_attach(gp_torch_add *add);

#endif
