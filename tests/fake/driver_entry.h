/*
 * How victims and the fake allocator reach the driver: dlopen("libcuda.so.1"), then
 * cuGetProcAddress_v2 as the CUDA runtime does, or dlsym with exact names as Triton and cuFFT do.
 * Declares the few types that they need itself, so that the callers do not depend on gpuprof.
 */
#ifndef DRIVER_ENTRY_H
#define DRIVER_ENTRY_H

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

/* FUNCTION(exact symbol, name and version for cuGetProcAddress, parameters) */
#define DRIVER_FUNCTIONS(FUNCTION)                                                             \
	FUNCTION(cuInit, "cuInit", 2000, (unsigned))                                           \
	FUNCTION(cuDriverGetVersion, "cuDriverGetVersion", 2020, (int *))                      \
	FUNCTION(cuDeviceGet, "cuDeviceGet", 2000, (CUdevice *, int))                          \
	FUNCTION(cuDeviceGetCount, "cuDeviceGetCount", 2000, (int *))                          \
	FUNCTION(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000,                   \
		 (CUcontext *, CUdevice))                                                      \
	FUNCTION(cuCtxSetCurrent, "cuCtxSetCurrent", 4000, (CUcontext))                        \
	FUNCTION(cuCtxSynchronize, "cuCtxSynchronize", 2000, (void))                           \
	FUNCTION(cuProfilerStart, "cuProfilerStart", 4000, (void))                             \
	FUNCTION(cuProfilerStop, "cuProfilerStop", 4000, (void))                               \
	FUNCTION(cuMemAlloc_v2, "cuMemAlloc", 3020, (CUdeviceptr *, size_t))                   \
	FUNCTION(cuMemFree_v2, "cuMemFree", 3020, (CUdeviceptr))                               \
	FUNCTION(cuMemAllocHost_v2, "cuMemAllocHost", 3020, (void **, size_t))                 \
	FUNCTION(cuMemFreeHost, "cuMemFreeHost", 2000, (void *))                               \
	FUNCTION(cuMemAllocAsync, "cuMemAllocAsync", 11020, (CUdeviceptr *, size_t, CUstream)) \
	FUNCTION(cuMemFreeAsync, "cuMemFreeAsync", 11020, (CUdeviceptr, CUstream))             \
	FUNCTION(cuMemGetInfo_v2, "cuMemGetInfo", 3020, (size_t *, size_t *))                  \
	FUNCTION(cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", 3020,                              \
		 (CUdeviceptr, const void *, size_t, CUstream))                                \
	FUNCTION(cuMemAddressReserve, "cuMemAddressReserve", 10020,                            \
		 (CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long))             \
	FUNCTION(cuMemAddressFree, "cuMemAddressFree", 10020, (CUdeviceptr, size_t))           \
	FUNCTION(cuMemCreate, "cuMemCreate", 10020,                                            \
		 (CUhandle *, size_t, const struct vmm_prop *, unsigned long long))            \
	FUNCTION(cuMemRelease, "cuMemRelease", 10020, (CUhandle))                              \
	FUNCTION(cuMemMap, "cuMemMap", 10020,                                                  \
		 (CUdeviceptr, size_t, size_t, CUhandle, unsigned long long))                  \
	FUNCTION(cuMemUnmap, "cuMemUnmap", 10020, (CUdeviceptr, size_t))                       \
	FUNCTION(cuMemSetAccess, "cuMemSetAccess", 10020,                                      \
		 (CUdeviceptr, size_t, const struct vmm_access *, size_t))                     \
	FUNCTION(cuModuleLoadData, "cuModuleLoadData", 2000, (CUmodule *, const void *))       \
	FUNCTION(cuModuleGetFunction, "cuModuleGetFunction", 2000,                             \
		 (CUfunction *, CUmodule, const char *))                                       \
	FUNCTION(cuModuleUnload, "cuModuleUnload", 2000, (CUmodule))                           \
	FUNCTION(cuStreamCreate, "cuStreamCreate", 2000, (CUstream *, unsigned))               \
	FUNCTION(cuStreamCreateWithPriority, "cuStreamCreateWithPriority", 5050,               \
		 (CUstream *, unsigned, int))                                                  \
	FUNCTION(cuStreamDestroy_v2, "cuStreamDestroy", 4000, (CUstream))                      \
	FUNCTION(cuLaunchKernel, "cuLaunchKernel", 4000,                                       \
		 (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,      \
		  unsigned, CUstream, void **, void **))                                       \
	FUNCTION(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010, (CUstream, int))      \
	FUNCTION(cuStreamEndCapture, "cuStreamEndCapture", 10000, (CUstream, CUgraph *))       \
	FUNCTION(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", 11040,            \
		 (CUgraphExec *, CUgraph, unsigned long long))                                 \
	FUNCTION(cuGraphLaunch, "cuGraphLaunch", 10000, (CUgraphExec, CUstream))               \
	FUNCTION(cuGraphExecDestroy, "cuGraphExecDestroy", 10000, (CUgraphExec))               \
	FUNCTION(cuGraphDestroy, "cuGraphDestroy", 10000, (CUgraph))

/* NULL where this driver lacks a function. */
struct driver {
#define FUNCTION(symbol, name, version, parameters) CUresult(*symbol) parameters;
	DRIVER_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

enum driver_source { FROM_PROC_ADDRESS, FROM_DLSYM };

typedef CUresult get_proc_address(const char *, void **, int, unsigned long long, int *);

static inline void *driver_find(void *library, enum driver_source source, const char *symbol,
				const char *name, int version)
{
	void *found = NULL;
	int status;
	get_proc_address *get;
	*(void **)&get = dlsym(library, "cuGetProcAddress_v2");
	if (source == FROM_DLSYM || !get)
		return dlsym(library, symbol);
	return get(name, &found, version, 0, &status) == CUDA_SUCCESS ? found : NULL;
}

/* False without a driver. */
static inline bool driver_open(struct driver *driver, enum driver_source source)
{
	memset(driver, 0, sizeof *driver);
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
#define FUNCTION(symbol, name, version, parameters)                                 \
	{                                                                           \
		void *found = driver_find(library, source, #symbol, name, version); \
		memcpy(&driver->symbol, &found, sizeof found);                      \
	}
	DRIVER_FUNCTIONS(FUNCTION)
#undef FUNCTION
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
