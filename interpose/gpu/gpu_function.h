/* Numbers of kernels and their launch shapes, each defined once in a recording: GPU_FUNCTION. */
#ifndef GP_GPU_FUNCTION_H
#define GP_GPU_FUNCTION_H

#include "gpu_time.h"

/* More shapes than this have number 0. */
#define GP_GPU_FUNCTIONS 16384u

/*
 * The number of `kernel`'s name, grid, block, shared memory and registers. 0: no room for one
 * more. Call inside; may record the definition. Any thread, no lock.
 */
uint32_t gp_gpu_function(const struct gp_gpu_kernel *kernel);

#endif
