/*
 * Copies, fills and calls that block the calling thread: one COPY or WAIT each, recorded when the
 * call returns, with its duration. The thread enters the recorder only then, since the call may
 * block for as long as the GPU works. `ctl stop` and GPUPROF_LAUNCHES=off leave them out, like
 * launches.
 */
#ifndef GP_HOOK_WAIT_H
#define GP_HOOK_WAIT_H

#include "../driver/cuda_types.h"
#include "use_scan.h"

/* The arguments of a copy. */
struct gp_copy {
	enum gp_call kind;
	uint32_t flags; /* GP_CALL_ASYNC */
	uint64_t to, from, bytes;
	uint64_t stream; /* 0: of a function without a stream */
};

/* After the call, which began at the time `began`. */
void gp_hook_copy(CUresult result, uint64_t began, struct gp_copy copy);
void gp_hook_copy_2d(CUresult result, uint64_t began, const CUDA_MEMCPY2D *copy, uint32_t flags,
		     uint64_t stream);
void gp_hook_copy_3d(CUresult result, uint64_t began, const CUDA_MEMCPY3D *copy, uint32_t flags,
		     uint64_t stream);
void gp_hook_copy_3d_peer(CUresult result, uint64_t began, const CUDA_MEMCPY3D_PEER *copy,
			  uint32_t flags, uint64_t stream);
/* One COPY an element; the first has the call's duration. `from` NULL: a prefetch. */
void gp_hook_copy_batch(CUresult result, uint64_t began, enum gp_call kind, const CUdeviceptr *to,
			const CUdeviceptr *from, const size_t *bytes, size_t count,
			uint64_t stream);
void gp_hook_copy_3d_list(CUresult result, uint64_t began, const CUDA_MEMCPY3D_BATCH_OP *list,
			  size_t count, uint64_t stream);
void gp_hook_wait(CUresult result, uint64_t began, enum gp_call kind, uint64_t handle);
/* After a query that was not answered "ready", and after each while a loop of queries is open. */
void gp_hook_query(CUresult result, enum gp_call kind, uint64_t handle);
/* The job read the time between two events, in milliseconds. */
void gp_hook_elapsed(CUresult result, const float *ms, uint64_t start, uint64_t end);
/* As gp_hook_wait, inside gp_enter. */
void gp_hook_waited(CUresult result, uint64_t began, enum gp_call kind, uint64_t handle);

#endif
