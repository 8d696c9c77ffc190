/* Keeps a million allocations alive while it goes on: checkpoints must not stall it. */
#include "victim.h"

int main(int argc, char **argv)
{
	unsigned long number = count_argument(argc, argv, 1000000);
	struct driver driver = need_driver(DOOR_PROC_ADDRESS);
	CUdeviceptr *address = calloc(number, sizeof *address);
	must(address);
	for (unsigned long i = 0; i < number; i++) {
		address[i] = must_alloc(&driver, 512);
		work_for(1000);
	}
	for (unsigned long i = 0; i < number; i++) {
		must(driver.cuMemFree_v2(address[i]) == CUDA_SUCCESS);
		address[i] = must_alloc(&driver, 512);
		work_for(2000);
	}
	for (unsigned long i = 0; i < number; i++) {
		must(driver.cuMemFree_v2(address[i]) == CUDA_SUCCESS);
		work_for(1000);
	}
	claim("alloc", number * 2);
	claim("free", number * 2);
	claim("driver_peak:0", number * 512);
	claim("lost_memory", 0);
	printf("%lu live\n", number);
	free(address);
	return 0;
}
