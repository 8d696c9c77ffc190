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

/* The same on a stream, which may be captured. */
static CUresult copy_on(CUstream handle, int node, CUdeviceptr device, size_t bytes)
{
	struct fake_object *stream = GET(handle, FAKE_STREAM);
	if (!stream && fake_is_legacy_refused(handle))
		return fake_refuse_legacy();
	CUresult result = copy_nothing(device, bytes);
	if (result != CUDA_SUCCESS || !stream || stream->status == FAKE_NOT_CAPTURING)
		return result;
	return fake_capture_node(stream, node, NULL);
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

static CUresult copy_array(CUarray array, size_t bytes)
{
	fake_observed.bytes = bytes;
	return fake_current() && GET(array, FAKE_ARRAY) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult copy_batch(const CUdeviceptr *to, const CUdeviceptr *from, const size_t *bytes,
			   size_t count, CUstream stream)
{
	CUresult result = to && from && bytes && count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	for (size_t k = 0; k < count && result == CUDA_SUCCESS; k++) {
		fake_observed.bytes = bytes[k];
		result = copy_any_async(to[k], from[k], stream);
	}
	return result;
}

static CUresult copy_list(const CUDA_MEMCPY3D_BATCH_OP *list, size_t count,
			  unsigned long long flags, CUstream stream)
{
	bool fits = list && count && flags == 0 && fake_stream_context(stream);
	for (size_t k = 0; fits && k < count; k++)
		fits = list[k].extent.width && list[k].extent.height && list[k].extent.depth;
	return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
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
     ((void)from, copy_on(stream, FAKE_NODE_MEMCPY, to, bytes)))
BODY(cuMemcpyDtoH_v2, _ptds, (void *to, CUdeviceptr from, size_t bytes),
     ((void)to, copy_nothing(from, bytes)))
BODY(cuMemcpyDtoHAsync_v2, _ptsz, (void *to, CUdeviceptr from, size_t bytes, CUstream stream),
     ((void)to, copy_on(stream, FAKE_NODE_MEMCPY, from, bytes)))
BODY(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
     ((void)from, copy_nothing(to, bytes)))
BODY(cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
     ((void)from, copy_on(stream, FAKE_NODE_MEMCPY, to, bytes)))
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
     ((void)to_context, (void)from_context, (void)from,
      copy_on(stream, FAKE_NODE_MEMCPY, to, bytes)))
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
BODY(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER *copy),
     copy ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE)
BODY(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER *copy, CUstream stream),
     ((void)stream, copy ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE))
BODY(cuMemcpyDtoA_v2, _ptds, (CUarray to, size_t offset, CUdeviceptr from, size_t bytes),
     ((void)to, (void)offset, copy_nothing(from, bytes)))
BODY(cuMemcpyAtoD_v2, _ptds, (CUdeviceptr to, CUarray from, size_t offset, size_t bytes),
     ((void)from, (void)offset, copy_nothing(to, bytes)))
BODY(cuMemcpyAtoA_v2, _ptds,
     (CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes),
     ((void)to_offset, (void)from_offset, copy_array(to, bytes) | copy_array(from, bytes)))
BODY(cuMemcpyHtoA_v2, _ptds, (CUarray to, size_t offset, const void *from, size_t bytes),
     ((void)from, (void)offset, copy_array(to, bytes)))
BODY(cuMemcpyHtoAAsync_v2, _ptsz,
     (CUarray to, size_t offset, const void *from, size_t bytes, CUstream stream),
     ((void)from, (void)offset, (void)stream, copy_array(to, bytes)))
BODY(cuMemcpyAtoH_v2, _ptds, (void *to, CUarray from, size_t offset, size_t bytes),
     ((void)to, (void)offset, copy_array(from, bytes)))
BODY(cuMemcpyAtoHAsync_v2, _ptsz,
     (void *to, CUarray from, size_t offset, size_t bytes, CUstream stream),
     ((void)to, (void)offset, (void)stream, copy_array(from, bytes)))
#define BATCH                                                            \
	CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count, \
		CUmemcpyAttributes *attributes, size_t *first, size_t attribute_count
BODY(cuMemcpyBatchAsync, _ptsz, (BATCH, size_t *failed, CUstream stream),
     ((void)attributes, (void)first, (void)attribute_count, (void)failed,
      copy_batch(to, from, bytes, count, stream)))
BODY(cuMemcpyBatchAsync_v2, _ptsz, (BATCH, CUstream stream),
     ((void)attributes, (void)first, (void)attribute_count,
      copy_batch(to, from, bytes, count, stream)))
#undef BATCH
BODY(cuMemcpy3DBatchAsync, _ptsz,
     (size_t count, CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed, unsigned long long flags,
      CUstream stream),
     ((void)failed, copy_list(list, count, flags, stream)))
BODY(cuMemcpy3DBatchAsync_v2, _ptsz,
     (size_t count, CUDA_MEMCPY3D_BATCH_OP *list, unsigned long long flags, CUstream stream),
     copy_list(list, count, flags, stream))
BODY(cuMemPrefetchAsync, _ptsz,
     (CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream),
     ((void)device, (void)stream, copy_nothing(address, bytes)))
BODY(cuMemPrefetchAsync_v2, _ptsz,
     (CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned int flags,
      CUstream stream),
     ((void)location, (void)flags, (void)stream, copy_nothing(address, bytes)))
BODY(cuMemPrefetchBatchAsync, _ptsz,
     (CUdeviceptr * address, size_t *bytes, size_t count, CUmemLocation *locations, size_t *first,
      size_t location_count, unsigned long long flags, CUstream stream),
     ((void)locations, (void)first, (void)location_count, (void)flags,
      copy_batch(address, address, bytes, count, stream)))
BODY(cuMemcpyWithAttributesAsync, _ptsz,
     (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUmemcpyAttributes *attributes,
      CUstream stream),
     ((void)bytes, (void)attributes, copy_any_async(to, from, stream)))
BODY(cuMemcpy3DWithAttributesAsync, _ptsz,
     (CUDA_MEMCPY3D_BATCH_OP * copy, unsigned long long flags, CUstream stream),
     copy_list(copy, 1, flags, stream))
BODY(cuMemsetD8_v2, _ptds, (CUdeviceptr to, unsigned char value, size_t count),
     ((void)value, copy_nothing(to, count)))
BODY(cuMemsetD8Async, _ptsz, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
     ((void)value, copy_on(stream, FAKE_NODE_MEMSET, to, count)))
BODY(cuMemsetD2D8_v2, _ptds,
     (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height),
     ((void)value, (void)width, copy_nothing(to, pitch *height)))
BODY(cuMemsetD2D8Async, _ptsz,
     (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
      CUstream stream),
     ((void)value, (void)width, copy_on(stream, FAKE_NODE_MEMSET, to, pitch *height)))
BODY(cuMemsetD16_v2, _ptds, (CUdeviceptr to, unsigned short value, size_t count),
     ((void)value, copy_nothing(to, 2 * count)))
BODY(cuMemsetD16Async, _ptsz, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),
     ((void)value, copy_on(stream, FAKE_NODE_MEMSET, to, 2 * count)))
BODY(cuMemsetD2D16_v2, _ptds,
     (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height),
     ((void)value, (void)width, copy_nothing(to, pitch *height)))
BODY(cuMemsetD2D16Async, _ptsz,
     (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
      CUstream stream),
     ((void)value, (void)width, copy_on(stream, FAKE_NODE_MEMSET, to, pitch *height)))
BODY(cuMemsetD32_v2, _ptds, (CUdeviceptr to, unsigned int value, size_t count),
     ((void)value, copy_nothing(to, 4 * count)))
BODY(cuMemsetD32Async, _ptsz, (CUdeviceptr to, unsigned int value, size_t count, CUstream stream),
     ((void)value, copy_on(stream, FAKE_NODE_MEMSET, to, 4 * count)))
BODY(cuMemsetD2D32_v2, _ptds,
     (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height),
     ((void)value, (void)width, copy_nothing(to, pitch *height)))
BODY(cuMemsetD2D32Async, _ptsz,
     (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height,
      CUstream stream),
     ((void)value, (void)width, copy_on(stream, FAKE_NODE_MEMSET, to, pitch *height)))
#undef BODY

#endif
