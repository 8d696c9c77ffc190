/* Frees all but two of its allocations. */
#include "victim.h"

int main(int argc, char **argv)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	unsigned long number = count_argument(argc, argv, 100);
	CUdeviceptr *address = calloc(number, sizeof *address);
	must(address);
	for (unsigned long i = 0; i < number; i++)
		address[i] = must_alloc(&driver, 4096);
	for (unsigned long i = 0; i + 2 < number; i++)
		must(driver.cuMemFree_v2(address[i]) == CUDA_SUCCESS);
	claim("alloc", number);
	claim("free", number - 2);
	claim("driver_peak:0", number * 4096);
	claim("complete", 1);
	claim_recordings(1);
	printf("allocated %lu, freed %lu\n", number, number - 2);
	free(address);
	return 0;
}
