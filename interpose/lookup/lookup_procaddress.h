/*
 * The resolvers `cuGetProcAddress` and `cuGetProcAddress_v2`. Look-ups of these names also return
 * them.
 */
#ifndef GP_LOOKUP_PROCADDRESS_H
#define GP_LOOKUP_PROCADDRESS_H

#include "../driver/cuda_types.h"

CUresult gp_lookup_get_proc_address(const char *name, void **function, int version,
				    cuuint64_t flags);
CUresult gp_lookup_get_proc_address_v2(const char *name, void **function, int version,
				       cuuint64_t flags, int *status);

#endif
