/* The rows of copies and fills. There is no memory: they only check whether the caller may copy. */
#ifndef FAKE_COPIES_H
#define FAKE_COPIES_H

#include "fake_contexts.h"
#include "fake_memory.h"
#include "fake_observe.h"
#include "fake_streams.h"

static CUresult copy_nothing(CUdeviceptr device, size_t bytes)
{
	uint64_t start;
	if (!fake_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	fake_lock();
	const struct fake_slot *slot = fake_slot_around(device, &start);
	fake_observed.bytes = bytes;
	bool fits = bytes == 0 || (slot && device + bytes <= start + slot->bytes);
	fake_unlock();
	return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Source or destination may be host memory. */
static CUresult copy_any(CUdeviceptr to, CUdeviceptr from)
{
	return to && from && fake_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult copy_any_async(CUdeviceptr to, CUdeviceptr from, CUstream stream)
{
	return to && from && fake_stream_context(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult copied(CUresult result, const char *symbol)
{
	if (fake_is_observed() && result == CUDA_SUCCESS)
		fake_report_copy(symbol, NULL);
	return result;
}

/* "_ptds" and "_ptsz" do the same. All report the default stream. */
#define BODY(symbol, suffix, parameters, result)                \
	static inline CUresult fake_##symbol parameters         \
	{                                                       \
		return copied(result, #symbol);                 \
	}                                                       \
	static inline CUresult fake_##symbol##suffix parameters \
	{                                                       \
		return copied(result, #symbol);                 \
	}
BODY(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr to, const void *from, size_t bytes),
     ((void)from, copy_nothing(to, bytes)))
BODY(cuMemcpyHtoDAsync_v2, _ptsz, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
     ((void)from, (void)stream, copy_nothing(to, bytes)))
BODY(cuMemcpyDtoH_v2, _ptds, (void *to, CUdeviceptr from, size_t bytes),
     ((void)to, copy_nothing(from, bytes)))
BODY(cuMemcpyDtoHAsync_v2, _ptsz, (void *to, CUdeviceptr from, size_t bytes, CUstream stream),
     ((void)to, (void)stream, copy_nothing(from, bytes)))
BODY(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
     ((void)from, copy_nothing(to, bytes)))
BODY(cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
     ((void)from, (void)stream, copy_nothing(to, bytes)))
BODY(cuMemcpy, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
     ((void)bytes, copy_any(to, from)))
BODY(cuMemcpyAsync, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
     ((void)bytes, copy_any_async(to, from, stream)))
BODY(cuMemcpyPeer, _ptds,
     (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes),
     ((void)to_context, (void)from_context, (void)from, copy_nothing(to, bytes)))
BODY(cuMemcpyPeerAsync, _ptsz,
     (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
      CUstream stream),
     ((void)to_context, (void)from_context, (void)from, (void)stream, copy_nothing(to, bytes)))
BODY(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D *copy),
     copy ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE)
BODY(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D *copy),
     copy ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE)
BODY(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D *copy),
     copy ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE)
BODY(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D *copy, CUstream stream),
     ((void)stream, copy ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE))
BODY(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D *copy, CUstream stream),
     ((void)stream, copy ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE))
BODY(cuMemsetD8_v2, _ptds, (CUdeviceptr to, unsigned char value, size_t count),
     ((void)value, copy_nothing(to, count)))
BODY(cuMemsetD8Async, _ptsz, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
     ((void)value, (void)stream, copy_nothing(to, count)))
BODY(cuMemsetD2D8_v2, _ptds,
     (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height),
     ((void)value, (void)width, copy_nothing(to, pitch *height)))
BODY(cuMemsetD2D8Async, _ptsz,
     (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
      CUstream stream),
     ((void)value, (void)width, (void)stream, copy_nothing(to, pitch *height)))
BODY(cuMemsetD16_v2, _ptds, (CUdeviceptr to, unsigned short value, size_t count),
     ((void)value, copy_nothing(to, 2 * count)))
BODY(cuMemsetD16Async, _ptsz, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),
     ((void)value, (void)stream, copy_nothing(to, 2 * count)))
BODY(cuMemsetD2D16_v2, _ptds,
     (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height),
     ((void)value, (void)width, copy_nothing(to, pitch *height)))
BODY(cuMemsetD2D16Async, _ptsz,
     (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
      CUstream stream),
     ((void)value, (void)width, (void)stream, copy_nothing(to, pitch *height)))
BODY(cuMemsetD32_v2, _ptds, (CUdeviceptr to, unsigned int value, size_t count),
     ((void)value, copy_nothing(to, 4 * count)))
BODY(cuMemsetD32Async, _ptsz, (CUdeviceptr to, unsigned int value, size_t count, CUstream stream),
     ((void)value, (void)stream, copy_nothing(to, 4 * count)))
BODY(cuMemsetD2D32_v2, _ptds,
     (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height),
     ((void)value, (void)width, copy_nothing(to, pitch *height)))
BODY(cuMemsetD2D32Async, _ptsz,
     (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height,
      CUstream stream),
     ((void)value, (void)width, (void)stream, copy_nothing(to, pitch *height)))
#undef BODY

#endif
