/*
 * Breaks its own captures: by calls of its own and of another thread, by the end of the stream, and
 * in a forked child. Each error, and errno, is the driver's.
 */
#include "victim.h"

#include <errno.h>
#include <pthread.h>

#define ROUNDS 200

enum { UNSUPPORTED = 900, INVALIDATED }; /* CUDA_ERROR_STREAM_CAPTURE_... */

static struct driver driver;
static CUstream stream;
static CUfunction kernel;

static int launch(void)
{
	return driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
}

static void *allocate(void *result)
{
	CUdeviceptr address = 0;
	must(driver_use(&driver, 0));
	errno = 77;
	*(int *)result = driver.cuMemAlloc_v2(&address, 4096);
	must(errno == 77);
	return NULL;
}

/* Three errors: of the call, of a launch into the invalid capture, and of the end. */
static void break_capture(bool is_by_thread)
{
	pthread_t thread;
	CUgraph graph = NULL;
	int result = 0;
	must(driver.cuStreamBeginCapture_v2(stream, 0) == CUDA_SUCCESS);
	must(launch() == CUDA_SUCCESS);
	if (is_by_thread) {
		must(pthread_create(&thread, NULL, allocate, &result) == 0);
		must(pthread_join(thread, NULL) == 0);
	} else {
		allocate(&result);
	}
	must(result == UNSUPPORTED);
	must(launch() == INVALIDATED);
	must(driver.cuStreamEndCapture(stream, &graph) == INVALIDATED);
	must(graph == NULL && launch() == CUDA_SUCCESS);
}

int main(void)
{
	CUmodule module;
	CUgraph graph = NULL;
	driver = need_driver(FROM_PROC_ADDRESS);
	must(driver.cuStreamCreate(&stream, 1) == CUDA_SUCCESS);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	for (unsigned i = 0; i < ROUNDS; i++)
		break_capture(i % 10 == 0);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		break_capture(false);
		_exit(0);
	}
	must(wait_for(child) == 0);
	/* a stream that ends in its capture, then captures that succeed */
	must(driver.cuStreamBeginCapture_v2(stream, 0) == CUDA_SUCCESS);
	must(driver.cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
	must(driver.cuStreamCreate(&stream, 1) == CUDA_SUCCESS);
	for (unsigned i = 0; i < 5; i++) {
		must(driver.cuStreamBeginCapture_v2(stream, 0) == CUDA_SUCCESS);
		must(launch() == CUDA_SUCCESS);
		must(driver.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS && graph);
		must(driver.cuGraphDestroy(graph) == CUDA_SUCCESS);
	}
	claim("capture_error", 3 * ROUNDS);
	claim("capture_begin", ROUNDS + 6);
	claim("capture_end", ROUNDS + 5);
	printf("%d captures broken\n", ROUNDS);
	return 0;
}
