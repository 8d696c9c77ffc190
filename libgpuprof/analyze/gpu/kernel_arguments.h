/* The memory that the arguments of launches point to, as `--track-access` recorded it. */
#ifndef GP_KERNEL_ARGUMENTS_H
#define GP_KERNEL_ARGUMENTS_H

#include "../../read/file/recording.h"

#define GP_ARGUMENTS_UNKNOWN UINT64_MAX

/*
 * Sets *bytes to an array by launch: the sum of the distinct allocations that were live then,
 * GP_ARGUMENTS_UNKNOWN for launches that were not scanned. NULL: the recording has no uses, or too
 * many operations. One replay. The caller frees it. GP_E_MEMORY, and what a replay returns.
 */
enum gp_status gp_kernel_arguments(struct gp_recording *recording, const struct gp_gpu *gpu,
				   uint64_t **bytes);

#endif
