/* Frees an invalid address: the driver returns an error, and the live memory must not change. */
#include "victim.h"

int main(void)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	CUdeviceptr address = must_alloc(&driver, 4096);
	printf("result %d\n", driver.cuMemFree_v2(address + 64));
	must(driver.cuMemFree_v2(address) == CUDA_SUCCESS);
	claim("alloc", 1);
	claim("free", 2);
	claim("free_failed", 1);
	claim("driver_peak:0", 4096);
	return 0;
}
