/*
 * The part of CUPTI's interface that we use, written down here because users have no CUDA headers.
 * cupti_check.c compares it with them. Sources: cupti_result.h, cupti_activity.h of CUDA 13.0.
 */
#ifndef GP_CUPTI_ABI_H
#define GP_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

/* CUptiResult */
enum gp_cupti_result {
	GP_CUPTI_SUCCESS = 0,
	GP_CUPTI_LIMIT_REACHED = 12,
	GP_CUPTI_NOT_INITIALIZED = 15,
	GP_CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	GP_CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	GP_CUPTI_VIRTUAL_PRIVILEGES = 40,
};

/* CUpti_ActivityKind: the kinds whose records we read */
enum gp_cupti_kind {
	GP_CUPTI_MEMCPY = 1,
	GP_CUPTI_MEMSET = 2,
	GP_CUPTI_KERNEL = 3, /* kernels one after the other; excludes the next */
	GP_CUPTI_CONCURRENT_KERNEL = 10,
	GP_CUPTI_MEMCPY2 = 22, /* between devices */
};

/* CUpti_ActivityAttribute; each value is a size_t but the last, a uint8_t */
enum gp_cupti_attribute {
	GP_CUPTI_BUFFER_BYTES_OF_DEVICE = 0,
	GP_CUPTI_BUFFERS_OF_DEVICE = 6, /* that each context has from the start */
	GP_CUPTI_BUFFERS_ON_HOST = 8,
};

#define GP_CUPTI_FLUSH_FORCED 1u
/* CUpti_ActivityMemcpy.flags, CUpti_ActivityMemset.flags */
#define GP_CUPTI_ASYNC 1u
/*
 * cuptiGetVersion of CUDA 11.1. All fields that we read lie there since then: later records only
 * append fields, and so does a version that we do not know yet.
 */
#define GP_CUPTI_VERSION_LEAST 14u

/* CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc, CUpti_TimestampCallbackFunc
 */
typedef void gp_cupti_request(uint8_t **buffer, size_t *bytes, size_t *records_most);
typedef void gp_cupti_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
			       size_t valid);
typedef uint64_t gp_cupti_time(void);

#endif
