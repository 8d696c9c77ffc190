/*
 * The fake driver's kernels: modules, libraries, functions with names, and launches that are only
 * counted.
 */
#ifndef FAKE_LAUNCHES_H
#define FAKE_LAUNCHES_H

#include "fake_contexts.h"
#include "fake_observe.h"
#include "fake_streams.h"

static void fake_launch_wait(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	uint64_t end =
		(uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + fake_setup.launch_ns;
	do
		clock_gettime(CLOCK_MONOTONIC, &t);
	while ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec < end);
}

static __attribute__((noinline)) CUresult fake_launched(const struct fake_object *kernel,
							CUstream stream)
{
	fake_report_kernel(kernel->name, stream);
	return CUDA_SUCCESS;
}

static inline CUresult fake_launch(const void *function, CUstream handle)
{
	if (fake_unlikely(fake_setup.launch_ns != 0))
		fake_launch_wait();
	if (fake_unlikely(!fake_current()))
		return CUDA_ERROR_INVALID_CONTEXT;
	const struct fake_object *kernel = GET(function, FAKE_KERNEL);
	if (fake_unlikely(!kernel))
		return CUDA_ERROR_INVALID_HANDLE;
	if ((uintptr_t)handle <= (uintptr_t)CU_STREAM_PER_THREAD)
		return fake_unlikely(fake_is_legacy_refused(handle)) ? fake_refuse_legacy() :
		       fake_is_observed() ? fake_launched(kernel, handle) :
					    CUDA_SUCCESS;
	struct fake_object *stream = GET(handle, FAKE_STREAM);
	if (fake_unlikely(!stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (fake_unlikely(stream->status != FAKE_NOT_CAPTURING))
		return fake_capture_node(stream, 0, function);
	return fake_is_observed() ? fake_launched(kernel, handle) : CUDA_SUCCESS;
}

#define LAUNCH_PARAMETERS                                                                       \
	(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,    \
	 unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared, \
	 CUstream stream, void **parameters, void **extra)

static inline bool fake_is_shape(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
				 unsigned bz)
{
	if (fake_is_observed()) {
		fake_observed.grid[0] = gx, fake_observed.grid[1] = gy, fake_observed.grid[2] = gz;
		fake_observed.block[0] = bx, fake_observed.block[1] = by,
		fake_observed.block[2] = bz;
	}
	return gx && gy && gz && bx && by && bz && (uint64_t)bx * by * bz <= 1024;
}

static inline CUresult fake_cuLaunchKernel LAUNCH_PARAMETERS
{
	(void)shared, (void)parameters, (void)extra;
	return fake_is_shape(grid_x, grid_y, grid_z, block_x, block_y, block_z) ?
		       fake_launch(function, stream) :
		       CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuLaunchKernel_ptsz LAUNCH_PARAMETERS
{
	(void)shared, (void)parameters, (void)extra;
	return fake_is_shape(grid_x, grid_y, grid_z, block_x, block_y, block_z) ?
		       fake_launch(function, stream) :
		       CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_launch_ex(const CUlaunchConfig *c, CUfunction function)
{
	return fake_is_shape(c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY,
			     c->blockDimZ) ?
		       fake_launch(function, c->hStream) :
		       CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
					     void **parameters, void **extra)
{
	(void)parameters, (void)extra;
	return fake_launch_ex(config, function);
}

static inline CUresult fake_cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function,
						  void **parameters, void **extra)
{
	(void)parameters, (void)extra;
	return fake_launch_ex(config, function);
}

#define COOPERATIVE_PARAMETERS                                                                  \
	(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,    \
	 unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared, \
	 CUstream stream, void **parameters)

static inline CUresult fake_cuLaunchCooperativeKernel COOPERATIVE_PARAMETERS
{
	(void)shared, (void)parameters;
	return fake_is_shape(grid_x, grid_y, grid_z, block_x, block_y, block_z) ?
		       fake_launch(function, stream) :
		       CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuLaunchCooperativeKernel_ptsz COOPERATIVE_PARAMETERS
{
	(void)shared, (void)parameters;
	return fake_is_shape(grid_x, grid_y, grid_z, block_x, block_y, block_z) ?
		       fake_launch(function, stream) :
		       CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list,
								 unsigned int count,
								 unsigned int flags)
{
	(void)flags;
	CUresult result = CUDA_SUCCESS;
	for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
		result = fake_launch(list[i].function, list[i].hStream);
	return result;
}

static inline CUresult fake_cuLaunch(CUfunction function)
{
	return fake_launch(function, NULL);
}

static inline CUresult fake_cuLaunchGrid(CUfunction function, int width, int height)
{
	return width > 0 && height > 0 ? fake_launch(function, NULL) : CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuLaunchGridAsync(CUfunction function, int width, int height,
					      CUstream stream)
{
	return width > 0 && height > 0 ? fake_launch(function, stream) : CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_cuLaunchHostFunc(CUstream handle, CUhostFn function, void *argument)
{
	struct fake_object *stream = GET(handle, FAKE_STREAM);
	if (stream && stream->status != FAKE_NOT_CAPTURING)
		return fake_capture_node(stream, FAKE_NODE_HOST, NULL);
	function(argument);
	return CUDA_SUCCESS;
}

static inline CUresult fake_cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function,
						  void *argument)
{
	return fake_cuLaunchHostFunc(stream, function, argument);
}

/* ---- modules and libraries ---- */

static CUresult fake_module_load(void **module)
{
	struct fake_object *context = fake_current();
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	if (fake_is_unsafe())
		return fake_refuse_unsafe();
	fake_lock();
	struct fake_object *object = fake_new(FAKE_MODULE, context->device);
	if (object)
		object->owner = context;
	fake_unlock();
	*module = object;
	return object ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult fake_module_unload(void *module)
{
	struct fake_object *object = GET(module, FAKE_MODULE);
	if (!object)
		return CUDA_ERROR_INVALID_HANDLE;
	fake_lock();
	for (struct fake_object *kernel = object->first, *next; kernel; kernel = next) {
		next = kernel->next;
		fake_delete(kernel);
	}
	fake_delete(object);
	fake_unlock();
	return CUDA_SUCCESS;
}

/* A module has every requested function, except those whose name begins with "missing". */
static CUresult fake_function(void **function, void *module, const char *name)
{
	struct fake_object *object = GET(module, FAKE_MODULE), *kernel;
	if (!object)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!name || !function || strncmp(name, "missing", 7) == 0)
		return name && function ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
	fake_lock();
	for (kernel = object->first;
	     kernel && strncmp(kernel->name, name, sizeof kernel->name - 1) != 0;)
		kernel = kernel->next;
	if (!kernel && (kernel = fake_new(FAKE_KERNEL, object->device))) {
		strncpy(kernel->name, name, sizeof kernel->name - 1);
		kernel->owner = object;
		kernel->next = object->first;
		object->first = kernel;
	}
	fake_unlock();
	*function = kernel;
	return kernel ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static inline CUresult fake_cuModuleLoad(CUmodule *module, const char *path)
{
	(void)path;
	return fake_module_load((void **)module);
}

static inline CUresult fake_cuModuleLoadData(CUmodule *module, const void *image)
{
	(void)image;
	return fake_module_load((void **)module);
}

static inline CUresult fake_cuModuleLoadDataEx(CUmodule *module, const void *image,
					       unsigned int count, CUjit_option *options,
					       void **values)
{
	(void)image, (void)count, (void)options, (void)values;
	return fake_module_load((void **)module);
}

static inline CUresult fake_cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	(void)image;
	return fake_module_load((void **)module);
}

static inline CUresult fake_cuLibraryLoadData(CUlibrary *library, const void *code,
					      CUjit_option *options, void **values,
					      unsigned int count, CUlibraryOption *library_options,
					      void **library_values, unsigned int library_count)
{
	(void)code, (void)options, (void)values, (void)count, (void)library_options,
		(void)library_values, (void)library_count;
	return fake_module_load((void **)library);
}

static inline CUresult fake_cuLibraryLoadFromFile(CUlibrary *library, const char *path,
						  CUjit_option *options, void **values,
						  unsigned int count,
						  CUlibraryOption *library_options,
						  void **library_values, unsigned int library_count)
{
	(void)path, (void)options, (void)values, (void)count, (void)library_options,
		(void)library_values, (void)library_count;
	return fake_module_load((void **)library);
}

static inline CUresult fake_cuModuleUnload(CUmodule module)
{
	return fake_module_unload(module);
}

static inline CUresult fake_cuLibraryUnload(CUlibrary library)
{
	return fake_module_unload(library);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	ENTER(cuModuleGetFunction);
	return fake_function((void **)function, module, name);
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module,
			      const char *name)
{
	ENTER(cuModuleGetGlobal_v2);
	(void)address, (void)bytes, (void)module, (void)name;
	return CUDA_ERROR_NOT_FOUND;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	ENTER(cuLibraryGetKernel);
	return fake_function((void **)kernel, library, name);
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	ENTER(cuLibraryGetModule);
	*module = (CUmodule)GET(library, FAKE_MODULE);
	return *module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	ENTER(cuKernelGetFunction);
	*function = (CUfunction)GET(kernel, FAKE_KERNEL);
	return *function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
	ENTER(cuKernelGetLibrary);
	const struct fake_object *object = GET(kernel, FAKE_KERNEL);
	*library = object ? (CUlibrary)object->owner : NULL;
	return object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncGetModule(CUmodule *module, CUfunction function)
{
	ENTER(cuFuncGetModule);
	const struct fake_object *object = GET(function, FAKE_KERNEL);
	*module = object ? (CUmodule)object->owner : NULL;
	return object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncGetName(const char **name, CUfunction function)
{
	ENTER(cuFuncGetName);
	const struct fake_object *object = GET(function, FAKE_KERNEL);
	*name = object ? object->name : NULL;
	return object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
	ENTER(cuKernelGetName);
	const struct fake_object *object = GET(kernel, FAKE_KERNEL);
	*name = object ? object->name : NULL;
	return object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/*
 * A dot in a kernel's name precedes the bytes of each parameter: "axpy.4,8,8,4120" has an int, two
 * pointers and a struct. ".none" takes no parameters, and the driver cannot describe those of
 * ".unknown". Without a dot there are four pointers. A parameter of 8 bytes or more is aligned to
 * 8.
 */
static CUresult fake_parameter(const void *handle, size_t index, size_t *offset, size_t *bytes)
{
	const struct fake_object *kernel = GET(handle, FAKE_KERNEL);
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	const char *text = strchr(kernel->name, '.');
	text = text ? text + 1 : "8,8,8,8";
	if (strcmp(text, "unknown") == 0)
		return FAKE_NOT_SUPPORTED;
	for (size_t at = 0, k = 0; *text >= '0' && *text <= '9'; k++) {
		char *end;
		size_t size = strtoul(text, &end, 10), alignment = size >= 8 ? 8 : size ? size : 1;
		at = (at + alignment - 1) / alignment * alignment;
		if (k == index) {
			*offset = at;
			if (bytes)
				*bytes = size;
			return CUDA_SUCCESS;
		}
		at += size;
		text = end + (*end == ',');
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *bytes)
{
	ENTER(cuFuncGetParamInfo);
	return fake_parameter(function, index, offset, bytes);
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *bytes)
{
	ENTER(cuKernelGetParamInfo);
	return fake_parameter(kernel, index, offset, bytes);
}

static CUresult fake_attribute(int *value, int attribute, const void *handle)
{
	const struct fake_object *kernel = GET(handle, FAKE_KERNEL);
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	*value = attribute == 0 ? 1024 : 0; /* threads a block */
	if (attribute == 3)		    /* local memory of a thread: "local_4096" */
		sscanf(kernel->name, "local_%d", value);
	return CUDA_SUCCESS;
}

/* On a real driver, the handle may be a CUkernel: FAKE_CUDA_FAIL refuses that here. */
CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function)
{
	ENTER(cuFuncGetAttribute);
	return fake_attribute(value, attribute, function);
}

CUresult cuKernelGetAttribute(int *value, int attribute, CUkernel kernel, CUdevice device)
{
	ENTER(cuKernelGetAttribute);
	return fake_is_device(device) ? fake_attribute(value, attribute, kernel) :
					FAKE_INVALID_DEVICE;
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value)
{
	ENTER(cuFuncSetAttribute);
	(void)attribute, (void)value;
	return GET(function, FAKE_KERNEL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

#endif
