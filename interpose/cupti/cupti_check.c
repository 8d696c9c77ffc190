/*
 * Checks at compile time only: cupti_abi.h, cupti_layout.def and cupti_exports.def against CUPTI's
 * headers. Empty without them, or with older ones than CUDA 13.0.
 */
#ifdef GP_HAVE_CUDA_HEADERS
#if __has_include(<cupti.h>)
#include <cupti.h>
#include <stddef.h>

#include "cupti_abi.h"

#if CUPTI_API_VERSION >= 130000
#define SAME(record, theirs, at, type)                                           \
	_Static_assert(offsetof(record, theirs) == (at) &&                       \
			       sizeof(((record *)NULL)->theirs) == sizeof(type), \
		       #record "." #theirs);
#define CHECK_kernel(...)                        \
	SAME(CUpti_ActivityKernel5, __VA_ARGS__) \
	SAME(CUpti_ActivityKernel6, __VA_ARGS__) \
	SAME(CUpti_ActivityKernel7, __VA_ARGS__) \
	SAME(CUpti_ActivityKernel8, __VA_ARGS__) \
	SAME(CUpti_ActivityKernel9, __VA_ARGS__) \
	SAME(CUpti_ActivityKernel10, __VA_ARGS__)
#define CHECK_memcpy(...)                        \
	SAME(CUpti_ActivityMemcpy3, __VA_ARGS__) \
	SAME(CUpti_ActivityMemcpy4, __VA_ARGS__) \
	SAME(CUpti_ActivityMemcpy5, __VA_ARGS__) \
	SAME(CUpti_ActivityMemcpy6, __VA_ARGS__)
#define CHECK_peer(...)                              \
	SAME(CUpti_ActivityMemcpyPtoP2, __VA_ARGS__) \
	SAME(CUpti_ActivityMemcpyPtoP3, __VA_ARGS__) \
	SAME(CUpti_ActivityMemcpyPtoP4, __VA_ARGS__)
#define CHECK_memset(...)                        \
	SAME(CUpti_ActivityMemset2, __VA_ARGS__) \
	SAME(CUpti_ActivityMemset3, __VA_ARGS__) \
	SAME(CUpti_ActivityMemset4, __VA_ARGS__)
#define FIELD(record, type, name, theirs, at) CHECK_##record(theirs, at, type)
#include "cupti_layout.def"
#undef FIELD

#define SAME_NUMBER(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours);
SAME_NUMBER(GP_CUPTI_SUCCESS, CUPTI_SUCCESS)
SAME_NUMBER(GP_CUPTI_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED)
SAME_NUMBER(GP_CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED)
SAME_NUMBER(GP_CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
SAME_NUMBER(GP_CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
SAME_NUMBER(GP_CUPTI_VIRTUAL_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
SAME_NUMBER(GP_CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY)
SAME_NUMBER(GP_CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET)
SAME_NUMBER(GP_CUPTI_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL)
SAME_NUMBER(GP_CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
SAME_NUMBER(GP_CUPTI_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2)
SAME_NUMBER(GP_CUPTI_BUFFER_BYTES_OF_DEVICE, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE)
SAME_NUMBER(GP_CUPTI_BUFFERS_OF_DEVICE, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE)
SAME_NUMBER(GP_CUPTI_BUFFERS_ON_HOST, CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED)
SAME_NUMBER(GP_CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)
SAME_NUMBER(GP_CUPTI_ASYNC, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC)
SAME_NUMBER(GP_CUPTI_ASYNC, CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC)

/* our names of their functions; a kind is passed as an int of the same size */
#define EXPORT(symbol, parameters, arguments) CALL(symbol, parameters)
#define CALL(symbol, parameters) _Static_assert(sizeof(&(symbol)) != 0, #symbol);
#include "cupti_exports.def"
#undef EXPORT
#undef CALL
#endif
#endif
#endif
