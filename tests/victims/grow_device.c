/*
 * What takes memory of a device without a request of the job: a context, a module of 64 MiB, a
 * kernel that needs local memory, a heap, a graph, and another process. The fake driver counts such
 * memory where this program puts it, just before the call that takes it on a real one.
 */
#include "victim.h"

#define MIB ((size_t)1 << 20)

static void launch(const struct driver *driver, CUfunction kernel, CUstream stream)
{
	must(driver->cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL) ==
	     CUDA_SUCCESS);
}

int main(void)
{
	struct driver driver;
	CUmodule module;
	CUfunction plain, local;
	CUgraph graph;
	CUgraphExec exec;
	CUstream stream;
	must(driver_open(&driver, FROM_PROC_ADDRESS));
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	must(library);
	_Atomic size_t *taken = dlsym(library, "fake_cuda_tool_bytes");
	CUresult (*set_limit)(int, size_t);
	*(void **)&set_limit = dlsym(library, "cuCtxSetLimit");
	must(taken && set_limit);
	*taken += 500 * MIB;
	must(driver_use(&driver, 0));
	must_alloc(&driver, 100 * MIB);
	/* the first count is taken after the first module */
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	*taken += 64 * MIB;
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&plain, module, "plain") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&local, module, "local_4096") == CUDA_SUCCESS);
	must(driver.cuStreamCreate(&stream, 1) == CUDA_SUCCESS);
	*taken += 2 * MIB; /* lazily loaded at its first launch */
	launch(&driver, plain, stream);
	*taken += 528 * MIB;
	launch(&driver, local, stream);
	*taken += 8 * MIB;
	must(set_limit(2, 8 * MIB) == CUDA_SUCCESS);
	must(driver.cuStreamBeginCapture_v2(stream, 0) == CUDA_SUCCESS);
	launch(&driver, plain, stream);
	must(driver.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
	*taken += 6 * MIB;
	must(driver.cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS);
	/* of the job, then of another process; the next count is due after 100 ms */
	must_alloc(&driver, 40 * MIB);
	*taken += 300 * MIB;
	nanosleep(&(struct timespec){ .tv_nsec = 150000000 }, NULL);
	launch(&driver, plain, stream);
	/* another process, long before a module: not of the module */
	*taken += 200 * MIB;
	nanosleep(&(struct timespec){ .tv_nsec = 150000000 }, NULL);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	puts("done");
	return 0;
}
