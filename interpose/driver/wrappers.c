/*
 * The wrappers. Each row of cuda_api.def becomes one function that calls the driver exactly once,
 * with the caller's arguments, and returns its result. The row's hook states what to record around
 * the call, in the terms below. Owns the tables of the resolvers.
 */
#include "../../libgpuprof/record/ranges/scope.h"
#include "../gpu/counter_record.h"
#include "../hooks/capture.h"
#include "../hooks/deferred_call.h"
#include "../hooks/hook_context.h"
#include "../hooks/hook_graph.h"
#include "../hooks/hook_launch.h"
#include "../hooks/hook_memory.h"
#include "../hooks/hook_module.h"
#include "../hooks/hook_resource.h"
#include "../hooks/hook_wait.h"
#include "../lookup/resolver.h"
#include "driver_export.h"

/*
 * A hook expands to: is_always, enter, before, after. `before` and `after` are statements around
 * the driver's call. They can use the row's parameters, `result`, `is_recording` and
 * `is_per_thread`.
 *   RECORD   runs only while recording
 *   LAUNCHED the same, but not with GPUPROF_LAUNCHES=off
 *   TRACK    runs always, records if is_recording; LAUNCH_TRACK likewise
 *   FOLLOW   runs always; hooks of copies, waits and module loads record themselves, after the call
 */
#define RECORD(before, after) 0, gp_enter, before, after
#define LAUNCHED(before, after) 0, gp_enter_launch, before, after
#define TRACK(before, after) 1, gp_enter, before, after
#define LAUNCH_TRACK(before, after) 1, gp_enter_launch, before, after
#define FOLLOW(before, after) 1, never, before, after

/* For outputs that are valid only after success. */
#define IF_OK(value) (result == CUDA_SUCCESS ? (uint64_t)(value) : 0)
#define STREAM(value) gp_stream_of(value, is_per_thread)

/* memory: an allocation has the duration of its call */
#define ALLOCATED(after) RECORD(const uint64_t began = gp_clock_now(), after)
#define ALLOC(sort, address, amount, requested)                                               \
	ALLOCATED(gp_hook_alloc(result, IF_OK(address),                                       \
				(struct gp_allocation){ .space = GP_SPACE_##sort,             \
							.device = GP_DEVICE_UNKNOWN,          \
							.flags = (uint32_t)(requested) << 16, \
							.bytes = (uint64_t)(amount),          \
							.began = began }))
#define ALLOC_PITCH(address, pitch, width, height) \
	ALLOC(DEVICE, address, (uint64_t)(result == CUDA_SUCCESS ? (pitch) : (width)) * (height), 0)
#define ALLOC_ASYNC(address, bytes, stream, pool) \
	ALLOCATED(gp_hook_alloc_async(result, began, IF_OK(address), bytes, STREAM(stream), pool))
#define ARRAY(address, d)                                                                         \
	ALLOC(ARRAY, address,                                                                     \
	      !(d) ? 0 :                                                                          \
		     gp_array_bytes((d)->Width, (d)->Height, 1, (d)->Format, (d)->NumChannels, 0, \
				    1),                                                           \
	      0)
#define ARRAY3D(address, d) MIPMAP(address, d, 1)
#define MIPMAP(address, d, levels)                                                    \
	ALLOC(ARRAY, address,                                                         \
	      !(d) ? 0 :                                                              \
		     gp_array_bytes((d)->Width, (d)->Height, (d)->Depth, (d)->Format, \
				    (d)->NumChannels, (d)->Flags, levels),            \
	      0)
#define IMPORT(space, address, bytes, owner)                                            \
	RECORD(, gp_hook_import(result, GP_SPACE_##space, IF_OK(address), IF_OK(bytes), \
				(uint64_t)(owner)))
#define FREE(space, address)                                           \
	RECORD(gp_hook_free(GP_SPACE_##space, (uint64_t)(address), 0), \
	       gp_hook_freed(result, GP_SPACE_##space, (uint64_t)(address)))
#define FREE_WAIT(space, kind, address)                                       \
	RECORD(gp_hook_free(GP_SPACE_##space, (uint64_t)(address), 0);        \
	       const uint64_t began = gp_clock_now(),                         \
	       (gp_hook_freed(result, GP_SPACE_##space, (uint64_t)(address)), \
		gp_hook_waited(result, began, GP_WAIT_##kind, (uint64_t)(address))))
#define FREE_ASYNC(address, stream)                                   \
	RECORD(gp_hook_free(GP_SPACE_ASYNC, address, STREAM(stream)), \
	       gp_hook_freed_async(result, address))

/* pools */
#define POOL_CREATE(pool, properties) \
	TRACK(, gp_hook_pool_create(result, (CUmemoryPool)IF_OK(pool), properties, is_recording))
#define POOL_IMPORT(pool) POOL_CREATE(pool, NULL)
#define POOL_DESTROY(pool) TRACK(gp_hook_pool_destroy(pool, is_recording), )
#define POOL_TRIM(pool, bytes) \
	RECORD(, gp_hook_pool_trim(result, pool, bytes, gp_pool_device(pool)))
#define POOL_KNOWN(pool, device) \
	FOLLOW(, if (result == CUDA_SUCCESS) gp_pool_known(pool, (unsigned)(device)))
#define GRAPH_TRIM(device) RECORD(, gp_hook_pool_trim(result, NULL, 0, (unsigned)(device)))
#define located_device(location) gp_located_device(location)

/* virtual memory */
#define PHYSICAL_CREATE(handle, bytes, properties) \
	ALLOCATED(gp_hook_physical(result, began, IF_OK(handle), bytes, properties))
#define PHYSICAL_IMPORT(handle) RECORD(, gp_hook_physical(result, 0, IF_OK(handle), 0, NULL))
#define PHYSICAL_RETAIN(handle) RECORD(, gp_hook_retain(result, IF_OK(handle)))
#define PHYSICAL_RELEASE(handle)                                   \
	RECORD(gp_hook_free(gp_physical_space(handle), handle, 0), \
	       gp_hook_freed(result, gp_physical_space(handle), handle))
#define MAP(address, bytes, offset, handle) \
	ALLOCATED(gp_hook_map(result, began, address, bytes, offset, handle))
#define UNMAP(address, bytes) \
	RECORD(gp_hook_unmap(address, bytes), gp_hook_unmapped(result, address, bytes))
#define MULTICAST_CREATE(handle, properties) \
	RECORD(, gp_hook_multicast_create(result, IF_OK(handle), IF_OK((properties)->size)))
#define MULTICAST(operation, handle, member, offset, bytes, device)                          \
	RECORD(, gp_hook_multicast(result, GP_MULTICAST_##operation, handle, member, offset, \
				   bytes, device))

/* launches */
#define LAUNCH(kind, f, gx, gy, gz, bx, by, bz, bytes, stream, parameters, extra)                  \
	LAUNCHED(const uint64_t time = gp_launch_time(                                             \
			 GP_LAUNCH_##kind == GP_LAUNCH_COOPERATIVE, (uint64_t)(f), (uint32_t)(gx), \
			 (uint32_t)(gy), gz, bx, by, bz, bytes, stream, is_per_thread),            \
		 gp_hook_launch(result, time,                                                      \
				(struct gp_launch_shape){ (uint64_t)(f), (uint32_t)(gx),           \
							  (uint32_t)(gy), gz, bx, by, bz, bytes,   \
							  GP_LAUNCH_##kind, parameters, extra },   \
				STREAM(stream)))
#define LAUNCH_EX(f, config, parameters, extra)                                                 \
	LAUNCHED(const uint64_t time = gp_launch_time_ex((uint64_t)(f), config, is_per_thread), \
		 gp_hook_launch_ex(result, time, f, config, is_per_thread, parameters, extra))
#define LAUNCH_LIST(list, count)                       \
	LAUNCHED(const uint64_t time = gp_clock_now(), \
		 gp_hook_launch_list(result, time, list, count))
#define GRAPH_LAUNCH(exec, stream)                         \
	LAUNCH_TRACK(const uint64_t time = gp_clock_now(), \
		     gp_hook_graph_launch(result, time, exec, STREAM(stream), is_recording))

/* copies and waits: entered when the call has returned */
#define CALL_SYNC 0
#define CALL_ASYNC GP_CALL_ASYNC
#define TIMED(after) FOLLOW(const uint64_t began = gp_clock_now(), after)
#define COPY(what, how, to_, from_, amount, stream_)                      \
	TIMED(gp_hook_copy(result, began,                                 \
			   (struct gp_copy){ .kind = GP_COPY_##what,      \
					     .flags = CALL_##how,         \
					     .to = (uint64_t)(to_),       \
					     .from = (uint64_t)(from_),   \
					     .bytes = (uint64_t)(amount), \
					     .stream = STREAM(stream_) }))
#define FILL(how, to, amount, stream) COPY(FILL, how, to, 0, amount, stream)
#define COPY_2D(how, copy, stream) \
	TIMED(gp_hook_copy_2d(result, began, copy, CALL_##how, STREAM(stream)))
#define COPY_3D(how, copy, stream) \
	TIMED(gp_hook_copy_3d(result, began, copy, CALL_##how, STREAM(stream)))
#define COPY_3D_PEER(how, copy, stream) \
	TIMED(gp_hook_copy_3d_peer(result, began, copy, CALL_##how, STREAM(stream)))
#define COPY_3D_LIST(list, count, stream) \
	TIMED(gp_hook_copy_3d_list(result, began, list, count, STREAM(stream)))
#define COPY_BATCH(what, to, from, bytes, count, stream)                                \
	TIMED(gp_hook_copy_batch(result, began, GP_COPY_##what, to, from, bytes, count, \
				 STREAM(stream)))
#define WAIT(kind, handle) TIMED(gp_hook_wait(result, began, GP_WAIT_##kind, (uint64_t)(handle)))
#define QUERY(kind, handle)                                                              \
	FOLLOW(, if (gp_unlikely(result != CUDA_SUCCESS || gp_thread.poll.queries != 0)) \
			 gp_hook_query(result, GP_WAIT_##kind##_QUERY, (uint64_t)(handle)))
#define ELAPSED(ms, start, end) \
	FOLLOW(, gp_hook_elapsed(result, ms, (uint64_t)(start), (uint64_t)(end)))

/* captures, graphs, modules */
#define CAPTURE_BEGIN(stream, mode, graph)                                                        \
	TRACK(gp_capture_begin(), gp_hook_capture_began(result, STREAM(stream), (unsigned)(mode), \
							graph, is_recording))
#define CAPTURE_END(stream, graph) \
	TRACK(, gp_hook_capture_ended(result, STREAM(stream), graph, is_recording))
#define GRAPH_INSTANTIATE(exec, graph, flags)         \
	RECORD(const uint64_t began = gp_clock_now(), \
	       gp_hook_instantiate(result, began, (CUgraphExec)IF_OK(exec), graph, IF_OK(flags)))
#define GRAPH_UPDATE(exec, graph) RECORD(, gp_hook_graph_update(result, exec, graph))
#define EXEC_DESTROY(exec) RECORD(gp_hook_exec_destroy(exec), )
#define GRAPH_DESTROY(graph) RECORD(gp_hook_graph_destroy(graph), )
#define GRAPH_NODE(type, graph, node, address)                               \
	RECORD(, gp_hook_node(result, GP_NODE_##type, (CUgraph)IF_OK(graph), \
			      (CUgraphNode)IF_OK(node), IF_OK(address), 0))
#define GRAPH_KERNEL_NODE(graph, node, p) \
	GRAPH_NODE(KERNEL, graph, node, (p)->func ? (void *)(p)->func : (void *)(p)->kern)
#define GRAPH_ALLOC_NODE(graph, node, params) \
	RECORD(, gp_hook_alloc_node(result, graph, (CUgraphNode)IF_OK(node), params))
#define GRAPH_ANY_NODE(graph, node, params) \
	RECORD(, gp_hook_any_node(result, graph, (CUgraphNode)IF_OK(node), params))
#define MODULE_LOAD(kind, handle, image)              \
	FOLLOW(gp_device_memory_before();             \
	       const uint64_t began = gp_clock_now(), \
	       gp_hook_module_load(result, began, GP_MODULE_##kind, IF_OK(handle), image))
#define MODULE_UNLOAD(kind, handle) \
	TRACK(, gp_hook_module_unload(result, GP_MODULE_##kind, (uint64_t)(handle), is_recording))

/* recorded only if it returns an error of a capture */
#define CAPTURABLE() FOLLOW(, )

#define GRAPH_CREATE(graph) \
	RECORD(, gp_hook_resource(GP_RESOURCE_GRAPH, IF_OK(graph), GP_DEVICE_UNKNOWN))

/* events */
#define EVENT_CREATE(event) \
	RECORD(, gp_hook_resource(GP_RESOURCE_EVENT, IF_OK(event), gp_device_current()))
#define EVENT_DESTROY(event) RECORD(gp_hook_resource_gone(GP_RESOURCE_EVENT, (uint64_t)(event)), )

/* streams and contexts */
#define STREAM_CREATE(stream, flags, priority)                                                    \
	TRACK(, gp_hook_stream_created(result, IF_OK(stream), flags, priority, GP_DEVICE_UNKNOWN, \
				       is_recording))
#define GREEN_STREAM_CREATE(stream, flags, priority, green)                            \
	TRACK(, gp_hook_stream_created(result, IF_OK(stream), flags, priority,         \
				       (unsigned)gp_context_device((uint64_t)(green)), \
				       is_recording))
#define STREAM_DESTROY(stream) TRACK(gp_hook_stream_ending(STREAM(stream), is_recording), )
#define CONTEXT_CREATE(context, flags, device)                                                 \
	TRACK(const uint64_t began = gp_clock_now(),                                           \
	      gp_hook_context_created(result, began, (CUcontext)IF_OK(context), flags, device, \
				      is_recording))
#define CONTEXT_DESTROY(context) \
	TRACK(gp_hook_context_ending(context, is_recording), gp_hook_context_ended(result, context))
#define CONTEXT_SET(context) FOLLOW(, if (result == CUDA_SUCCESS) gp_context_set(context))
#define CONTEXT_PUSH(context) FOLLOW(, if (result == CUDA_SUCCESS) gp_context_push(context))
#define CONTEXT_POP() FOLLOW(, if (result == CUDA_SUCCESS) gp_context_pop())
/* the stack's size is local memory; the others are sizes of buffers */
#define CONTEXT_LIMIT(limit)                                          \
	RECORD(, if (result == CUDA_SUCCESS) gp_device_memory_caused( \
			 gp_device_current(),                         \
			 (limit) == CU_LIMIT_STACK_SIZE ? GP_CAUSE_LOCAL : GP_CAUSE_HEAP))
#define PRIMARY_RETAIN(context, device) \
	TIMED(if (result == CUDA_SUCCESS) gp_primary_retained(context, device, began))
#define PRIMARY_RELEASE(device)                  \
	TRACK(gp_hook_primary_releasing(device), \
	      gp_hook_primary_released(result, device, is_recording))
#define PRIMARY_RESET(device) \
	TRACK(gp_hook_primary_ending(device, is_recording), gp_hook_primary_ended(result, device))
#define GREEN_CREATE(green, device)          \
	FOLLOW(, if (result == CUDA_SUCCESS) \
			 gp_context_known((uint64_t)(green), (unsigned)(device)))
#define GREEN_CONTEXT(context, green)                          \
	FOLLOW(, if (result == CUDA_SUCCESS) gp_context_known( \
			 (uint64_t)(context), (unsigned)gp_context_device((uint64_t)(green))))
#define GREEN_DESTROY(green) FOLLOW(gp_context_ending((uint64_t)(green)), )

/* captures: these act only if an option selects the profiler's calls */
#define PROFILER_START() 0, enter_profiler, , gp_scope_open(GP_SCOPE_BY_PROFILER)
#define PROFILER_STOP() 0, enter_profiler, gp_scope_close(GP_SCOPE_BY_PROFILER, GP_SCOPE_ANY),

GP_HOT bool enter_profiler(void)
{
	return gp_scope_follows(GP_SCOPE_PROFILER) && gp_enter();
}

GP_HOT bool never(void)
{
	return false;
}

/* "..._ptsz" and "..._ptds" take NULL for the calling thread's own default stream. */
GP_HOT bool is_per_thread_name(const char *symbol, size_t length)
{
	return length > 5 && symbol[length - 5] == '_' && symbol[length - 4] == 'p' &&
	       symbol[length - 3] == 't';
}

#define CUDA(symbol, parameters, arguments, hook) WRAPPER(symbol, parameters, arguments, hook)
#define WRAPPER(...) WRAPPER_(__VA_ARGS__) /* by now the hook has become four arguments */
#define WRAPPER_(symbol, parameters, arguments, is_always, enter, before, after)            \
	static CUresult wrap_##symbol parameters                                            \
	{                                                                                   \
		/* called through an ELF export before any resolver was */                  \
		if (gp_unlikely(!gp_cuda.symbol) &&                                         \
		    !gp_resolve_call(#symbol, (void **)&gp_cuda.symbol))                    \
			return CUDA_ERROR_NOT_INITIALIZED;                                  \
		const bool is_recording = enter();                                          \
		if (!is_recording && !(is_always && gp_lookups_open))                       \
			return gp_cuda.symbol arguments;                                    \
		const bool is_per_thread = is_per_thread_name(#symbol, sizeof #symbol - 1); \
		(void)is_per_thread;                                                        \
		before;                                                                     \
		const CUresult result = gp_cuda.symbol arguments;                           \
		after;                                                                      \
		if (is_recording)                                                           \
			gp_leave();                                                         \
		if (gp_unlikely(result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED))           \
			gp_hook_capture_error(result, #symbol);                             \
		return result;                                                              \
	}                                                                                   \
	GP_DRIVER_EXPORT(symbol, wrap_##symbol);
#define CALL(symbol, parameters)
#include "cuda_api.def"
#undef CUDA
#undef CALL

const struct gp_cuda_wrapper gp_cuda_wrappers[GP_CUDA_ROWS] = {
#define CUDA(symbol, parameters, arguments, hook) \
	{ #symbol, (void *)wrap_##symbol, (void **)&gp_cuda.symbol },
#define CALL(symbol, parameters)
#include "cuda_api.def"
#undef CUDA
#undef CALL
};

const struct gp_cuda_wrapper gp_cuda_calls[GP_CUDA_CALLS] = {
#define CUDA(symbol, parameters, arguments, hook)
#define CALL(symbol, parameters) { #symbol, NULL, (void **)&gp_cuda.symbol },
#include "cuda_api.def"
#undef CUDA
#undef CALL
};
