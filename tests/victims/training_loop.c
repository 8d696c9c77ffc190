/*
 * Correct program: a training loop on the fake allocator. The recording must match the allocator's
 * peaks to the byte.
 *	training_loop [STEPS [MS]]	MS: how long the simulated GPU works on a step
 */
#include <time.h>

#include "training.h"

int main(int argc, char **argv)
{
	struct training t;
	unsigned long steps = count_argument(argc, argv, 40);
	const struct timespec work = { .tv_nsec = argc > 2 ? atol(argv[2]) * 1000000 : 0 };
	training_init(&t, need_c10());
	struct driver driver = need_driver(FROM_DLSYM);
	CUmodule module;
	CUfunction kernel;
	bool has_kernel = driver.cuModuleLoadData && driver.cuModuleGetFunction &&
			  driver.cuLaunchKernel &&
			  driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS &&
			  driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS;
	for (unsigned long i = 0; i < steps; i++) {
		training_step(&t);
		for (int k = 0; has_kernel && k < 560; k++)
			must(driver.cuLaunchKernel(kernel, 64, 1, 1, 256, 1, 1, 0, NULL, NULL,
						   NULL) == CUDA_SUCCESS);
		if (work.tv_nsec)
			nanosleep(&work, NULL);
		if (i % 16 == 15)
			t.c10->empty_cache(0);
	}
	training_print(&t);
	if (has_kernel)
		claim("launch", steps * 560);
	return 0;
}
