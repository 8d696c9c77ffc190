/*
 * Two threads start and stop a captured span a thousand times each, at the same time. Two others
 * allocate, pass on, free and launch. No memory event may be missing.
 */
#include "victim.h"

#define ROUNDS 1000
#define PAIRS 20000

static struct driver driver;
static CUfunction kernel;

static void *toggle(void *unused)
{
	must(driver_use(&driver, 0));
	for (int k = 0; k < ROUNDS; k++) {
		must(driver.cuProfilerStart() == CUDA_SUCCESS);
		work_for(3000);
		must(driver.cuProfilerStop() == CUDA_SUCCESS);
		work_for(3000);
	}
	return unused;
}

static void *work(void *unused)
{
	must(driver_use(&driver, 0));
	for (int k = 0; k < PAIRS; k++) {
		CUdeviceptr address = must_alloc(&driver, 512 + (size_t)k % 64 * 512);
		must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) ==
		     CUDA_SUCCESS);
		must(driver.cuMemFree_v2(address) == CUDA_SUCCESS);
		work_for(2000);
	}
	return unused;
}

int main(void)
{
	pthread_t thread[4];
	driver = need_driver(FROM_DLSYM);
	CUmodule module;
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	for (int k = 0; k < 4; k++)
		must(pthread_create(&thread[k], NULL, k < 2 ? toggle : work, NULL) == 0);
	for (int k = 0; k < 4; k++)
		pthread_join(thread[k], NULL);
	claim("alloc", 2 * PAIRS);
	claim("free", 2 * PAIRS);
	claim_as(getpid(), ">=", "scope", 3);
	claim_as(getpid(), "<=", "launch", 2 * PAIRS);
	printf("%d pairs\n", 2 * PAIRS);
	return 0;
}
