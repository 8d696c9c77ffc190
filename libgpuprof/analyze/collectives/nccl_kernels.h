/* The kernels of NCCL by the thread and time of their launch, and the time of all other kernels. */
#ifndef GP_NCCL_KERNELS_H
#define GP_NCCL_KERNELS_H

#include "call_groups.h"

struct gp_nccl_kernel {
	uint32_t operation; /* index of gp_gpu.operation */
	bool is_found;	    /* its group is known */
	bool is_outside;    /* of the interval of the report: its group is */
};

/* Time of a device in which a kernel that is not NCCL's ran. */
struct gp_nccl_other {
	uint64_t from_ns, to_ns, before_ns; /* before: the time of the device's earlier ones */
	uint8_t device;
};

struct gp_nccl_kernels {
	const struct gp_gpu *gpu;
	size_t kernels, joined; /* joined: they have a launch, and come first */
	struct gp_nccl_kernel *kernel;
	size_t others;
	struct gp_nccl_other *other; /* by device and time */
};

/* "ncclDevKernel_AllReduce_...", "ncclKernel_...", "ncclSymkDevKernel_...", mangled or not. */
bool gp_nccl_is_kernel(const char *name);
/* GP_E_MEMORY. Release it also after a failure. */
enum gp_status gp_nccl_kernels_open(struct gp_nccl_kernels *kernels, const struct gp_gpu *gpu);
/* The kernels that the group launched: a part of the array. */
struct gp_nccl_kernel *gp_nccl_kernels_find(const struct gp_nccl_kernels *kernels,
					    const struct gp_nccl_group *group, size_t *count);
/* For how long other kernels of its device ran during the operation. */
uint64_t gp_nccl_overlapped_ns(const struct gp_nccl_kernels *kernels,
			       const struct gp_gpu_operation *operation);
void gp_nccl_kernels_release(struct gp_nccl_kernels *kernels);

#endif
