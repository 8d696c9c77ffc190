/*
 * Hooks of the rows of captures and graphs, called by wrappers. Those with is_recording
 * update their own tables even while recording is off.
 */
#ifndef GP_HOOK_GRAPH_H
#define GP_HOOK_GRAPH_H

#include "context.h"

/* After the driver's call; gp_capture_begin() comes before it. */
void gp_hook_capture_began(CUresult result, uint64_t stream, unsigned mode, CUgraph graph,
			   bool is_recording);
void gp_hook_capture_ended(CUresult result, uint64_t stream, const CUgraph *graph,
			   bool is_recording);
/* After gp_leave: `call`, a driver function, returned an error of 900 or more. Keeps errno. */
GP_COLD void gp_hook_capture_error(CUresult result, const char *call);

/* After the call, which began at the time `began`. */
void gp_hook_instantiate(CUresult result, uint64_t began, CUgraphExec exec, CUgraph graph,
			 uint64_t flags);
void gp_hook_graph_update(CUresult result, CUgraphExec exec, CUgraph graph);
/* After a launch that the driver accepted. */
void gp_graph_memory_launched(CUgraphExec exec);
/* Before the call. */
void gp_hook_exec_destroy(CUgraphExec exec);
void gp_hook_graph_destroy(CUgraph graph);

/*
 * A node, or with GP_NODE_CLONE a whole graph, was added to `graph`. `address` is a pointer, a
 * kernel or another graph, depending on its type.
 */
void gp_hook_node(CUresult result, unsigned type, CUgraph graph, CUgraphNode node, uint64_t address,
		  uint64_t bytes);
void gp_hook_alloc_node(CUresult result, CUgraph graph, CUgraphNode node,
			const CUDA_MEM_ALLOC_NODE_PARAMS *params);
void gp_hook_any_node(CUresult result, CUgraph graph, CUgraphNode node,
		      const CUgraphNodeParams *params);

#endif
