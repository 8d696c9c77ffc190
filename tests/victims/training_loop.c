/*
 * Nothing wrong: a training loop on the fake allocator, whose own peaks the recording must give to
 * the byte.
 */
#include "training.h"

int main(int argc, char **argv)
{
	struct training t;
	unsigned long steps = count_argument(argc, argv, 40);
	training_init(&t, need_c10());
	struct driver driver = need_driver(DOOR_DLSYM);
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
		if (i % 16 == 15)
			t.c10->empty_cache(0);
	}
	training_print(&t);
	if (has_kernel)
		claim("launch_or_lost", steps * 560);
	return 0;
}
