/*
 * Correct program: does everything for which the recorder itself calls the driver, so that a test
 * can let each of these calls fail. Out of memory, an import, a kernel of a library, a capture, the
 * end of a context, a thread with a current context.
 */
#include "victim.h"

static struct driver driver;

static void *symbol(const char *name)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *found = library ? dlsym(library, name) : NULL;
	must(found);
	return found;
}

struct ipc_handle {
	char bytes[64];
};

static void import_memory(CUdeviceptr address)
{
	CUresult (*get)(struct ipc_handle *, CUdeviceptr) = symbol("cuIpcGetMemHandle");
	CUresult (*open_handle)(CUdeviceptr *, struct ipc_handle, unsigned) =
		symbol("cuIpcOpenMemHandle_v2");
	CUresult (*close_handle)(CUdeviceptr) = symbol("cuIpcCloseMemHandle");
	struct ipc_handle handle;
	CUdeviceptr imported = 0;
	must(get(&handle, address) == CUDA_SUCCESS);
	CUresult opened = open_handle(&imported, handle, 1);
	printf("import %d\n", opened);
	if (opened == CUDA_SUCCESS)
		must(close_handle(imported) == CUDA_SUCCESS);
}

static void launch_library_kernel(void)
{
	CUresult (*load)(void **, const void *, void *, void *, unsigned, void *, void *,
			 unsigned) = symbol("cuLibraryLoadData");
	CUresult (*get)(void **, void *, const char *) = symbol("cuLibraryGetKernel");
	void *library, *kernel;
	must(load(&library, "image", NULL, NULL, 0, NULL, NULL, 0) == CUDA_SUCCESS);
	must(get(&kernel, library, "gemm") == CUDA_SUCCESS);
	for (int i = 0; i < 4; i++)
		must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) ==
		     CUDA_SUCCESS);
}

static void capture(void)
{
	CUstream stream;
	CUgraph graph;
	must(driver.cuStreamCreate(&stream, 1) == CUDA_SUCCESS);
	for (int i = 0; i < 4; i++) {
		must(driver.cuStreamBeginCapture_v2(stream, 0) == CUDA_SUCCESS);
		must(driver.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
		must(driver.cuGraphDestroy(graph) == CUDA_SUCCESS);
	}
}

/* A child inherits its current context, so no call that makes it current is recorded. */
static void inherit(void)
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		CUdeviceptr address;
		CUstream stream;
		CUresult result = driver.cuMemAlloc_v2(&address, 4096);
		printf("child: alloc %d", result);
		result = driver.cuStreamCreate(&stream, 0);
		printf(", stream %d", result);
		result = driver.cuMemAllocAsync(&address, 4096, stream);
		printf(", async %d\n", result);
		fflush(stdout);
		_exit(0);
	}
	must(wait_for(child) == 0);
}

int main(void)
{
	CUdeviceptr address, refused;
	CUstream stream;
	driver = need_driver(FROM_PROC_ADDRESS);
	CUresult (*release)(CUdevice) = symbol("cuDevicePrimaryCtxRelease_v2");
	address = must_alloc(&driver, 1u << 20);
	must(driver.cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
	must(driver.cuMemAllocAsync(&refused, 4096, stream) == CUDA_SUCCESS);
	must(driver.cuMemFreeAsync(refused, stream) == CUDA_SUCCESS);
	for (int i = 0; i < 3; i++)
		printf("too much %d\n", driver.cuMemAlloc_v2(&refused, 1ull << 40));
	for (int i = 0; i < 3; i++)
		import_memory(address);
	launch_library_kernel();
	capture();
	inherit();
	must(driver.cuMemFree_v2(address) == CUDA_SUCCESS);
	must(driver_use(&driver, 1));
	must(driver.cuMemFree_v2(must_alloc(&driver, 4096)) == CUDA_SUCCESS);
	claim("alloc_failed", 3);
	claim("complete", 1);
	claim_recordings(2);
	printf("released %d %d\n", release(1), release(0));
	return 0;
}
