/*
 * Says three times what it wants captured, of which two were asked for, once doubly, and forks
 * while it is under way. Launches of the captured spans are recorded, all of memory always is.
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

/* It is in the parent's span, which it ends for itself alone. */
static void be_child(void)
{
	holds = 0;
	launch(4);
	stop();
	launch(6);
	start(); /* the second, as its parent would count */
	launch(1);
	claim("launch", 5);
	claim("alloc", 11);
	claim("scope", 3);
	claim("captures", 2);
	_exit(0);
}

int main(void)
{
	driver = need_driver(DOOR_PROC_ADDRESS);
	CUmodule module;
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	stop(); /* of nothing */
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
	claim("scope", 5); /* that none is open at the start, and four changes */
	claim("captures", 2);
	claim_recordings(2);
	printf("%u launches\n", holds);
	return 0;
}
