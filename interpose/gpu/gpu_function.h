/* Numbers of kernels and their launch shapes, each defined once in a recording: GPU_FUNCTION. */
#ifndef GP_GPU_FUNCTION_H
#define GP_GPU_FUNCTION_H

#include "gpu_time.h"

#define GP_GPU_FUNCTIONS 16384u
/* Kernels in further shapes have one number a name; with more names than this, number 0. */
#define GP_GPU_NAMES 4096u

/*
 * The number of `kernel`'s name, grid, block, shared memory and registers, or of its name alone,
 * with zeros for the rest. 0: no room for one more, or for its definition. Call inside; may record
 * the definition. Any thread, no lock.
 */
uint32_t gp_gpu_function(const struct gp_gpu_kernel *kernel);

#endif
