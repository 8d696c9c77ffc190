/*
 * Starts and stops a captured span three times, once doubly, where two were requested. Forks in one
 * of them. Launches inside the two spans are recorded, memory events always.
 */
#include "victim.h"

static struct driver driver;
static CUfunction kernel;
static CUdeviceptr held[200];
static unsigned holds;

static void launch(int times)
{
	for (int k = 0; k < times; k++) {
		must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) ==
		     CUDA_SUCCESS);
		held[holds++] = must_alloc(&driver, 512);
	}
}

static void start(void)
{
	must(driver.cuProfilerStart() == CUDA_SUCCESS);
}

static void stop(void)
{
	must(driver.cuProfilerStop() == CUDA_SUCCESS);
}

/* The child is in its parent's span, and ends it only for itself. */
static void be_child(void)
{
	holds = 0;
	launch(4);
	stop();
	launch(6);
	start(); /* the second span, also by the parent's count */
	launch(1);
	claim("launch", 5);
	claim("alloc", 11);
	claim("scope", 3);
	claim("captures", 2);
	_exit(0);
}

int main(void)
{
	driver = need_driver(FROM_PROC_ADDRESS);
	CUmodule module;
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	stop(); /* without a start */
	launch(10);
	start();
	launch(7);
	pid_t child = fork();
	if (child == 0)
		be_child();
	must(wait_for(child) == 0);
	stop();
	launch(11);
	start();
	launch(5);
	start();
	stop();
	launch(3);
	start();
	launch(13);
	stop();
	for (unsigned k = 0; k < holds; k++)
		must(driver.cuMemFree_v2(held[k]) == CUDA_SUCCESS);
	claim("launch", 12);
	claim("alloc", holds);
	claim("free", holds);
	claim("driver_peak:0", 512 * holds);
	claim("scope", 5); /* "none open" at the start, and four changes */
	claim("captures", 2);
	claim_recordings(2);
	printf("%u launches\n", holds);
	return 0;
}
