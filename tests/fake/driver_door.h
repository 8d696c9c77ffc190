/*
 * How victims and the fake allocator reach the driver: dlopen("libcuda.so.1"), then
 * cuGetProcAddress_v2 as the CUDA runtime does, or dlsym with exact names as Triton and cuFFT do.
 * Declares the few types that they need itself, so that the callers do not depend on gpuprof.
 */
#ifndef DRIVER_DOOR_H
#define DRIVER_DOOR_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef void *CUcontext, *CUstream, *CUmodule, *CUfunction, *CUgraph, *CUgraphExec, *CUmemoryPool;
typedef unsigned long long CUhandle; /* CUmemGenericAllocationHandle */

enum { CUDA_SUCCESS = 0, CUDA_ERROR_OUT_OF_MEMORY = 2 };

struct vmm_location {
	int type; /* 1: device */
	int id;
};
struct vmm_access {
	struct vmm_location location;
	int flags; /* 3: read and write */
};
struct vmm_prop {
	int type; /* 1: pinned */
	int handle_types;
	struct vmm_location location;
	void *win32;
	struct {
		unsigned char compression, gpu_direct;
		unsigned short usage;
		unsigned char reserved[4];
	} flags;
};

/* DOOR(exact symbol, name and version for cuGetProcAddress, parameters) */
#define DRIVER_DOORS(DOOR)                                                                        \
	DOOR(cuInit, "cuInit", 2000, (unsigned))                                                  \
	DOOR(cuDriverGetVersion, "cuDriverGetVersion", 2020, (int *))                             \
	DOOR(cuDeviceGet, "cuDeviceGet", 2000, (CUdevice *, int))                                 \
	DOOR(cuDeviceGetCount, "cuDeviceGetCount", 2000, (int *))                                 \
	DOOR(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000, (CUcontext *, CUdevice)) \
	DOOR(cuCtxSetCurrent, "cuCtxSetCurrent", 4000, (CUcontext))                               \
	DOOR(cuCtxSynchronize, "cuCtxSynchronize", 2000, (void))                                  \
	DOOR(cuProfilerStart, "cuProfilerStart", 4000, (void))                                    \
	DOOR(cuProfilerStop, "cuProfilerStop", 4000, (void))                                      \
	DOOR(cuMemAlloc_v2, "cuMemAlloc", 3020, (CUdeviceptr *, size_t))                          \
	DOOR(cuMemFree_v2, "cuMemFree", 3020, (CUdeviceptr))                                      \
	DOOR(cuMemAllocHost_v2, "cuMemAllocHost", 3020, (void **, size_t))                        \
	DOOR(cuMemFreeHost, "cuMemFreeHost", 2000, (void *))                                      \
	DOOR(cuMemAllocAsync, "cuMemAllocAsync", 11020, (CUdeviceptr *, size_t, CUstream))        \
	DOOR(cuMemFreeAsync, "cuMemFreeAsync", 11020, (CUdeviceptr, CUstream))                    \
	DOOR(cuMemGetInfo_v2, "cuMemGetInfo", 3020, (size_t *, size_t *))                         \
	DOOR(cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", 3020,                                     \
	     (CUdeviceptr, const void *, size_t, CUstream))                                       \
	DOOR(cuMemAddressReserve, "cuMemAddressReserve", 10020,                                   \
	     (CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long))                    \
	DOOR(cuMemAddressFree, "cuMemAddressFree", 10020, (CUdeviceptr, size_t))                  \
	DOOR(cuMemCreate, "cuMemCreate", 10020,                                                   \
	     (CUhandle *, size_t, const struct vmm_prop *, unsigned long long))                   \
	DOOR(cuMemRelease, "cuMemRelease", 10020, (CUhandle))                                     \
	DOOR(cuMemMap, "cuMemMap", 10020,                                                         \
	     (CUdeviceptr, size_t, size_t, CUhandle, unsigned long long))                         \
	DOOR(cuMemUnmap, "cuMemUnmap", 10020, (CUdeviceptr, size_t))                              \
	DOOR(cuMemSetAccess, "cuMemSetAccess", 10020,                                             \
	     (CUdeviceptr, size_t, const struct vmm_access *, size_t))                            \
	DOOR(cuModuleLoadData, "cuModuleLoadData", 2000, (CUmodule *, const void *))              \
	DOOR(cuModuleGetFunction, "cuModuleGetFunction", 2000,                                    \
	     (CUfunction *, CUmodule, const char *))                                              \
	DOOR(cuModuleUnload, "cuModuleUnload", 2000, (CUmodule))                                  \
	DOOR(cuStreamCreate, "cuStreamCreate", 2000, (CUstream *, unsigned))                      \
	DOOR(cuStreamCreateWithPriority, "cuStreamCreateWithPriority", 5050,                      \
	     (CUstream *, unsigned, int))                                                         \
	DOOR(cuStreamDestroy_v2, "cuStreamDestroy", 4000, (CUstream))                             \
	DOOR(cuLaunchKernel, "cuLaunchKernel", 4000,                                              \
	     (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
	      CUstream, void **, void **))                                                        \
	DOOR(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010, (CUstream, int))             \
	DOOR(cuStreamEndCapture, "cuStreamEndCapture", 10000, (CUstream, CUgraph *))              \
	DOOR(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", 11040,                   \
	     (CUgraphExec *, CUgraph, unsigned long long))                                        \
	DOOR(cuGraphLaunch, "cuGraphLaunch", 10000, (CUgraphExec, CUstream))                      \
	DOOR(cuGraphExecDestroy, "cuGraphExecDestroy", 10000, (CUgraphExec))                      \
	DOOR(cuGraphDestroy, "cuGraphDestroy", 10000, (CUgraph))

/* NULL where this driver lacks a function. */
struct driver {
#define DOOR(symbol, name, version, parameters) CUresult(*symbol) parameters;
	DRIVER_DOORS(DOOR)
#undef DOOR
};

enum driver_door { DOOR_PROC_ADDRESS, DOOR_DLSYM };

typedef CUresult get_proc_address(const char *, void **, int, unsigned long long, int *);

static inline void *driver_find(void *library, enum driver_door door, const char *symbol,
				const char *name, int version)
{
	void *found = NULL;
	int status;
	get_proc_address *get;
	*(void **)&get = dlsym(library, "cuGetProcAddress_v2");
	if (door == DOOR_DLSYM || !get)
		return dlsym(library, symbol);
	return get(name, &found, version, 0, &status) == CUDA_SUCCESS ? found : NULL;
}

/* False without a driver. */
static inline bool driver_open(struct driver *driver, enum driver_door door)
{
	memset(driver, 0, sizeof *driver);
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
#define DOOR(symbol, name, version, parameters)                                   \
	{                                                                         \
		void *found = driver_find(library, door, #symbol, name, version); \
		memcpy(&driver->symbol, &found, sizeof found);                    \
	}
	DRIVER_DOORS(DOOR)
#undef DOOR
	return driver->cuInit && driver->cuInit(0) == CUDA_SUCCESS;
}

/* Makes the primary context of `device` current on this thread. */
static inline bool driver_use(const struct driver *driver, int device)
{
	CUdevice handle;
	CUcontext context;
	return driver->cuDeviceGet(&handle, device) == CUDA_SUCCESS &&
	       driver->cuDevicePrimaryCtxRetain(&context, handle) == CUDA_SUCCESS &&
	       driver->cuCtxSetCurrent(context) == CUDA_SUCCESS;
}

#endif
