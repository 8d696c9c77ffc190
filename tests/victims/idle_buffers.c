/*
 * Holds buffers that it does not use: long before the first use, long after the last, or never. One
 * is idle between its first step and its last. Two of one size could be one. One is made anew in
 * each step. Pinned memory grows.
 *	idle_buffers [STEPS]
 */
#include "victim.h"

#define MIB ((size_t)1 << 20)
#define LAUNCHES 20 /* in each step */

struct arguments {
	unsigned char ints[24];
	CUdeviceptr pointer;
	unsigned char rest[4088];
};

static struct driver driver;
static CUfunction kernel;
static unsigned long uses;

/* One function for each, so that their stacks differ. */
#define TAKER(name, bytes)                                                     \
	static __attribute__((noinline)) CUdeviceptr take_##name(void)         \
	{                                                                      \
		CUdeviceptr address = 0;                                       \
		must(driver.cuMemAlloc_v2(&address, (bytes)) == CUDA_SUCCESS); \
		return address;                                                \
	}
TAKER(weights, 64 * MIB)
TAKER(early, 32 * MIB)
TAKER(late, 48 * MIB)
TAKER(never, 16 * MIB)
TAKER(between, 40 * MIB)
TAKER(one, 24 * MIB)
TAKER(other, 24 * MIB)
TAKER(churn, MIB)

static __attribute__((noinline)) void take_pinned(void)
{
	void *pinned;
	must(driver.cuMemAllocHost_v2(&pinned, MIB) == CUDA_SUCCESS);
}

/* A kernel that takes a number, a pointer, and a struct that contains a second pointer. */
static void use(CUdeviceptr a, CUdeviceptr b)
{
	struct arguments arguments = { .pointer = b };
	int n = 1;
	void *parameters[] = { &n, &a, &arguments };
	must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL) ==
	     CUDA_SUCCESS);
	uses++;
}

int main(int argc, char **argv)
{
	unsigned long steps = count_argument(argc, argv, 20);
	CUmodule module;
	driver = need_driver(FROM_PROC_ADDRESS);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "step.4,8,4120") == CUDA_SUCCESS);
	CUdeviceptr weights = take_weights(), early = take_early(), late = take_late(),
		    never = take_never(), between = take_between(), one = take_one(),
		    other = take_other();
	for (unsigned long step = 0; step < steps; step++) {
		CUdeviceptr churn = take_churn();
		take_pinned();
		for (int k = 0; k < LAUNCHES; k++)
			use(weights + 512 * (CUdeviceptr)k, churn);
		if (step == 0 || step == steps - 1)
			use(between, weights);
		if (step >= steps / 2)
			use(early, weights);
		if (step < steps / 4)
			use(late, weights);
		use(step < steps / 2 ? one : other, weights);
		must(driver.cuMemcpyHtoDAsync_v2(weights, &steps, 8, NULL) == CUDA_SUCCESS);
		must(driver.cuMemFree_v2(churn) == CUDA_SUCCESS);
		if (step == steps / 2) { /* the peak */
			CUdeviceptr most = take_churn();
			CUdeviceptr more = take_churn();
			use(most, more);
			must(driver.cuMemFree_v2(most) == CUDA_SUCCESS);
			must(driver.cuMemFree_v2(more) == CUDA_SUCCESS);
		}
	}
	const CUdeviceptr all[] = { weights, early, late, never, between, one, other };
	for (unsigned k = 0; k < sizeof all / sizeof *all; k++)
		must(driver.cuMemFree_v2(all[k]) == CUDA_SUCCESS);
	claim("launch", uses);
	claim("use", uses + steps); /* a launch's two pointers are one event */
	printf("%lu steps\n", steps);
	return 0;
}
