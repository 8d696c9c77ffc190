/*
 * The fake driver's graphs: counting nodes, and allocation nodes that own memory until graph and
 * executables are gone.
 */
#ifndef FAKE_GRAPHS_H
#define FAKE_GRAPHS_H

#include "fake_allocations.h"
#include "fake_launches.h"

static struct fake_object *fake_graph_get(CUgraph handle)
{
	struct fake_object *graph = GET(handle, FAKE_GRAPH);
	return graph && !graph->is_registered ? graph : NULL;
}

/* Lock held. The graph's handle and each executable hold a reference. */
static void fake_graph_drop(struct fake_object *graph)
{
	if (--graph->references != 0)
		return;
	for (struct fake_object *node = graph->first, *next; node; node = next) {
		next = node->next;
		struct fake_slot *slot =
			node->mode == FAKE_NODE_ALLOC ? fake_slot_at(node->address) : NULL;
		if (slot && slot->space == FAKE_GRAPH_NODE && slot->owner == graph)
			fake_give(node->address, slot);
		fake_delete(node);
	}
	fake_delete(graph);
}

static inline CUresult fake_cuGraphCreate(CUgraph *graph, unsigned int flags)
{
	if (!graph || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	const struct fake_object *context = fake_current();
	fake_lock();
	*graph = (CUgraph)fake_new(FAKE_GRAPH, context ? context->device : 0);
	fake_unlock();
	return *graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static inline CUresult fake_cuGraphDestroy(CUgraph handle)
{
	struct fake_object *graph = fake_graph_get(handle);
	if (!graph)
		return CUDA_ERROR_INVALID_HANDLE;
	fake_lock();
	graph->is_registered =
		true; /* the handle is gone, the nodes live as long as executables do */
	fake_graph_drop(graph);
	fake_unlock();
	return CUDA_SUCCESS;
}

static inline CUresult fake_cuGraphClone(CUgraph *clone, CUgraph original)
{
	const struct fake_object *graph = fake_graph_get(original), *node;
	if (!graph)
		return CUDA_ERROR_INVALID_HANDLE;
	fake_lock();
	struct fake_object *copy = fake_new(FAKE_GRAPH, graph->device);
	for (node = graph->first; copy && node; node = node->next)
		if (node->mode == FAKE_NODE_ALLOC ||
		    !fake_node_add(copy, node->mode, node->address, (void *)node->bytes))
			break;
	bool is_whole = copy && !node;
	if (copy && node)
		fake_graph_drop(copy);
	fake_unlock();
	*clone = is_whole ? (CUgraph)copy : NULL;
	return is_whole ? CUDA_SUCCESS : copy ? FAKE_NOT_SUPPORTED : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
	ENTER(cuGraphGetNodes);
	const struct fake_object *graph = fake_graph_get(handle);
	if (!graph)
		return CUDA_ERROR_INVALID_HANDLE;
	size_t number = 0;
	fake_lock();
	for (struct fake_object *node = graph->first; node; node = node->next, number++)
		if (nodes && number < *count)
			nodes[number] = (CUgraphNode)node;
	fake_unlock();
	*count = number;
	return CUDA_SUCCESS;
}

/* ---- nodes ---- */

static CUresult fake_graph_node(CUgraphNode *out, CUgraph handle, int type, uint64_t address,
				const void *function)
{
	struct fake_object *graph = fake_graph_get(handle), *node;
	if (!graph || (type == FAKE_NODE_KERNEL && !GET(function, FAKE_KERNEL)))
		return graph ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
	fake_lock();
	node = fake_node_add(graph, type, address, function);
	fake_unlock();
	*out = (CUgraphNode)node;
	return node ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Lock held. Returns memory of an allocation node; 0: out of memory. */
static uint64_t fake_graph_take(struct fake_object *graph, size_t bytes, int device)
{
	uint64_t address = fake_take(fake_round(bytes), 512, device, FAKE_GRAPH_NODE, graph);
	if (address != 0 && !fake_node_add(graph, FAKE_NODE_ALLOC, address, NULL)) {
		fake_give(address, fake_slot_at(address));
		return 0;
	}
	return address;
}

static CUresult fake_alloc_node(CUgraphNode *out, CUgraph handle,
				CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	struct fake_object *graph = fake_graph_get(handle);
	int device = params->poolProps.location.id;
	if (!graph || !fake_is_device(device) || params->bytesize == 0)
		return graph ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
	fake_lock();
	uint64_t address = fake_graph_take(graph, params->bytesize, device);
	*out = address ? (CUgraphNode)graph->first : NULL;
	fake_unlock();
	params->dptr = address;
	return address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

#define ADD_NODE(what, type, params_type)                                                    \
	static inline CUresult fake_cuGraphAdd##what(CUgraphNode *node, CUgraph graph,       \
						     const CUgraphNode *after, size_t count, \
						     params_type params)                     \
	{                                                                                    \
		(void)after, (void)count, (void)params;                                      \
		return fake_graph_node(node, graph, type, 0, NULL);                          \
	}
ADD_NODE(HostNode, FAKE_NODE_HOST, const CUDA_HOST_NODE_PARAMS *)
ADD_NODE(ChildGraphNode, FAKE_NODE_GRAPH, CUgraph)
ADD_NODE(EventWaitNode, FAKE_NODE_WAIT, CUevent)
ADD_NODE(EventRecordNode, FAKE_NODE_RECORD, CUevent)
ADD_NODE(ExternalSemaphoresSignalNode, FAKE_NODE_SIGNAL_SEMAPHORES,
	 const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *)
ADD_NODE(ExternalSemaphoresWaitNode, FAKE_NODE_WAIT_SEMAPHORES,
	 const CUDA_EXT_SEM_WAIT_NODE_PARAMS *)
ADD_NODE(BatchMemOpNode, FAKE_NODE_BATCH, const CUDA_BATCH_MEM_OP_NODE_PARAMS *)
#undef ADD_NODE

static inline CUresult fake_cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph,
						const CUgraphNode *after, size_t count)
{
	(void)after, (void)count;
	return fake_graph_node(node, graph, FAKE_NODE_EMPTY, 0, NULL);
}

static inline CUresult fake_cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph,
						 const CUgraphNode *after, size_t count,
						 const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	(void)after, (void)count;
	return fake_graph_node(node, graph, FAKE_NODE_KERNEL, 0, params->func);
}

static inline CUresult fake_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph,
						    const CUgraphNode *after, size_t count,
						    const CUDA_KERNEL_NODE_PARAMS *params)
{
	(void)after, (void)count;
	return fake_graph_node(node, graph, FAKE_NODE_KERNEL, 0,
			       params->func ? (const void *)params->func : params->kern);
}

static inline CUresult fake_cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph,
						 const CUgraphNode *after, size_t count,
						 const CUDA_MEMCPY3D *params, CUcontext context)
{
	(void)after, (void)count, (void)params, (void)context;
	return fake_graph_node(node, graph, FAKE_NODE_MEMCPY, 0, NULL);
}

static inline CUresult fake_cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph,
						 const CUgraphNode *after, size_t count,
						 const CUDA_MEMSET_NODE_PARAMS *params,
						 CUcontext context)
{
	(void)after, (void)count, (void)params, (void)context;
	return fake_graph_node(node, graph, FAKE_NODE_MEMSET, 0, NULL);
}

static inline CUresult fake_cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph,
						   const CUgraphNode *after, size_t count,
						   CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	(void)after, (void)count;
	return fake_alloc_node(node, graph, params);
}

static inline CUresult fake_cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph,
						  const CUgraphNode *after, size_t count,
						  CUdeviceptr address)
{
	(void)after, (void)count;
	return fake_graph_node(node, graph, FAKE_NODE_FREE, address, NULL);
}

static CUresult fake_any_node(CUgraphNode *node, CUgraph graph, CUgraphNodeParams *params)
{
	if (params->type == FAKE_NODE_ALLOC)
		return fake_alloc_node(node, graph, &params->alloc);
	uint64_t address = params->type == FAKE_NODE_FREE ? params->free.dptr : 0;
	const void *function = NULL;
	if (params->type == FAKE_NODE_KERNEL)
		function = params->kernel.func ? (const void *)params->kernel.func :
						 params->kernel.kern;
	return fake_graph_node(node, graph, params->type, address, function);
}

static inline CUresult fake_cuGraphAddNode(CUgraphNode *node, CUgraph graph,
					   const CUgraphNode *after, size_t count,
					   CUgraphNodeParams *params)
{
	(void)after, (void)count;
	return fake_any_node(node, graph, params);
}

static inline CUresult fake_cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph,
					      const CUgraphNode *after,
					      const CUgraphEdgeData *edges, size_t count,
					      CUgraphNodeParams *params)
{
	(void)after, (void)edges, (void)count;
	return fake_any_node(node, graph, params);
}

/* ---- executables ---- */

static CUresult fake_instantiate(CUgraphExec *exec, CUgraph handle, uint64_t flags)
{
	struct fake_object *graph = fake_graph_get(handle), *object;
	if (!graph || !exec)
		return graph ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
	fake_lock();
	object = fake_new(FAKE_EXEC, graph->device);
	if (object) {
		object->owner = graph;
		object->bytes = flags;
		graph->references++;
	}
	fake_unlock();
	*exec = (CUgraphExec)object;
	return object ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static inline CUresult fake_cuGraphInstantiate(CUgraphExec *exec, CUgraph graph,
					       CUgraphNode *error_node, char *log, size_t log_bytes)
{
	(void)error_node, (void)log, (void)log_bytes;
	return fake_instantiate(exec, graph, 0);
}

static inline CUresult fake_cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph,
						  CUgraphNode *error_node, char *log,
						  size_t log_bytes)
{
	(void)error_node, (void)log, (void)log_bytes;
	return fake_instantiate(exec, graph, 0);
}

static inline CUresult fake_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
							unsigned long long flags)
{
	return fake_instantiate(exec, graph, flags);
}

static inline CUresult fake_cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
							 CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	return fake_instantiate(exec, graph, params->flags);
}

static inline CUresult fake_cuGraphInstantiateWithParams_ptsz(CUgraphExec *exec, CUgraph graph,
							      CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	return fake_instantiate(exec, graph, params->flags);
}

static CUresult fake_exec_update(CUgraphExec exec, CUgraph graph)
{
	return GET(exec, FAKE_EXEC) && fake_graph_get(graph) ? CUDA_SUCCESS :
							       CUDA_ERROR_INVALID_HANDLE;
}

static inline CUresult fake_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph,
					      CUgraphNode *error_node,
					      CUgraphExecUpdateResult *update_result)
{
	(void)error_node;
	*update_result = 0;
	return fake_exec_update(exec, graph);
}

static inline CUresult fake_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
						 CUgraphExecUpdateResultInfo *update_result)
{
	(void)update_result;
	return fake_exec_update(exec, graph);
}

static inline CUresult fake_cuGraphExecDestroy(CUgraphExec handle)
{
	struct fake_object *exec = GET(handle, FAKE_EXEC);
	if (!exec)
		return CUDA_ERROR_INVALID_HANDLE;
	fake_lock();
	fake_graph_drop(exec->owner);
	fake_delete(exec);
	fake_unlock();
	return CUDA_SUCCESS;
}

/* Its kernels; a fake node does not name its kernel. */
static __attribute__((noinline)) void fake_graph_report(const struct fake_object *graph,
							CUstream stream)
{
	struct fake_operation operation = {
		.kind = 10, .name = "graph_kernel", .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }
	};
	fake_lock();
	for (const struct fake_object *node = graph->first; node; node = node->next)
		if (node->mode == FAKE_NODE_KERNEL && operation.nodes < FAKE_NODES)
			operation.node[operation.nodes++] = node->number;
	fake_unlock();
	if (operation.nodes)
		fake_report(&operation, stream);
}

static CUresult fake_graph_launch(CUgraphExec handle, CUstream stream_handle)
{
	struct fake_object *stream = GET(stream_handle, FAKE_STREAM),
			   *exec = GET(handle, FAKE_EXEC);
	if (!exec || !fake_stream_context(stream_handle))
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream && stream->status != FAKE_NOT_CAPTURING)
		return fake_capture_node(stream, FAKE_NODE_GRAPH, NULL);
	if (fake_is_observed())
		fake_graph_report(exec->owner, stream_handle);
	return CUDA_SUCCESS;
}

static inline CUresult fake_cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	return fake_graph_launch(exec, stream);
}

static inline CUresult fake_cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
	return fake_graph_launch(exec, stream);
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	ENTER(cuGraphUpload);
	return GET(exec, FAKE_EXEC) && fake_stream_context(stream) ? CUDA_SUCCESS :
								     CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream)
{
	ENTER(cuGraphUpload_ptsz);
	return GET(exec, FAKE_EXEC) && fake_stream_context(stream) ? CUDA_SUCCESS :
								     CUDA_ERROR_INVALID_HANDLE;
}

static inline CUresult fake_cuDeviceGraphMemTrim(CUdevice device)
{
	return fake_is_device(device) ? CUDA_SUCCESS : FAKE_INVALID_DEVICE;
}

#endif
