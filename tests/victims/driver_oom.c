/* Requests more memory than the driver has, twice: users look for failed allocations. */
#include "victim.h"

int main(void)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	CUdeviceptr address = 0;
	alloc_and_free(&driver, 10);
	for (int i = 0; i < 2; i++) {
		CUresult result = driver.cuMemAlloc_v2(&address, 1ull << 50);
		printf("result %d\n", result);
		must(result != CUDA_SUCCESS);
	}
	alloc_and_free(&driver, 10);
	claim("alloc", 20);
	claim("free", 20);
	claim("alloc_failed", 2);
	return 0;
}
