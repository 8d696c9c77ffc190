/* The rows of copies and fills. There is no memory: they only look whether somebody may copy. */
#ifndef FAKE_COPIES_H
#define FAKE_COPIES_H

#include "fake_contexts.h"
#include "fake_memory.h"
#include "fake_streams.h"

static CUresult copy_nothing(CUdeviceptr device, size_t bytes)
{
	uint64_t start;
	if (!fake_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	fake_lock();
	const struct fake_slot *slot = fake_slot_around(device, &start);
	bool fits = bytes == 0 || (slot && device + bytes <= start + slot->bytes);
	fake_unlock();
	return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult copy_any_async(CUdeviceptr to, CUdeviceptr from, CUstream stream)
{
	return to && from && fake_stream_context(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

#define COPY_BODY(symbol)                                                                    \
	static inline CUresult fake_##symbol(CUdeviceptr to, const void *from, size_t bytes) \
	{                                                                                    \
		(void)from;                                                                  \
		return copy_nothing(to, bytes);                                              \
	}
COPY_BODY(cuMemcpyHtoD_v2)
COPY_BODY(cuMemcpyHtoD_v2_ptds)
#undef COPY_BODY

#define COPY_BODY(symbol)                                                                    \
	static inline CUresult fake_##symbol(CUdeviceptr to, const void *from, size_t bytes, \
					     CUstream stream)                                \
	{                                                                                    \
		(void)from, (void)stream;                                                    \
		return copy_nothing(to, bytes);                                              \
	}
COPY_BODY(cuMemcpyHtoDAsync_v2)
COPY_BODY(cuMemcpyHtoDAsync_v2_ptsz)
#undef COPY_BODY

#define COPY_BODY(symbol)                                                                    \
	static inline CUresult fake_##symbol(CUdeviceptr to, CUdeviceptr from, size_t bytes, \
					     CUstream stream)                                \
	{                                                                                    \
		(void)bytes;                                                                 \
		return copy_any_async(to, from, stream);                                     \
	}
COPY_BODY(cuMemcpyAsync)
COPY_BODY(cuMemcpyAsync_ptsz)
#undef COPY_BODY

#define COPY_BODY(symbol)                                                                       \
	static inline CUresult fake_##symbol(CUdeviceptr to, unsigned char value, size_t bytes, \
					     CUstream stream)                                   \
	{                                                                                       \
		(void)value, (void)stream;                                                      \
		return copy_nothing(to, bytes);                                                 \
	}
COPY_BODY(cuMemsetD8Async)
COPY_BODY(cuMemsetD8Async_ptsz)
#undef COPY_BODY

#endif
