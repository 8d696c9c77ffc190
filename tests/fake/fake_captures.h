/* The fake driver's stream captures, and the calls that a capture forbids. */
#ifndef FAKE_CAPTURES_H
#define FAKE_CAPTURES_H

#include "fake_contexts.h"

/* CUstreamCaptureStatus and CUstreamCaptureMode */
enum { FAKE_NOT_CAPTURING, FAKE_CAPTURING, FAKE_INVALIDATED };
enum { FAKE_MODE_GLOBAL, FAKE_MODE_THREAD, FAKE_MODE_RELAXED };
/* CUgraphNodeType */
enum {
	FAKE_NODE_KERNEL,
	FAKE_NODE_MEMCPY,
	FAKE_NODE_MEMSET,
	FAKE_NODE_HOST,
	FAKE_NODE_GRAPH,
	FAKE_NODE_EMPTY,
	FAKE_NODE_WAIT,
	FAKE_NODE_RECORD,
	FAKE_NODE_SIGNAL_SEMAPHORES,
	FAKE_NODE_WAIT_SEMAPHORES,
	FAKE_NODE_ALLOC,
	FAKE_NODE_FREE,
	FAKE_NODE_BATCH,
};

/* ---- captures ---- */

static _Atomic uint32_t fake_captures; /* under way */
static _Atomic uint64_t fake_captures_broken;

/* Lock held. */
static void fake_invalidate(uint64_t capture)
{
	for (uint32_t i = 0; i < fake_arena_used; i++) {
		struct fake_object *stream = &fake_arena[i];
		if (stream->kind != FAKE_STREAM || stream->status != FAKE_CAPTURING ||
		    stream->bytes != capture)
			continue;
		stream->status = FAKE_INVALIDATED;
		if (!stream->origin)
			atomic_fetch_add(&fake_captures_broken, 1);
	}
}

/* Lock held. Visits the streams whose capture forbids something to the calling thread. */
static unsigned fake_forbidding(bool is_legacy, bool invalidates)
{
	const struct fake_thread *t = fake_self();
	unsigned found = 0;
	for (uint32_t i = 0; i < fake_arena_used; i++) {
		struct fake_object *stream = &fake_arena[i];
		if (stream->kind != FAKE_STREAM || stream->status != FAKE_CAPTURING)
			continue;
		bool is_own = stream->address == (uintptr_t)t;
		bool forbids = is_legacy ? (stream->flags & 1) == 0 :
					   t->capture_mode != FAKE_MODE_RELAXED &&
						   ((is_own && stream->mode != FAKE_MODE_RELAXED) ||
						    (t->capture_mode == FAKE_MODE_GLOBAL &&
						     stream->mode == FAKE_MODE_GLOBAL));
		found += forbids;
		if (forbids && invalidates)
			fake_invalidate(stream->bytes);
	}
	return found;
}

static __attribute__((noinline, cold)) bool fake_is_forbidden(bool is_legacy)
{
	fake_lock();
	bool is_forbidden = fake_forbidding(is_legacy, false) != 0;
	fake_unlock();
	return is_forbidden;
}

/* Calls that might synchronise are refused while a capture in global mode is under way anywhere. */
static inline bool fake_is_unsafe(void)
{
	return fake_unlikely(atomic_load_explicit(&fake_captures, memory_order_relaxed) != 0) &&
	       fake_is_forbidden(false);
}

static __attribute__((noinline, cold)) CUresult fake_refuse_unsafe(void)
{
	fake_lock();
	fake_forbidding(false, true);
	fake_unlock();
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* The legacy stream would have to wait for a capturing stream without the non-blocking flag. */
static inline bool fake_is_legacy_refused(CUstream stream)
{
	return fake_unlikely(atomic_load_explicit(&fake_captures, memory_order_relaxed) != 0) &&
	       stream != CU_STREAM_PER_THREAD && fake_is_forbidden(true);
}

static __attribute__((noinline, cold)) CUresult fake_refuse_legacy(void)
{
	fake_lock();
	fake_forbidding(true, true);
	fake_unlock();
	return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

/* Lock held. NULL: out of handles. */
static struct fake_object *fake_node_add(struct fake_object *graph, int type, uint64_t address,
					 const void *function)
{
	struct fake_object *node = fake_new(FAKE_NODE, graph->device);
	if (!node)
		return NULL;
	node->mode = type;
	node->address = address;
	node->bytes = (uintptr_t)function;
	node->owner = graph;
	node->next = graph->first;
	graph->first = node;
	return node;
}

static __attribute__((noinline, cold)) CUresult fake_capture_node(struct fake_object *stream,
								  int type, const void *function)
{
	if (stream->status == FAKE_INVALIDATED)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	fake_lock();
	bool is_added = fake_node_add(stream->first, type, 0, function) != NULL;
	stream->is_registered = stream->origin != NULL; /* its origin must join it again */
	fake_unlock();
	return is_added ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult fake_capture_begin(CUstream handle, int mode, struct fake_object *graph)
{
	struct fake_object *stream = GET(handle, FAKE_STREAM);
	if (!stream)
		return handle ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (mode < FAKE_MODE_GLOBAL || mode > FAKE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = CUDA_ERROR_ILLEGAL_STATE;
	fake_lock();
	if (stream->status == FAKE_NOT_CAPTURING) {
		stream->first = graph ? graph : fake_new(FAKE_GRAPH, stream->device);
		result = stream->first ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (result == CUDA_SUCCESS) {
		stream->mode = mode;
		stream->address = (uintptr_t)fake_self();
		stream->status = FAKE_CAPTURING;
		stream->bytes = ++fake_numbers; /* the capture's id */
		atomic_fetch_add(&fake_captures, 1);
	}
	fake_unlock();
	return result;
}

/* Lock held. Ends the capture for all its streams. True: one of them was not joined. */
static bool fake_capture_leave(struct fake_object *origin)
{
	bool is_unjoined = false;
	for (uint32_t i = 0; i < fake_arena_used; i++) {
		struct fake_object *stream = &fake_arena[i];
		if (stream->kind != FAKE_STREAM || stream->origin != origin)
			continue;
		is_unjoined |= stream->is_registered;
		stream->status = FAKE_NOT_CAPTURING;
		stream->first = stream->origin = NULL;
		stream->is_registered = false;
	}
	origin->status = FAKE_NOT_CAPTURING;
	origin->first = NULL;
	atomic_fetch_sub(&fake_captures, 1);
	return is_unjoined;
}

static CUresult fake_capture_end(CUstream handle, CUgraph *graph)
{
	struct fake_object *stream = GET(handle, FAKE_STREAM);
	*graph = NULL;
	if (!stream || stream->status == FAKE_NOT_CAPTURING)
		return stream ? CUDA_ERROR_ILLEGAL_STATE : CUDA_ERROR_INVALID_HANDLE;
	if (stream->origin)
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	if (stream->mode != FAKE_MODE_RELAXED && stream->address != (uintptr_t)fake_self())
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	fake_lock();
	bool is_whole = stream->status == FAKE_CAPTURING;
	struct fake_object *captured = stream->first;
	bool is_unjoined = fake_capture_leave(stream);
	if (is_whole && !is_unjoined)
		*graph = (CUgraph)captured;
	fake_unlock();
	return !is_whole   ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED :
	       is_unjoined ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED :
			     CUDA_SUCCESS;
}

#define CAPTURE_BEGIN(suffix)                                                                   \
	static inline CUresult fake_cuStreamBeginCapture##suffix(CUstream stream)               \
	{                                                                                       \
		return fake_capture_begin(stream, FAKE_MODE_GLOBAL, NULL);                      \
	}                                                                                       \
	static inline CUresult fake_cuStreamBeginCapture_v2##suffix(CUstream stream,            \
								    CUstreamCaptureMode mode)   \
	{                                                                                       \
		return fake_capture_begin(stream, mode, NULL);                                  \
	}                                                                                       \
	static inline CUresult fake_cuStreamBeginCaptureToGraph##suffix(                        \
		CUstream stream, CUgraph graph, const CUgraphNode *after,                       \
		const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode)           \
	{                                                                                       \
		(void)after, (void)edges, (void)count;                                          \
		struct fake_object *target = GET(graph, FAKE_GRAPH);                            \
		return target ? fake_capture_begin(stream, mode, target) :                      \
				CUDA_ERROR_INVALID_HANDLE;                                      \
	}                                                                                       \
	static inline CUresult fake_cuStreamEndCapture##suffix(CUstream stream, CUgraph *graph) \
	{                                                                                       \
		return fake_capture_end(stream, graph);                                         \
	}
CAPTURE_BEGIN()
CAPTURE_BEGIN(_ptsz)
#undef CAPTURE_BEGIN

/* A result pointer of NULL is skipped. */
static CUresult fake_capture_info(CUstream handle, int *status, cuuint64_t *id, CUgraph *graph,
				  const CUgraphNode **nodes, size_t *count)
{
	const struct fake_object *stream = GET(handle, FAKE_STREAM);
	if (!stream && (uintptr_t)handle > (uintptr_t)CU_STREAM_PER_THREAD)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!stream && fake_is_legacy_refused(handle))
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	*status = stream ? stream->status : FAKE_NOT_CAPTURING;
	if (id)
		*id = stream ? stream->bytes : 0;
	if (graph)
		*graph = stream ? (CUgraph)stream->first : NULL;
	if (nodes)
		*nodes = NULL;
	if (count)
		*count = 0;
	return CUDA_SUCCESS;
}

#define CAPTURE_INFO(suffix)                                                                     \
	CUresult cuStreamIsCapturing##suffix(CUstream stream, int *status)                       \
	{                                                                                        \
		ENTER(cuStreamIsCapturing##suffix);                                              \
		return fake_capture_info(stream, status, NULL, NULL, NULL, NULL);                \
	}                                                                                        \
	CUresult cuStreamGetCaptureInfo##suffix(CUstream stream, int *status, cuuint64_t *id)    \
	{                                                                                        \
		ENTER(cuStreamGetCaptureInfo##suffix);                                           \
		return fake_capture_info(stream, status, id, NULL, NULL, NULL);                  \
	}                                                                                        \
	CUresult cuStreamGetCaptureInfo_v2##suffix(CUstream stream, int *status, cuuint64_t *id, \
						   CUgraph *graph, const CUgraphNode **nodes,    \
						   size_t *count)                                \
	{                                                                                        \
		ENTER(cuStreamGetCaptureInfo_v2##suffix);                                        \
		return fake_capture_info(stream, status, id, graph, nodes, count);               \
	}                                                                                        \
	CUresult cuStreamGetCaptureInfo_v3##suffix(CUstream stream, int *status, cuuint64_t *id, \
						   CUgraph *graph, const CUgraphNode **nodes,    \
						   const CUgraphEdgeData **edges, size_t *count) \
	{                                                                                        \
		ENTER(cuStreamGetCaptureInfo_v3##suffix);                                        \
		if (edges)                                                                       \
			*edges = NULL;                                                           \
		return fake_capture_info(stream, status, id, graph, nodes, count);               \
	}
CAPTURE_INFO()
CAPTURE_INFO(_ptsz)
#undef CAPTURE_INFO

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	ENTER(cuThreadExchangeStreamCaptureMode);
	struct fake_thread *t = fake_self();
	int before = t->capture_mode;
	if (*mode < FAKE_MODE_GLOBAL || *mode > FAKE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	t->capture_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

#endif
