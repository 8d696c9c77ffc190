/*
 * Runs on a driver of years ago, without cuGetProcAddress, graphs, pools, virtual memory and the
 * functions that name a device or a kernel. All other events are recorded.
 */
#include "victim.h"

int main(int argc, char **argv)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	unsigned long number = count_argument(argc, argv, 50);
	CUmodule module;
	CUfunction kernel;
	must(!driver.cuMemCreate && !driver.cuGraphLaunch);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	for (unsigned long i = 0; i < number; i++) {
		CUdeviceptr address = must_alloc(&driver, 1 << 20);
		must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) ==
		     CUDA_SUCCESS);
		must(driver.cuMemFree_v2(address) == CUDA_SUCCESS);
	}
	claim("alloc", number);
	claim("free", number);
	claim("launch", number);
	claim("driver_peak:0", 1 << 20);
	claim_recordings(1);
	printf("%lu times\n", number);
	return 0;
}
