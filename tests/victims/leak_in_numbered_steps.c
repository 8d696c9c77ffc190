/*
 * Keeps a buffer of each step forever, and opens each step under a name of its own: "step 17". A
 * temporary inside the step is the peak.
 *	leak_in_numbered_steps [STEPS]
 */
#include "../fake/fake_ranges.h"
#include "victim.h"

int main(int argc, char **argv)
{
	unsigned long steps = count_argument(argc, argv, 20);
	void *library = dlopen("libtorch_cpu_ranges.so", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fputs("no libtorch_cpu_ranges.so: it could not be built here\n", stderr);
		return VICTIM_SKIPPED;
	}
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	CUmodule module;
	CUfunction kernel;
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	const struct fake_ranges *ranges = dlsym(library, "fake_ranges");
	const struct fake_c10 *c10 = need_c10();
	must(ranges && c10->allocate(0, 8192));
	must(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS);
	for (unsigned long k = 0; k < steps; k++) {
		char name[32];
		snprintf(name, sizeof name, "step %lu", k);
		void *step = ranges->begin(name), *forward = ranges->begin("forward");
		void *temporary = c10->allocate(0, 1 << 20);
		must(temporary && c10->allocate(0, 4096));
		c10->release(temporary);
		ranges->end(forward);
		ranges->end(step);
	}
	claim("block_alloc", 1 + 2 * steps);
	claim("complete", 1);
	printf("%lu steps\n", steps);
	return 0;
}
