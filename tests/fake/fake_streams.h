/* The fake driver's streams and events. */
#ifndef FAKE_STREAMS_H
#define FAKE_STREAMS_H

#include "fake_captures.h"
#include "fake_contexts.h"
#include "fake_observe.h"

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
	if (stream->status != FAKE_NOT_CAPTURING && !stream->origin)
		fake_capture_leave(stream);
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

/* Lock held. The origin of the capture that `event` was recorded in and that is under way. */
static struct fake_object *fake_event_capture(const struct fake_object *event)
{
	for (uint32_t i = 0; event->bytes != 0 && i < fake_arena_used; i++) {
		struct fake_object *stream = &fake_arena[i];
		if (stream->kind == FAKE_STREAM && stream->status != FAKE_NOT_CAPTURING &&
		    !stream->origin && stream->bytes == event->bytes)
			return stream;
	}
	return NULL;
}

/* Lock held. */
static CUresult fake_wait_captured(struct fake_object *stream, struct fake_object *event)
{
	struct fake_object *origin = fake_event_capture(event);
	if (stream->status == FAKE_INVALIDATED)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (stream->status == FAKE_NOT_CAPTURING) {
		if (!origin)
			return CUDA_SUCCESS;
		stream->status = origin->status;
		stream->first = origin->first;
		stream->bytes = origin->bytes;
		stream->mode = origin->mode;
		stream->address = origin->address;
		stream->origin = origin;
		stream->is_registered = true;
		return CUDA_SUCCESS;
	}
	if (origin && origin->bytes == stream->bytes) {
		event->first->is_registered = false;
		return CUDA_SUCCESS;
	}
	if (!origin && event->recorded_ns == 0)
		return CUDA_SUCCESS;
	fake_invalidate(stream->bytes);
	if (!origin)
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	fake_invalidate(origin->bytes);
	return CUDA_ERROR_STREAM_CAPTURE_MERGE;
}

static CUresult fake_wait_event(CUstream handle, CUevent awaited)
{
	struct fake_object *event = GET(awaited, FAKE_EVENT), *stream = GET(handle, FAKE_STREAM);
	if (!event || !fake_stream_context(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!stream || fake_likely(atomic_load(&fake_captures) == 0))
		return CUDA_SUCCESS;
	fake_lock();
	CUresult result = fake_wait_captured(stream, event);
	fake_unlock();
	return result;
}

/* Of a query or a wait for an event that was captured. */
static bool fake_is_captured_event(const struct fake_object *event)
{
	if (!event || fake_likely(atomic_load(&fake_captures) == 0))
		return false;
	fake_lock();
	const struct fake_object *origin = fake_event_capture(event);
	if (origin)
		fake_invalidate(origin->bytes);
	fake_unlock();
	return origin != NULL;
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
	static inline CUresult fake_cuStreamWaitEvent##suffix(CUstream stream, CUevent event,  \
							      unsigned int flags)              \
	{                                                                                      \
		(void)flags;                                                                   \
		return fake_wait_event(stream, event);                                         \
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
	object->bytes = queue && queue->status != FAKE_NOT_CAPTURING ? queue->bytes : 0;
	object->first = queue;
	if (queue)
		queue->recorded_ns = object->recorded_ns;
	return CUDA_SUCCESS;
}

#define EVENT_RECORD(suffix)                                                                       \
	static inline CUresult fake_cuEventRecord##suffix(CUevent event, CUstream stream)          \
	{                                                                                          \
		return fake_event_record(event, stream);                                           \
	}                                                                                          \
	static inline CUresult fake_cuEventRecordWithFlags##suffix(CUevent event, CUstream stream, \
								   unsigned int flags)             \
	{                                                                                          \
		return flags > 1 ? CUDA_ERROR_INVALID_VALUE : fake_event_record(event, stream);    \
	}
EVENT_RECORD()
EVENT_RECORD(_ptsz)
#undef EVENT_RECORD

static inline CUresult fake_cuEventQuery(CUevent event)
{
	const struct fake_object *object = GET(event, FAKE_EVENT);
	if (fake_is_captured_event(object))
		return CUDA_ERROR_CAPTURED_EVENT;
	return object ? fake_query(object) : CUDA_ERROR_INVALID_HANDLE;
}

static inline CUresult fake_cuEventSynchronize(CUevent event)
{
	if (fake_is_captured_event(GET(event, FAKE_EVENT)))
		return CUDA_ERROR_CAPTURED_EVENT;
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
