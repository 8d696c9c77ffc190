/*
 * Checks at compile time only. Each row of cuda_api.def is redeclared after the real cuda.h, so
 * that a wrong prototype does not compile. cuda_layout.def is compared with the real structs. Must
 * not include cuda_types.h. This file is empty without CUDA headers, or with older ones than those
 * of the table.
 */
#include <stddef.h>

#ifdef GP_HAVE_CUDA_HEADERS
/* declares every version of each function under its exact name */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>

#if CUDA_VERSION >= 13000
/* the first half of a row fails if the header lacks the function, the second if it differs */
#define CUDA(symbol, parameters, arguments, hook) CALL(symbol, parameters)
#define CALL(symbol, parameters)          \
	extern __typeof__(symbol) symbol; \
	CUresult CUDAAPI symbol parameters;
#include "cuda_api.def"
#undef CUDA
#undef CALL

#define BYTES(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
#define FIELD(type, field, at) _Static_assert(offsetof(type, field) == (at), #type "." #field);
#include "cuda_layout.def"
#undef BYTES
#undef FIELD
#endif
#endif
