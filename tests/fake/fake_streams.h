/* The fake driver's streams and events, and the calls that a capture forbids. */
#ifndef FAKE_STREAMS_H
#define FAKE_STREAMS_H

#include "fake_contexts.h"
#include "fake_observe.h"

/* CUstreamCaptureStatus and CUstreamCaptureMode */
enum { FAKE_NOT_CAPTURING, FAKE_CAPTURING, FAKE_INVALIDATED };
enum { FAKE_MODE_GLOBAL, FAKE_MODE_THREAD, FAKE_MODE_RELAXED };

/* ---- captures ---- */

static _Atomic uint32_t fake_captures; /* under way */
static _Atomic uint64_t fake_captures_broken;

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
		if (forbids && invalidates) {
			stream->status = FAKE_INVALIDATED;
			atomic_fetch_add(&fake_captures_broken, 1);
		}
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
	return FAKE_CAPTURE_IMPLICIT;
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

static CUresult fake_capture_end(CUstream handle, CUgraph *graph)
{
	struct fake_object *stream = GET(handle, FAKE_STREAM);
	*graph = NULL;
	if (!stream || stream->status == FAKE_NOT_CAPTURING)
		return stream ? CUDA_ERROR_ILLEGAL_STATE : CUDA_ERROR_INVALID_HANDLE;
	if (stream->mode != FAKE_MODE_RELAXED && stream->address != (uintptr_t)fake_self())
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	fake_lock();
	bool is_whole = stream->status == FAKE_CAPTURING;
	if (is_whole)
		*graph = (CUgraph)stream->first;
	stream->status = FAKE_NOT_CAPTURING;
	stream->first = NULL;
	atomic_fetch_sub(&fake_captures, 1);
	fake_unlock();
	return is_whole ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
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
		return FAKE_CAPTURE_IMPLICIT;
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

/* ---- streams ---- */

static CUresult fake_stream_create(CUstream *stream, unsigned flags, int priority,
				   struct fake_object *context)
{
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!stream || flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	fake_lock();
	struct fake_object *object = fake_new(FAKE_STREAM, context->device);
	if (object) {
		object->flags = flags;
		object->priority = priority;
		object->owner = context;
	}
	fake_unlock();
	*stream = (CUstream)object;
	return object ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static inline CUresult fake_cuStreamCreate(CUstream *stream, unsigned int flags)
{
	return fake_stream_create(stream, flags, 0, fake_current());
}

static inline CUresult fake_cuStreamCreateWithPriority(CUstream *stream, unsigned int flags,
						       int priority)
{
	return fake_stream_create(stream, flags, priority, fake_current());
}

static inline CUresult fake_cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx green,
						   unsigned int flags, int priority)
{
	const struct fake_object *object = GET(green, FAKE_GREEN);
	return fake_stream_create(stream, flags, priority, object ? object->first : NULL);
}

static CUresult fake_stream_destroy(CUstream handle)
{
	struct fake_object *stream = GET(handle, FAKE_STREAM);
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	fake_lock();
	if (stream->status != FAKE_NOT_CAPTURING)
		atomic_fetch_sub(&fake_captures, 1);
	fake_delete(stream);
	fake_unlock();
	return CUDA_SUCCESS;
}

static inline CUresult fake_cuStreamDestroy(CUstream stream)
{
	return fake_stream_destroy(stream);
}

static inline CUresult fake_cuStreamDestroy_v2(CUstream stream)
{
	return fake_stream_destroy(stream);
}

/* The context that a stream handle works in; NULL: not a stream. */
static struct fake_object *fake_stream_context(CUstream handle)
{
	if ((uintptr_t)handle <= (uintptr_t)CU_STREAM_PER_THREAD)
		return fake_current();
	struct fake_object *stream = GET(handle, FAKE_STREAM);
	return stream ? stream->owner : NULL;
}

static uint64_t fake_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Of an event or a stream. */
static CUresult fake_query(const struct fake_object *object)
{
	if (fake_setup.ready_ns == 0 || !object || object->recorded_ns == 0)
		return CUDA_SUCCESS;
	return fake_now_ns() - object->recorded_ns < fake_setup.ready_ns ? CUDA_ERROR_NOT_READY :
									   CUDA_SUCCESS;
}

#define STREAM_QUERIES(suffix)                                                                 \
	CUresult cuStreamGetCtx##suffix(CUstream stream, CUcontext *context)                   \
	{                                                                                      \
		ENTER(cuStreamGetCtx##suffix);                                                 \
		*context = (CUcontext)fake_stream_context(stream);                             \
		return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;                    \
	}                                                                                      \
	CUresult cuStreamGetDevice##suffix(CUstream stream, CUdevice *device)                  \
	{                                                                                      \
		ENTER(cuStreamGetDevice##suffix);                                              \
		const struct fake_object *context = fake_stream_context(stream);               \
		*device = context ? context->device : -1;                                      \
		return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;                     \
	}                                                                                      \
	static inline CUresult fake_cuStreamSynchronize##suffix(CUstream stream)               \
	{                                                                                      \
		if (fake_is_unsafe())                                                          \
			return fake_refuse_unsafe();                                           \
		fake_report_wait();                                                            \
		return fake_stream_context(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; \
	}                                                                                      \
	static inline CUresult fake_cuStreamQuery##suffix(CUstream stream)                     \
	{                                                                                      \
		if (fake_is_unsafe())                                                          \
			return fake_refuse_unsafe();                                           \
		return fake_stream_context(stream) ? fake_query(GET(stream, FAKE_STREAM)) :    \
						     CUDA_ERROR_INVALID_HANDLE;                \
	}                                                                                      \
	CUresult cuStreamWaitEvent##suffix(CUstream stream, CUevent event, unsigned int flags) \
	{                                                                                      \
		ENTER(cuStreamWaitEvent##suffix);                                              \
		(void)flags;                                                                   \
		return fake_stream_context(stream) && GET(event, FAKE_EVENT) ?                 \
			       CUDA_SUCCESS :                                                  \
			       CUDA_ERROR_INVALID_HANDLE;                                      \
	}
STREAM_QUERIES()
STREAM_QUERIES(_ptsz)
#undef STREAM_QUERIES

CUresult cuStreamGetFlags(CUstream handle, unsigned int *flags)
{
	ENTER(cuStreamGetFlags);
	const struct fake_object *stream = GET(handle, FAKE_STREAM);
	*flags = stream ? stream->flags : 0;
	return fake_stream_context(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamGetPriority(CUstream handle, int *priority)
{
	ENTER(cuStreamGetPriority);
	const struct fake_object *stream = GET(handle, FAKE_STREAM);
	*priority = stream ? stream->priority : 0;
	return fake_stream_context(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *id)
{
	ENTER(cuStreamGetId);
	const struct fake_object *stream = GET(handle, FAKE_STREAM);
	*id = stream ? stream->number : (uintptr_t)handle;
	return fake_stream_context(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static inline CUresult fake_cuCtxSynchronize(void)
{
	if (fake_is_unsafe())
		return fake_refuse_unsafe();
	fake_report_wait();
	return fake_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static inline CUresult fake_cuCtxSynchronize_v2(CUcontext context)
{
	if (fake_is_unsafe())
		return fake_refuse_unsafe();
	fake_report_wait();
	return GET(context, FAKE_CONTEXT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- events: all work is done at once ---- */

static inline CUresult fake_cuEventCreate(CUevent *event, unsigned int flags)
{
	struct fake_object *context = fake_current();
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	fake_lock();
	struct fake_object *object = fake_new(FAKE_EVENT, context->device);
	if (object) {
		object->owner = context;
		object->flags = flags;
	}
	fake_unlock();
	*event = (CUevent)object;
	return object ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult fake_event_destroy(CUevent event)
{
	return fake_destroy(GET(event, FAKE_EVENT));
}

static inline CUresult fake_cuEventDestroy(CUevent event)
{
	return fake_event_destroy(event);
}

static inline CUresult fake_cuEventDestroy_v2(CUevent event)
{
	return fake_event_destroy(event);
}

static CUresult fake_event_record(CUevent event, CUstream stream)
{
	struct fake_object *object = GET(event, FAKE_EVENT);
	struct fake_object *queue = GET(stream, FAKE_STREAM);
	if (!object || !fake_stream_context(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	object->recorded_ns = fake_now_ns();
	if (queue)
		queue->recorded_ns = object->recorded_ns;
	return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	ENTER(cuEventRecord);
	return fake_event_record(event, stream);
}

CUresult cuEventRecord_ptsz(CUevent event, CUstream stream)
{
	ENTER(cuEventRecord_ptsz);
	return fake_event_record(event, stream);
}

static inline CUresult fake_cuEventQuery(CUevent event)
{
	const struct fake_object *object = GET(event, FAKE_EVENT);
	return object ? fake_query(object) : CUDA_ERROR_INVALID_HANDLE;
}

static inline CUresult fake_cuEventSynchronize(CUevent event)
{
	fake_report_wait();
	return GET(event, FAKE_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static inline CUresult fake_cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	const struct fake_object *from = GET(start, FAKE_EVENT), *to = GET(end, FAKE_EVENT);
	if (!from || !to || !from->recorded_ns || !to->recorded_ns)
		return CUDA_ERROR_INVALID_HANDLE;
	*ms = (float)((double)(int64_t)(to->recorded_ns - from->recorded_ns) * 1e-6);
	return CUDA_SUCCESS;
}

static inline CUresult fake_cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
	return fake_cuEventElapsedTime(ms, start, end);
}

#endif
