/*
 * Captures and graphs. Owns the list of graphs with memory. An entry lives as long as the
 * graph or its executable graph.
 */
#include "hook_graph.h"

#include <errno.h>

#include "../../libgpuprof/record/ranges/range_name.h"
#include "../driver/cuda_api.h"
#include "hook_launch.h"
#include "hook_memory.h"
#include "hook_resource.h"

/* ---- memory of graphs ---- */

#define HOLDERS 256u

/*
 * A graph with memory, and its last executable graph; `graph` is 0 in a free place. `unfreed`
 * counts allocations without a free node. Once launched, these live until a call frees them by
 * address, even if graph and exec are gone (driver 580).
 */
static struct holder {
	_Atomic uint64_t graph, owner, exec;
	_Atomic int unfreed;
	_Atomic bool is_graph_gone, is_launched;
} holders[HOLDERS];
static _Atomic bool has_holders; /* most jobs have none and skip the search */

static struct holder *find_graph(uint64_t graph)
{
	for (unsigned k = 0; k < HOLDERS && atomic_load(&has_holders); k++)
		if (atomic_load(&holders[k].graph) == graph &&
		    !atomic_load(&holders[k].is_graph_gone))
			return &holders[k];
	return NULL;
}

/* Returns the owner of the graph's memory. It is `owner` if the graph had none before. */
static uint64_t hold(uint64_t graph, uint64_t owner)
{
	struct holder *holder = find_graph(graph);
	atomic_store(&has_holders, true);
	for (unsigned k = 0; k < HOLDERS && !holder; k++) {
		uint64_t none = 0;
		if (!atomic_compare_exchange_strong(&holders[k].graph, &none, graph))
			continue;
		holder = &holders[k];
		atomic_store(&holder->owner, owner);
		atomic_store(&holder->exec, 0);
		atomic_store(&holder->unfreed, 0);
		atomic_store(&holder->is_graph_gone, false);
		atomic_store(&holder->is_launched, false);
	}
	if (!holder)
		return owner;
	atomic_fetch_add(&holder->unfreed, 1);
	return atomic_load(&holder->owner);
}

/* Called when both graph and exec are gone. */
static void let_go(struct holder *holder, enum gp_how how)
{
	if (!atomic_load(&holder->is_launched) || atomic_load(&holder->unfreed) <= 0)
		gp_hook_owner_gone(how, atomic_load(&holder->owner), GP_DEVICE_UNKNOWN);
	atomic_store(&holder->graph, 0);
}

void gp_graph_memory_launched(CUgraphExec exec)
{
	for (unsigned k = 0; k < HOLDERS && atomic_load(&has_holders); k++)
		if (atomic_load(&holders[k].exec) == (uint64_t)exec)
			atomic_store(&holders[k].is_launched, true);
}

/* ---- captures ---- */

void gp_hook_capture_began(CUresult result, uint64_t stream, unsigned mode, CUgraph graph,
			   bool is_recording)
{
	gp_capture_began(stream, result);
	if (is_recording && result == CUDA_SUCCESS)
		gp_put((struct gp_record){ .kind = GP_CAPTURE_BEGIN,
					   .device = (uint8_t)gp_stream_device_known(stream),
					   .aux = mode,
					   .stack = gp_stack_of_alloc(),
					   .capture_begin = { stream, (uint64_t)graph } });
}

/* The number of its nodes by the driver; 0: another capture is under way, or an error. */
static uint32_t graph_nodes(uint64_t graph)
{
	size_t nodes = 0;
	if (!graph || !gp_cuda.cuGraphGetNodes || !gp_calls_begin())
		return 0;
	if (gp_cuda.cuGraphGetNodes((CUgraph)graph, NULL, &nodes) != CUDA_SUCCESS)
		nodes = 0;
	gp_calls_end();
	return nodes < UINT32_MAX ? (uint32_t)nodes : UINT32_MAX;
}

void gp_hook_capture_ended(CUresult result, uint64_t stream, const CUgraph *graph,
			   bool is_recording)
{
	const uint64_t memory = gp_capture_ended(stream, result);
	if (!is_recording)
		return;
	const uint64_t captured = result == CUDA_SUCCESS && graph ? (uint64_t)*graph : 0;
	if (captured && memory)
		hold(captured, memory);
	else
		gp_hook_owner_gone(GP_HOW_GRAPH_DESTROY, memory, GP_DEVICE_UNKNOWN);
	gp_hook_resource(GP_RESOURCE_GRAPH, captured, GP_DEVICE_UNKNOWN);
	gp_put((struct gp_record){ .kind = GP_CAPTURE_END,
				   .device = (uint8_t)gp_stream_device_known(stream),
				   .code = (uint16_t)result,
				   .aux = graph_nodes(captured),
				   .stack = result != CUDA_SUCCESS ? gp_stack_of_alloc() : 0,
				   .capture_end = { stream, captured } });
	gp_kernel_name_waiting();
}

void gp_hook_capture_error(CUresult result, const char *call)
{
	const int kept = errno;
	if (result > CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD || !gp_enter())
		return;
	const uint32_t name = gp_range_name(0, call, GP_TO_NUL);
	if (name && atomic_load_explicit(&gp_range_name_of(name)->reported, memory_order_relaxed) !=
			    gp_thread.generation)
		gp_range_name_write(name);
	gp_put((struct gp_record){ .kind = GP_CAPTURE_ERROR,
				   .device = (uint8_t)gp_device_current(),
				   .code = (uint16_t)result,
				   .aux = name,
				   .stack = gp_stack_of_alloc() });
	gp_leave();
	errno = kept;
}

/* ---- graphs ---- */

void gp_hook_instantiate(CUresult result, uint64_t began, CUgraphExec exec, CUgraph graph,
			 uint64_t flags)
{
	const uint64_t took = gp_took(began, gp_clock_now());
	const uint32_t caller = gp_stack_of_alloc();
	struct holder *holder = result == CUDA_SUCCESS ? find_graph((uint64_t)graph) : NULL;
	if (holder)
		atomic_store(&holder->exec, (uint64_t)exec);
	const bool is_put = gp_put((struct gp_record){
		.kind = GP_GRAPH_INSTANTIATE,
		.device = GP_DEVICE_UNKNOWN,
		.code = (uint16_t)result,
		.aux = (uint32_t)flags,
		.stack = caller,
		.graph_instantiate = { (uint64_t)exec, (uint64_t)graph, took } });
	if (is_put && result == CUDA_SUCCESS)
		gp_hook_resource(GP_RESOURCE_EXEC, (uint64_t)exec, GP_DEVICE_UNKNOWN);
	if (result == CUDA_SUCCESS)
		gp_device_memory_caused(gp_device_current(), GP_CAUSE_GRAPH);
}

void gp_hook_graph_update(CUresult result, CUgraphExec exec, CUgraph graph)
{
	gp_put((struct gp_record){ .kind = GP_GRAPH_UPDATE,
				   .device = GP_DEVICE_UNKNOWN,
				   .code = (uint16_t)result,
				   .graph_update = { (uint64_t)exec, (uint64_t)graph } });
}

void gp_hook_exec_destroy(CUgraphExec exec)
{
	for (unsigned k = 0; k < HOLDERS && atomic_load(&has_holders); k++) {
		struct holder *holder = &holders[k];
		if (!exec || atomic_load(&holder->exec) != (uint64_t)exec)
			continue;
		atomic_store(&holder->exec, 0);
		if (atomic_load(&holder->is_graph_gone))
			let_go(holder, GP_HOW_EXEC_DESTROY);
	}
	gp_hook_resource_gone(GP_RESOURCE_EXEC, (uint64_t)exec);
	gp_device_memory_noted(gp_device_known(), GP_CAUSE_GRAPH);
	if (exec)
		gp_put((struct gp_record){ .kind = GP_GRAPH_EXEC_DESTROY,
					   .device = GP_DEVICE_UNKNOWN,
					   .graph_exec_destroy.exec = (uint64_t)exec });
}

void gp_hook_graph_destroy(CUgraph graph)
{
	struct holder *holder = graph ? find_graph((uint64_t)graph) : NULL;
	if (holder && atomic_load(&holder->exec))
		atomic_store(&holder->is_graph_gone, true);
	else if (holder)
		let_go(holder, GP_HOW_GRAPH_DESTROY);
	gp_hook_resource_gone(GP_RESOURCE_GRAPH, (uint64_t)graph);
	if (graph)
		gp_put((struct gp_record){ .kind = GP_GRAPH_DESTROY,
					   .device = GP_DEVICE_UNKNOWN,
					   .graph_destroy.graph = (uint64_t)graph });
}

/* ---- nodes ---- */

void gp_hook_node(CUresult result, unsigned type, CUgraph graph, CUgraphNode node, uint64_t address,
		  uint64_t bytes)
{
	if (result != CUDA_SUCCESS)
		return;
	if (type == GP_NODE_CLONE)
		gp_hook_resource(GP_RESOURCE_GRAPH, (uint64_t)graph, GP_DEVICE_UNKNOWN);
	struct holder *holder = type == GP_NODE_MEM_FREE ? find_graph((uint64_t)graph) : NULL;
	if (holder)
		atomic_fetch_sub(&holder->unfreed, 1);
	if (type == GP_NODE_KERNEL && address && !gp_kernel_is_named(address))
		gp_kernel_name(address, GP_DEVICE_UNKNOWN);
	gp_put((struct gp_record){
		.kind = GP_GRAPH_ADD_NODE,
		.device = GP_DEVICE_UNKNOWN,
		.aux = type,
		.graph_add_node = { (uint64_t)graph, (uint64_t)node, address, bytes } });
}

void gp_hook_alloc_node(CUresult result, CUgraph graph, CUgraphNode node,
			const CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	struct gp_allocation what = {
		.space = GP_SPACE_GRAPH,
		.device =
			params ? gp_located_device(&params->poolProps.location) : GP_DEVICE_UNKNOWN,
		.bytes = params ? params->bytesize : 0,
		.owner = (uint64_t)graph,
	};
	uint64_t address = result == CUDA_SUCCESS ? params->dptr : 0;
	if (result == CUDA_SUCCESS)
		what.owner = hold((uint64_t)graph, (uint64_t)graph);
	gp_hook_node(result, GP_NODE_MEM_ALLOC, graph, node, address, what.bytes);
	gp_hook_alloc(result, address, what);
}

void gp_hook_any_node(CUresult result, CUgraph graph, CUgraphNode node,
		      const CUgraphNodeParams *params)
{
	uint64_t address = 0;
	if (!params)
		return;
	switch (params->type) {
	case GP_NODE_MEM_ALLOC:
		gp_hook_alloc_node(result, graph, node, &params->alloc);
		return;
	case GP_NODE_KERNEL:
		address = (uint64_t)(params->kernel.func ? (void *)params->kernel.func :
							   (void *)params->kernel.kern);
		break;
	case GP_NODE_CHILD:
		address = (uint64_t)params->graph.graph;
		break;
	case GP_NODE_MEM_FREE:
		address = params->free.dptr;
		break;
	default:
		break;
	}
	gp_hook_node(result, (unsigned)params->type, graph, node, address, 0);
}
