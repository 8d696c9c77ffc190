/*
 * Expands the table of driver functions: the real pointers, the row numbers, the addresses of the
 * wrappers. A row is CUDA(symbol, (typed parameters), (arguments), hook), where `symbol` is the
 * exact export of the driver. CALL(symbol, (typed parameters)) is a function that we call (DESIGN
 * 3.1's allowlist) and do not intercept.
 */
#ifndef GP_CUDA_API_H
#define GP_CUDA_API_H

#include "cuda_types.h"

/* The driver's own functions; NULL until resolved, or if this driver lacks them. */
struct gp_cuda {
#define CUDA(symbol, parameters, arguments, hook) CUresult(*symbol) parameters;
#define CALL(symbol, parameters) CUresult(*symbol) parameters;
#include "cuda_api.def"
#undef CUDA
#undef CALL
};
extern struct gp_cuda gp_cuda __attribute__((visibility("hidden")));

enum gp_cuda_row {
#define CUDA(symbol, parameters, arguments, hook) GP_ROW_##symbol,
#define CALL(symbol, parameters)
#include "cuda_api.def"
#undef CUDA
#undef CALL
	GP_CUDA_ROWS,
};

enum gp_cuda_call {
#define CUDA(symbol, parameters, arguments, hook)
#define CALL(symbol, parameters) GP_CALL_##symbol,
#include "cuda_api.def"
#undef CUDA
#undef CALL
	GP_CUDA_CALLS,
};

/* wrappers.c: what the resolvers return, indexed by enum gp_cuda_row. */
struct gp_cuda_wrapper {
	const char *symbol;
	void *wrapper;
	void **real; /* into gp_cuda */
};
extern const struct gp_cuda_wrapper gp_cuda_wrappers[GP_CUDA_ROWS];
/* The CALL rows, same shape, wrapper is NULL. */
extern const struct gp_cuda_wrapper gp_cuda_calls[GP_CUDA_CALLS];

#endif
