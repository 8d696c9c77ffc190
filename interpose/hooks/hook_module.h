/*
 * MODULE_LOAD and MODULE_UNLOAD, called by wrappers. A load is recorded when the call returns, with
 * its duration: the driver may compile PTX in it. The thread enters the recorder only then.
 */
#ifndef GP_HOOK_MODULE_H
#define GP_HOOK_MODULE_H

#include <stdbool.h>

#include "../driver/cuda_types.h"

/* `flags`: enum gp_module_flag. `image`: as the driver got it; NULL: a file. */
void gp_hook_module_load(CUresult result, uint64_t began, uint32_t flags, uint64_t handle,
			 const void *image);
/* Updates its tables even while recording is off. */
void gp_hook_module_unload(CUresult result, uint32_t flags, uint64_t handle, bool is_recording);

#endif
