/*
 * Compile-time only: each row of cuda_api.def is redeclared after the real cuda.h, so that a wrong
 * prototype does not compile, and cuda_layout.def is compared with the real structs. Must not
 * include cuda_types.h. Without CUDA headers, or with older ones than the table was made for, this
 * file is empty.
 */
#include <stddef.h>

#ifdef GP_HAVE_CUDA_HEADERS
/* every version of every function under its own exact name */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>

#if CUDA_VERSION >= 13000
/*
 * the first half of a row fails where the header has no such function, the second where it
 * differs
 */
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
