/*
 * One thread alternates between two devices, by context and through the allocator. Each byte must
 * be counted on the right one.
 */
#include "victim.h"

int main(void)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	int devices = 0;
	if (driver.cuDeviceGetCount(&devices) != CUDA_SUCCESS || devices < 2) {
		fprintf(stderr, "this driver has fewer than two devices\n");
		return VICTIM_SKIPPED;
	}
	CUdeviceptr address[2][100];
	CUcontext context[2];
	for (int d = 0; d < 2; d++)
		must(driver.cuDevicePrimaryCtxRetain(&context[d], d) == CUDA_SUCCESS);
	for (int i = 0; i < 100; i++)
		for (int d = 0; d < 2; d++) {
			must(driver.cuCtxSetCurrent(context[d]) == CUDA_SUCCESS);
			address[d][i] = must_alloc(&driver, d ? 3 << 20 : 1 << 20);
		}
	for (int i = 0; i < 100; i++)
		for (int d = 0; d < 2; d++)
			/* with the other device current: the address determines the device */
			must(driver.cuMemFree_v2(address[1 - d][i]) == CUDA_SUCCESS);
	claim("driver_peak:0", 100ull << 20);
	claim("driver_peak:1", 300ull << 20);
	const struct fake_c10 *c10 = need_c10();
	void *block[2][40];
	for (int i = 0; i < 40; i++)
		for (int d = 0; d < 2; d++)
			block[d][i] = c10->allocate(d, (size_t)(d + 1) << 18);
	for (int i = 0; i < 40; i++)
		for (int d = 0; d < 2; d++)
			c10->release(block[d][i]);
	for (int d = 0; d < 2; d++) {
		struct fake_c10_stats s;
		claim_peaks(c10, d);
		c10->stats(d, &s);
		printf("device %d: allocated peak %llu, reserved peak %llu\n", d,
		       (unsigned long long)s.allocated_peak, (unsigned long long)s.reserved_peak);
	}
	claim("mismatches", 0);
	return 0;
}
